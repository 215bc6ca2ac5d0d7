// What differs from run to run in requests and answers becomes what does not, so that they can stand in a document as
// examples and be held against the next run: ids, times, digests and tokens, by the order in which they appear, so that
// what is the same stays the same.

import { createHash } from 'node:crypto'
import type { Example } from '@loci/contract/openapi.ts'

const ID = /\b([a-z]{2,4})_[0-9a-hjkmnp-tv-z]{26}\b/g
const TIME = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g
const DIGEST = /\b[0-9a-f]{64}\b/g
/** How the audit names a token of administration: by the beginning of its digest. */
const ADMIN = /\badmin:[0-9a-f]{8}\b/g
const ADDRESS = /\bhttp:\/\/127\.0\.0\.1:\d+/g
/** Members whose text nobody can read. */
const SEALED = new Set(
  'cursor digest hash nextCursor prevHash rootDigest seed token tombstone undoToken next_cursor prev_hash'.split(' '),
)

/** When every example happens. */
const THEN = Date.parse('2026-03-02T09:30:00.000Z')
/** A run takes less; what is further away, such as an expiry, keeps its distance. */
const RUN_MS = 10 * 60_000
const HOUR_MS = 3_600_000

export type Steady = <Value>(value: Value) => Value

export function createSteady(address: string, startedAt = Date.now()): Steady {
  const known = new Map<string, string>()
  const counts = new Map<string, number>()

  /** The nth of its kind. */
  function nth(kind: string, text: string, make: (n: number) => string): string {
    const before = known.get(text)
    if (before !== undefined) return before
    const n = (counts.get(kind) ?? 0) + 1
    counts.set(kind, n)
    const made = make(n)
    known.set(text, made)
    return made
  }

  const hexOf = (text: string) => createHash('sha256').update(text).digest('hex')
  const idOf = (id: string, type: string) =>
    nth(type, id, (n) => `${type}_01kjnx3v00${n.toString(32).padStart(16, '0')}`)
  const digestOf = (digest: string) => nth('digest', digest, (n) => hexOf(`digest ${n}`))
  const sealedOf = (text: string) =>
    nth('sealed', text, (n) =>
      Buffer.from(hexOf(`sealed ${n}`), 'hex')
        .toString('base64url')
        .slice(0, text.length),
    )

  function timeOf(text: string): string {
    const awayMs = Date.parse(text) - startedAt
    // That of the request, or of a calendar.
    if (awayMs < -HOUR_MS) return text
    // What is older than the run is of the database that it was cloned from, made when all tests began.
    return new Date(THEN + Math.max(0, Math.round(awayMs / RUN_MS)) * RUN_MS).toISOString()
  }

  function steady(value: unknown, name?: string): unknown {
    if (Array.isArray(value)) return value.map((one) => steady(one, name))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, steady(inner, key)]))
    if (typeof value !== 'string') return value
    const plain = value
      .replace(ID, (id, type: string) => idOf(id, type))
      .replace(TIME, timeOf)
      .replace(DIGEST, digestOf)
      .replace(ADMIN, 'admin:4f1d20c7')
      .replace(ADDRESS, address)
    return plain === value && name !== undefined && SEALED.has(name) ? sealedOf(value) : plain
  }

  return (value) => steady(value) as typeof value
}

/** Numbers that a run measures: compared by their kind alone. */
const MEASURED = /(Ms|Bytes)$|^(uptime|bytes|schemaVersion|checked|rows|requests_total)$/
/** Texts and times that may be there or not. */
const UNCERTAIN = new Set(['engineVersion', 'lastTickAt'])

/** Two of the same thing are equal, whatever the machine did meanwhile. */
export function unmeasured(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => unmeasured(one, name))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, unmeasured(inner, key)]))
  if (UNCERTAIN.has(name)) return 'something'
  if (typeof value === 'number') return MEASURED.test(name) || !Number.isInteger(value) ? 'a number' : value
  return typeof value === 'string' ? value.replace(/\d+\.\d+/g, 'a number') : value
}

/** Those of this run, but where one says the same as the kept one: a document changes where an answer did. */
export function keptWhereSame(run: Record<string, Example>, kept: Record<string, Example>): Record<string, Example> {
  const isSame = (one: unknown, other: unknown) => JSON.stringify(unmeasured(one)) === JSON.stringify(unmeasured(other))
  return Object.fromEntries(
    Object.entries(run).map(([line, one]) => {
      const before = kept[line]
      return [line, before && isSame(one, before) ? before : one]
    }),
  )
}

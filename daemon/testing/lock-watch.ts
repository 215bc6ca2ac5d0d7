// Holds what statements declare as their locks against what they take, by their text and the text of the functions that
// they call. Every test daemon installs it, so that no statement that a test runs can forget one.

import { readFileSync } from 'node:fs'
import { ADVISORY_LOCKS } from '@loci/postgres/advisory-locks.ts'
import { type Lock, noteLocks } from '@loci/postgres/lock-order.ts'
import type { Statement } from '@loci/postgres/pool.ts'
import { watchStatements } from '@loci/postgres/testing/statements.ts'
import { SCHEMA } from '../schema.ts'

const ROWS: Record<string, string> = {
  cell: 'cell row',
  subservices: 'switches',
  databases: 'head',
  instances: 'instance row',
  due: 'due row',
  audit_chains: 'audit head',
  event_heads: 'event head',
}
const ADVISORY: Record<string, string> = {
  [ADVISORY_LOCKS.idempotencyKey]: 'idempotency key',
  [ADVISORY_LOCKS.instance]: 'instance',
}
const SITE =
  /\b(?:update|insert\s+into|delete\s+from)\s+loci\.(?<written>\w+)|\bfrom\s+loci\.(?<read>\w+)\s|pg_advisory_xact_lock\w*\([^;]*?(?<advisory>\d{10})|\bloci\.(?<called>\w+)\(/gi

const functions = new Map(
  SCHEMA.functions.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^create or replace function loci\.(\w+)[^$]*\$\$(.*?)\$\$/gms)].map(
      ([, name = '', body = '']) => [name, body] as const,
    ),
  ),
)
const known = new Map<string, string[]>()

/**
 * What a function of the schema locks, in the order of its text, each as often as it stands there. The row of the
 * instance that enter_database() takes for a new database is left out: nobody may rely on it.
 */
export function sequenceOf(name: string, callers: readonly string[] = []): string[] {
  if (name === 'enter_database') return ['instance', 'head']
  if (callers.includes(name)) return []
  return sitesIn(functions.get(name) ?? '').flatMap(({ lock, called }) =>
    called ? sequenceOf(called, [...callers, name]) : [lock as string],
  )
}

/** The names of what a function of the schema locks, each once. */
export function locksOfFunction(name: string): string[] {
  const found = known.get(name)
  if (found) return found
  known.set(name, [])
  const locks = locksIn(functions.get(name) ?? '')
  known.set(name, locks)
  return locks
}

export const functionNames = () => [...functions.keys()]

export function locksIn(text: string): string[] {
  const locks = sitesIn(text).flatMap(({ lock, called }) => (called ? locksOfFunction(called) : [lock as string]))
  return [...new Set(locks)]
}

interface Site {
  lock?: string
  called?: string
}

/** Where a text locks, or calls a function of the schema. */
function sitesIn(text: string): Site[] {
  const code = text.replaceAll(/--[^\n]*/g, '')
  return [...code.matchAll(SITE)].flatMap(({ index, groups = {} }): Site[] => {
    const { written, read, advisory, called } = groups
    if (called !== undefined) return functions.has(called) ? [{ called }] : []
    if (read !== undefined && !isLocked(code.slice(index))) return []
    const lock = advisory === undefined ? ROWS[written ?? read ?? ''] : ADVISORY[advisory]
    return lock === undefined ? [] : [{ lock }]
  })
}

/** Whether the query that goes on with this text ends in `for update`; one in brackets counts for itself. */
function isLocked(rest: string): boolean {
  let depth = 0
  let own = ''
  for (const char of rest) {
    if (char === ';' || (char === ')' && depth === 0)) break
    if (char === ')') depth -= 1
    if (depth === 0) own += char
    if (char === '(') depth += 1
  }
  return /\sfor\s+(?:no\s+key\s+)?(?:update|share)\b/i.test(own)
}

/** What is wrong with the declaration of a statement; undefined when nothing is. */
export function misdeclared({ text, locks }: Pick<Statement, 'text' | 'locks'>): string | undefined {
  const taken = locksIn(text)
  const declared: readonly Lock[] = locks?.() ?? []
  // Values that name no row lock none.
  if (locks && declared.length === 0) return undefined
  const names = new Set(declared.map(({ name }) => name))
  // A call may have no claim: then it is enough that it would declare one.
  const mayClaim = String(locks).includes('claimLocks(')
  const missing = taken.filter((name) => !names.has(name) && !(name === 'idempotency key' && mayClaim))
  const tooMany = declared.length === 0 ? [] : [...names].filter((name) => !taken.includes(name))
  if (missing.length > 0) return `takes ${missing.join(', ')} and does not declare it in \`locks\``
  return tooMany.length > 0 ? `declares ${tooMany.join(', ')} in \`locks\` and does not take it` : undefined
}

let isWatching = false
const fine = new Set<string>()

/** From here on every named statement of this process that is declared wrongly fails. */
export function watchLocks(): void {
  if (isWatching) return
  isWatching = true
  watchStatements(check)
}

function check(statement: Statement): void {
  // The order of the declared ones depends on the values.
  if (statement.locks)
    noteLocks(
      {},
      [...statement.locks()].filter(({ under }) => under === undefined),
    )
  if (fine.has(statement.text)) return
  const wrong = misdeclared(statement)
  if (wrong) throw new Error(`the statement '${statement.name}' ${wrong}; see daemon/databases/locks.ts`)
  if (statement.locks?.().length !== 0) fine.add(statement.text)
}

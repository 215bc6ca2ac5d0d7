// The rules of records that need no database: what is stored of an observation, and how it is answered.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { RecordWrite } from '@loci/contract/memory.ts'
import { hintFrom } from '../databases/hints.ts'
import { analyseSurface } from './analysis/analyse.ts'
import { digitsOf, FLAG } from './analysis/item.ts'
import { SALIENCE_WEIGHTS } from './weights.ts'

const CONTENT_BYTES_MAX = 16 * 1024
/** As JSON; the schema knows that a body with more than all of these is damaged (record_is_intact). */
export const METADATA_BYTES_MAX = 16 * 1024

/** Set by the way of writing, never by the body. */
export interface Source {
  type: 'api' | 'projection' | 'cycle'
  ref: string
  actor: string | null
  trust: 'holder' | 'delegated' | 'partner'
}

/** What is stored of a record as JSON and never changes. */
export interface RecordBody {
  content: string
  kind: string
  contextId: string | null
  actor: string | null
  occurredAt: string | null
  media: string | null
  tags: string[]
  evidenceRefs: string[]
  /** What the text shows, and the hint. */
  salience: number
  salienceHint: number
  dueAt: string | null
  metadata: Record<string, unknown> | null
  source: Source
}

/**
 * With the hint as it counts. Applied once, where a write comes in, so that a cycle that is replayed from what was
 * stored weighs the same.
 */
export function heardFrom(write: RecordWrite, source: Pick<Source, 'trust'>): RecordWrite {
  return write.salience ? { ...write, salience: hintFrom(write.salience, source) } : write
}

/**
 * From when on it counts as known: nothing is younger than the moment it was stored, whatever its sender says it is
 * about. A record of the year 9999 was new for ever.
 */
export function presentedAt(occurredAt: string | null | undefined, storedAt: number): number {
  return occurredAt ? Math.min(Date.parse(occurredAt), storedAt) : storedAt
}

/** The JSON that is stored; 413 beyond a limit. Without a configuration at hand the language is told by the text. */
export function bodyOf(write: RecordWrite, source: Source): string {
  requireBytes('content', write.content, CONTENT_BYTES_MAX)
  if (write.metadata) requireBytes('metadata', JSON.stringify(write.metadata), METADATA_BYTES_MAX)
  const body: RecordBody = {
    ...sameOf(write),
    occurredAt: momentOf(write.occurredAt)?.toISOString() ?? null,
    media: write.media ?? null,
    tags: write.tags ?? [],
    evidenceRefs: write.evidenceRefs ?? [],
    salience: round(surfaceOf(write) + (write.salience ?? 0)),
    salienceHint: write.salience ?? 0,
    dueAt: momentOf(write.dueAt)?.toISOString() ?? null,
    metadata: write.metadata ?? null,
    source,
  }
  return JSON.stringify(body)
}

/** What equal content has in common, first in the body: two are the same when their bodies begin with the same. */
function sameOf(write: RecordWrite): Pick<RecordBody, 'content' | 'kind' | 'contextId' | 'actor'> {
  return {
    content: write.content,
    kind: write.kind ?? 'observation',
    contextId: write.contextId ?? null,
    actor: write.actor ?? null,
  }
}

/** How the body of a record begins that says the same. */
export function beginningOf(write: RecordWrite): string {
  return `${JSON.stringify(sameOf(write)).slice(0, -1)},`
}

function requireBytes(name: string, text: string, max: number): void {
  if (Buffer.byteLength(text) > max)
    throw new ApiError('PAYLOAD_TOO_LARGE', `The ${name} of a record may have at most ${max} bytes.`)
}

/** A cycle makes the body of what came in twice: to refuse it, and when it is stored. */
const surfaces = new WeakMap<RecordWrite, number>()

function surfaceOf(write: RecordWrite): number {
  const known = surfaces.get(write) ?? readSurface(write)
  surfaces.set(write, known)
  return known
}

/** What the index will find in the text itself, but for what only its neighbours tell (novelty, an answer). */
function readSurface({ content }: RecordWrite): number {
  const { flags, caps } = analyseSurface(content, 'auto')
  const weights = SALIENCE_WEIGHTS
  const shown = (flag: number, weight: number) => (flags & flag ? weight : 0)
  return (
    weights.caps * Math.log1p(caps) +
    weights.digits * (digitsOf(flags) / 3) +
    shown(FLAG.question, weights.question) +
    shown(FLAG.first, weights.first) +
    shown(FLAG.time, weights.time) +
    shown(FLAG.you, weights.you)
  )
}

export function momentOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text)
}

/** Six decimals: numbers on the wire are the same wherever they are computed. */
export function round(value: number): number {
  return Math.round(value * 1e6) / 1e6
}

/** A row as it is read; `body` is JSON. */
export interface RecordRow {
  id: string
  seq: number
  key: string | null
  sourceEventId: string | null
  version: number
  body: string
  createdAt: Date
  validFrom: Date
  validTo: Date | null
  archivedAt: Date | null
  expiresAt: Date | null
  digest: Buffer
}

/** As text: the body is JSON already. */
export function recordText(row: Omit<RecordRow, 'seq'>): string {
  const { id, key, sourceEventId, version, createdAt, validFrom, validTo, archivedAt, expiresAt, digest } = row
  const names = JSON.stringify({ id, key, sourceEventId })
  const rest = JSON.stringify({ version, createdAt, validFrom, validTo, archivedAt, expiresAt })
  return `${names.slice(0, -1)},${row.body.slice(1, -1)},${rest.slice(1, -1)},"digest":"${digest.toString('base64url')}"}`
}

// Pages of a recall. A cursor says what the pages before have shown, so nothing comes twice whatever was stored or
// erased meanwhile; the moment and the numbers of the first page, so that ages do not change the order and nothing
// newer comes in between; and of which question it is. It grants nothing: who makes one up hides results from himself.

import { createHash } from 'node:crypto'
import type { RecallRequest } from '@loci/contract/memory.ts'
import { badCursor, cursorOf, positionOf } from '../databases/cursors.ts'
import { canonical } from './facets.ts'

/** What came before this page. */
export interface Continued {
  /** The moment of the first page. */
  now: number
  /** The relevance of the best record. */
  best: number
  /** Of each database: its number when the first page was answered, and what was shown of it. */
  sources: { seq: number; shown: ReadonlySet<number> }[]
}

/** Numbers of records are sorted, each as its distance to the one before. */
type Written = [digest: string, now: number, best: number, sources: [seq: number, gaps: number[]][]]

/** Undefined for the first page. */
export function continuedOf(request: RecallRequest, databases: readonly string[]): Continued | undefined {
  if (request.cursor === undefined) return undefined
  const [digest, now, best, sources] = parsed(positionOf('q', request.cursor))
  if (digest !== digestOf(request, databases) || sources.length !== databases.length) throw badCursor()
  return { now, best, sources: sources.map(([seq, gaps]) => ({ seq, shown: new Set(sumsOf(gaps)) })) }
}

export function nextCursorOf(request: RecallRequest, databases: readonly string[], continued: Continued): string {
  const { now, best, sources } = continued
  const listed = sources.map(({ seq, shown }) => [seq, gapsOf([...shown].sort((a, b) => a - b))])
  return cursorOf('q', JSON.stringify([digestOf(request, databases), now, best, listed]))
}

/** Of all that decides what is found; a page may have another length, or explain itself. */
function digestOf(
  { cursor, limit, tokenBudget, explain, recordIds, ...asked }: RecallRequest,
  databases: readonly string[],
) {
  return createHash('sha256')
    .update(canonical({ ...asked, databases }))
    .digest('base64url')
    .slice(0, 16)
}

function parsed(text: string): Written {
  try {
    const written: unknown = JSON.parse(text)
    if (isWritten(written)) return written
  } catch {
    // As one that says something else.
  }
  throw badCursor()
}

function isWritten(written: unknown): written is Written {
  const isCount = (one: unknown) => typeof one === 'number' && one >= 0
  if (!Array.isArray(written) || !written.slice(1, 3).every(isCount) || !Array.isArray(written[3])) return false
  return written[3].every(
    (one) => Array.isArray(one) && isCount(one[0]) && Array.isArray(one[1]) && one[1].every(isCount),
  )
}

function gapsOf(sorted: readonly number[]): number[] {
  return sorted.map((seq, at) => seq - (sorted[at - 1] ?? 0))
}

function sumsOf(gaps: readonly number[]): number[] {
  let sum = 0
  return gaps.map((gap) => (sum += gap))
}

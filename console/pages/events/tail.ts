// The tail of a service's events: the newest first, each once, and where something is missing. Rules without React.

import type { Happened } from '../../live/messages.ts'

export interface Row {
  /** Its place in the order; of a notice, which has no number, half a place behind the last event before it. */
  place: number
  event: Happened
}

export interface Tail {
  /** Newest first. */
  rows: readonly Row[]
  /** Behind these places something happened that is no longer kept. */
  gaps: readonly number[]
  /** The oldest that is kept has been read. */
  isWhole: boolean
  /** What was told as the end when the reading began; undefined until it is known. */
  end: number | undefined
  /** All up to `end` has come. */
  isRead: boolean
}

const ROWS_MAX = 2_000

export const NOTHING_YET: Tail = { rows: [], gaps: [], isWhole: false, end: undefined, isRead: false }

/** The position of the stream when the page was opened. */
export function knownEnd(tail: Tail, end: number): Tail {
  return tail.end === undefined ? { ...tail, end, isRead: end === 0, isWhole: end === 0 } : tail
}

export function added(tail: Tail, event: Happened, isGap: boolean): Tail {
  const isRead = tail.isRead || (tail.end !== undefined && numberOf(event) >= tail.end)
  if (event.type === 'truncated') {
    const place = numberOf(event)
    // Of what is read back it is the beginning; of what went on meanwhile it is a hole.
    if (isGap && tail.rows.length > 0) return { ...tail, isRead, gaps: [...tail.gaps, place] }
    return { ...tail, isRead, isWhole: true }
  }
  const newest = tail.rows[0]?.place ?? tail.end ?? 0
  const place = event.seq === 0 ? Math.floor(newest) + 0.5 : event.seq
  if (event.seq !== 0 && tail.rows.some((row) => row.place === place)) return { ...tail, isRead }
  const at = tail.rows.findIndex((row) => row.place <= place)
  const rows = tail.rows.toSpliced(at < 0 ? tail.rows.length : at, 0, { place, event })
  return { ...tail, isRead, rows: rows.length > ROWS_MAX ? rows.slice(0, ROWS_MAX) : rows }
}

/** From behind which event to read, for `more` that are older than what is there; undefined where there are none. */
export function olderFrom(tail: Tail, more: number): number | undefined {
  const oldest = tail.rows.findLast(({ event }) => event.seq > 0)?.place ?? (tail.end ?? 0) + 1
  return tail.isWhole || oldest <= 1 ? undefined : Math.max(0, oldest - 1 - more)
}

export interface Narrowed {
  type?: string | undefined
  /** Of this database alone. */
  database?: string | undefined
}

export function isShown({ event }: Row, { type, database }: Narrowed): boolean {
  if (type !== undefined && event.type !== type && !event.type.startsWith(`${type}.`)) return false
  return database === undefined || event.database === undefined || event.database === database
}

/** What is shown while somebody reads, and how many have come since. */
export function heldRows(rows: readonly Row[], heldAt: number | undefined): { shown: readonly Row[]; newer: number } {
  if (heldAt === undefined) return { shown: rows, newer: 0 }
  const shown = rows.filter(({ place }) => place <= heldAt)
  return { shown, newer: rows.length - shown.length }
}

/** Of the last minute. */
export function perMinute(rows: readonly Row[], now: number): number {
  return rows.filter(({ event }) => event.at !== undefined && now - Date.parse(event.at) < 60_000).length
}

function numberOf({ seq, id }: Happened): number {
  return seq !== 0 ? seq : Number(id ?? 0) || 0
}

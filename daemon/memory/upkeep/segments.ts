// The rules of the list of segments. Pure.
//
// A segment covers a range of record numbers; the ranges follow each other without a gap from 1 to where the head says
// the index ends. A range that no row covers, or whose row cannot be used, is read from the records: slower, the same
// answer. The records behind the last range are the tail.

import { createHash } from 'node:crypto'
import type { Due } from '../../databases/store.ts'
import type { IndexState, SegmentRow } from './store.ts'

/** Items of a segment. */
export const ITEMS_MAX = 4_096
/** What a tail of 256 has grown to when it is built, at most, and how many such segments become one. */
const SMALL_ITEMS = 512
const TIER = 8

/** As loci.segment_digest makes it. */
export function segmentDigest(
  { instanceId, database }: Due,
  { from, through, items }: Pick<SegmentRow, 'from' | 'through' | 'items'>,
  body: Uint8Array,
): Buffer {
  return createHash('sha256')
    .update(`${[instanceId, database, from, through, items].join('\x1f')}\x1f`)
    .update(body)
    .digest()
}

/** A part of the index: a row that can be used, or a range without one. */
export type Part = (SegmentRow & { isUsable: true }) | { from: number; through: number; id?: number; isUsable: false }

/** The index without gaps. A segment of another format, of an older or a newer release, is not used. */
export function partsOf({ segments, through }: Pick<IndexState, 'segments' | 'through'>, format: number): Part[] {
  const parts: Part[] = []
  let next = 1
  for (const segment of segments) {
    if (segment.from > next) parts.push({ from: next, through: segment.from - 1, isUsable: false })
    const isUsable = segment.format === format && segment.from >= next
    if (isUsable) parts.push({ ...segment, isUsable })
    else if (segment.through >= next)
      parts.push({ id: segment.id, from: Math.max(next, segment.from), through: segment.through, isUsable: false })
    next = Math.max(next, segment.through + 1)
  }
  if (next <= through) parts.push({ from: next, through, isUsable: false })
  return parts
}

/**
 * Where the parts that are written as one begin. The tail becomes a segment of its own until eight small ones have come
 * together; then they, and those before them that fit, become one. So every record is written about three times, and a
 * database has at most eight segments more than full ones. `items`: of each part, the tail last.
 */
export function mergeFrom(items: number[]): number {
  const last = items.length - 1
  const firstSmall = items.findLastIndex((count) => count > SMALL_ITEMS) + 1
  if (firstSmall <= last && last - firstSmall + 1 < TIER) return last
  let from = last
  let sum = items[last] ?? 0
  while (from > 0 && sum + (items[from - 1] as number) <= ITEMS_MAX) {
    from -= 1
    sum += items[from] as number
  }
  return from
}

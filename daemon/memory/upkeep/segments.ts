// The rules of the list of segments. Pure.
//
// A segment covers a range of record numbers; the ranges follow each other without a gap from 1 to where the head says
// the index ends. A range that no row covers, or whose row cannot be used, is read from the records: slower, the same
// answer. The records behind the last range are the tail.

import { createHash } from 'node:crypto'
import type { Due } from '../../databases/store.ts'
import { ITEM_TERMS_MAX, type RecordText } from '../analysis/item.ts'
import type { IndexState, SegmentRow } from './store.ts'

/** Items of a segment. */
export const ITEMS_MAX = 4_096
/** What a tail of 256 has grown to when it is built, at most. How many such become one, or are worth a larger one. */
const SMALL_ITEMS = 512
const TIER = 8
/**
 * A database of at most so many does not wait for eight small ones: 16 us a record more while 1,000 are stored, where a
 * recall of one that is in no cache takes .45 ms more for a second segment.
 */
const WHOLE_ITEMS = 1_024

/**
 * Terms of a segment, counted as if no two of its sources shared one. What a build or a merge holds grows with them: a
 * thread's heap of 192 MB is enough for 400,000 and not for 800,000 (measured).
 */
export const TERMS_MAX = 200_000
/** A term takes no less of a text: two letters and a space, or a character of a script without spaces. */
const TERM_BYTES = 3

/** How many of the texts one build takes: all, or those of at most TERMS_MAX terms. */
export function fittingTexts(texts: readonly Pick<RecordText, 'content' | 'media'>[]): number {
  let terms = 0
  const end = texts.findIndex(({ content, media }) => {
    const bytes = Buffer.byteLength(content) + Buffer.byteLength(media ?? '')
    terms += Math.min(ITEM_TERMS_MAX, Math.ceil(bytes / TERM_BYTES))
    return terms > TERMS_MAX
  })
  return end < 0 ? texts.length : end
}

/** How many of the last segments, by their terms, become one with the tail of so many terms. */
export function fittingSegments(terms: readonly number[], tailTerms: number): number {
  let sum = tailTerms
  const first = terms.findLastIndex((count) => {
    sum += count
    return sum > TERMS_MAX
  })
  return terms.length - 1 - first
}

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

/** What a replica knows it by: of another history it would have another mark. */
export function segmentKey({ id, mark }: Pick<SegmentRow, 'id' | 'mark'>): string {
  return `${id}:${mark}`
}

/** A part of the index: a row that can be used, or a range without one. */
export type Part = (SegmentRow & { isUsable: true }) | UnusablePart

interface UnusablePart {
  from: number
  through: number
  id?: number
  isUsable: false
  /** A newer release made it, and may run beside this one: it is left as it is. */
  isNewer: boolean
}

/** Whether vectors of this encoder are missing in it. One without items has none, and needs none. */
export function isToBeEncoded(part: Part, encoder: { mark: number } | undefined): boolean {
  return part.isUsable && encoder !== undefined && part.items > 0 && part.encoded !== encoder.mark
}

/** By layout and analyser, whatever the language. */
function isNewer(format: number, own: number): boolean {
  return Math.floor(format / 256) > Math.floor(own / 256)
}

/** The index without gaps. A segment of another format, of an older or a newer release, is not used. */
export function partsOf({ segments, through }: Pick<IndexState, 'segments' | 'through'>, format: number): Part[] {
  const parts: Part[] = []
  const gap = { isUsable: false, isNewer: false } as const
  let next = 1
  for (const segment of segments) {
    if (segment.from > next) parts.push({ from: next, through: segment.from - 1, ...gap })
    const isUsable = segment.format === format && segment.from >= next
    if (isUsable) parts.push({ ...segment, isUsable })
    else if (segment.through >= next) {
      const range = { from: Math.max(next, segment.from), through: segment.through }
      parts.push({ id: segment.id, ...range, isUsable, isNewer: isNewer(segment.format, format) })
    }
    next = Math.max(next, segment.through + 1)
  }
  if (next <= through) parts.push({ from: next, through, ...gap })
  return parts
}

/**
 * Where the parts that are written as one begin. The tail becomes a segment of its own until eight small ones have come
 * together; then they, and those before them that fit, become one. A database has at most eight segments more than full
 * ones; a small one has one, or one and what came lately, and is opened without a table of its terms. No segment is
 * written anew for less than an eighth of it: each record is written two or three times where tails are full, and less
 * than ten times where each is of 16. `items`: of each part, the tail last.
 */
export function mergeFrom(items: number[]): number {
  const last = items.length - 1
  const firstSmall = items.findLastIndex((count) => count > SMALL_ITEMS) + 1
  const isWhole = items.reduce((sum, count) => sum + count, 0) <= WHOLE_ITEMS
  if (!isWhole && firstSmall <= last && last - firstSmall + 1 < TIER) return last
  let from = last
  let sum = items[last] ?? 0
  for (let count = items[from - 1]; count !== undefined; count = items[from - 1]) {
    if (sum + count > ITEMS_MAX || count > sum * TIER) break
    from -= 1
    sum += count
  }
  return from
}

// Where items lie. A cell is four neighbouring positions of a context; a place is a position in a cell. Cells are
// numbered along their context, whichever segments its items are in, so that place + 1 is the next position. A gap of
// whole cells (rows that were erased, archived or superseded) is one empty cell: parts reach over four positions, and
// no place can reach over a cell. Cells, not segments, decide what is searched, so how rows are cut never shows.

import { DamagedSegmentError, type Segment } from './format.ts'

export const CELL_BITS = 2
export const CELL = 1 << CELL_BITS

export interface Places {
  /** Per segment and run: the place of item i is i + shift of its run. */
  shift: Int32Array[]
  /** Item (numbered over all segments) at each place; -1 for none. */
  placeItem: Int32Array
  /** Index of each cell's context; -1 for a cell that was given up. */
  cellContext: Int32Array
  /** Items in each cell; a cell without one is never searched. */
  cellItems: Uint8Array
  /** Cells of each context. */
  cellFrom: Int32Array
  cellTo: Int32Array
}

/** A run and where it stands. */
export interface PlacedRun {
  segment: number
  run: number
}

export function runLength(segment: Segment, run: number): number {
  return (run + 1 < segment.runStart.length ? segment.runStart[run + 1]! : segment.items) - segment.runStart[run]!
}

/** Gives the runs of one context, by their positions, cells from `cell` on. Returns the cell after them. */
export function numberCells(
  segments: readonly Segment[],
  shift: readonly Int32Array[],
  runs: Iterable<PlacedRun>,
  cell: number,
): number {
  let next = cell
  let last = -1
  for (const { segment: k, run } of runs) {
    const segment = segments[k]!
    const position = segment.runPosition[run]!
    const from = Math.floor(position / CELL)
    const to = Math.floor((position + runLength(segment, run) - 1) / CELL)
    let start = next
    // Runs can begin inside the one before: a row that changed has its masked item there and its new one in the tail.
    if (last >= 0 && from <= last) start -= last - from + 1
    else if (last >= 0 && from > last + 1) start++
    shift[k]![run] = start * CELL + (position % CELL) - segment.runStart[run]!
    last = Math.max(last, to)
    next = Math.max(next, start + to - from + 1)
  }
  return next
}

/** Puts the items of a run into their places, but those masked out. */
export function placeRun(
  places: Places,
  segment: Segment,
  itemAt: number,
  { segment: k, run }: PlacedRun,
  masked: ReadonlySet<number> | null,
): void {
  const { placeItem, cellItems } = places
  const shift = places.shift[k]![run]!
  const start = segment.runStart[run]!
  for (let i = start, end = start + runLength(segment, run); i < end; i++) {
    if (masked?.has(segment.seq[i]!)) continue
    const place = i + shift
    if (placeItem[place] !== -1) throw new DamagedSegmentError('two items have the same position in a context')
    placeItem[place] = itemAt + i
    cellItems[place >> CELL_BITS]!++
  }
}

/** The segment that has an item, searched from a guess: neighbours are mostly in one segment. */
export function segmentOf(itemAt: Int32Array, item: number, guess: number): number {
  let k = guess
  while (item < itemAt[k]!) k--
  while (k + 1 < itemAt.length && item >= itemAt[k + 1]!) k++
  return k
}

// In which place of the picture a stay is drawn. The places are the picture's own: working memory has as many, and
// says of none which it is. What has a place keeps it, whatever is read or happens later.

import type { Stay } from './timeline.ts'

interface Held {
  id: string
  pinned: boolean
  from: number
  to: number | null
}

/** By the id of the stay. */
type ById = ReadonlyMap<string, number>

export interface Places {
  byId: ById
  /** From where on all that was held has its place. */
  from: number
}

export const NO_PLACES: Places = { byId: new Map(), from: Number.NEGATIVE_INFINITY }

/** How many are held at once, at most. */
export function mostAtOnce(stays: readonly Held[]): number {
  const edges = stays.flatMap(({ from, to }) => (to !== null && to <= from ? [] : [edge(from, 1), edge(to, -1)]))
  edges.sort((one, other) => one.at - other.at || one.by - other.by)
  let held = 0
  let most = 0
  for (const { by } of edges) {
    held += by
    most = Math.max(most, held)
  }
  return most
}

const edge = (at: number | null, by: number) => ({ at: at ?? Number.POSITIVE_INFINITY, by })

/**
 * Each takes the topmost place that is free as long as it stays: what came later than all that is known in the order in
 * which it came, what left before in the opposite one; both need no more places than are held at once. What is pinned
 * takes its place first, where that leaves a place for all.
 */
export function placed(stays: readonly Held[], known: Places, capacity: number, from: number): Places {
  const most = Math.max(1, capacity, mostAtOnce(stays))
  const fresh = stays.filter(({ id }) => !known.byId.has(id))
  if (fresh.length === 0) return { byId: known.byId, from }
  const first = (one: Held, other: Held) => Number(other.pinned) - Number(one.pinned)
  const pinnedFirst = place(stays, fresh, known, most, first)
  const { byId } = pinnedFirst.isTight ? place(stays, fresh, known, most, () => 0) : pinnedFirst
  return { byId, from }
}

function place(
  stays: readonly Held[],
  fresh: readonly Held[],
  known: Places,
  most: number,
  first: (one: Held, other: Held) => number,
): { byId: ById; isTight: boolean } {
  const rows = Array.from({ length: most }, () => new Row())
  const byId = new Map(known.byId)
  for (const stay of stays) {
    const row = known.byId.get(stay.id)
    if (row === undefined) continue
    for (let at = rows.length; at <= row; at += 1) rows.push(new Row())
    rows[row]?.take(stay)
  }
  let isTight = false
  const isOlder = ({ to }: Held) => to !== null && to <= known.from
  const newer = fresh.filter((one) => !isOlder(one)).sort((one, other) => first(one, other) || one.from - other.from)
  const older = fresh.filter(isOlder).sort((one, other) => first(one, other) || endOf(other) - endOf(one))
  for (const stay of [...newer, ...older]) {
    let row = rows.findIndex((one) => one.isFree(stay))
    if (row < 0) {
      // Two clocks, or a capacity that was larger then: it lies over what it overlaps least.
      isTight = true
      const overlaps = rows.map((one) => one.overlap(stay))
      row = overlaps.indexOf(Math.min(...overlaps))
    }
    rows[row]?.take(stay)
    byId.set(stay.id, row)
  }
  return { byId, isTight }
}

const endOf = ({ to }: Held) => to ?? Number.POSITIVE_INFINITY

/** What stands in a place, in the order of time; pieces that touch are one. */
class Row {
  readonly #taken: { from: number; to: number }[] = []

  take({ from, to }: Held): void {
    const taken = { from, to: Math.max(from, to ?? Number.POSITIVE_INFINITY) }
    this.#taken.splice(this.#after(taken.from), 0, taken)
  }

  isFree(stay: Held): boolean {
    const next = this.#after(stay.from)
    const to = endOf(stay)
    return (this.#taken[next - 1]?.to ?? Number.NEGATIVE_INFINITY) <= stay.from && (this.#taken[next]?.from ?? to) >= to
  }

  overlap(stay: Held): number {
    const common = this.#taken.map(({ from, to }) => Math.min(to, endOf(stay)) - Math.max(from, stay.from))
    return common.reduce((sum, one) => sum + Math.max(0, one), 0)
  }

  /** Of the first that begins later. */
  #after(at: number): number {
    let low = 0
    let high = this.#taken.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#taken[middle]?.from ?? 0) <= at) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The stays of each place, in the order of time. `count`: how many places there are. */
export function rowsOf(stays: readonly Stay[], { byId }: Places, capacity: number): Stay[][] {
  const count = Math.max(capacity, ...stays.map(({ id }) => (byId.get(id) ?? 0) + 1))
  const rows: Stay[][] = Array.from({ length: count }, () => [])
  for (const stay of stays) rows[byId.get(stay.id) ?? 0]?.push(stay)
  return rows
}

// Items by their number, as far as a filter lets them pass, and how many there are. Segments follow each other in the
// order of their numbers: a page looks at as few of them as it needs, and the count at as many as it may.

import type { Database } from './database.ts'
import { acceptedIn, type Filter } from './filter.ts'

export interface Page {
  filter: Filter
  /** Those behind it, in the direction of the page; null: from its beginning. */
  after: number | null
  isDown: boolean
  limit: number
}

export interface Listed {
  /** In the order of the page. */
  seqs: number[]
  /** Of all that pass, wherever the page begins. */
  total: number
  /** There may be more: segments were left out. */
  isAtLeast: boolean
}

/** Items that are looked at for their number alone: a list of 10^7 memories costs no more than one of so many. */
const COUNTED_MAX = 100_000

export function listItems(database: Database, page: Page, countedMax = COUNTED_MAX): Listed {
  const { filter, after, isDown, limit } = page
  const { segments, itemAt, shift, placeItem } = database
  const sign = isDown ? -1 : 1
  const from = after === null ? Number.NEGATIVE_INFINITY : sign * after
  const nearestOf = (k: number) => (isDown ? -segments[k]!.seqMax : segments[k]!.seqMin)
  const order = [...segments.keys()].sort((a, b) => nearestOf(a) - nearestOf(b))
  /** By sign: the page goes upwards in these. */
  let found: number[] = []
  let [total, looked, isAtLeast] = [0, 0, false]
  for (const k of order) {
    const { seq, run, items } = segments[k]!
    const isPage = found.length < limit || nearestOf(k) <= found.at(-1)!
    looked += items
    if (!isPage && looked > countedMax) {
      isAtLeast = true
      break
    }
    const { passed, stage } = acceptedIn(segments[k]!, filter)
    for (let i = 0; i < items; i++) {
      if (passed[i] !== stage || placeItem[i + shift[k]![run[i]!]!] !== itemAt[k]! + i) continue
      total += 1
      if (isPage && sign * seq[i]! > from) found.push(sign * seq[i]!)
    }
    found = found.sort((a, b) => a - b).slice(0, limit)
  }
  return { seqs: found.map((seq) => sign * seq), total, isAtLeast }
}

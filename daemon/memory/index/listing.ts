// Items by their number, as far as a filter lets them pass. Segments follow each other in the order of their numbers:
// a page looks at as few of them as it needs.

import type { Database } from './database.ts'
import { acceptedIn, type Filter } from './filter.ts'

export interface Page {
  filter: Filter
  /** Those behind it, in the direction of the page; null: from its beginning. */
  after: number | null
  isDown: boolean
  limit: number
}

export function listItems(database: Database, { filter, after, isDown, limit }: Page): number[] {
  const { segments, itemAt, shift, placeItem } = database
  const sign = isDown ? -1 : 1
  const from = after === null ? Number.NEGATIVE_INFINITY : sign * after
  const nearestOf = (k: number) => (isDown ? -segments[k]!.seqMax : segments[k]!.seqMin)
  const order = [...segments.keys()].sort((a, b) => nearestOf(a) - nearestOf(b))
  /** By sign: the page goes upwards in these. */
  let found: number[] = []
  for (const k of order) {
    const { seq, run } = segments[k]!
    if (found.length === limit && nearestOf(k) > found.at(-1)!) break
    const { passed, stage } = acceptedIn(segments[k]!, filter)
    for (let i = passed.indexOf(stage); i >= 0; i = passed.indexOf(stage, i + 1)) {
      const isThere = placeItem[i + shift[k]![run[i]!]!] === itemAt[k]! + i
      if (isThere && sign * seq[i]! > from) found.push(sign * seq[i]!)
    }
    found = found.sort((a, b) => a - b).slice(0, limit)
  }
  return found.map((seq) => sign * seq)
}

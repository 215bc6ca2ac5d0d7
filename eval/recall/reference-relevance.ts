// Relevance written plainly, for reference.ts: every word of the cue against every item, and of all that covers it what
// covers most.

import { type Cue, FLAG, type IndexItem, isNamed } from '@loci/daemon/memory/analysis/item.ts'
import { KINDS, kindsOf } from '@loci/daemon/memory/meaning/kinds.ts'
import { akinOf, THESAURUS } from '@loci/daemon/memory/meaning/thesaurus.ts'
import { chanceOf, evenOf } from '@loci/daemon/memory/relevance.ts'

/** What the index knows beside the items. */
interface Known {
  items: readonly IndexItem[]
  idfOf: (term: string) => number
  /** The item so many positions away in the same context, or -1. */
  beside: (i: number, offset: number) => number
  isStemMate: (term: string, word: string) => boolean
  /** Of each item: how well its day and the days of its time words fit the cue's date. */
  dates: readonly number[]
}

const BEFORE = [0.7, 0.5]
const AFTER = [0.4, 0.2]
const ASKED = [FLAG.place, FLAG.duration, FLAG.title, FLAG.person]

/** Per item: the parts `akin` (before it is a share of the cue) and `relevance`. */
export function relevances(cue: Cue, known: Known): { akin: number; relevance: number }[] {
  const { items, idfOf } = known
  const akins = new Map(cue.terms.map((term) => [term, cue.language === 'en' ? akinTo(term) : new Map()]))
  const who = cue.who.length === 1 ? cue.who[0] : undefined
  const asked = ASKED.filter((flag) => cue.asks & flag)
  const total =
    cue.terms.reduce((sum, term) => sum + idfOf(term), 0) +
    asked.length +
    (cue.when ? 1 : 0) +
    (cue.isFirst ? 1 : 0) +
    (who === undefined ? 0 : 2)
  return items.map((item, i) => {
    let [akin, covered, lacksName] = [0, 0, false]
    for (const term of cue.terms) {
      const idf = idfOf(term)
      const near = item.terms.has(term) ? 0 : mostOf(item, akins.get(term) ?? new Map())
      const most = Math.max(near, saidBy(term, i, known), stemOf(term, item, cue, known))
      akin += idf * near
      covered += idf * most
      if (cue.names.includes(term) && most < 0.5) lacksName = true
    }
    const isActor = who !== undefined && isNamed(item.actor, who)
    const shown =
      asked.filter((flag) => item.flags & flag).length +
      (cue.when && item.flags & FLAG.time ? 1 : 0) +
      (cue.isFirst && item.flags & FLAG.first ? 1 : 0)
    const amount = covered > 0 || isActor ? covered + (isActor ? 2 : 0) + shown : 0
    const share = Math.min(1, amount / (total || 1))
    const words = 1 - (1 - share) * (1 - 0.6 * Math.min(1, Math.max(0, (amount - 6) / 10)))
    const relevance = chanceOf(Math.max(words * (lacksName ? 0.5 : 1), known.dates[i] ?? 0), evenOf(cue))
    return { akin, relevance }
  })
}

function akinTo(word: string): Map<string, number> {
  const shares = new Map<string, number>()
  for (const { number, cosine } of akinOf(word))
    shares.set(THESAURUS.termAt(number), 0.85 * Math.min(1, Math.max(0, (cosine - 0.33) / 0.35)))
  for (const number of kindsOf(word)) {
    const term = KINDS.termAt(number)
    shares.set(term, Math.max(0.8, shares.get(term) ?? 0))
  }
  shares.delete(word)
  return shares
}

function mostOf(item: IndexItem, shares: ReadonlyMap<string, number>): number {
  return item.terms.keys().reduce((most, term) => Math.max(most, shares.get(term) ?? 0), 0)
}

function saidBy(term: string, i: number, { items, beside }: Known): number {
  const has = (at: number) => at >= 0 && items[at]?.terms.has(term) === true
  if (has(i)) return 1
  const before = BEFORE.map((share, n) => (has(beside(i, -n - 1)) ? share : 0))
  const after = AFTER.map((share, n) => (has(beside(i, n + 1)) ? share : 0))
  return Math.max(0, ...before, ...after)
}

function stemOf(term: string, item: IndexItem, { groups }: Cue, { isStemMate }: Known): number {
  if (!groups.includes(term) || item.terms.has(term)) return 0
  return item.terms.keys().some((other) => isStemMate(other, term)) ? 0.8 : 0
}

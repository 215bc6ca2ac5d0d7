// Recall written plainly: every item is scored, nothing is pruned, packed or remembered. It is the yardstick for the
// daemon's search, which must give the same scores wherever it does not prune. Slow on purpose; never shipped.

import { analyseCue } from '@loci/daemon/memory/analysis/analyse.ts'
import {
  CAPS_MAX,
  type Cue,
  type CueDate,
  digitsOf,
  FLAG,
  type IndexItem,
  isNamed,
  type Language,
} from '@loci/daemon/memory/analysis/item.ts'
import { actorNames } from '@loci/daemon/memory/analysis/names.ts'
import { PRIOR_ITEMS } from '@loci/daemon/memory/relevance.ts'
import { PARTS, type PartWeights, type SalienceWeights, UNKNOWN_TERM_IDF } from '@loci/daemon/memory/weights.ts'

import { relevances } from './reference-relevance.ts'

export interface Scored {
  seq: number
  score: number
  /** In the order of PARTS, before weighing. */
  parts: number[]
}

export interface Weights {
  parts: PartWeights
  salience: SalienceWeights
}

const DAY_MS = 86_400_000
/** A word said k turns before the item, and k turns after it, counts this much of being said in it. */
const SAID_BEFORE = [1, 0.7, 0.5]
const SAID_AFTER = [1, 0.4, 0.2]
const NEAR_TURNS = 4

interface Term {
  idf: number
  holders: number[]
}

export class ReferenceIndex {
  readonly #items: readonly IndexItem[]
  readonly #language: Language
  readonly #weights: Weights
  readonly #postings = new Map<string, number[]>()
  readonly #at = new Map<string, number>()
  readonly #contextLength = new Map<number, number>()
  readonly #contextLengthMean: number
  readonly #actors: ReturnType<typeof actorNames>
  readonly #salience: number[]

  constructor(items: readonly IndexItem[], language: Language, weights: Weights) {
    this.#items = [...items].sort((a, b) => a.seq - b.seq)
    this.#language = language
    this.#weights = weights
    this.#actors = actorNames(new Set(items.map(({ actor }) => actor)), language)
    const novelty = this.#items.map((item, i) => this.#add(item, i))
    const lengths = [...this.#contextLength.values()]
    this.#contextLengthMean = lengths.reduce((sum, length) => sum + length, 0) / (lengths.length || 1)
    this.#salience = this.#items.map((item, i) => this.#salienceOf(item, novelty[i] ?? 0))
  }

  /** The best `limit` items; ties go to the older one. */
  search(text: string, limit: number): Scored[] {
    const cue = analyseCue(text, this.#language, this.#actors)
    const weights = PARTS.map((part) => this.#weights.parts[part])
    const scored = this.partsOf(cue).map((parts, i) => ({
      seq: this.#items[i]?.seq ?? 0,
      score: parts.reduce((sum, part, p) => sum + part * (weights[p] ?? 0), 0),
      parts,
    }))
    return scored.sort((a, b) => b.score - a.score || a.seq - b.seq).slice(0, limit)
  }

  /** For every item, by seq: its parts. */
  partsOf(cue: Cue): number[][] {
    const terms = cue.terms.flatMap((term) => this.#termOf(term) ?? [])
    const unknown = cue.terms.length - terms.length
    const sum = terms.reduce((total, { idf }) => total + idf, unknown * UNKNOWN_TERM_IDF) || 1
    const said = this.#saidNearby(terms)
    const near = this.#near(terms)
    const answer = this.#answers(terms)
    const stem = this.#stems(cue)
    const contexts = this.#contexts(terms)
    const dates = this.#items.map((item) =>
      cue.date === null ? 0 : Math.max(dateMatch(item.day, cue.date), rangeMatch(item, cue.date)),
    )
    const relevant = relevances(cue, {
      ...{ items: this.#items, dates, beside: (i, offset) => this.#besideIndex(i, offset) },
      idfOf: (term) => this.#idf(this.#postings.get(term)?.length ?? 0),
      isStemMate: (term, word) => isStemMate(term, word) && !this.#actors.terms.has(term),
    })
    return this.#items.map((item, i) => {
      const context = contexts.get(item.context) ?? 0
      const isTouched = (said[i] ?? 0) > 0 || cue.date !== null || context >= 0.5
      const shown = item.flags & cue.asks
      return [
        this.#salience[i] ?? 0,
        (said[i] ?? 0) / sum,
        isTouched ? context : 0,
        cue.who.length === 1 && isNamed(item.actor, cue.who[0] ?? '') ? 1 : 0,
        cue.date === null ? 0 : dateMatch(item.day, cue.date),
        cue.when && item.flags & FLAG.time ? 1 : 0,
        (answer[i] ?? 0) / sum,
        cue.date === null ? 0 : rangeMatch(item, cue.date),
        near[i] ?? 0,
        stem[i] ?? 0,
        shown & FLAG.place ? 1 : 0,
        shown & FLAG.duration ? 1 : 0,
        shown & FLAG.title ? 1 : 0,
        shown & FLAG.person ? 1 : 0,
        (relevant[i]?.akin ?? 0) / sum,
        0,
        relevant[i]?.relevance ?? 0,
      ]
    })
  }

  /** Returns how many words the item says first. */
  #add(item: IndexItem, i: number): number {
    // What was stored without a contextId is nobody's neighbour.
    if (item.flags & FLAG.named) {
      this.#at.set(`${item.context} ${item.position}`, i)
      this.#contextLength.set(item.context, (this.#contextLength.get(item.context) ?? 0) + item.length)
    }
    let novel = 0
    for (const term of item.terms.keys()) {
      const holders = this.#postings.get(term)
      if (holders) holders.push(i)
      else {
        this.#postings.set(term, [i])
        if (!this.#actors.terms.has(term)) novel++
      }
    }
    return Math.min(novel, CAPS_MAX)
  }

  #salienceOf(item: IndexItem, novel: number): number {
    const weights = this.#weights.salience
    const before = this.#beside(item, -1)
    const isAnswer = before >= 0 && ((this.#items[before]?.flags ?? 0) & FLAG.question) !== 0
    return (
      weights.novel * Math.log1p(item.flags & FLAG.named ? novel : 0) +
      weights.question * (item.flags & FLAG.question ? 1 : 0) +
      weights.answers * (isAnswer ? 1 : 0) +
      weights.first * (item.flags & FLAG.first ? 1 : 0) +
      weights.caps * Math.log1p(item.caps) +
      weights.time * (item.flags & FLAG.time ? 1 : 0) +
      weights.digits * (digitsOf(item.flags) / 3) +
      weights.you * (item.flags & FLAG.you ? 1 : 0)
    )
  }

  /** The item so many positions away in the same context, or -1. */
  #beside(item: IndexItem, offset: number): number {
    if (!(item.flags & FLAG.named)) return -1
    return this.#at.get(`${item.context} ${item.position + offset}`) ?? -1
  }

  #idf(df: number): number {
    return Math.log(1 + (this.#items.length + PRIOR_ITEMS - df + 0.5) / (df + 0.5))
  }

  #termOf(term: string): (Term & { term: string }) | null {
    const holders = this.#postings.get(term)
    return holders === undefined ? null : { term, idf: this.#idf(holders.length), holders }
  }

  #saidNearby(terms: readonly Term[]): Float64Array {
    const said = new Float64Array(this.#items.length)
    for (const { idf, holders } of terms) {
      const best = new Map<number, number>()
      for (const holder of holders) {
        for (let offset = 1 - SAID_AFTER.length; offset < SAID_BEFORE.length; offset++) {
          const i = offset === 0 ? holder : this.#besideIndex(holder, offset)
          const worth = (offset < 0 ? SAID_AFTER[-offset] : SAID_BEFORE[offset]) ?? 0
          if (i >= 0 && worth > (best.get(i) ?? 0)) best.set(i, worth)
        }
      }
      for (const [i, worth] of best) said[i] = (said[i] ?? 0) + idf * worth
    }
    return said
  }

  #near(terms: readonly (Term & { term: string })[]): Float64Array {
    const near = new Float64Array(this.#items.length)
    for (const { term, idf, holders } of terms) {
      const sums = new Map<number, number>()
      for (const holder of holders) {
        const count = this.#items[holder]?.terms.get(term) ?? 0
        for (let offset = -NEAR_TURNS; offset <= NEAR_TURNS; offset++) {
          const i = offset === 0 ? holder : this.#besideIndex(holder, offset)
          if (i >= 0) sums.set(i, (sums.get(i) ?? 0) + count * (1 - 0.15 * Math.abs(offset)))
        }
      }
      for (const [i, sum] of sums) near[i] = (near[i] ?? 0) + (idf * sum) / (sum + 0.8)
    }
    const best = near.reduce((max, value) => Math.max(max, value), 0)
    return best > 0 ? near.map((value) => value / best) : near
  }

  #answers(terms: readonly Term[]): Float64Array {
    const answer = new Float64Array(this.#items.length)
    for (const { idf, holders } of terms) {
      const own = new Set(holders)
      for (const holder of holders) {
        if (!((this.#items[holder]?.flags ?? 0) & FLAG.question)) continue
        const i = this.#besideIndex(holder, 1)
        if (i >= 0 && !own.has(i)) answer[i] = (answer[i] ?? 0) + idf
      }
    }
    return answer
  }

  #stems(cue: Cue): Float64Array {
    const stem = new Float64Array(this.#items.length)
    let total = 0
    for (const word of cue.groups) {
      const own = new Set(this.#postings.get(word))
      // A word that nobody said still counts in the sum, or one common word of the cue would be the whole cue.
      total += own.size > 0 ? this.#idf(own.size) : 6
      const mates = new Set<number>()
      for (const [term, holders] of this.#postings) {
        if (!isStemMate(term, word) || this.#actors.terms.has(term)) continue
        for (const holder of holders) if (!own.has(holder)) mates.add(holder)
      }
      const idf = this.#idf(mates.size + own.size)
      for (const i of mates) stem[i] = (stem[i] ?? 0) + idf
    }
    return total > 0 ? stem.map((value) => value / total) : stem
  }

  /** Context to its BM25 as one document, divided by the best one's. */
  #contexts(terms: readonly (Term & { term: string })[]): Map<number, number> {
    const scores = new Map<number, number>()
    for (const { term, holders } of terms) {
      const counts = new Map<number, number>()
      for (const holder of holders) {
        const item = this.#items[holder]
        if (item && item.flags & FLAG.named)
          counts.set(item.context, (counts.get(item.context) ?? 0) + (item.terms.get(term) ?? 0))
      }
      const all = this.#contextLength.size
      const idf = Math.log(1 + (all - counts.size + 0.5) / (counts.size + 0.5))
      for (const [context, count] of counts) {
        const length = (this.#contextLength.get(context) ?? 0) / this.#contextLengthMean
        const worth = (idf * count * 1.9) / (count + 0.9 * (0.6 + 0.4 * length))
        scores.set(context, (scores.get(context) ?? 0) + worth)
      }
    }
    const best = Math.max(0, ...scores.values())
    for (const [context, score] of scores) scores.set(context, best > 0 ? score / best : 0)
    return scores
  }

  #besideIndex(i: number, offset: number): number {
    const item = this.#items[i]
    return item === undefined ? -1 : this.#beside(item, offset)
  }
}

/** Another word that shares at least four letters and 65 % of the longer one from its beginning. */
function isStemMate(term: string, word: string): boolean {
  if (term === word || word.length < 4 || term.length < 4) return false
  let shared = 0
  while (shared < term.length && term[shared] === word[shared]) shared++
  return shared >= Math.max(4, 0.65 * Math.max(term.length, word.length))
}

function dateMatch(day: number, cue: CueDate): number {
  const date = new Date(day * DAY_MS)
  const isMonth = cue.months.includes(date.getUTCMonth() + 1) && (cue.year === 0 || cue.year === date.getUTCFullYear())
  if (!isMonth) return 0
  const off = Math.abs(date.getUTCDate() - cue.day)
  if (cue.exact) return off === 0 ? 1 : 0
  if (cue.day === 0 || off <= 1) return 1
  return off <= 4 ? 0.5 : 0.2
}

function rangeMatch(item: IndexItem, cue: CueDate): number {
  let best = 0
  for (const [from, to] of item.ranges) {
    if (cue.exact || cue.day > 0) {
      const year = cue.year || new Date(item.day * DAY_MS).getUTCFullYear()
      const day = Date.UTC(year, (cue.months[0] ?? 1) - 1, cue.day) / DAY_MS
      const off = day < from ? from - day : Math.max(0, day - to)
      best = Math.max(best, off === 0 ? 1 / (1 + (to - from) / 7) : off <= 1 ? 0.5 : 0)
    } else if (to - from < 40) {
      const middle = new Date(Math.floor((from + to) / 2) * DAY_MS)
      const isYear = cue.year === 0 || cue.year === middle.getUTCFullYear()
      if (isYear && cue.months.includes(middle.getUTCMonth() + 1)) best = 1
    }
  }
  return best
}

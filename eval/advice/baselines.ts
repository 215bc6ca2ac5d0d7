// What tool advice is compared with: each takes events and gives a score to every tool for a request.

import { type Words, wordsOf, wordsOfName } from '@loci/daemon/advice/fold/words.ts'

/** A tool was used for a request. */
export interface Event {
  words: Words
  tool: number
  isSuccess: boolean
}

export interface Method {
  add(event: Event): void
  score(words: Words): Float64Array
}

export function rarity(size: number, having: number): number {
  return Math.log(1 + (size - having + 0.5) / (having + 0.5))
}

/** Okapi BM25 over name and description, k1 1.2 and b .75. It learns nothing. */
export class Bm25 implements Method {
  readonly postings = new Map<number, Map<number, number>>()
  readonly #lengths: Float64Array
  readonly #mean: number

  constructor(names: readonly string[], descriptions: readonly string[]) {
    this.#lengths = new Float64Array(names.length)
    for (const [k, name] of names.entries()) {
      const texts = [wordsOfName(name), wordsOf(descriptions[k] ?? '')]
      for (const { key, count } of texts.flatMap(({ terms }) => terms)) {
        addTo(this.postings, key, k, count)
        this.#lengths[k] = (this.#lengths[k] ?? 0) + count
      }
    }
    this.#mean = this.#lengths.reduce((sum, length) => sum + length, 0) / names.length
  }

  add(): void {}

  score({ terms }: Words): Float64Array {
    const size = this.#lengths.length
    const scores = new Float64Array(size)
    for (const { key } of terms) {
      const list = this.postings.get(key)
      for (const [k, count] of list ?? []) {
        const saturated = count + 1.2 * (0.25 + (0.75 * (this.#lengths[k] ?? 0)) / this.#mean)
        scores[k] = (scores[k] ?? 0) + (rarity(size, list?.size ?? 0) * count * 2.2) / saturated
      }
    }
    return scores
  }
}

export class Popularity implements Method {
  readonly #successes: Float64Array

  constructor(size: number) {
    this.#successes = new Float64Array(size)
  }

  add({ tool, isSuccess }: Event): void {
    if (isSuccess) this.#successes[tool] = (this.#successes[tool] ?? 0) + 1
  }

  score(): Float64Array {
    return this.#successes
  }
}

/** Counts of words by tool, smoothed by the words of all; a word of a description is worth three events. */
export class NaiveBayes implements Method {
  readonly #counts = new Map<number, Map<number, number>>()
  readonly #totals: Float64Array
  #all = 0

  constructor(bm25: Bm25, size: number) {
    this.#totals = new Float64Array(size)
    for (const [key, list] of bm25.postings) for (const [k, count] of list) this.#put(key, k, 3 * count)
  }

  add({ words, tool, isSuccess }: Event): void {
    if (isSuccess) for (const { key } of words.terms) this.#put(key, tool, 1)
  }

  #put(key: number, tool: number, by: number): void {
    addTo(this.#counts, key, tool, by)
    this.#totals[tool] = (this.#totals[tool] ?? 0) + by
    this.#all += by
  }

  score({ terms }: Words): Float64Array {
    const scores = new Float64Array(this.#totals.length)
    for (const { key } of terms) {
      const list = this.#counts.get(key)
      if (list === undefined) continue
      const prior = (300 * [...list.values()].reduce((sum, count) => sum + count, 0)) / this.#all
      for (let k = 0; k < scores.length; k++)
        scores[k] = (scores[k] ?? 0) + Math.log(((list.get(k) ?? 0) + prior) / ((this.#totals[k] ?? 0) + 300))
    }
    return scores
  }
}

/** The ten most similar requests of the past that succeeded. Its cost grows with them. */
export class NearestNeighbours implements Method {
  readonly #postings = new Map<number, number[]>()
  readonly #tools: number[] = []
  readonly #norms: number[] = []
  readonly #size: number

  constructor(size: number) {
    this.#size = size
  }

  add({ words, tool, isSuccess }: Event): void {
    if (!isSuccess) return
    const at = this.#tools.push(tool) - 1
    this.#norms.push(Math.sqrt(words.terms.length))
    for (const { key } of words.terms) {
      const list = this.#postings.get(key)
      if (list === undefined) this.#postings.set(key, [at])
      else list.push(at)
    }
  }

  score({ terms }: Words): Float64Array {
    const similar = new Float64Array(this.#tools.length)
    const touched: number[] = []
    for (const { key } of terms) {
      const list = this.#postings.get(key) ?? []
      const weight = rarity(this.#tools.length, list.length) ** 2
      for (const at of list) {
        if (similar[at] === 0) touched.push(at)
        similar[at] = (similar[at] ?? 0) + weight / (this.#norms[at] ?? 1)
      }
    }
    const scores = new Float64Array(this.#size)
    for (const at of bestOf(touched, similar, 10)) {
      const tool = this.#tools[at] ?? 0
      scores[tool] = (scores[tool] ?? 0) + (similar[at] ?? 0) ** 2
    }
    return scores
  }
}

/** The places of the highest values, highest first; of equal ones the first. */
export function bestOf(places: Iterable<number>, values: Float64Array, limit: number): number[] {
  const best: number[] = []
  for (const place of places) {
    const value = values[place] ?? 0
    let at = best.length
    while (at > 0 && isBetter(value, place, values[best[at - 1] ?? 0] ?? 0, best[at - 1] ?? 0)) at--
    if (at < limit) best.splice(at, 0, place)
    if (best.length > limit) best.pop()
  }
  return best
}

function isBetter(value: number, place: number, other: number, otherPlace: number): boolean {
  return value > other || (value === other && place < otherPlace)
}

function addTo(counts: Map<number, Map<number, number>>, key: number, tool: number, by: number): void {
  const list = counts.get(key) ?? new Map<number, number>()
  counts.set(key, list.set(tool, (list.get(tool) ?? 0) + by))
}

// What a request says of tools beside what outcomes told of them: candidates that nobody used yet, and descriptions.
// Made from the state's list of tools and the request's; a process keeps it while both stay the same.

import { DESCRIPTION_WEIGHT, NAME_WEIGHT } from './parameters.ts'
import { Postings } from './postings.ts'
import type { AdviceState } from './state.ts'
import { gramsOf, type Words, wordsOf, wordsOfName } from './words.ts'

export interface Candidate {
  name: string
  description?: string
}

interface Grams {
  postings: ReadonlyMap<string, readonly number[]>
  lengths: Float64Array
  mean: number
}

export class Catalogue {
  /** The state's tools in its order, then candidates that it does not know. */
  readonly names: readonly string[]
  /** Which of them the request asks about: all where it names no candidates. */
  readonly asked: readonly number[]
  /** Terms of descriptions and of unknown candidates' names, weighted; what they add to lengths; and their sum. */
  readonly described = new Postings()
  readonly lengths: Float64Array
  readonly length: number
  readonly #descriptions = new Map<number, Words>()
  #grams: Grams | null = null

  constructor(state: AdviceState, candidates: readonly Candidate[] | null) {
    const names = state.tools.map(({ name }) => name)
    const places = new Map<string, number>()
    for (const { name } of candidates ?? []) {
      const place = places.get(name) ?? state.byName.get(name) ?? names.push(name) - 1
      places.set(name, place)
    }
    this.names = names
    this.asked = candidates === null ? names.map((_, k) => k) : [...places.values()]
    this.lengths = new Float64Array(names.length)
    for (let k = state.tools.length; k < names.length; k++) this.#add(k, wordsOfName(names[k] ?? ''), NAME_WEIGHT)
    for (const { name, description } of candidates ?? []) {
      const place = places.get(name) ?? 0
      // The first description of a tool counts.
      if (description === undefined || description === '' || this.#descriptions.has(place)) continue
      const words = wordsOf(description)
      this.#descriptions.set(place, words)
      this.#add(place, words, DESCRIPTION_WEIGHT)
    }
    this.length = this.lengths.reduce((sum, length) => sum + length, 0)
  }

  get size(): number {
    return this.names.length
  }

  #add(k: number, words: Words, weight: number): void {
    for (const { key, count } of words.terms) {
      this.described.add(key, k, count * weight)
      this.lengths[k] = (this.lengths[k] ?? 0) + count * weight
    }
  }

  /** Made when first asked for: a database that has learned enough needs none. */
  grams(): Grams {
    this.#grams ??= this.#makeGrams()
    return this.#grams
  }

  #makeGrams(): Grams {
    const counts = new Map<string, Map<number, number>>()
    const lengths = new Float64Array(this.size)
    for (const [k, name] of this.names.entries()) {
      const texts = [wordsOfName(name), this.#descriptions.get(k)]
      for (const { word, count } of texts.flatMap((words) => words?.terms ?? [])) {
        for (const gram of gramsOf(word)) {
          const tools = counts.get(gram) ?? new Map<number, number>()
          counts.set(gram, tools.set(k, (tools.get(k) ?? 0) + count))
          lengths[k] = (lengths[k] ?? 0) + count
        }
      }
    }
    const mean = lengths.reduce((sum, length) => sum + length, 0) / this.size || 1
    return { postings: new Map([...counts].map(([gram, tools]) => [gram, [...tools].flat()])), lengths, mean }
  }
}

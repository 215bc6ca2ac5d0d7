// How well an intent fits each tool, by words: what its name and description say and what intents it succeeded with.

import type { Catalogue } from './catalogue.ts'
import {
  FRAME_WEIGHT,
  GRAM_UNTIL,
  GRAM_WEIGHT,
  LENGTH_SHARE,
  PAIR_WEIGHT,
  SATURATION,
  SHARPNESS,
} from './parameters.ts'
import type { AdviceState } from './state.ts'
import { gramsOf, type Words } from './words.ts'

/**
 * A number per tool, to be compared by softmax; all 0 where nothing is shared. `catalogue`: what a request adds to what
 * the state knows. The fold has none: what it blames does not depend on who asked for advice.
 */
export function textScores(state: AdviceState, intent: Words, catalogue: Catalogue | null): Float64Array {
  const size = catalogue?.size ?? state.tools.length
  const scores = new Float64Array(size)
  let found: Found | null = null
  const saturations = saturationsOf(state, catalogue, size)
  const fading = 1 - state.successes / GRAM_UNTIL
  const grams = catalogue !== null && fading > 0 ? catalogue.grams() : null
  let most = 0
  for (const { key, word, isFrame } of intent.terms) {
    const weight = isFrame ? FRAME_WEIGHT : 1
    const learned = state.terms.get(key)
    const described = catalogue?.described.get(key)
    if (described === undefined && learned !== undefined) {
      const share = weight * rarity(size, learned.length / 2)
      most += share
      for (let i = 0; i < learned.length; i += 2) {
        const k = learned[i] as number
        const count = (learned[i + 1] as number) / 2
        scores[k] = (scores[k] as number) + (share * count) / (count + (saturations[k] as number))
      }
    } else if (described !== undefined) {
      found ??= new Found(size)
      found.clear()
      found.take(learned)
      found.take(described)
      const share = weight * rarity(size, found.size)
      most += share
      for (let i = 0; i < found.size; i++) {
        const k = found.tools[i] as number
        const count = (found.halves[k] as number) / 2
        scores[k] = (scores[k] as number) + (share * count) / (count + (saturations[k] as number))
      }
    }
    if (grams === null) continue
    const list = gramsOf(word)
    for (const gram of list) {
      const postings = grams.postings.get(gram)
      if (postings === undefined) continue
      const share = ((weight * GRAM_WEIGHT * fading) / Math.sqrt(list.length)) * rarity(size, postings.length / 2)
      for (let i = 0; i < postings.length; i += 2) {
        const k = postings[i] as number
        const count = postings[i + 1] as number
        scores[k] = (scores[k] as number) + (share * count) / (count + saturation(grams.lengths[k] ?? 0, grams.mean))
      }
    }
  }
  for (const pair of intent.pairs) {
    const postings = state.pairs.get(pair)
    if (postings === undefined) continue
    const share = PAIR_WEIGHT * rarity(size, postings.length / 2)
    for (let i = 0; i < postings.length; i += 2) {
      const k = postings[i] as number
      const count = (postings[i + 1] as number) / 2
      scores[k] = (scores[k] as number) + (share * count) / (count + SATURATION)
    }
  }
  const scale = most === 0 ? 0 : SHARPNESS / most
  for (let k = 0; k < size; k++) scores[k] = (scores[k] as number) * scale
  return scores
}

/** Tools that have a term, and how much of it: from several lists added up. Reused from term to term. */
class Found {
  readonly tools: Int32Array
  readonly halves: Int32Array
  size = 0

  constructor(size: number) {
    this.tools = new Int32Array(size)
    this.halves = new Int32Array(size)
  }

  clear(): void {
    for (let i = 0; i < this.size; i++) this.halves[this.tools[i] as number] = 0
    this.size = 0
  }

  take(postings: Int32Array | undefined): void {
    if (postings === undefined) return
    for (let i = 0; i < postings.length; i += 2) {
      const k = postings[i] as number
      if (this.halves[k] === 0) this.tools[this.size++] = k
      this.halves[k] = (this.halves[k] as number) + (postings[i + 1] as number)
    }
  }
}

/** Of each tool: computed once, for a common word is in the lists of most. */
function saturationsOf(state: AdviceState, catalogue: Catalogue | null, size: number): Float64Array {
  const mean = (state.length + (catalogue?.length ?? 0)) / size || 1
  const saturations = new Float64Array(size)
  const known = state.lengths.length
  for (let k = 0; k < size; k++)
    saturations[k] = saturation((k < known ? (state.lengths[k] as number) : 0) + (catalogue?.lengths[k] ?? 0), mean)
  return saturations
}

function rarity(size: number, having: number): number {
  return Math.log(1 + (size - having + 0.5) / (having + 0.5))
}

function saturation(length: number, mean: number): number {
  return SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / mean)
}

// Vectors by chance, alike in groups as those of texts about one thing are.

import type { EncoderFacts } from '../encoder/folder.ts'
import type { Chance } from './random-items.ts'

export const DIMENSIONS = 384
export const ENCODER: EncoderFacts = { name: 'chance', digest: 'c'.repeat(64), dimensions: DIMENSIONS, mark: 77 }

/** Of numbers around zero, mostly small: a sum of three is nearly normal. */
function randomDirection(chance: Chance): Float64Array {
  return Float64Array.from({ length: DIMENSIONS }, () => chance.next() + chance.next() + chance.next() - 1.5)
}

function bytesOf(direction: Float64Array): Int8Array {
  const most = direction.reduce((max, value) => Math.max(max, Math.abs(value)), 0)
  return Int8Array.from(direction, (value) => Math.round((value / most) * 127))
}

/** A source of vectors around `groups` middles, which have a good part in common. */
export function randomVectors(chance: Chance, groups: number): () => Int8Array {
  const common = randomDirection(chance)
  const middles = Array.from({ length: groups }, () => sum(randomDirection(chance), common, 1.2))
  return () => {
    return bytesOf(sum(chance.of(middles), randomDirection(chance), 0.8))
  }
}

function sum(one: Float64Array, other: Float64Array, share: number): Float64Array {
  return one.map((value, d) => value + share * (other[d] ?? 0))
}

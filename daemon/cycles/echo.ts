// Flood control (COGNITION 5.6): near copies by one actor push each other down, so that fifty readings that differ in a
// digit take three slots at most, the one that the cue names among them. Done before the pool is cut, or a flood would
// fill the pool.

import { equalMinima } from '../memory/index/sketch.ts'
import { type Candidate, pushDown } from './judge.ts'
import { foldedTermsOf } from './own-words.ts'
import type { CycleConfig } from './shapes.ts'

/** With fewer terms nothing is a near copy. */
const TERMS_MIN = 3
/** Of 16. Items with four fifths of their terms in common have fewer in one of 10^3 pairs, unrelated ones in 97 %. */
const EQUAL_MINIMA_MIN = 8

/** The first of its copies. */
interface Original {
  candidate: Candidate
  copies: number
}

/**
 * The pool: candidates by falling score, `must` always and others up to `size`. Near copies are pushed down by
 * echo.weight for each copy before them; one that is pushed down by the threshold is hushed, or not taken.
 */
export function cutPool(
  ordered: readonly Candidate[],
  must: (candidate: Candidate) => boolean,
  size: number,
  { echo, relativeThreshold }: Pick<CycleConfig, 'echo' | 'relativeThreshold'>,
): Candidate[] {
  const originals = new Map<string, Original[]>()
  const pool: Candidate[] = []
  let others = 0
  for (const candidate of ordered) {
    const isMust = must(candidate)
    if (!isMust && others >= size) continue
    const push = echo.weight > 0 ? echo.weight * copiesBefore(originals, candidate, echo.share) : 0
    if (push > 0) pushDown(candidate, push)
    if (push > 0 && push >= (relativeThreshold ?? WHOLE_PUSH)) {
      if (!isMust) continue
      candidate.isHushed = true
    }
    pool.push(candidate)
    if (!isMust) others += 1
  }
  return pool
}

/** Where no threshold is configured. */
const WHOLE_PUSH = 5

function copiesBefore(originals: Map<string, Original[]>, candidate: Candidate, share: number): number {
  const actor = candidate.actor ?? ''
  const known = originals.get(actor) ?? []
  if (known.length === 0) originals.set(actor, known)
  const original = known.find(({ candidate: first }) => isCopy(first, candidate, share))
  if (original) {
    original.copies += 1
    candidate.copyOf = original.candidate.id
    return original.copies
  }
  known.push({ candidate, copies: 0 })
  return 0
}

/** Sketches first: the terms of most pairs need not be looked at. A text of few words has none, and no long copy. */
function isCopy(one: Candidate, other: Candidate, share: number): boolean {
  if ((one.sketch === 0) !== (other.sketch === 0)) return false
  if (one.sketch !== 0 && equalMinima(one.sketch, other.sketch) < EQUAL_MINIMA_MIN) return false
  const [first, second] = [foldedTermsOf(one.content), foldedTermsOf(other.content)]
  if (first.size < TERMS_MIN || second.size < TERMS_MIN) return false
  let common = 0
  for (const term of second) if (first.has(term)) common += 1
  return common >= share * (first.size + second.size - common)
}

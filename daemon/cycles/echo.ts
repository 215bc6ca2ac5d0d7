// Flood control: near copies by one actor push each other down, so that fifty readings that differ in a
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

/**
 * Pairs of one cycle whose terms are looked at; beyond them nothing is a near copy. Texts can be made so that every
 * sketch is like every other: a thousand of them are half a million pairs.
 */
const PAIRS_MAX = 4_096

/** The first of its copies. */
interface Original {
  candidate: Candidate
  copies: number
}

/**
 * The pool: candidates by falling score, `must` always and others up to `size`. Near copies are pushed down by
 * echo.weight for each copy before them; one that is pushed down by the threshold is hushed, or not taken. Yields where
 * others may be served: to analyse 2 KB takes half a millisecond.
 */
export function* cutPool(
  ordered: readonly Candidate[],
  must: (candidate: Candidate) => boolean,
  size: number,
  { echo, relativeThreshold }: Pick<CycleConfig, 'echo' | 'relativeThreshold'>,
): Generator<void, Candidate[]> {
  const originals = new Map<string, Original[]>()
  const isCopy = createPairs(echo.share)
  const pool: Candidate[] = []
  let others = 0
  for (const candidate of ordered) {
    const isMust = must(candidate)
    if (!isMust && others >= size) continue
    yield
    const push = echo.weight > 0 ? echo.weight * copiesBefore(originals, candidate, isCopy) : 0
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

type IsCopy = (one: Candidate, other: Candidate) => boolean

function copiesBefore(originals: Map<string, Original[]>, candidate: Candidate, isCopy: IsCopy): number {
  const actor = candidate.actor ?? ''
  const known = originals.get(actor) ?? []
  if (known.length === 0) originals.set(actor, known)
  const original = known.find(({ candidate: first }) => isCopy(first, candidate))
  if (original) {
    original.copies += 1
    candidate.copyOf = original.candidate.id
    return original.copies
  }
  known.push({ candidate, copies: 0 })
  return 0
}

/**
 * Sketches first: the terms of most pairs need not be looked at. A text of few words has none, and no long copy. Each
 * text is analysed once.
 */
function createPairs(share: number): IsCopy {
  const analysed = new Map<Candidate, ReadonlySet<string>>()
  let pairs = 0

  function termsOf(candidate: Candidate): ReadonlySet<string> {
    const terms = analysed.get(candidate) ?? foldedTermsOf(candidate.content)
    analysed.set(candidate, terms)
    return terms
  }

  return (one, other) => {
    if ((one.sketch === 0) !== (other.sketch === 0)) return false
    if (one.sketch !== 0 && equalMinima(one.sketch, other.sketch) < EQUAL_MINIMA_MIN) return false
    if (pairs >= PAIRS_MAX) return false
    pairs += 1
    const [first, second] = [termsOf(one), termsOf(other)]
    if (first.size < TERMS_MIN || second.size < TERMS_MIN) return false
    let common = 0
    for (const term of second) if (first.has(term)) common += 1
    return common >= share * (first.size + second.size - common)
  }
}

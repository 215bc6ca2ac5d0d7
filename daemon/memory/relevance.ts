// How much of what a question asks a record covers, from 0 to 1: it decides whether recall answers at all and which
// hits it shows. It depends on no other hit and hardly on the size of the store.

import type { Cue } from './analysis/item.ts'

/**
 * Imagined records in every document frequency. In a store of three records no word is rare or common by itself; with
 * these a word that is in one of three weighs about as much as in one of a hundred.
 */
export const PRIOR_ITEMS = 300

/** How much of a word of the question a record has that says another form of it, or a kind of it. */
export const STEM_SHARE = 0.8
export const KIND_SHARE = 0.8

/** Cosine of two words to how much of the one the other covers: under .33 they only have to do with each other. */
const AKIN = { from: 0.33, to: 0.68, share: 0.85 }

export function shareOfCosine(cosine: number): number {
  return AKIN.share * clip((cosine - AKIN.from) / (AKIN.to - AKIN.from))
}

/** Less of a name or number of the question than this, and the record is about something else. */
export const NAME_MET = 0.5
const NAME_MISSING = 0.5

/** "when", "where", "who", "my" beside the words, in nats: a rare word has about 6. And the actor that is named. */
export const ASKED_WEIGHT = 1
export const ACTOR_WEIGHT = 2

/** A long question need not be covered whole: beyond `from` (a rare word) an amount counts by itself, most at `to`. */
const AMOUNT = { from: 6, to: 16, share: 0.6 }

/** The part of the question that is covered, `amount` of `total`. */
export function coveredPart(amount: number, total: number): number {
  if (amount <= 0) return 0
  return 1 - (1 - clip(amount / total)) * (1 - AMOUNT.share * clip((amount - AMOUNT.from) / (AMOUNT.to - AMOUNT.from)))
}

export function withoutName(words: number): number {
  return words * NAME_MISSING
}

/** From this on a record is an answer. */
export const ENOUGH = 0.5
/** A hit has at least this share of the best one's relevance, and at least so much. */
export const HIT = { share: 0.5, least: 0.25 }

/**
 * The covered part from which on a record is an answer more often than not. In languages without tables equal words and
 * names must be enough; in scripts without spaces the pairs of letters over the edge of two words are never covered.
 */
const EVEN = { tables: 0.5, words: 0.35, unspaced: 0.25 }
/** A little more than even is much more: of English questions with .6 covered nine in ten had the right one first. */
const SURE = { beyond: 0.1, chance: 0.9 }

export function evenOf({ language }: Pick<Cue, 'language'>): number {
  if (language === 'en') return EVEN.tables
  return language === 'zh' || language === 'other' ? EVEN.unspaced : EVEN.words
}

/** The covered part as a chance that the record answers: a line from 0 to `even` of the cue, to sure, to 1. */
export function chanceOf(covered: number, even: number): number {
  if (covered < even) return (ENOUGH * covered) / even
  const over = covered - even
  if (over < SURE.beyond) return ENOUGH + ((SURE.chance - ENOUGH) * over) / SURE.beyond
  return SURE.chance + ((1 - SURE.chance) * (over - SURE.beyond)) / (1 - even - SURE.beyond)
}

/**
 * With an encoder: the cosine of question and record, and some of the covered part. A name that both have lifts the
 * cosine of any two sentences about somebody and is covered besides, so a question with a name needs more.
 */
const EVIDENCE = { words: 0.3, name: 0.18 }

export function evidenceOf(cosine: number, words: number, { names }: Pick<Cue, 'names'>): number {
  return cosine + EVIDENCE.words * words - (names.length > 0 ? EVIDENCE.name : 0)
}

/** Evidence to chance: how often the first of 860 English questions was right, those that nothing answers included. */
const EVEN_EVIDENCE = 0.625
const CHANCES = [
  [0.5, 0],
  [0.58, 0.15],
  [0.61, 0.35],
  [EVEN_EVIDENCE, ENOUGH],
  [0.67, 0.82],
  [0.75, 0.9],
  [0.85, 0.98],
  [1.2, 1],
] as const

export function chanceOfEvidence(evidence: number): number {
  let [from, low] = CHANCES[0] as readonly [number, number]
  for (const [to, high] of CHANCES) {
    if (evidence <= to) return low + (high - low) * clip((evidence - from) / (to - from || 1))
    ;[from, low] = [to, high]
  }
  return 1
}

/**
 * What a record alone has is its own evidence, and by that it is ordered: beside its cosine it has so many times what
 * it has more than even. In a conversation the parts of the words know more: what was said before, by whom, and when.
 */
const ALONE = 3

/** The part `meaning` of the score. */
export function meaningOf(cosine: number, evidence: number | null): number {
  return evidence === null ? cosine : cosine + ALONE * (evidence - EVEN_EVIDENCE)
}

function clip(value: number): number {
  return value < 0 ? 0 : value > 1 ? 1 : value
}

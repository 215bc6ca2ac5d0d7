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

export function relevanceOf(words: number, meaning: number, lacksName: boolean): number {
  // Two witnesses: either may be enough, and both are more than each.
  return (1 - (1 - words) * (1 - meaning)) * (lacksName ? NAME_MISSING : 1)
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

function evenOf({ language }: Pick<Cue, 'language'>): number {
  if (language === 'en') return EVEN.tables
  return language === 'zh' || language === 'other' ? EVEN.unspaced : EVEN.words
}

/** The covered part as a chance that the record answers: a line from 0 to even, to sure, to 1. */
export function chanceOf(covered: number, cue: Pick<Cue, 'language'>): number {
  const even = evenOf(cue)
  if (covered < even) return (ENOUGH * covered) / even
  const over = covered - even
  if (over < SURE.beyond) return ENOUGH + ((SURE.chance - ENOUGH) * over) / SURE.beyond
  return SURE.chance + ((1 - SURE.chance) * (over - SURE.beyond)) / (1 - even - SURE.beyond)
}

function clip(value: number): number {
  return value < 0 ? 0 : value > 1 ? 1 : value
}

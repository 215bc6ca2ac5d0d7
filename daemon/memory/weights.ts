// Weights of recall's parts, set by hand from .5, 1, 2 and 4; nothing is fitted. An operator changes them in the
// service's configuration, by hand or with `npm run eval -- refit`.

/** The parts of a score, in the order in which it adds them up. */
export const PARTS = [
  'salience',
  'cue',
  'context',
  'actor',
  'date',
  'when',
  'answer',
  'resolved',
  'near',
  'stem',
  'place',
  'duration',
  'title',
  'person',
  'akin',
  'meaning',
  'relevance',
] as const
export type Part = (typeof PARTS)[number]

export type PartWeights = Readonly<Record<Part, number>>

export const PART_WEIGHTS: PartWeights = {
  salience: 0.5,
  cue: 4,
  context: 1,
  actor: 1,
  date: 4,
  when: 1,
  answer: 1,
  resolved: 1,
  near: 2,
  stem: 1,
  place: 1,
  duration: 1,
  title: 1,
  person: 1,
  akin: 2,
  meaning: 16,
  relevance: 1,
}

/** What an item's surface shows. A feature that is not named here weighs nothing. */
export const SALIENCE_WEIGHTS = {
  novel: 0.5,
  question: -0.5,
  answers: 0.5,
  first: 0.5,
  caps: 0.5,
  time: 0.5,
  digits: 0.5,
  you: -0.5,
}
export type SalienceWeights = Readonly<Record<keyof typeof SALIENCE_WEIGHTS, number>>

/**
 * What a word of the cue that no item has weighs in the sums of the parts `cue` and `answer`. It ranks nothing (LoCoMo
 * recall@10 .844, without it .843), but a question about something unknown no longer looks fully answered.
 */
export const UNKNOWN_TERM_IDF = 3

/**
 * Weight of the base level (how recently a record was presented) in plain recall. Cycles weigh it .5; asked an hour
 * after the last turn, that costs recall .013 of LoCoMo's recall@10, .1 costs .001.
 */
export const RECALL_BASE_WEIGHT = 0.1

// Databases made by chance for tests of the index, from a seed: contexts that interleave, gaps in their positions,
// words of all frequencies, questions, dates, time words and actors, one of whom has a name that is also a word.

import { type Cue, DIGITS_SHIFT, FLAG, type IndexItem } from '../analysis/item.ts'

export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }
}

const STEMS = [
  'garden',
  'gardening',
  'guitar',
  'guitarist',
  'paint',
  'painting',
  'painter',
  'dog',
  'walk',
  'sea',
  // Akin to the three before.
  'puppi',
  'hike',
  'ocean',
  '海边',
  'حديقة',
]
const LABELS = ['["fact"]', '["fact","blue","red"]', '["plan","red"]']
const ACTORS = ['ada', 'bob', 'mara lind', 'guitar', '']

function randomWord(chance: Chance): string {
  // Squared: low numbers are common words, high ones are said once.
  return chance.next() < 0.3 ? chance.of(STEMS) : `word${Math.floor(chance.next() ** 2 * 120)}`
}

export function randomItems(chance: Chance, count: number): IndexItem[] {
  const positions = new Map<number, number>()
  return Array.from({ length: count }, (_, index) => {
    const context = 1 + chance.below(1 + count / 12)
    const position = (positions.get(context) ?? -1) + 1 + (chance.next() < 0.15 ? chance.below(12) : 0)
    positions.set(context, position)
    return randomItem(chance, 10 + index * 2, context, position)
  })
}

function randomItem(chance: Chance, seq: number, context: number, position: number): IndexItem {
  const terms = new Map<string, number>()
  for (let words = chance.below(9); words > 0; words--) {
    const word = randomWord(chance)
    terms.set(word, (terms.get(word) ?? 0) + 1)
  }
  const day = 20_000 + chance.below(500)
  const shown = Object.values(FLAG).reduce((sum, flag) => (chance.next() < 0.25 ? sum | flag : sum), 0)
  // All records of a context have its id, or none has.
  const flags = context % 3 === 0 ? shown & ~FLAG.named : shown | FLAG.named
  return {
    ...{
      seq,
      context,
      position,
      day,
      terms,
      actor: chance.of(ACTORS),
      flags: flags | (chance.below(4) << DIGITS_SHIFT),
    },
    labels: chance.of(LABELS),
    ...facetsAt(seq, context, position),
    ...{ length: terms.values().reduce((sum, times) => sum + times, 0), caps: chance.below(5), past: chance.below(3) },
    ranges: chance.next() < 0.2 ? [[day - chance.below(9), day + chance.below(40)]] : [],
  }
}

/** Made of what it is, and not by chance: the seeds make what they made. All of a context have its name. */
function facetsAt(seq: number, context: number, position: number) {
  return {
    time: (seq * 1_234_567) % 86_400_000,
    contextFacet: context % 3 === 0 ? 0 : context,
    facets: position % 2 === 0 ? [] : [1 + (position % 3), 10 + (seq % 7)],
  }
}

export function randomCue(chance: Chance): Cue {
  const words = Array.from({ length: 1 + chance.below(5) }, () => randomWord(chance))
  const terms = [...new Set(words)].filter((word) => !ACTORS.includes(word))
  const dated = chance.next() < 0.3
  return {
    ...{ terms, groups: terms, who: chance.next() < 0.4 ? [chance.of(['ada', 'bob', 'mara'])] : [] },
    ...{ when: chance.next() < 0.2, asks: chance.of([0, FLAG.place, FLAG.person | FLAG.title]) },
    date: dated
      ? { day: chance.below(28), months: [1 + chance.below(12)], year: chance.of([0, 2025]), exact: false }
      : null,
    names: terms.filter(() => chance.next() < 0.3),
    isFirst: chance.next() < 0.2,
    language: 'en',
  }
}

/** The list cut at random places into at most `parts` pieces, none empty. */
export function cutAtRandom<T>(chance: Chance, list: readonly T[], parts: number): T[][] {
  const cuts = [...new Set(Array.from({ length: parts - 1 }, () => 1 + chance.below(list.length - 1)))].sort(
    (a, b) => a - b,
  )
  return [0, ...cuts].map((from, index) => list.slice(from, cuts[index] ?? list.length))
}

// A large database made of LoCoMo: after the ten dialogues come copies in other words. In every copy the words said in
// under 1 % of the turns change places with words of similar frequency, and a third of the words said once become new
// ones; dates move by up to a year. Frequencies, lengths and the shape of sentences stay. Questions and answers are
// the originals'. The twenty names are the same in all copies: the hard case, because a name tells nothing then.

import type { RecordText } from '@loci/daemon/memory/analysis/item.ts'
import { type Dialogue, questionsOf, recordsOf } from './locomo.ts'
import type { Question, QuestionSet } from './questions.ts'

const DAY_MS = 86_400_000
const BAND = 64
const NEW_WORD_SHARE = 0.35

export function makeCopies(dialogues: readonly Dialogue[], size: number): QuestionSet {
  const random = generator(7)
  const rare = rareWords(dialogues)
  const records: RecordText[] = []
  const questions: Question[] = []
  let contexts = 0
  for (let copy = 0; records.length < size; copy++) {
    const exchange = copy === 0 ? new Map<string, string>() : exchangeOf(rare, random)
    for (const dialogue of dialogues) {
      if (copy === 0) questions.push(...questionsOf(dialogue, records.length))
      const move = copy === 0 ? 0 : Math.floor(random() * 700 - 350) * DAY_MS
      const made = recordsOf(dialogue, records.length, contexts)
      contexts = made.at(-1)?.context ?? contexts
      for (const record of made) {
        if (records.length >= size) break
        const content = inOtherWords(record.content, exchange)
        const media = inOtherWords(record.media ?? '', exchange)
        records.push({ ...record, content, media, occurredAt: record.occurredAt + move })
      }
    }
  }
  return { id: 'copies', records, questions }
}

/** Words said in under 1 % of the turns, with how often, the frequent ones first. */
function rareWords(dialogues: readonly Dialogue[]): [word: string, df: number][] {
  const turns = dialogues.flatMap((dialogue) => dialogue.turns)
  const names = new Set(dialogues.flatMap(({ a, b }) => [a.toLowerCase(), b.toLowerCase()]))
  const df = new Map<string, number>()
  for (const { text, cap } of turns) {
    for (const word of new Set(`${text} ${cap}`.toLowerCase().match(/[a-z]+/g))) df.set(word, (df.get(word) ?? 0) + 1)
  }
  const kept = /^(?:january|february|march|april|may|june|july|august|september|october|november|december|.*day)$/
  return [...df]
    .filter(([word, n]) => n < turns.length / 100 && word.length > 2 && !names.has(word) && !kept.test(word))
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}

function exchangeOf(rare: readonly [word: string, df: number][], random: () => number): Map<string, string> {
  const exchange = new Map<string, string>()
  for (let from = 0; from < rare.length; from += BAND) {
    const band = rare.slice(from, from + BAND)
    const mixed = shuffled(band, random)
    for (const [i, [word, df]] of band.entries()) {
      const isNew = df === 1 && random() < NEW_WORD_SHARE
      exchange.set(word, isNew ? invented(random) : (mixed[i]?.[0] ?? word))
    }
  }
  return exchange
}

function inOtherWords(text: string, exchange: ReadonlyMap<string, string>): string {
  if (exchange.size === 0) return text
  return text.replace(/[A-Za-z]+/g, (word) => {
    const other = exchange.get(word.toLowerCase())
    if (other === undefined) return word
    return /^[A-Z]/.test(word) ? other.charAt(0).toUpperCase() + other.slice(1) : other
  })
}

function invented(random: () => number): string {
  const letter = (letters: string) => letters.charAt(Math.floor(random() * letters.length))
  return Array.from({ length: 3 }, () => letter('bdfgklmnprstvz') + letter('aeiou')).join('')
}

function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const mixed = [...values]
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const [a, b] = [mixed[i] as Value, mixed[j] as Value]
    mixed[i] = b
    mixed[j] = a
  }
  return mixed
}

/** Numbers in [0, 1), the same in every run (mulberry32). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

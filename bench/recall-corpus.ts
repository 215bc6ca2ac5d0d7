// Text for the benchmark of recall: LoCoMo's dialogues as one database where the file lies beside the repository, else
// dialogues made by chance, and as many copies in other words as are asked for. In a copy the rare words change places
// with words of similar frequency, words said once become new ones, actors get new names and dates move; frequencies,
// lengths and the shape of sentences stay.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { RecordText } from '@loci/daemon/memory/analysis/item.ts'

const LOCOMO = path.join(import.meta.dirname, '..', '..', 'shared', 'data', 'locomo.json')
const DAY_MS = 86_400_000
const MONTHS = 'january february march april may june july august september october november december'.split(' ')

interface Dialogue {
  a: string
  b: string
  turns: { id: string; sess: number; dt: string; sp: string; text: string; cap: string }[]
  qa: { q: string; ev: string[] }[]
}

export interface Question {
  text: string
  /** Seqs of the records that answer it. */
  gold: Set<number>
}

export interface Corpus {
  records: RecordText[]
  questions: Question[]
  isLocomo: boolean
}

/** `sameNames`: all copies share the actors of the originals. */
export function corpusOf(size: number, { sameNames = false } = {}): Corpus {
  const chance = chanceFrom(7)
  const given: Dialogue[] | null = existsSync(LOCOMO) ? JSON.parse(readFileSync(LOCOMO, 'utf8')) : null
  const dialogues = given ?? madeDialogues(chance)
  const records: RecordText[] = []
  const questions: Question[] = []
  const rare = rareWords(dialogues)
  const names = [...new Set(dialogues.flatMap(({ a, b }) => [a.toLowerCase(), b.toLowerCase()]))]
  for (let copy = 0; copy === 0 || records.length < size; copy++) {
    const words = copy === 0 ? new Map<string, string>() : otherWords(rare, sameNames ? [] : names, chance)
    for (const dialogue of dialogues) {
      const movedMs = copy === 0 ? 0 : Math.floor(chance() * 700 - 350) * DAY_MS
      const contextFrom = records.at(-1)?.context ?? 0
      if (copy === 0) questions.push(...questionsOf(dialogue, records.length))
      for (const record of recordsOf(dialogue, records.length, contextFrom)) {
        const said = { actor: say(record.actor ?? '', words), content: say(record.content, words) }
        records.push({
          ...record,
          ...said,
          media: say(record.media ?? '', words),
          occurredAt: record.occurredAt + movedMs,
        })
      }
    }
  }
  return { records: records.slice(0, size), questions, isLocomo: given !== null }
}

function recordsOf({ turns }: Dialogue, seqFrom: number, contextFrom: number): RecordText[] {
  const contexts = new Map<number, { context: number; turns: number }>()
  return turns.map(({ sess, sp, dt, text, cap }, i) => {
    const session = contexts.get(sess) ?? { context: contextFrom + contexts.size + 1, turns: 0 }
    contexts.set(sess, session)
    const at = { seq: seqFrom + i + 1, context: session.context, position: session.turns++ }
    return { ...at, actor: sp, occurredAt: timeOf(dt), content: text, media: cap, hasContextId: true }
  })
}

function questionsOf({ turns, qa }: Dialogue, seqFrom: number): Question[] {
  const seqs = new Map(turns.map(({ id }, i) => [id, seqFrom + i + 1]))
  const questions = qa.map(({ q, ev }) => ({ text: q, gold: new Set(ev.flatMap((id) => seqs.get(id) ?? [])) }))
  return questions.filter(({ gold }) => gold.size > 0)
}

/** Such as "1:56 pm on 8 May, 2023", taken as UTC. */
function timeOf(text: string): number {
  const [, hour, minute, half, day, month, year] = /(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)/.exec(text) ?? []
  const hours = (Number(hour) % 12) + (half === 'pm' ? 12 : 0)
  return Date.UTC(Number(year), MONTHS.indexOf(`${month}`.toLowerCase()), Number(day), hours, Number(minute))
}

function chanceFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9) | 0
    const mixed = Math.imul(state ^ (state >>> 12), 0x297a_2d39)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

function say(text: string, words: ReadonlyMap<string, string>): string {
  if (words.size === 0) return text
  return text.replace(/[A-Za-z]+/g, (word) => {
    const other = words.get(word.toLowerCase())
    if (other === undefined) return word
    return /^[A-Z]/.test(word) ? (other[0] as string).toUpperCase() + other.slice(1) : other
  })
}

/** Words of under one percent of the turns, the commonest first, with the number of turns that have them. */
function rareWords(dialogues: readonly Dialogue[]): [string, number][] {
  const turns = dialogues.flatMap((dialogue) => dialogue.turns)
  const df = new Map<string, number>()
  for (const { text, cap } of turns) {
    for (const word of new Set(`${text} ${cap}`.toLowerCase().match(/[a-z]{3,}/g)))
      df.set(word, (df.get(word) ?? 0) + 1)
  }
  const names = new Set(dialogues.flatMap(({ a, b }) => [a.toLowerCase(), b.toLowerCase()]))
  return [...df]
    .filter(
      ([word, n]) => n < turns.length / 100 && !names.has(word) && !MONTHS.includes(word) && !word.endsWith('day'),
    )
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
}

function otherWords(rare: readonly [string, number][], names: readonly string[], chance: () => number) {
  const words = new Map<string, string>()
  for (let from = 0; from < rare.length; from += 64) {
    const band = rare.slice(from, from + 64)
    const mixed = band.map(([word]) => word)
    for (let i = mixed.length - 1; i > 0; i--) {
      const j = Math.floor(chance() * (i + 1))
      ;[mixed[i], mixed[j]] = [mixed[j] as string, mixed[i] as string]
    }
    for (const [i, [word, n]] of band.entries()) {
      words.set(word, n === 1 && chance() < 0.35 ? invented(3, chance) : (mixed[i] as string))
    }
  }
  for (const name of names) words.set(name, `${invented(2, chance)}n`)
  return words
}

function invented(syllables: number, chance: () => number): string {
  let word = ''
  for (let n = 0; n < syllables; n++) {
    word += 'bdfgklmnprstvz'[Math.floor(chance() * 14)] as string
    word += 'aeiou'[Math.floor(chance() * 5)] as string
  }
  return word
}

/** Ten dialogues of invented words with LoCoMo's frequencies and lengths, for machines without the file. */
function madeDialogues(chance: () => number): Dialogue[] {
  const vocabulary = Array.from({ length: 4_000 }, () => invented(2 + Math.floor(chance() * 2), chance))
  const word = () => vocabulary[Math.floor(chance() ** 3 * vocabulary.length)] as string
  const sentence = (words: number) => Array.from({ length: words }, word).join(' ')
  return Array.from({ length: 10 }, () => {
    const [a, b] = [invented(2, chance), invented(2, chance)]
    const turns = Array.from({ length: 588 }, (_, i) => ({
      ...{ id: `D${i}`, sess: Math.floor(i / 22), dt: `1:00 pm on ${1 + (i % 27)} May, 2023`, sp: i % 2 ? a : b },
      ...{ text: `${sentence(8 + Math.floor(chance() * 30))}${chance() < 0.25 ? '?' : '.'}`, cap: '' },
    }))
    const qa = turns
      .filter((_, i) => i % 3 === 0)
      .map(({ id: turn, text, sp }) => ({
        q: `What did ${sp} say of ${text.split(' ').slice(0, 4).join(' ')}?`,
        cat: 4,
        ev: [turn],
      }))
    return { a, b, turns, qa }
  })
}

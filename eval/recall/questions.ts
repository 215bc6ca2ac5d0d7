// Records, questions with the records that answer them, and how well a ranking finds those.

import { createHash } from 'node:crypto'
import type { RecordText } from '@loci/daemon/memory/analysis/item.ts'

/** Records of one database, with questions about them. */
export interface QuestionSet {
  id: string
  records: RecordText[]
  questions: Question[]
}

export interface Question {
  id: string
  text: string
  /** Seqs of the records that answer it. */
  gold: ReadonlySet<number>
  /** False where the records only seem to answer it. */
  isAnswerable: boolean
}

export interface Figures {
  at5: number
  at10: number
  at20: number
  hit20: number
  mrr: number
  questions: number
}

export type Rank = (set: QuestionSet, question: Question) => Ranked[]
export interface Ranked {
  seq: number
  score: number
}

/** How many of a ranking are looked at. */
export const DEPTH = 50

class Measured {
  readonly #sums = { at5: 0, at10: 0, at20: 0, hit20: 0, mrr: 0 }
  readonly #rankings: string[] = []
  #questions = 0

  add(question: Question, ranked: readonly Ranked[]): void {
    const { gold } = question
    const found = (depth: number) => ranked.slice(0, depth).filter(({ seq }) => gold.has(seq)).length
    this.#questions++
    this.#sums.at5 += found(5) / gold.size
    this.#sums.at10 += found(10) / gold.size
    this.#sums.at20 += found(20) / gold.size
    this.#sums.hit20 += found(20) > 0 ? 1 : 0
    const first = ranked.findIndex(({ seq }) => gold.has(seq))
    this.#sums.mrr += first < 0 ? 0 : 1 / (first + 1)
    this.#rankings.push(`${question.id} ${ranked.slice(0, 20).map(({ seq }) => seq)}`)
  }

  figures(): Figures {
    const n = this.#questions || 1
    const { at5, at10, at20, hit20, mrr } = this.#sums
    return { at5: at5 / n, at10: at10 / n, at20: at20 / n, hit20: hit20 / n, mrr: mrr / n, questions: this.#questions }
  }

  /** One hash over question and ranked ids, in the order of the questions' ids, not of the run. */
  hash(): string {
    return createHash('sha256').update(this.#rankings.toSorted().join('\n')).digest('hex').slice(0, 16)
  }
}

export function measure(sets: readonly QuestionSet[], rank: Rank): Measured {
  const measured = new Measured()
  for (const set of sets) for (const question of set.questions) measured.add(question, rank(set, question))
  return measured
}

export function rounded(value: number): string {
  return value.toFixed(3).replace(/^0/, '')
}

export function line(name: string, { at5, at10, at20, hit20, mrr }: Figures): string {
  const values = [at5, at10, at20, hit20, mrr].map((value) => rounded(value).padStart(7))
  return `${name.padEnd(44)}${values.join('')}`
}

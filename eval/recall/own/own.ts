// Questions of our own: nine talks between two colleagues and their assistant, told in six languages, with the same
// 36 questions. Written for this repository; people, places and companies are invented.

import type { Language, RecordText } from '@loci/daemon/memory/analysis/item.ts'
import type { QuestionSet } from '../questions.ts'

export interface OwnSet {
  language: Exclude<Language, 'auto'>
  talks: readonly Talk[]
  /** Question, then the records that answer it: talk.turn, both counted from 0. */
  questions: readonly (readonly [text: string, ...answers: string[]])[]
}

export interface Talk {
  day: string
  turns: readonly (readonly [actor: string, text: string])[]
}

export function setOfOwn({ language, talks, questions }: OwnSet): QuestionSet {
  const seqs = new Map<string, number>()
  const records: RecordText[] = talks.flatMap(({ day, turns }, context) =>
    turns.map(([actor, content], position) => {
      const seq = seqs.size + 1
      seqs.set(`${context}.${position}`, seq)
      const occurredAt = Date.parse(`${day}T09:00:00Z`) + position * 60_000
      return { seq, context: context + 1, position, actor, occurredAt, content, hasContextId: true }
    }),
  )
  return {
    id: language,
    records,
    questions: questions.map(([text, ...answers], i) => ({
      id: `${language} ${i}`,
      text,
      gold: new Set(answers.map((answer) => seqs.get(answer) ?? fail(`${language}: no record ${answer}`))),
      isAnswerable: true,
    })),
  }
}

function fail(message: string): never {
  throw new Error(message)
}

// LoCoMo (Maharana et al. 2024, CC BY-NC 4.0): ten long dialogues with 1,982 questions and the turns that answer them.
// For evaluation only; it lies outside the repository and nothing is fitted on it.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { RecordText } from '@loci/daemon/memory/analysis/item.ts'
import type { Question, QuestionSet } from './questions.ts'

interface Said {
  id: string
  sess: number
  dt: string
  sp: string
  text: string
  cap: string
}

export interface Dialogue {
  id: string
  a: string
  b: string
  turns: Said[]
  qa: { q: string; cat: number; ev: string[] }[]
}

const FILE = path.join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'locomo.json')
const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const ADVERSARIAL = 5

/** null where the file is absent. */
export function readLocomo(): Dialogue[] | null {
  const file = process.env.LOCI_EVAL_LOCOMO ?? FILE
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null
}

/** Each dialogue is a database of its own; a session is a context. */
export function setOf(dialogue: Dialogue): QuestionSet {
  const records = recordsOf(dialogue, 0, 0)
  return { id: dialogue.id, records, questions: questionsOf(dialogue, 0) }
}

export function recordsOf(dialogue: Dialogue, seqFrom: number, contextFrom: number): RecordText[] {
  const sessions = new Map<number, number>()
  const positions = new Map<number, number>()
  return dialogue.turns.map((turn, i) => {
    const context = sessions.get(turn.sess) ?? contextFrom + sessions.size + 1
    sessions.set(turn.sess, context)
    const position = positions.get(context) ?? 0
    positions.set(context, position + 1)
    const occurredAt = timeOf(turn.dt)
    return {
      seq: seqFrom + i + 1,
      context,
      position,
      actor: turn.sp,
      occurredAt,
      content: turn.text,
      media: turn.cap,
      hasContextId: true,
    }
  })
}

export function questionsOf(dialogue: Dialogue, seqFrom: number): Question[] {
  const seqs = new Map(dialogue.turns.map(({ id }, i) => [id, seqFrom + i + 1]))
  return dialogue.qa.flatMap(({ q, cat, ev }, i) => {
    const gold = new Set(ev.flatMap((id) => seqs.get(id) ?? []))
    return gold.size === 0 ? [] : [{ id: `${dialogue.id} ${i}`, text: q, gold, isAnswerable: cat !== ADVERSARIAL }]
  })
}

function timeOf(text: string): number {
  const [, hour, minute, half, day, month, year] = /(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)/.exec(text) ?? []
  const hours = (Number(hour) % 12) + (half === 'pm' ? 12 : 0)
  return Date.UTC(Number(year), MONTHS.indexOf(month ?? ''), Number(day), hours, Number(minute))
}

// LoCoMo as working memory: every second question is the focus of one cycle, and what it leaves is carried over to the
// next. Counted is the share of the turns that answer it which are held, and which are in the first ten slots.

import type { CycleConfig } from '@loci/daemon/cycles/shapes.ts'
import { Mind } from '@loci/daemon/cycles/testing/mind.ts'
import { type Dialogue, setOf } from '../recall/locomo.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const FIRST = 10

export interface CarriedOver {
  questions: number
  held: number
  first: number
  slotsMean: number
}

export function carryOver(dialogues: readonly Dialogue[], config: Partial<CycleConfig> = {}): CarriedOver {
  let [questions, held, first, slots] = [0, 0, 0, 0]
  for (const dialogue of dialogues) {
    const { records, questions: asked } = setOf(dialogue)
    const last = records.reduce((latest, { occurredAt }) => Math.max(latest, occurredAt), 0)
    const mind = new Mind(config)
    mind.remember(
      records.map(({ seq, context, actor, occurredAt, content, media }) => ({
        ...{ id: String(seq), contextId: String(context), content: content || '-' },
        ...{ occurredAt: new Date(occurredAt).toISOString() },
        ...(actor ? { actor } : {}),
        ...(media ? { media } : {}),
      })),
      last,
    )
    for (const [k, { text, gold }] of asked.filter((_, at) => at % 2 === 0).entries()) {
      const { result } = mind.run(last + DAY_MS + k * MINUTE_MS, text, [])
      const ids = result.slots.map(({ record }) => Number(record?.id))
      const share = (list: number[]) => list.filter((id) => gold.has(id)).length / gold.size
      questions += 1
      held += share(ids)
      first += share(ids.slice(0, FIRST))
      slots += ids.length
    }
  }
  return { questions, held: held / questions, first: first / questions, slotsMean: slots / questions }
}

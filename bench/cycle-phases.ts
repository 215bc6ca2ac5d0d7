// Processor time of a cycle's phases: the pure function over a database in memory with the daemon's own engine, by the
// same texts and questions as over HTTP. What reading and committing cost is the rest of what the daemon uses.

import { type Mark, Mind, type Said } from '@loci/daemon/cycles/testing/mind.ts'
import type { RecordText } from '@loci/daemon/memory/analysis/item.ts'

const WARM_UP = 100
const CYCLES = 400
const FIRST = 20
const MINUTE_MS = 60_000

export function cyclePhases(
  stored: readonly RecordText[],
  said: readonly RecordText[],
  questions: readonly string[],
): void {
  const cases = [
    { title: 'no records, no focus', records: [], focusOf: () => null },
    {
      title: `${stored.length} records, a focus`,
      records: stored,
      focusOf: (n: number) => questions[n % questions.length] ?? null,
    },
  ]
  for (const { title, records, focusOf } of cases) {
    let mind = new Mind()
    let now = Math.max(0, ...records.map(({ occurredAt }) => occurredAt))
    mind.remember(records.map(saidOf), now)
    const times = new Map<string, number>()
    for (let n = 0; n < WARM_UP + CYCLES; n += 1) {
      now += MINUTE_MS
      // Without records each cycle is one of the first of a database.
      if (records.length === 0 && n % FIRST === 0) mind = new Mind()
      let last = cpuUs()
      const mark: Mark = (phase) => {
        const at = cpuUs()
        if (n >= WARM_UP && phase !== 'start') times.set(phase, (times.get(phase) ?? 0) + at - last)
        last = cpuUs()
      }
      mind.run(now, focusOf(n), [saidOf(said[n % said.length] as RecordText, n)], mark)
    }
    const shown = [...times].map(([phase, us]) => `${phase} ${(us / CYCLES / 1_000).toFixed(3)}`).join(', ')
    const sum = [...times.values()].reduce((total, us) => total + us, 0) / CYCLES / 1_000
    console.log(`${title}: ${sum.toFixed(2)} ms of processor in the computation: ${shown}`)
  }
}

function saidOf({ seq, context, actor, content, media, occurredAt }: RecordText, n: number): Said {
  return {
    ...{ id: `mem_${n}_${seq}`, content, contextId: `chat ${context}`, occurredAt: new Date(occurredAt).toISOString() },
    ...(actor ? { actor } : {}),
    ...(media ? { media } : {}),
  }
}

function cpuUs(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

// What a cycle costs: CPU by phase, in a database of 1,000 records with 25 slots, five observations each. Waiting for
// the machine does not count, nor what a store would do.

import { Mind, type MindState, type Said } from '@loci/daemon/cycles/testing/mind.ts'
import type { Day } from './day.ts'
import { vary } from './vary.ts'

const RECORDS = 1_000
const CYCLES = 300
const SAID = 5
/** Then from the same records again. */
const CYCLES_AT_ONCE = 50
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

export function printCost(day: Day): void {
  const state = filled(day)
  const texts = [...day.focus.map(({ text }) => text), ...day.moments.flatMap(({ focus }) => focus ?? [])]
  console.log(`\nCPU per cycle, ms, mean of ${CYCLES} (${RECORDS} records, ${SAID} observations each)`)
  for (const isFocused of [true, false]) {
    runCycles(day, state, isFocused ? texts : null)
    const spent = runCycles(day, state, isFocused ? texts : null)
    const total = [...spent.values()].reduce((sum, ms) => sum + ms, 0)
    const phases = [...spent].map(([phase, ms]) => `${phase} ${(ms / CYCLES).toFixed(2)}`).join(', ')
    console.log(`  ${isFocused ? 'with a focus   ' : 'without a focus'} ${(total / CYCLES).toFixed(2)}: ${phases}`)
  }
}

/** Days in other words, one after the other, without their floods. */
function filled(day: Day): MindState {
  const said: Said[] = []
  for (let k = 0; said.length < RECORDS; k++) {
    for (const { group, key, supersedes, dueAt, ...one } of vary(day, { seed: k + 1, cadence: 5, drop: 0 })
      .observations) {
      if (group === 'flood' || said.length >= RECORDS) continue
      const occurredAt = new Date(Date.parse(one.occurredAt) - (6 - k) * DAY_MS).toISOString()
      said.push({ ...one, id: `${k}.${one.id}`, contextId: `${k}.${one.contextId}`, occurredAt })
    }
  }
  const mind = new Mind()
  const end = endOf(day)
  mind.remember(said, end)
  mind.run(end, day.focus[0]?.text ?? null, [])
  return mind.state
}

function runCycles(day: Day, state: MindState, texts: readonly string[] | null): Map<string, number> {
  const spent = new Map<string, number>()
  let mind = new Mind({}, state)
  let last = 0
  for (let i = 0; i < CYCLES; i++) {
    if (i % CYCLES_AT_ONCE === 0) {
      mind = new Mind({}, state)
      // Its index is built once.
      mind.compute(endOf(day), null, [])
    }
    const now = endOf(day) + i * MINUTE_MS
    const said = Array.from({ length: SAID }, (_, j): Said => {
      const { contextId, actor, content } = day.observations[(i * 37 + j * 11) % day.observations.length] as Said
      const more = { contextId: contextId ?? 'talk', actor: actor ?? 'nobody' }
      return { id: `x${i}.${j}`, content, ...more, occurredAt: new Date(now).toISOString() }
    })
    mind.run(now, texts === null ? null : (texts[i % texts.length] as string), said, (phase) => {
      const { user, system } = process.threadCpuUsage()
      const at = (user + system) / 1_000
      if (phase !== 'start') spent.set(phase, (spent.get(phase) ?? 0) + at - last)
      last = at
    })
  }
  return spent
}

function endOf({ moments }: Day): number {
  return Math.max(...moments.map(({ at }) => Date.parse(at)))
}

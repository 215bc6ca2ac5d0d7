// Outcomes whose projections have left. They add nothing any more; that there is such a tool, and the time that they
// took, is passed in its place by a state that is folded from the beginning, so that it is the one that had seen them.

import type { Sql } from '@loci/postgres/pool.ts'
import type { Due } from '../databases/store.ts'
import { pass } from './fold/fold.ts'
import type { AdviceState } from './fold/state.ts'
import { readPassed } from './store.ts'

/** A tool as of its first outcome, or the time that it had taken by its last one. */
export interface Passed {
  seq: number
  tool: string
  t: number
  u: number
}

/** Tools stand in the order of their first outcomes, and a later outcome takes its numbers from the last one. */
export async function listPassed(sql: Sql, place: Due): Promise<Passed[]> {
  const rows = await readPassed(sql, place)
  const passed = rows.flatMap(([firstSeq, lastSeq, tool, t, u]) => [
    { seq: firstSeq, tool, t: 0, u: 0 },
    { seq: lastSeq, tool, t, u },
  ])
  return passed.sort((x, y) => x.seq - y.seq)
}

/** Takes those up to the number from the list. */
export function passUntil(state: AdviceState, passed: Passed[], seq: number): void {
  const end = passed.findIndex((one) => one.seq > seq)
  for (const one of passed.splice(0, end < 0 ? passed.length : end)) pass(state, one)
}

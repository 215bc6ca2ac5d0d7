// Daemons that let a greedy tenant have more than its plan, and how they are found out: by what others feel, or by what
// it has of the processor. On a busy machine waits say little; the processor says as much as on a quiet one.

import { plantMutant } from '../world/mutant.ts'
import { untilReady } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { type Kind, LIVE_P99_MS_MAX, measure, partOf, verdictOf, type Window } from './dear-windows.ts'

export type Edit = { file: string; from: string; to: string }

/** Of the processor, as many times as the same requests without the mutant. */
const GREEDIER = 2
/** Of a core: less is noise. */
const PART_MIN = 0.02

/** A request is 1, whatever it costs. */
export const COUNTING: Edit = {
  file: 'libs/chassis/bill.ts',
  from: 'measured >= SMALL_UNITS ? measured : 0',
  to: 'this.#taken',
}
/** Ten services are ten times the plan. */
export const NO_ORGANIZATION: Edit = {
  file: 'daemon/access/rates.ts',
  from: 'const times = limits.organization_rate',
  to: 'const times = limits.burst < 0 ? 1 : undefined',
}

export async function mutantBeside(
  report: Report,
  world: World,
  quiet: WorldTenant,
  {
    name,
    edit,
    of,
    lengths,
    usual,
  }: { name: string; edit: Edit; of: Kind[]; lengths: { rounds: number; seconds: number }; usual: Window[] },
): Promise<void> {
  if (of.length === 0) return
  await using mutant = await plantMutant([edit])
  const lax = await mutant.startProgram('daemon', world.daemonSettings())
  await untilReady(lax.url)
  const windows = await measure(report, lax, quiet, of, { ...lengths, roundsMax: lengths.rounds })
  await lax.stop()
  const { isKept, figure } = verdictOf(windows, await report.within(LIVE_P99_MS_MAX))
  const before = partOf(usual.filter(({ kind }) => of.includes(kind)))
  const isGreedier = partOf(windows) >= GREEDIER * Math.max(before, PART_MIN)
  const told = `${figure}; ${(100 * before).toFixed(0)} % without it`
  report.mutant(name, isKept && !isGreedier ? undefined : told)
}

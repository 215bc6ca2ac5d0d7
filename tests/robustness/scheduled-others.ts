// M1: one organization has as many scheduled databases as a replica can hardly serve, each with something new for every
// cycle; how late the cycles of somebody else are. Due work is claimed by turns of organizations, so that theirs do not
// wait behind all of hers (its mutants are in daemon/databases/databases.test.ts). A late machine makes both late: the
// other one is measured alone in the same run.

import type { LociProcess } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { addScheduled, listCycles, startInputs } from './scheduled-databases.ts'

/** As many as ten services of the free plan have with nine each. */
const GREEDY_DATABASES = 90
const OTHER_DATABASES = 3
const INTERVAL_MS = 2_000
const LATE_MS_MAX = 2_000
const CYCLES_MIN = 5

export async function scheduledOthers(
  report: Report,
  world: World,
  _daemon: LociProcess,
  _quiet: WorldTenant,
  isShort: boolean,
): Promise<void> {
  const other = await addTenant(world, { name: 'punctual', plan: 'enterprise' })
  const greedy = await addTenant(world, { name: 'restless', plan: 'enterprise' })
  const seconds = isShort ? 20 : 60
  const alone = await lateness(world, other, 'alone-', seconds)
  await addScheduled(world, greedy, { prefix: 'greedy-', count: GREEDY_DATABASES, intervalMs: INTERVAL_MS })
  const inputs = startInputs(world, greedy, {
    ...{ prefix: 'greedy-', count: GREEDY_DATABASES, everyMs: INTERVAL_MS, clients: 8 },
  })
  const beside = await lateness(world, other, 'beside-', seconds)
  await inputs.stop()
  const theirs = (await listCycles(world, greedy, 'greedy-', INTERVAL_MS)).map(({ lagMs }) => lagMs)
  const bound = await report.within(LATE_MS_MAX)
  report.promise(
    `scheduled cycles beside ${GREEDY_DATABASES} scheduled databases of one organization`,
    beside.length >= CYCLES_MIN && theirs.length >= GREEDY_DATABASES && worst(beside) <= bound.ms,
    `${beside.length} cycles, at worst ${ms(worst(beside))} late (${bound.text}), alone ${ms(worst(alone))}; the other organization had ${theirs.length}, at worst ${ms(worst(theirs))} late`,
  )
}

/** How late each cycle of its databases was, in milliseconds. */
async function lateness(world: World, tenant: WorldTenant, prefix: string, seconds: number): Promise<number[]> {
  await addScheduled(world, tenant, { prefix, count: OTHER_DATABASES, intervalMs: INTERVAL_MS })
  const inputs = startInputs(world, tenant, { prefix, count: OTHER_DATABASES, everyMs: INTERVAL_MS, clients: 1 })
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  await inputs.stop()
  return (await listCycles(world, tenant, prefix, INTERVAL_MS)).map(({ lagMs }) => lagMs)
}

const worst = (lags: number[]) => Math.max(0, ...lags)
const ms = (lag: number) => `${Math.round(lag)} ms`

// A crowd of connections that management refuses at once, with API keys that nobody has, or with one that is beyond its
// rate: to refuse them it asks its database, and everybody else must be served meanwhile.

import { addCallers, type WorldCaller } from '../world/callers.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, startProgram, untilReady } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import { addOrganization } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { faultsOf, feel, figureOf } from './crowded-bodies.ts'
import { startFlood } from './open-flood.ts'

const GOODPUT_MIN = 0.95
const SLACK_MS = 100

export async function floodedAccess(report: Report, world: World, isShort: boolean): Promise<void> {
  const connections = isShort ? 400 : 900
  const { apiKey } = await addOrganization(world, 'greedy')
  // Several, so that none of them meets the rate of its own plan.
  const callers = await addCallers(world, { organizations: 8, each: 1, name: 'beside-a-flood' })
  const crowds = { 'API keys that nobody has': 'invented', 'one API key beyond its rate': apiKey }
  const settings = world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' })
  const target = await startProgram('management', settings)
  await untilReady(target.url)
  for (const [name, key] of Object.entries(crowds)) {
    const felt = await feel(sceneOf(target, key, callers, connections, isShort))
    const { ms } = await report.within(SLACK_MS)
    report.promise(`${connections} connections with ${name}`, faultsOf(felt, ms).length === 0, figureOf(felt))
  }
  await target.stop()
  if (isShort) return
  await using mutant = await plantMutant([
    {
      file: 'management/access/caller.ts',
      from: '      if (text === undefined) return undefined\n      const share',
      to: '      if (Math) return undefined\n      const share',
    },
    { file: 'libs/chassis/in-turn.ts', from: '  await exchange.lane.refuse(refusal)\n', to: '  throw refusal\n' },
  ])
  const old = await mutant.startProgram('management', settings)
  await untilReady(old.url)
  const { goodput } = await feel(sceneOf(old, 'invented', callers, connections, isShort))
  report.mutant(
    'slots before access count for nobody, and nobody waits for a refusal',
    goodput < GOODPUT_MIN ? `goodput ${Math.round(goodput * 100)} %` : undefined,
  )
  await old.stop()
}

function sceneOf(
  target: LociProcess,
  apiKey: string,
  callers: WorldCaller[],
  connections: number,
  isShort: boolean,
): Parameters<typeof feel>[0] {
  const flood = { url: target.url, paths: ['/api/v1/tenants'], connections, addresses: 1, apiKey }
  return {
    target,
    async crowd() {
      const started = await startFlood([flood])
      return { stop: async () => ({ answers: await started.stop() }) }
    },
    others: callers.map((one) => ({
      method: 'GET',
      path: '/api/v1/services',
      headers: { 'x-api-key': one.apiKey },
    })),
    reserved: [],
    ms: isShort ? 4_000 : 10_000,
  }
}

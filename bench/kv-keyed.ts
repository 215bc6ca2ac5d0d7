// What an Idempotency-Key costs: the same POST of one entry with a new key for each and without one, in turns, on one
// instance.

import { runSql } from '@loci/tests/world/sql.ts'
import type { WorldTenant } from '@loci/tests/world/tenants.ts'
import type { World } from '@loci/tests/world/world.ts'
import { runLoad } from './load.ts'

/** A keyed write may cost this much of an unkeyed one: our SDK sends a key with every POST. */
const COST_MAX = 1.3
const CLIENTS = 16
/** More than are sent, and fewer than the answers that an instance may keep. */
const KEYS = 9_900
const SECONDS_MAX = 1.5

export async function compareKeyed(
  world: World,
  tenant: WorldTenant,
  { seconds, rounds, value }: { seconds: number; rounds: number; value: string },
): Promise<boolean> {
  const rates = { keyed: [] as number[], unkeyed: [] as number[] }
  console.log('\nkeyed   round   unkeyed/s   p99 ms   keyed/s   p99 ms   cost')
  for (let round = 1; round <= rounds; round += 1) {
    const unkeyed = await post(world, tenant, seconds, value)
    const keyed = await post(world, tenant, seconds, value, `round-${round}-{n}`)
    rates.unkeyed.push(unkeyed.perSecond)
    rates.keyed.push(keyed.perSecond)
    const cells = [
      round,
      Math.round(unkeyed.perSecond),
      unkeyed.p99Ms.toFixed(2),
      Math.round(keyed.perSecond),
      keyed.p99Ms.toFixed(2),
      (unkeyed.perSecond / keyed.perSecond).toFixed(2),
    ]
    console.log(`        ${cells.map((cell) => String(cell).padStart(8)).join(' ')}`)
  }
  const cost = median(rates.unkeyed) / median(rates.keyed)
  console.log(
    `keyed: medians unkeyed ${Math.round(median(rates.unkeyed))}/s, keyed ${Math.round(median(rates.keyed))}/s; cost ${cost.toFixed(2)} (at most ${COST_MAX})`,
  )
  return cost <= COST_MAX
}

async function post(world: World, tenant: WorldTenant, seconds: number, value: string, key?: string) {
  await forgetAnswers(world, tenant)
  const result = await runLoad({
    url: world.daemons[0]?.url as string,
    method: 'POST',
    path: '/v1/kv/entries/batch',
    variants: KEYS,
    // Each key is used once, or it would be a repeat.
    once: key !== undefined,
    headers: {
      'x-loci-capability': tenant.operator.token,
      'x-loci-database': 'd{n%16}',
      'content-type': 'application/json',
      ...(key ? { 'idempotency-key': key } : {}),
    },
    body: `{"operations":[{"op":"put","key":"k{n}","value":${value}}]}`,
    connections: CLIENTS,
    seconds: Math.min(seconds, SECONDS_MAX),
    warmUpSeconds: 0.2,
  })
  if (result.errors > 0 || result.requests !== result.statuses['200'])
    throw new Error(`not every answer was a 200: ${JSON.stringify(result)}`)
  return result
}

/** An instance keeps 10,000 of them: a benchmark of keys begins with none. */
export async function forgetAnswers({ postgres }: World, { serviceId }: WorldTenant): Promise<void> {
  const url = postgres.adminUrl('loci_cell')
  await runSql(url, `delete from loci.idempotency where instance_id = $1`, [serviceId])
  await runSql(url, `update loci.instances set keyed_answers = 0, keyed_bytes = 0 where id = $1`, [serviceId])
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

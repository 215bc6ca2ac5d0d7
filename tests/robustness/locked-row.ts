// Requests to a row that somebody holds locked.

import { openPool } from '@loci/postgres/pool.ts'
import type { LociProcess } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { plainClient } from './plain-client.ts'
import { ANSWER_MS_MAX, sleep, startOthers, type Timed, told } from './timed-others.ts'

const LOCK_MS = 4_000

export async function lockedRow(
  report: Report,
  world: World,
  daemon: LociProcess,
  [tenant, neighbour]: [WorldTenant, WorldTenant],
): Promise<void> {
  const client = plainClient()
  const headers = (one: WorldTenant, database: string) => ({
    'x-loci-capability': one.capability.token,
    'x-loci-database': database,
  })
  for (const database of ['held', 'free'])
    await client.send(daemon.url, {
      method: 'PUT',
      path: '/v1/kv/entries/k',
      headers: headers(tenant, database),
      body: '{"value":1}',
    })
  const pool = openPool({
    url: world.postgres.adminUrl('loci_cell'),
    applicationName: 'loci-test-lock',
    connectionsMax: 1,
    statementMs: 60_000,
    onError: () => {},
  })
  const holder = await pool.client()
  await holder.query({ text: 'begin' })
  const { rowCount } = await holder.query({
    text: `select from loci.databases where instance_id = $1 and name = 'held' for update`,
    values: [tenant.serviceId],
  })
  if (rowCount !== 1) throw new Error('the head row of the database is not there')
  const ofNeighbour = startOthers(daemon, neighbour, 'default')
  const ofSibling = startOthers(daemon, tenant, 'free')
  const held: Timed[] = []
  const lockedAt = performance.now()
  // Fewer than the quarter of the slots that the instance has: beyond it an instance would shut out its own other
  // databases.
  const writers = Array.from({ length: 24 }, async (_, n) => {
    const own = plainClient()
    while (performance.now() - lockedAt < LOCK_MS - 200) {
      const startedAt = performance.now()
      const outcome = await own.send(daemon.url, {
        method: 'PUT',
        path: `/v1/kv/entries/k${n}`,
        headers: headers(tenant, 'held'),
        body: '{"value":2}',
      })
      held.push({ ms: performance.now() - startedAt, outcome })
      await sleep(50)
    }
    own.close()
  })
  await sleep(LOCK_MS)
  await holder.query({ text: 'rollback' })
  holder.release()
  await pool.close()
  const freedAt = performance.now()
  await Promise.all(writers)
  const [far, near] = [await ofNeighbour.stop(), await ofSibling.stop()]
  const kinds = Object.entries(Object.groupBy(held, ({ outcome }) => told(outcome)))
  const worst = Math.max(...held.map(({ ms }) => ms))
  const isTold = held.every(
    ({ outcome }) =>
      outcome.kind === 'answer' &&
      (outcome.status === 200 ||
        (/^503 (OVERLOADED|STORE_UNAVAILABLE)$/.test(told(outcome)) && outcome.headers['retry-after'])),
  )
  report.promise(
    'writers to a locked database are told in time',
    isTold && worst <= ANSWER_MS_MAX,
    `${kinds.map(([kind, list]) => `${list?.length} × ${kind}`).join(', ')}, slowest ${Math.round(worst)} ms (at most ${ANSWER_MS_MAX})`,
  )
  report.promise('another instance goes on', far.isGood, far.figure)
  report.promise('another database of the same instance is served in time', near.isGood, near.figure)
  const again = await client.send(daemon.url, {
    method: 'PUT',
    path: '/v1/kv/entries/k',
    headers: headers(tenant, 'held'),
    body: '{"value":3}',
  })
  report.promise(
    'the lock gone, the database takes writes',
    told(again) === '200',
    `${told(again)} ${Math.round(performance.now() - freedAt)} ms later`,
  )
  client.close()
}

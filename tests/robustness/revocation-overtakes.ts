// A revocation overtakes what waits in a long feed before it.

import { setTimeout as sleep } from 'node:timers/promises'
import { plantMutant } from '../world/mutant.ts'
import { startProgram, untilReady } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { manage, type WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { heardAt, lagOf, lengthenFeed } from './long-feed.ts'
import { timeRevocation } from './token-use.ts'

const isShort = process.argv.includes('--short')
const LONG_FEED = isShort ? { credentials: 8_000, services: 40 } : { credentials: 60_000, services: 300 }
export const REACH_MS_MAX = 5_000

/** Everything waits while management is away, the revocation last of all; then the cell reads. */
export async function revokesThroughALongFeed(report: Report, world: World, a: WorldTenant): Promise<void> {
  const start = (program: typeof startProgram) => program('management', world.managementSettings())
  const overtake = async (program: typeof startProgram) => {
    await world.management?.stop()
    const stoppedAt = await heardAt(world)
    await lengthenFeed(world, a, LONG_FEED)
    let readyAt = 0
    const startedAt = performance.now()
    const revoked = await timeRevocation(world, a, async (jti) => {
      await manage(world, ['tokens', 'revoke', '--service', a.serviceId, '--jti', jti])
      world.management = await start(program)
      await untilReady(world.management.url)
      // The cell asks a management that was away less and less often, up to every ten seconds: that is no matter of the
      // feed.
      await until(async () => (await heardAt(world)) > stoppedAt)
      readyAt = performance.now() - startedAt
    })
    await until(async () => (await lagOf(world)) === 0)
    const ms = revoked.ms.map((one) => Math.max(0, Math.round(one - readyAt)))
    return { ms, isBack: revoked.isBack, ahead: await pagesAhead(world) }
  }
  const { ms, isBack, ahead } = await overtake(startProgram)
  const bound = await report.within(REACH_MS_MAX)
  report.promise(
    'a revocation overtakes a long feed',
    Math.max(...ms) <= bound.ms && !isBack && ahead > 0,
    `${LONG_FEED.credentials} items and ${LONG_FEED.services} services of the largest config before it: ${ms.join(' and ')} ms after the cell asks (${bound.text}), ${ahead} pages before the last of them`,
  )
  await using mutant = await plantMutant([
    {
      file: 'management/acts/feed/store.ts',
      from: '  if (urgent === undefined) {\n',
      to: '  if (urgent === undefined || true) {\n',
    },
  ])
  const slow = await overtake(mutant.startProgram)
  report.mutant(
    'one lane for everything',
    slow.ahead <= 0 ? `it came with the last page, after ${slow.ms.join(' and ')} ms` : undefined,
  )
  await world.management?.stop()
  world.management = await start(startProgram)
  await untilReady(world.management.url)
}

/** Every page that is applied has a number in the cell: how many came after that of the newest revocation. */
async function pagesAhead(world: World): Promise<number> {
  const [row] = await runSql<{ ahead: number }>(
    world.postgres.adminUrl('loci_cell'),
    `select ((select max(change_seq) from loci.partner_credentials) - (select max(change_seq) from loci.revocations))::int as ahead`,
  )
  return row?.ahead ?? 0
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + 180_000
  while (!(await isSo())) {
    if (performance.now() > endsAt) throw new Error(`not so within 180 s: ${isSo}`)
    await sleep(20)
  }
}

// One instance put back from a copy of its cell, as docs/operations/backups.md says it.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startThrowaway, type Throwaway } from '@loci/postgres/testing/throwaway.ts'
import type { Report } from '../../world/report.ts'
import { runSql } from '../../world/sql.ts'
import { addTenant, type WorldTenant } from '../../world/tenants.ts'
import type { World } from '../../world/world.ts'
import { consistencyOf, storedEntries } from '../kv-tables.ts'
import { deleted, partyOf, sleep, stored, untilServed, urlOf, watching, writing } from './load.ts'
import type { Backups } from './pgbackrest.ts'

export interface Cell {
  tenant: WorldTenant
  cell: Throwaway
  backups: Backups
}

/** One instance from a copy of the cell beside it, while the cell goes on. */
export async function oneComesBack(
  report: Report,
  world: World,
  { tenant, cell, backups }: Cell,
  { directory, least, seed }: { directory: string; least: number; seed: number },
): Promise<void> {
  const neighbour = await addTenant(world, { name: 'globex', plan: 'enterprise' })
  await untilServed(world, neighbour)
  const before = writing(world, partyOf(tenant), 'good', seed)
  await before.until(least)
  const { id } = await stored(world, tenant, 'The other launch code is tulip too')
  await before.writers.stop()
  const [{ at }] = (await runSql<{ at: string }>(cell.adminUrl(), 'select clock_timestamp()::text as at')) as [
    { at: string },
  ]
  const after = writing(world, partyOf(tenant), 'bad', seed)
  const others = writing(world, partyOf(neighbour), 'others', seed)
  await after.until(least)
  await deleted(world, tenant, id)
  await after.writers.stop()
  await backups.untilArchived()
  const side = await startThrowaway()
  const watch = watching(
    world.daemons.map(({ url }) => url),
    tenant,
  )
  try {
    const words = ['--type=time', `--target=${at}`, '--target-action=promote']
    const sideMs = await backups.restoreInto(side, ...words)
    const file = join(directory, 'side-owner-url')
    writeFileSync(file, side.url('loci_daemon_owner', 'loci_cell'), { mode: 0o600 })
    const startedAt = performance.now()
    const { code, stdout, stderr } = await world.runCommand('daemon', ['restore-instance', tenant.serviceId, file], {
      LOCI_DATABASE_OWNER_URL: cell.url('loci_daemon_owner', 'loci_cell'),
    })
    const ms = Math.round(performance.now() - startedAt)
    if (code !== 0) throw new Error(`restore-instance ended with ${code}: ${stderr}`)
    const { rows } = JSON.parse(stdout) as { rows: number }
    const servesMs = await untilServed(world, tenant)
    await others.until(500)
    await others.writers.stop()
    const asked = watch.counts.asked + 40
    while (watch.counts.asked < asked) await sleep(50)
    const served = await watch.stop()
    const verdict = before.ledger.verify(await storedEntries(world.postgres, 'good'))
    const late = (await storedEntries(world.postgres, 'bad')).size
    const theirs = others.ledger.verify(await storedEntries(world.postgres, 'others'))
    report.promise(
      'one instance comes back as it was at a moment, beside the living, who lose nothing',
      verdict.lost.length + verdict.tookEffect.length + late + theirs.lost.length + theirs.tookEffect.length === 0 &&
        before.ledger.acked >= least &&
        others.ledger.acked > 0,
      `${verdict.lost.length} lost of ${before.ledger.acked}, ${late} of ${after.ledger.acked} after it are there; of the neighbour ${theirs.lost.length} lost of ${others.ledger.acked}`,
    )
    report.promise(
      'and what was deleted from it since is not served again, not for a moment',
      served.found === 0 && served.held > 0,
      `found ${served.found} times in ${served.asked} questions, ${served.held} of them answered 503`,
    )
    const states = await Promise.all(
      [tenant, neighbour].map(({ capability }) => consistencyOf(urlOf(world), capability.token)),
    )
    report.promise(
      'digests, counters and sums of both hold',
      states.every((state) => state === 'consistent'),
      states.join(', '),
    )
    report.note(`the copy was up after ${sideMs} ms; ${rows} rows put back in ${ms} ms, served ${servesMs} ms later`)
  } finally {
    await side.remove()
  }
}

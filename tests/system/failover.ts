// With a synchronous standby an acknowledged write survives the loss of the primary. The link to the standby falls
// silent, the primary is killed, the standby promoted, and the daemons find it by themselves.

import { randomBytes } from 'node:crypto'
import { ask } from '@loci/chassis/testing/request.ts'
import { addTenant } from '@loci/daemon/testing/tenant.ts'
import { startPair } from '@loci/postgres/testing/standby.ts'
import { type KeptLedger, openLedger, type Verdict } from '../robustness/kv-ledger.ts'
import { consistencyOf, figures, storedEntries } from '../robustness/kv-tables.ts'
import { startWriters } from '../robustness/kv-writers.ts'
import { seedOfRun } from '../robustness/seeded.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { startWorld } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const WRITERS = 16
const ACKED_MIN = isShort ? 2_000 : 15_000
const ACKED_WITHIN_MS = 60_000
const LINK_CUT_MS = 400
const RECOVER_MS_MAX = 5_000

interface Outcome {
  ledger: KeptLedger
  verdict: Verdict
  ackedBefore: number
  recoveredMs: number
  waitedMs: number
  consistency: string[]
}

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- failover --seed=${SEED}`)
  await keepsWhatWasAcknowledged(report)
  const { ledger, verdict } = await failOver({ isSynchronous: false, ackedMin: isShort ? 1_000 : 5_000 })
  report.mutant(
    'an asynchronous standby',
    verdict.lost.length > 0 ? `${verdict.lost.length} lost of ${ledger.acked}` : undefined,
  )
})

async function keepsWhatWasAcknowledged(report: Report): Promise<void> {
  const { ledger, verdict, ackedBefore, recoveredMs, waitedMs, consistency } = await failOver({
    isSynchronous: true,
    ackedMin: ACKED_MIN,
  })
  for (const line of [...verdict.lost, ...verdict.tookEffect, ...ledger.contradictions].slice(0, 10)) report.note(line)
  report.note(figures(ledger))
  report.promise(
    'no acknowledged write is lost with the primary',
    verdict.lost.length === 0 && verdict.strangers.length === 0 && ackedBefore >= ACKED_MIN,
    `${verdict.lost.length} lost of ${ackedBefore} before the fail-over (at least ${ACKED_MIN}) and ${ledger.acked - ackedBefore} after; link silent ${LINK_CUT_MS} ms, then kill -9`,
  )
  report.promise(
    'no definite failure took effect, and every repeat of an ambiguous write was taken',
    verdict.tookEffect.length === 0 && ledger.contradictions.length === 0 && ledger.ambiguous > 0,
    `${verdict.tookEffect.length} of ${ledger.definite} took effect, ${ledger.contradictions.length} contradictions, ${ledger.resolved} of ${ledger.ambiguous} ambiguous repeated`,
  )
  const recovery = await report.within(RECOVER_MS_MAX)
  report.promise(
    'the daemons find the new primary by themselves',
    recoveredMs <= recovery.ms,
    `first acknowledged write ${recoveredMs} ms after the promotion (${recovery.text}), ${waitedMs} ms after the kill`,
  )
  report.promise(
    'digests, counters and set sums hold on the new primary',
    consistency.every((state) => state === 'consistent'),
    consistency.join(', '),
  )
}

async function failOver({ isSynchronous, ackedMin }: { isSynchronous: boolean; ackedMin: number }): Promise<Outcome> {
  await using pair = await startPair({ isSynchronous })
  const world = await startWorld({ asShipped: true, replicas: 0, management: false, postgres: pair.primary })
  const ledger = openLedger()
  try {
    const settings = { LOCI_DATABASE_URL: pair.url('loci_daemon', 'loci_cell') }
    for (let replica = 0; replica < 2; replica += 1) await world.startDaemon(settings)
    const urls = world.daemons.map(({ url }) => url)
    const cells = urls.map((url) => ({
      ask: (line: string, options?: Parameters<typeof ask>[2]) => ask(url, line, options),
      sql: (text: string, values?: unknown[]) => runSql(pair.primary.adminUrl('loci_cell'), text, values),
    }))
    const tenants = await Promise.all(cells.map((cell) => addTenant(cell)))
    // Each was awaited at one replica; the other hears of it at its next beat.
    await sleep(1_000)
    const parties = tenants.map(({ instanceId, mint }) => ({ instanceId, token: mint() }))
    const name = `over${randomBytes(3).toString('hex')}`
    const writers = startWriters({ parties, urls: () => urls, ledger, writers: WRITERS, seed: SEED, name })
    const until = Date.now() + ACKED_WITHIN_MS
    while (ledger.acked < ackedMin && Date.now() < until) await sleep(20)

    pair.cutLink()
    await sleep(LINK_CUT_MS)
    await pair.killPrimary()
    const killedAt = performance.now()
    const ackedBefore = ledger.acked
    await pair.promote()
    const promotedAt = performance.now()
    while (writers.lastAckAt() < promotedAt && performance.now() - promotedAt < 30_000) await sleep(5)
    const backAt = performance.now()
    await sleep(1_500)
    await writers.stop()
    await sleep(300)
    const rows = await storedEntries(pair.standby, name)
    return {
      ledger,
      verdict: ledger.verify(rows),
      ackedBefore,
      recoveredMs: Math.round(backAt - promotedAt),
      waitedMs: Math.round(backAt - killedAt),
      consistency: await Promise.all(parties.map(({ token }) => consistencyOf(urls[0] as string, token))),
    }
  } finally {
    await Promise.all(world.daemons.map((daemon) => daemon.stop()))
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

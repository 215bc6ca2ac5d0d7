// An acknowledged write survives kill -9 of every process, and a refused one did nothing. Sixteen writers on two
// replicas keep a ledger while all processes of Postgres are killed again and again, and daemons and management in
// between.

import { type KeptLedger, openLedger, type Verdict } from '../robustness/kv-ledger.ts'
import { consistencyOf, figures, storedEntries } from '../robustness/kv-tables.ts'
import { type Party, startWriters } from '../robustness/kv-writers.ts'
import { seeded, seedOfRun } from '../robustness/seeded.ts'
import { startSlotClients } from '../robustness/slot-clients.ts'
import { violationsOf } from '../robustness/slot-history.ts'
import { readSlotLog } from '../robustness/slot-log.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, startProgram, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const WRITERS = 16
const CRASHES = isShort ? 2 : 6
const ACKED_MIN = isShort ? 3_000 : 30_000
const SLOTS_MIN = 500
const SLOTS_WITHIN_MS = 120_000
const ACKED_WITHIN_MS = 600_000
const random = seeded(SEED)

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- kill --seed=${SEED}`)
  const world = await startWorld({ replicas: 2 })
  try {
    const tenants = await Promise.all(['acme', 'globex'].map((name) => addTenant(world, { name, plan: 'enterprise' })))
    const parties = tenants.map(({ serviceId, capability }) => ({ instanceId: serviceId, token: capability.token }))
    await survivesKills(report, world, parties)
    await mutants(report, world, parties)
  } finally {
    await world.stop()
  }
})

async function survivesKills(report: Report, world: World, parties: Party[]): Promise<void> {
  const kills = { postgres: 0, daemon: 0, management: 0 }
  const [party] = parties as [Party]
  const urls = () => world.daemons.map(({ url }) => url)
  const databases = ['slots-0', 'slots-1']
  const clients = startSlotClients({ party, urls, databases, keys: ['a', 'b', 'c', 'd'], clients: 4, seed: SEED })
  const { ledger, verdict, slowestMs } = await write(world, parties, 'real', ACKED_MIN, async () => {
    for (let crash = 0; crash < CRASHES; crash += 1) {
      const betweenMs = 1_500 + random.below(500)
      await sleep(betweenMs / 2)
      const restarted = crash % 2 === 0 ? killDaemon(world) : killManagement(world)
      kills[crash % 2 === 0 ? 'daemon' : 'management'] += 1
      await sleep(betweenMs / 2)
      await world.postgres.crash()
      kills.postgres += 1
      await world.postgres.start()
      await restarted
    }
  })
  // A slow machine takes longer, it does not fail.
  const until = Date.now() + SLOTS_WITHIN_MS
  while (clients.count() < SLOTS_MIN && Date.now() < until) await sleep(200)
  await clients.stop()
  const broken = [...clients.wrong]
  for (const [database, operations] of clients.histories)
    broken.push(...violationsOf(operations, await readSlotLog(world.postgres, party.instanceId, database)))
  for (const line of broken.slice(0, 10)) report.note(line)
  report.promise(
    'no acknowledged slot is lost, and no clear is half',
    broken.length === 0 && clients.count() >= SLOTS_MIN,
    `${broken.length} violations in ${clients.count()} operations (at least ${SLOTS_MIN})`,
  )
  for (const line of [...verdict.lost, ...verdict.tookEffect, ...ledger.contradictions].slice(0, 10)) report.note(line)
  report.note(figures(ledger))
  report.promise(
    'P1: no acknowledged write is lost',
    verdict.lost.length === 0 && verdict.strangers.length === 0 && ledger.acked >= ACKED_MIN,
    `${verdict.lost.length} lost of ${ledger.acked} (at least ${ACKED_MIN}), ${verdict.strangers.length} that nobody wrote; ${verdict.keys} keys; kill -9 of all Postgres processes ${kills.postgres} times, of a daemon ${kills.daemon}, of management ${kills.management}`,
  )
  report.promise(
    'P2: no definite failure took effect, and every repeat of an ambiguous write was taken',
    verdict.tookEffect.length === 0 &&
      ledger.contradictions.length === 0 &&
      ledger.definite > 0 &&
      ledger.ambiguous > 0,
    `${verdict.tookEffect.length} of ${ledger.definite} took effect, ${ledger.contradictions.length} contradictions, ${ledger.resolved} ambiguous repeated, slowest answer ${slowestMs} ms`,
  )
  const [url] = world.daemons.map((daemon) => daemon.url) as [string]
  const states = await Promise.all(parties.map(({ token }) => consistencyOf(url, token)))
  report.promise(
    'digests, counters and set sums hold after the kills',
    states.every((state) => state === 'consistent'),
    states.join(', '),
  )
}

/** Writers run while `faults` happen and until enough was acknowledged; then the ledger is held against the tables. */
async function write(
  world: World,
  parties: Party[],
  name: string,
  ackedMin: number,
  faults: () => Promise<void>,
  daemons: LociProcess[] = world.daemons,
): Promise<{ ledger: KeptLedger; verdict: Verdict; slowestMs: number }> {
  const ledger = openLedger()
  const urls = () => daemons.map(({ url }) => url)
  const writers = startWriters({ parties, urls, ledger, writers: WRITERS, seed: SEED, name })
  try {
    await faults()
    const until = Date.now() + ACKED_WITHIN_MS
    while (ledger.acked < ackedMin && Date.now() < until) await sleep(50)
  } finally {
    await writers.stop()
  }
  // What a dead daemon has sent may still be under way.
  await sleep(300)
  return { ledger, verdict: ledger.verify(await storedEntries(world.postgres, name)), slowestMs: writers.slowestMs() }
}

async function killDaemon(world: World): Promise<void> {
  const [daemon] = world.daemons.splice(random.below(world.daemons.length), 1)
  await daemon?.kill()
  await world.startDaemon()
}

async function killManagement(world: World): Promise<void> {
  await world.management?.kill()
  world.management = await startProgram('management', world.managementSettings())
}

async function mutants(report: Report, world: World, parties: Party[]): Promise<void> {
  {
    await using mutant = await plantMutant([
      {
        file: 'daemon/kv/routes.ts',
        from: `    if (done.outcome === 'written') return done.writes\n`,
        to: `    if (done.outcome === 'written' && Math.random() < 0.1) throw new ApiError('STORE_UNAVAILABLE', 'Not now.')
    if (done.outcome === 'written') return done.writes\n`,
      },
    ])
    const daemon = await mutant.startProgram('daemon', world.daemonSettings())
    await untilReady(daemon.url)
    const { ledger, verdict } = await write(world, parties, 'liar', 1_000, async () => {}, [daemon])
    await daemon.stop()
    report.mutant(
      '503 after the commit',
      verdict.tookEffect.length > 0
        ? `${verdict.tookEffect.length} of ${ledger.definite} refused writes took effect`
        : undefined,
    )
  }
  {
    // After the start, for a daemon refuses to start on it.
    const admin = world.postgres.adminUrl()
    await runSql(admin, `alter system set synchronous_commit = off`)
    // As far behind as Postgres allows: what the mutant loses must not depend on the moment of the crash.
    await runSql(admin, `alter system set wal_writer_delay = '10s'`)
    await runSql(admin, 'select pg_reload_conf()')
    const { ledger, verdict } = await write(world, parties, 'lazy', 0, async () => {
      for (let crash = 0; crash < 2; crash += 1) {
        await sleep(1_500)
        await world.postgres.crash()
        await world.postgres.start()
      }
    })
    report.mutant(
      'synchronous_commit = off',
      verdict.lost.length > 0 ? `${verdict.lost.length} lost of ${ledger.acked}` : undefined,
    )
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

// An acknowledged write survives kill -9 of every process, and a refused one did nothing. Sixteen writers on two
// replicas keep a ledger while all processes of Postgres are killed again and again, and daemons and management in
// between. So do writers of memory, which also ask for what they stored while its index is built.

import { type KeptLedger, openLedger, type Verdict } from '../robustness/kv-ledger.ts'
import { consistencyOf, figures, storedEntries } from '../robustness/kv-tables.ts'
import { type Party, startWriters } from '../robustness/kv-writers.ts'
import { plainClient } from '../robustness/plain-client.ts'
import { disagreeingHeads, storedRecords } from '../robustness/record-tables.ts'
import { isIn, questionOf, REFUSED, recordOperations } from '../robustness/record-writers.ts'
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
const RECORD_WRITERS = 6
const RECORDS_MIN = isShort ? 800 : 10_000
const RECALLED = isShort ? 100 : 1_000
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
  const records = startRecords(world, parties, 'memory')
  const disagreeing: string[] = []
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
      disagreeing.push(...(await disagreeingHeads(world.postgres)).wrong)
      await restarted
    }
  })
  await judgeRecords(report, world, parties, records, disagreeing)
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
      verdict.half.length === 0 &&
      ledger.contradictions.length === 0 &&
      ledger.definite > 0 &&
      ledger.ambiguous > 0,
    `${verdict.tookEffect.length} of ${ledger.definite} took effect, ${verdict.half.length} half, ${ledger.contradictions.length} contradictions, ${ledger.resolved} ambiguous repeated, slowest answer ${slowestMs} ms`,
  )
  const [url] = world.daemons.map((daemon) => daemon.url) as [string]
  const states = await Promise.all(parties.map(({ token }) => consistencyOf(url, token)))
  report.promise(
    'digests, counters and set sums hold after the kills',
    states.every((state) => state === 'consistent'),
    states.join(', '),
  )
}

interface Records {
  ledger: KeptLedger
  stop(): Promise<Verdict>
}

/** Writers of memory, until they are stopped. */
function startRecords(world: World, parties: Party[], name: string, daemons: LociProcess[] = world.daemons): Records {
  const ledger = openLedger()
  const urls = () => daemons.map(({ url }) => url)
  const writers = startWriters({
    parties,
    urls,
    ledger,
    writers: RECORD_WRITERS,
    seed: SEED,
    name,
    make: recordOperations,
  })
  return {
    ledger,
    async stop() {
      await writers.stop()
      // What a dead daemon has sent may still be under way.
      await sleep(300)
      return ledger.verify(await storedRecords(world.postgres, name))
    },
  }
}

async function judgeRecords(
  report: Report,
  world: World,
  parties: Party[],
  { ledger, stop }: Records,
  disagreeing: string[],
): Promise<void> {
  const until = Date.now() + ACKED_WITHIN_MS
  while (ledger.acked < RECORDS_MIN && Date.now() < until) await sleep(50)
  const verdict = await stop()
  const { lost, tookEffect, strangers, half } = verdict
  for (const line of [...lost, ...tookEffect, ...half, ...strangers, ...ledger.contradictions].slice(0, 10))
    report.note(line)
  report.note(`memory: ${figures(ledger)}`)
  report.promise(
    'no acknowledged record is lost, no batch and no superseding pair is half, and recall finds what was acknowledged',
    lost.length + tookEffect.length + strangers.length + half.length + ledger.contradictions.length === 0 &&
      ledger.acked >= RECORDS_MIN,
    `${lost.length} lost of ${ledger.acked} (at least ${RECORDS_MIN}), ${tookEffect.length} of ${ledger.definite} refused took effect, ${half.length} half, ${strangers.length} that nobody wrote, ${ledger.contradictions.length} contradictions; ${verdict.keys} records`,
  )
  const open = [...(await storedRecords(world.postgres, 'memory'))].filter(([, state]) => state === 'open')
  const step = Math.max(1, Math.floor(open.length / RECALLED))
  const asked = open.filter((_, at) => at % step === 0).slice(0, RECALLED)
  const missed: string[] = []
  const client = plainClient()
  for (const [at, [id]] of asked.entries()) {
    const [instanceId, database, mark] = id.split(' ') as [string, string, string]
    const token = parties.find((party) => party.instanceId === instanceId)?.token as string
    const outcome = await client.send((world.daemons[at % world.daemons.length] as LociProcess).url, {
      method: 'POST',
      path: '/v1/memory/recall',
      headers: { 'x-loci-capability': token, 'x-loci-database': database },
      body: JSON.stringify(questionOf(mark)),
    })
    if (outcome.kind !== 'answer' || outcome.status !== 200 || !isIn(outcome.body, mark)) missed.push(id)
  }
  client.close()
  let heads = await disagreeingHeads(world.postgres)
  // More was stored than a tail may be, so the index is due; a slow machine takes longer.
  for (; heads.segments === 0 && Date.now() < until; heads = await disagreeingHeads(world.postgres)) await sleep(200)
  for (const line of [...disagreeing, ...heads.wrong, ...missed].slice(0, 10)) report.note(line)
  report.promise(
    'after every crash the heads of memory say what their rows do, and both replicas recall',
    disagreeing.length + heads.wrong.length + missed.length === 0 && asked.length > 0 && heads.segments > 0,
    `${disagreeing.length + heads.wrong.length} heads disagree of ${heads.heads} after ${CRASHES} crashes, ${heads.segments} segments; ${missed.length} missed of ${asked.length}`,
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
      {
        file: 'daemon/memory/routes.ts',
        from: `    if (done.outcome === 'refused') throw`,
        to: `    if (done.outcome === 'stored' && Math.random() < 0.1) throw new ApiError('STORE_UNAVAILABLE', 'Not now.')
    if (done.outcome === 'refused') throw`,
      },
      // Every second refusal, so that there are both.
      {
        file: 'daemon/memory/routes.ts',
        from: `    if (refused) throw`,
        to: `    if (refused && ((globalThis as any).isOdd = !(globalThis as any).isOdd))
      throw new ApiError('OUTCOME_UNKNOWN', 'Who knows.')
    if (refused) throw`,
      },
      // A batch whose records are each on their own.
      { file: 'daemon/memory/store.ts', from: '(act.isWhole ? at + 1 : null)', to: '(act.claim ? at + 1 : null)' },
    ])
    const daemon = await mutant.startProgram('daemon', world.daemonSettings())
    await untilReady(daemon.url)
    const records = startRecords(world, parties, 'halves', [daemon])
    const { ledger, verdict } = await write(world, parties, 'liar', 1_000, async () => {}, [daemon])
    while (records.ledger.acked < 200 || records.ledger.ambiguous < 10) await sleep(50)
    const { tookEffect, half } = await records.stop()
    await daemon.stop()
    report.mutant(
      'a batch of records of unknown outcome is half stored',
      half.length > 0 ? `${half.length} halves, e.g. ${half[0]?.slice(0, 6)}` : undefined,
    )
    const halves = tookEffect.filter((line) => line.includes(`${REFUSED}: `)).length
    const lied = tookEffect.length - halves
    const refused = `of ${records.ledger.definite} refused records took effect`
    report.mutant('503 after the commit of records', lied > 0 ? `${lied} ${refused}` : undefined)
    report.mutant('a refused batch of records is half stored', halves > 0 ? `${halves} ${refused}` : undefined)
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

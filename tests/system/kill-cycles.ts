// An acknowledged cycle survives kill -9 of every process, exactly once, and none is ever half: after each crash its
// document, record, decisions, link in the chain, statistics and event agree. Six writers on two replicas keep a
// ledger while all processes of Postgres are killed again and again, and daemons in between.

import { EARLY, LIAR, SPLIT, TORN } from '../robustness/cycle-mutants.ts'
import { halfCycles, storedCycles } from '../robustness/cycle-tables.ts'
import { cycleOperations } from '../robustness/cycle-writers.ts'
import { type KeptLedger, openLedger, type Verdict } from '../robustness/kv-ledger.ts'
import { consistencyOf, figures } from '../robustness/kv-tables.ts'
import { type Party, startWriters } from '../robustness/kv-writers.ts'
import { seeded, seedOfRun } from '../robustness/seeded.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const WRITERS = 6
const CRASHES = isShort ? 4 : 20
/** Of cycles. In the ledger each is two: the record of its observation, and the cycle. */
const ACKED_MIN = isShort ? 200 : 3_000
const ACKED_WITHIN_MS = 600_000
const MUTANT_MIN = 24
const random = seeded(SEED)

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- kill-cycles --seed=${SEED}`)
  const world = await startWorld({ replicas: 2 })
  try {
    const tenants: WorldTenant[] = []
    for (const name of ['acme', 'globex']) tenants.push(await addTenant(world, { name, plan: 'enterprise' }))
    const parties = tenants.map(({ serviceId, capability }) => ({ instanceId: serviceId, token: capability.token }))
    await survivesKills(report, world, parties)
    await tornCommits(report, world, parties)
    await mutantDaemons(report, world, parties)
  } finally {
    await world.stop()
  }
})

async function survivesKills(report: Report, world: World, parties: Party[]): Promise<void> {
  const halves: string[] = []
  const startedAt = performance.now()
  const { ledger, verdict } = await write(world, parties, 'real', ACKED_MIN, async (acked) => {
    for (let crash = 0; crash < CRASHES; crash += 1) {
      // Each crash meets cycles under way, however slow the machine is.
      await acked(WRITERS)
      const restarted = crash % 2 === 0 ? killDaemon(world) : undefined
      await sleep(random.below(500))
      await world.postgres.crash()
      await world.postgres.start()
      halves.push(...(await halfCycles(world.postgres, 'real')).wrong)
      await restarted
    }
  })
  const seconds = (performance.now() - startedAt) / 1_000
  const { wrong, cycles } = await halfCycles(world.postgres, 'real')
  halves.push(...wrong, ...verdict.half)
  const { lost, tookEffect, strangers } = verdict
  for (const line of [...lost, ...tookEffect, ...strangers, ...halves, ...ledger.contradictions].slice(0, 10))
    report.note(line)
  report.note(`${figures(ledger)}; two for each cycle; ${Math.round(seconds)} s`)
  report.promise(
    'no acknowledged cycle is lost, and each is there once',
    lost.length + strangers.length === 0 && ledger.acked >= 2 * ACKED_MIN,
    `${lost.length} lost of ${ledger.acked / 2} (at least ${ACKED_MIN}), ${strangers.length} that nobody ran; kill -9 of all Postgres processes ${CRASHES} times, of a daemon ${Math.ceil(CRASHES / 2)}`,
  )
  report.promise(
    'no refused cycle took effect, and every repeat of an ambiguous one was taken',
    tookEffect.length + ledger.contradictions.length === 0 && ledger.definite > 0 && ledger.ambiguous > 0,
    `${tookEffect.length / 2} of ${ledger.definite / 2} took effect, ${ledger.contradictions.length} contradictions, ${ledger.resolved / 2} ambiguous repeated`,
  )
  report.promise(
    'none is half: document, record, decisions, chain, statistics and event agree after every crash',
    halves.length === 0,
    `${halves.length} half of ${cycles} after ${CRASHES} crashes`,
  )
  const states = await Promise.all(
    world.daemons.flatMap(({ url }) => parties.map(({ token }) => consistencyOf(url, token))),
  )
  report.promise(
    'both replicas find everything consistent',
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
  faults: (acked: (more: number) => Promise<void>, ledger: KeptLedger) => Promise<void>,
  daemons: () => LociProcess[] = () => world.daemons,
): Promise<{ ledger: KeptLedger; verdict: Verdict }> {
  const ledger = openLedger()
  const urls = () => daemons().map(({ url }) => url)
  const writers = startWriters({ parties, urls, ledger, writers: WRITERS, seed: SEED, name, make: cycleOperations })
  const until = Date.now() + ACKED_WITHIN_MS
  const acked = async (cycles: number) => {
    const enough = ledger.acked + 2 * cycles
    while (ledger.acked < enough && Date.now() < until) await sleep(20)
  }
  try {
    await faults(acked, ledger)
    await acked(ackedMin - ledger.acked / 2)
  } finally {
    await writers.stop()
  }
  // What a dead daemon has sent may still be under way.
  await sleep(300)
  return { ledger, verdict: ledger.verify(await storedCycles(world.postgres, name)) }
}

async function killDaemon(world: World): Promise<void> {
  const [daemon] = world.daemons.splice(random.below(world.daemons.length), 1)
  await daemon?.kill()
  await world.startDaemon()
}

async function tornCommits(report: Report, world: World, parties: Party[]): Promise<void> {
  const admin = world.postgres.adminUrl('loci_cell')
  for (const [at, { name, of, from, to }] of TORN.entries()) {
    const whole = await textOf(world, of)
    const torn = whole.replace(from, to)
    if (torn === whole) throw new Error(`the mutant of ${of} no longer applies: ${name}`)
    await runSql(admin, torn)
    await write(world, parties, `torn${at}`, MUTANT_MIN, async () => {})
    await runSql(admin, whole)
    report.mutant(name, (await halfCycles(world.postgres, `torn${at}`)).wrong[0]?.slice(0, 200))
  }
}

async function mutantDaemons(report: Report, world: World, parties: Party[]): Promise<void> {
  {
    await using daemon = await startMutant(world, LIAR)
    const refusals = async (_: unknown, ledger: KeptLedger) => {
      const until = Date.now() + ACKED_WITHIN_MS
      while (ledger.definite < 10 && Date.now() < until) await sleep(20)
    }
    const { ledger, verdict } = await write(world, parties, 'liar', MUTANT_MIN, refusals, daemon.running)
    const { length } = verdict.tookEffect
    const how = `${length / 2} of ${ledger.definite / 2} refused cycles took effect`
    report.mutant('503 after the commit', length > 0 ? how : undefined)
  }
  {
    await using daemon = await startMutant(world, EARLY)
    const kill = async (acked: (more: number) => Promise<void>) => {
      await acked(WRITERS)
      await daemon.kill()
    }
    const { ledger, verdict } = await write(world, parties, 'early', 0, kill, daemon.running)
    const { length } = verdict.lost
    report.mutant('the answer before the commit', length > 0 ? `${length / 2} lost of ${ledger.acked / 2}` : undefined)
  }
  {
    await using daemon = await startMutant(world, SPLIT)
    const isApart = await tornInTwo(world)
    const kill = async (acked: (more: number) => Promise<void>) => {
      await acked(WRITERS)
      const until = Date.now() + ACKED_WITHIN_MS
      while (!(await isApart()) && Date.now() < until) await sleep(10)
      await daemon.kill()
    }
    await write(world, parties, 'split', 0, kill, daemon.running)
    const { wrong } = await halfCycles(world.postgres, 'split')
    report.mutant('the document by one transaction and the cycle by the next', wrong[0]?.slice(0, 200))
  }
}

interface MutantDaemon extends AsyncDisposable {
  running(): LociProcess[]
  kill(): Promise<void>
}

async function startMutant(world: World, edits: Edit[]): Promise<MutantDaemon> {
  const mutant = await plantMutant(edits)
  const running = [await mutant.startProgram('daemon', world.daemonSettings())]
  await untilReady(running[0]?.url as string)
  return {
    running: () => running,
    kill: async () => running.pop()?.kill(),
    async [Symbol.asyncDispose]() {
      await running.pop()?.stop()
      await mutant[Symbol.asyncDispose]()
    },
  }
}

/** The rows of cycles go to a table beside, until somebody moves them; tells whether there are any. */
async function tornInTwo(world: World): Promise<() => Promise<boolean>> {
  const admin = world.postgres.adminUrl('loci_cell')
  const whole = await textOf(world, 'cycle_commit')
  const torn = whole.replace('insert into loci.cycles select', 'insert into public.late select')
  if (torn === whole) throw new Error('the mutant of cycle_commit no longer applies')
  await runSql(admin, 'create table public.late (like loci.cycles)')
  await runSql(admin, 'grant all on public.late to public')
  await runSql(
    admin,
    `create function public.move_late() returns void language sql security definer as
     'with moved as (delete from public.late returning *) insert into loci.cycles select * from moved'`,
  )
  await runSql(admin, torn)
  return async () => (await runSql(admin, 'select 1 from public.late limit 1')).length > 0
}

async function textOf({ postgres }: World, name: string): Promise<string> {
  const admin = postgres.adminUrl('loci_cell')
  const [row] = await runSql<{ text: string }>(admin, `select pg_get_functiondef('loci.${name}'::regproc) as text`)
  return row?.text as string
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

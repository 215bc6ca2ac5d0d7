// One effect and one answer per Idempotency-Key. Twenty-five clients create a service with one key at the same moment,
// for half of the keys on two processes of management, while transactions are rolled back and processes of management
// and Postgres are killed. In a cell a day of keyed writes is kept, as many as the plan has records.

import {
  type Creation,
  create,
  judge,
  newCreation,
  newTally,
  requestOf,
  type Verdict,
} from '../robustness/creations.ts'
import { keepsADayOfKeys } from '../robustness/keyed-day.ts'
import { type PlainClient, plainClient } from '../robustness/plain-client.ts'
import { addCallers, type WorldCaller } from '../world/callers.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, startProgram, untilReady } from '../world/process.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const KEYS = isShort ? 60 : 200
const AT_ONCE = 25
/** Keys at work at the same time. */
const LANES = 3
const ORGANIZATIONS = 10
const ROUNDS_OF_KILLS = isShort ? 1 : 3
/** Of every insert, twice in a creation; so that of all requests at least a twentieth is rolled back. */
const ROLLBACK_SHARE = 0.4
const ROLLED_BACK_MIN = 0.05
const DOOMED = 5
/** Of every ten keys one is not asked for again, whatever is answered. */
const SHY_EVERY = 10
/** Of every five keys one is used with two bodies at once. */
const TWO_BODIES_EVERY = 5

await reportOn(async (report) => {
  const world = await startWorld({ replicas: 0 })
  const processes = [world.management as LociProcess]
  try {
    processes.push(await startManagement(world, '127.0.0.1:0'))
    // A caller for each key: the limit of writes stays in force and is not what is tried here. Those of an organization
    // lie ORGANIZATIONS apart, so that the next caller is another organization's.
    const callers = interleave(
      await addCallers(world, { organizations: ORGANIZATIONS, each: KEYS / ORGANIZATIONS, name: 'storm' }),
    )
    await survivesTheStorm(report, world, processes, callers)
    await failsFree(report, world, processes, callers)
    await mutant(report, world, callers)
  } finally {
    await processes[1]?.stop()
    world.management = processes[0]
    await world.stop()
  }
  await keepsADayOfKeys(report, { isShort })
})

async function survivesTheStorm(
  report: Report,
  world: World,
  processes: LociProcess[],
  callers: WorldCaller[],
): Promise<void> {
  await forceRollbacks(world, ROLLBACK_SHARE)
  const tally = newTally()
  const creations = callers.map((caller, n) => newCreation(`key-${n}`, `storm-${n}`, caller, tally))
  let finished = 0
  const killing = kill(world, processes, () => finished / KEYS)
  await eachWith25(creations, async (creation, clients, n) => {
    const urlOf = (client: number) => processes[n % 2 === 0 ? client % 2 : (n >> 1) % 2]?.url as string
    await Promise.all(
      clients.map((client, at) =>
        create(creation, client, () => urlOf(at), {
          name: n % TWO_BODIES_EVERY === 0 && at % 2 === 1 ? `${creation.name}/other` : creation.name,
          repeats: n % SHY_EVERY !== SHY_EVERY - 1,
        }),
      ),
    )
    finished += 1
  })
  const kills = await killing
  const bugs = [...kills.lines, ...processes.flatMap(({ lines }) => lines)].filter(
    (line) => line.includes('"code":"INTERNAL_ERROR","error"') && !line.includes('forced rollback'),
  )
  const probes = await probe(world, processes, creations)
  const verdict = await judge(world.postgres, [...creations, ...probes.creations])

  const { lost, differing, crooked } = verdict
  const lines = [...lost, ...differing, ...crooked, ...tally.wrong, ...probes.wrong, ...bugs]
  for (const line of lines.slice(0, 10)) report.note(line)
  report.note(
    `${tally.sent} requests: ${tally.acked} acknowledged, ${tally.rolledBack} rolled back, ${tally.silent} without an answer; kill -9 of management ${kills.management} times, of all Postgres processes ${kills.postgres}`,
  )
  report.promise(
    'P3: one service per key, or none where none was acknowledged',
    verdict.duplicates === 0 &&
      lost.length === 0 &&
      tally.wrong.length === 0 &&
      tally.givenUp === 0 &&
      bugs.length === 0 &&
      tally.rolledBack >= ROLLED_BACK_MIN * KEYS * AT_ONCE,
    `${verdict.duplicates} duplicates of ${KEYS * AT_ONCE} (${KEYS} keys, ${AT_ONCE} at once), ${lost.length} acknowledged and lost, ${tally.givenUp} never answered, ${bugs.length} failed otherwise than by force; not acknowledged: ${verdict.silent.made} made, ${verdict.silent.none} not`,
  )
  report.promise(
    'P3: one answer per key, repeats marked, another body told',
    differing.length === 0,
    `${differing.length} differ of ${tally.acked} answers`,
  )
  report.promise(
    'each service has its operation, audit entry, event, due row and count exactly once, and nothing is left of the rest',
    crooked.length === 0,
    `${crooked.length} crooked of ${verdict.services} services`,
  )
  report.promise(
    'another body gets the stored answer or, asked strictly, 422; another caller or organization another service',
    probes.wrong.length === 0 && probes.asked > 0,
    `${probes.wrong.length} wrong of ${probes.asked}`,
  )
}

/** Kills one process of management, all of Postgres, the other of management, spread over the run. */
async function kill(world: World, processes: LociProcess[], done: () => number) {
  const kills = { management: 0, postgres: 0, lines: [] as string[] }
  const steps = Array.from({ length: ROUNDS_OF_KILLS }, () => ['first', 'postgres', 'second'] as const).flat()
  for (const [at, step] of steps.entries()) {
    while (done() < (at + 1) / (steps.length + 1)) await sleep(5)
    if (step === 'postgres') {
      await world.postgres.crash()
      await world.postgres.start()
      kills.postgres += 1
    } else {
      const index = step === 'first' ? 0 : 1
      const old = processes[index] as LociProcess
      await old.kill()
      kills.lines.push(...old.lines)
      processes[index] = await startManagement(world, new URL(old.url).host)
      kills.management += 1
    }
  }
  return kills
}

/** What a key that is known answers to others, for each key that was acknowledged. */
async function probe(world: World, processes: LociProcess[], creations: Creation[]) {
  await forceRollbacks(world, 0)
  const tally = newTally()
  const wrong: string[] = []
  const others: Creation[] = []
  const client = plainClient()
  let asked = 0
  for (const [n, creation] of creations.entries()) {
    const [first] = creation.answers
    if (!first) continue
    const url = processes[n % 2]?.url as string
    const strict = await client.send(url, requestOf(creation, 'elsewhere', { 'idempotency-strict': 'true' }))
    if (strict.kind !== 'answer' || strict.status !== 422 || !strict.body.includes('IDEMPOTENCY_KEY_REUSED'))
      wrong.push(`${creation.key}: another body, strictly: ${JSON.stringify(strict)}`)
    await create(creation, client, () => url, { name: 'elsewhere' })
    const told = creation.answers.at(-1)
    if (!told?.isReplay || !told.isOther || told.serviceId !== first.serviceId)
      wrong.push(`${creation.key}: another body: ${JSON.stringify(told)}`)
    const strangers = [
      { who: 'caller', caller: creations[(n + ORGANIZATIONS) % creations.length]?.caller },
      { who: 'organization', caller: creations[(n + 1) % creations.length]?.caller },
    ]
    for (const { who, caller } of strangers) {
      const other = newCreation(creation.key, `${creation.name}-${who}`, caller as WorldCaller, tally)
      await create(other, client, () => url)
      others.push(other)
      if (other.answers[0]?.isReplay !== false || other.answers[0].serviceId === first.serviceId)
        wrong.push(`${creation.key}: another ${who} got ${JSON.stringify(other.answers)}`)
    }
    asked += 4
  }
  client.close()
  return { asked, wrong: [...wrong, ...tally.wrong], creations: others }
}

/** A key of which every attempt was rolled back has left nothing and is free. */
async function failsFree(
  report: Report,
  world: World,
  processes: LociProcess[],
  callers: WorldCaller[],
): Promise<void> {
  const tally = newTally()
  const creations = callers
    .slice(0, DOOMED)
    .map((caller, n) => newCreation(`doomed-${n}`, `doomed-${n}`, caller, tally))
  const url = () => processes[0]?.url as string
  await forceRollbacks(world, 1)
  await eachWith25(creations, async (creation, clients) => {
    await Promise.all(clients.map((client) => create(creation, client, url, { repeats: false })))
  })
  await forceRollbacks(world, 0)
  const before = await judge(world.postgres, creations)
  await eachWith25(creations, async (creation, clients) => {
    await Promise.all(clients.map((client) => create(creation, client, url)))
  })
  const after = await judge(world.postgres, creations)
  report.promise(
    'a key whose every attempt was rolled back has left nothing, and is free',
    before.services === 0 && isClean(before) && after.services === DOOMED && isClean(after),
    `${tally.rolledBack} rolled back left ${before.services} services; then ${after.services} of ${DOOMED}, ${after.duplicates} duplicates`,
  )
}

function isClean({ duplicates, lost, differing, crooked }: Verdict): boolean {
  return duplicates + lost.length + differing.length + crooked.length === 0
}

async function mutant(report: Report, world: World, callers: WorldCaller[]): Promise<void> {
  await using planted = await plantMutant([
    {
      // It would notice by itself that the claim comes after other locks.
      file: 'libs/acts/idempotency/store.ts',
      from: `      ACT_LOCKS.note(sql, 'idempotency key', scope.join(' '))\n`,
      to: '',
    },
    {
      file: 'libs/acts/idempotency/idempotency.ts',
      from: 'const isFirst = await answers.claim(sql, claim).catch(',
      to: 'const isFirst = await answers.find(sql, claim.scope).then((found) => !found).catch(',
    },
    {
      file: 'libs/acts/idempotency/idempotency.ts',
      from: '        await answers.keep(sql, claim, outcome)\n',
      to: `        await answers.claim(sql, claim)
        await answers.keep(sql, claim, outcome)\n`,
    },
  ])
  const careless = await planted.startProgram('management', world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
  await untilReady(careless.url)
  const tally = newTally()
  // Other callers than those of the keys before, whose allowance is used up.
  const creations = callers.slice(-10).map((caller, n) => newCreation(`careless-${n}`, `careless-${n}`, caller, tally))
  await eachWith25(creations, async (creation, clients) => {
    await Promise.all(clients.map((client) => create(creation, client, () => careless.url)))
  })
  await careless.stop()
  const { duplicates, differing } = await judge(world.postgres, creations)
  report.mutant(
    'lookup, create, store, without the claim',
    duplicates > 0
      ? `${duplicates} duplicates of ${creations.length * AT_ONCE}, ${differing.length} answers that differ`
      : undefined,
  )
}

/** Each creation has clients of its own lane, with connections of their own. */
async function eachWith25(
  creations: Creation[],
  work: (creation: Creation, clients: PlainClient[], n: number) => Promise<void>,
): Promise<void> {
  const free = Array.from({ length: LANES }, () => Array.from({ length: AT_ONCE }, plainClient))
  await mapWidth(creations, LANES, async (creation, n) => {
    const clients = free.pop() as PlainClient[]
    await work(creation, clients, n)
    free.push(clients)
  })
  for (const client of free.flat()) client.close()
}

/**
 * In the database itself: some of the creations fail in the middle, and some at the commit, when everything else of
 * them has been done and the answer has been stored.
 */
async function forceRollbacks({ postgres }: World, share: number): Promise<void> {
  await runSql(
    postgres.adminUrl('loci_control'),
    `create or replace function public.force_rollback() returns trigger language plpgsql as $$
    begin
      if random() < ${share} then raise exception 'forced rollback'; end if;
      return null;
    end $$;
    create or replace trigger forced_in_the_middle after insert on loci.operations
      for each row execute function public.force_rollback();
    drop trigger if exists forced_at_commit on loci.services;
    create constraint trigger forced_at_commit after insert on loci.services deferrable initially deferred
      for each row execute function public.force_rollback();`,
  )
}

async function startManagement(world: World, listen: string): Promise<LociProcess> {
  const started = await startProgram('management', world.managementSettings({ LOCI_LISTEN: listen }))
  await untilReady(started.url)
  return started
}

/** The callers of each organization in turn. */
function interleave(callers: WorldCaller[]): WorldCaller[] {
  const byOrganization = [...Map.groupBy(callers, ({ organizationId }) => organizationId).values()]
  return callers.map((_, n) => byOrganization[n % ORGANIZATIONS]?.[Math.floor(n / ORGANIZATIONS)] as WorldCaller)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

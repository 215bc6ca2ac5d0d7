// P5: the slots of a database are linearizable. Sixteen clients on both replicas put, compare and set, patch, delete,
// clear, restore, batch, list and read a few keys of a few databases while daemons are killed. What they were told is
// held against the log of the cell by a checker that is tried on broken histories first.

import { readFileSync } from 'node:fs'
import { seeded, seedOfRun } from '../robustness/seeded.ts'
import { startSlotClients } from '../robustness/slot-clients.ts'
import { type Operation, type Step, violationsOf } from '../robustness/slot-history.ts'
import { readSlotLog } from '../robustness/slot-log.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const CLIENTS = 16
const OPERATIONS_MIN = isShort ? 3_000 : 20_000
const WITHIN_MS = 600_000
const KILL_EVERY_MS = 2_500
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f']
const random = seeded(SEED)

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- linear --seed=${SEED}`)
  checkerFinds(report)
  const world = await startWorld({ replicas: 2 })
  try {
    const tenant = await addTenant(world, { name: 'acme', plan: 'enterprise' })
    await holds(report, world, tenant)
    await mutant(report, world, tenant)
  } finally {
    await world.stop()
  }
})

/** Histories with one lie each: what the checker must say of them. */
function checkerFinds(report: Report): void {
  const done = (from: number, extra: Partial<Operation>): Operation => ({
    ...{ kind: 'put', startedAt: from, endedAt: from + 1, outcome: 'done', wants: [], steps: [] },
    ...extra,
  })
  const log: Step[] = [
    { version: 1, key: 'a', value: { put: '1' }, how: 'written' },
    { version: 2, key: 'a', value: { put: '1', c1: 'x' }, how: 'written' },
    { version: 3, key: 'a', value: { put: '1', c1: 'x', c2: 'y' }, how: 'written' },
    { version: 4, key: 'a', how: 'cleared' },
  ]
  const step = (at: number) => ({ key: 'a', version: at, value: log[at - 1]?.value })
  const seen = (at: number) => new Map([['a', { version: at, value: log[at - 1]?.value }]])
  const good: Operation[] = [
    done(0, { steps: [step(1)] }),
    done(2, { kind: 'patch', patch: { c1: 'x' }, steps: [step(2)] }),
    done(2.5, { kind: 'patch', patch: { c2: 'y' }, steps: [step(3)] }),
    done(4, { kind: 'list', asOf: 3, seen: seen(3) }),
    done(6, { kind: 'clear', asOf: 4, cleared: 1 }),
    done(8, { kind: 'list', asOf: 4, seen: new Map() }),
  ]
  const broken: [string, Operation[], Step[]][] = [
    ['a lost update', good, log.map((one) => (one.version === 3 ? { ...one, value: { put: '1', c2: 'y' } } : one))],
    ['a stale list', good.with(3, done(4, { kind: 'list', asOf: 2, seen: seen(2) })), log],
    ['a list that mixes two moments', good.with(3, done(4, { kind: 'list', asOf: 3, seen: seen(2) })), log],
    ['two winners of one If-Match', [...good, done(2.6, { ifMatch: 1, steps: [step(3)] })], log],
    ['an acknowledged write that is not there', good, log.filter(({ version }) => version !== 2)],
    ['a refused write that is there', good.with(0, { ...done(0, {}), outcome: 'refused', wants: [step(1)] }), log],
    ['a write that nobody sent', good.slice(1), log],
    ['a half clear', good.with(4, done(6, { kind: 'clear', asOf: 4, cleared: 2 })), log],
    ['an old read', [...good, done(9, { kind: 'get', told: { key: 'a', version: 3 } })], log],
    ['numbers against the order of time', good.with(0, done(3.7, { steps: [step(1)] })), log],
  ]
  const missed = broken.filter(([, operations, steps]) => violationsOf(operations, steps).length === 0)
  const open = good.with(0, { ...done(0, { wants: [step(1)] }), outcome: 'open', endedAt: Number.POSITIVE_INFINITY })
  const accused = [...violationsOf(good, log), ...violationsOf(open, log)]
  report.promise(
    'the checker finds a lie in each broken history and none in a good one',
    missed.length === 0 && accused.length === 0,
    `${broken.length - missed.length} of ${broken.length} found${missed.map(([name]) => `, not ${name}`).join('')}; ${accused.length} accused wrongly ${accused.join('; ')}`,
  )
}

async function holds(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  let kills = 0
  const { operations, violations, wrong, kinds } = await play(world, tenant, 'real', OPERATIONS_MIN, async () => {
    const [daemon] = world.daemons.splice(random.below(world.daemons.length), 1)
    await daemon?.kill()
    kills += 1
    await world.startDaemon()
  })
  for (const line of [...violations, ...wrong].slice(0, 10)) report.note(line)
  report.note(kinds)
  report.promise(
    'P5: slots are linearizable, and no update is lost',
    violations.length === 0 && wrong.length === 0 && operations >= OPERATIONS_MIN && kills > 0,
    `${violations.length} violations in ${operations} operations (at least ${OPERATIONS_MIN}) of ${CLIENTS} clients on two replicas, ${wrong.length} wrong answers, daemons killed ${kills} times`,
  )
}

/** In the function of the cell itself: its replicas are the real ones. */
async function mutant(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  const text = readFileSync(new URL('../../daemon/working-memory/functions.sql', import.meta.url), 'utf8')
  const write = /^create or replace function loci\.wm_write\([\s\S]*?\n\$\$;\n/m.exec(text)?.[0] ?? ''
  const from = 'if coalesce(v_doc.version, 0) <> p_version[v_n] then'
  if (write.split(from).length !== 2) throw new Error(`the mutant no longer applies: ${from} is not in wm_write once`)
  await runSql(world.postgres.adminUrl('loci_cell'), write.replace(from, 'if false then'))
  const { violations, operations } = await play(world, tenant, 'mutant', 2_000, async () => {})
  await runSql(world.postgres.adminUrl('loci_cell'), write)
  report.mutant(
    'a write without the version',
    violations.length > 0
      ? `${violations.length} violations in ${operations} operations: ${violations[0]?.slice(0, 120)}`
      : undefined,
  )
}

async function play(
  world: World,
  { serviceId, capability, operator }: WorldTenant,
  name: string,
  operationsMin: number,
  kill: () => Promise<void>,
) {
  const databases = [0, 1, 2].map((n) => `${name}-${n}`)
  for (const database of databases) {
    const answer = await fetch(`${world.daemons[0]?.url}/v1/working-memory/config`, {
      method: 'PUT',
      headers: { 'x-loci-capability': operator.token, 'x-loci-database': database, 'content-type': 'application/json' },
      body: '{"capacity":256}',
    })
    if (answer.status !== 200) throw new Error(await answer.text())
  }
  const party = { instanceId: serviceId, token: capability.token }
  const urls = () => world.daemons.map(({ url }) => url)
  const clients = startSlotClients({ party, urls, databases, keys: KEYS, clients: CLIENTS, seed: SEED })
  const until = Date.now() + WITHIN_MS
  try {
    while (clients.count() < operationsMin && Date.now() < until) {
      await sleep(KILL_EVERY_MS)
      await kill()
    }
  } finally {
    await clients.stop()
  }
  // What a dead daemon has sent may still be under way.
  await sleep(300)
  const violations: string[] = []
  for (const [database, operations] of clients.histories)
    violations.push(
      ...violationsOf(operations, await readSlotLog(world.postgres, serviceId, database)).map(
        (one) => `${database}: ${one}`,
      ),
    )
  const all = [...clients.histories.values()].flat()
  const kinds = Object.entries(Object.groupBy(all, ({ kind, outcome }) => `${kind} ${outcome}`))
    .map(([kind, those]) => `${kind} ${those?.length}`)
    .sort()
    .join(', ')
  return { operations: clients.count(), violations, wrong: clients.wrong, kinds }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

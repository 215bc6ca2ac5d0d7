// No event is lost or reordered (P25): 10^4 writes of one instance through two replicas, followed on both by clients
// that are cut off again and again. Then the same with transactions that take their time between the number and the
// commit, and with the mutant that numbers by a sequence.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Follower, follow, followCapability } from '../robustness/event-followers.ts'
import { seeded, seedOfRun } from '../robustness/seeded.ts'
import { mapWidth, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const WRITES = isShort ? 1_000 : 10_000
const SLOW_WRITES = isShort ? 300 : 1_000
const WRITERS = 16
const DATABASES = 4
const FOLLOWERS = 6
/** A follower is cut after at most this. */
const STAY_MS = 900
const SETTLE_MS = 30_000
const random = seeded(SEED)

/** Between the number and the commit, as a busy disk would. */
const HESITATION = `create or replace function loci.test_hesitate() returns trigger language plpgsql as
  $$ begin perform pg_sleep(random() * 0.03); return null; end $$;
  create trigger test_hesitate after insert on loci.events for each statement execute function loci.test_hesitate()`
const MUTANT = `create sequence loci.mutant start 1000000; grant usage on sequence loci.mutant to loci_app;
  drop table loci.event_heads;
  create view loci.event_heads as select instance_id, max(seq) as seq from loci.events group by instance_id;
  grant select on loci.event_heads to loci_app;
  create or replace function loci.append_events(p_instance text, p_events jsonb) returns void language sql as $$
    insert into loci.events (instance_id, seq, at, type, database, domain, data)
      select p_instance, nextval('loci.mutant'), clock_timestamp(), e->>'type', e->>'database', e->>'domain', e->'data'
      from jsonb_array_elements(p_events) e $$`

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- events --seed=${SEED}`)
  const world = await startWorld({ replicas: 2 })
  const cell = world.postgres.adminUrl('loci_cell')
  try {
    const { capability } = await addTenant(world, { name: 'acme', plan: 'enterprise' })
    const run = (writes: number, settleMs: number) => followed(world, capability.token, writes, settleMs)
    const plain = await run(WRITES, SETTLE_MS)
    report.promise('writes through two replicas, each told once and in order', isKept(plain, WRITES), shown(plain))
    const [counted] = await runSql<{ deadlocks: number }>(
      cell,
      'select deadlocks::int from pg_stat_database where datname = current_database()',
    )
    report.promise(
      'no two writers waited for each other in a circle',
      counted?.deadlocks === 0,
      `${counted?.deadlocks} deadlocks`,
    )
    await runSql(cell, HESITATION)
    const slow = await run(SLOW_WRITES, SETTLE_MS)
    report.promise('the same with slow commits', isKept(slow, SLOW_WRITES), shown(slow))
    await runSql(cell, MUTANT)
    const mutant = await run(SLOW_WRITES, 3_000)
    report.mutant('numbering by bigserial', mutant.missed > 0 ? shown(mutant) : undefined)
  } finally {
    await world.stop()
  }
})

interface Findings {
  writes: number
  missed: number
  /** Seen again, or after a later one. */
  reordered: number
  connections: number
  seconds: number
}

function isKept({ writes, missed, reordered }: Findings, expected: number): boolean {
  return writes === expected && missed === 0 && reordered === 0
}

function shown({ writes, missed, reordered, connections, seconds }: Findings): string {
  return `${missed} missed, ${reordered} reordered of ${writes} events by ${FOLLOWERS} followers with ${connections} connections, ${seconds.toFixed(1)} s`
}

async function followed({ daemons }: World, token: string, writes: number, settleMs: number): Promise<Findings> {
  const urls = daemons.map(({ url }) => url)
  const startedAt = performance.now()
  const followers = Array.from({ length: FOLLOWERS }, (_, at) =>
    follow(at % 2 ? urls : urls.toReversed(), followCapability(token), random, STAY_MS),
  )
  // Each has been told where it began.
  await sleep(1_000)
  const acknowledged = await mapWidth(Array.from({ length: writes }), WRITERS, async (_, n) => {
    const writer = n % WRITERS
    const database = `d${writer % DATABASES}`
    const answer = await fetch(`${urls[random.below(urls.length)]}/v1/working-memory/slots/w${writer}`, {
      method: 'PUT',
      headers: { 'x-loci-capability': token, 'x-loci-database': database, 'content-type': 'application/json' },
      body: JSON.stringify({ value: n }),
    })
    const body = (await answer.json()) as { version: number }
    if (answer.status !== 200) throw new Error(`a write was answered ${answer.status}: ${JSON.stringify(body)}`)
    return `${database} ${body.version}`
  })
  const missedBy = ({ seen }: Follower) => {
    const known = new Set(seen.map(({ database, data }) => `${database} ${data.version}`))
    return acknowledged.filter((one) => !known.has(one)).length
  }
  const until = performance.now() + settleMs
  while (performance.now() < until && followers.some((one) => missedBy(one) > 0)) await sleep(100)
  for (const follower of followers) follower.stop()
  return {
    writes: new Set(acknowledged).size,
    missed: followers.reduce((sum, one) => sum + missedBy(one), 0),
    reordered: followers.reduce((sum, { seen }) => sum + reorderedIn(seen), 0),
    connections: followers.reduce((sum, { connections }) => sum + connections, 0),
    seconds: (performance.now() - startedAt) / 1_000,
  }
}

/** By the number of the instance, and by the versions of each database. */
function reorderedIn(seen: Follower['seen']): number {
  const last = new Map<string, number>()
  let reordered = 0
  for (const { seq, database, data } of seen) {
    const before = { seq: last.get('') ?? 0, version: last.get(database) ?? 0 }
    if (seq <= before.seq || data.version <= before.version) reordered += 1
    last.set('', seq)
    last.set(database, data.version)
  }
  return reordered
}

// Databases of one instance whose cycles run by schedule, in bulk; what comes in, by a client that keeps a ledger; and
// what the tables say of their cycles.

import { runSql } from '../world/sql.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { type PlainClient, plainClient } from './plain-client.ts'

export const INTERVAL_MS = 10_000
const LIMITS = { requests_per_second: 1_000_000, burst: 1_000_000, databases: 10_000_000, records: 10_000_000 }
const HEARD_MS = 1_000

/**
 * The schedule is the service's own, so that every database has it: `<prefix>0`, `<prefix>1`, … are made as rows, each
 * with a due row when `isDue`, as after a change of its configuration.
 */
export async function addScheduled(
  { postgres }: World,
  { serviceId }: WorldTenant,
  {
    prefix,
    count,
    isDue = false,
    intervalMs = INTERVAL_MS,
  }: { prefix: string; count: number; isDue?: boolean; intervalMs?: number },
): Promise<void> {
  const admin = postgres.adminUrl('loci_cell')
  const config = { cognitive: { schedule: { intervalMs } } }
  await runSql(
    admin,
    `with seq as (update loci.cell set change_seq = change_seq + 1 returning change_seq) update loci.instances
     set limits = limits || $2::jsonb, config = config || $3::jsonb, databases = databases + $4, change_seq = seq.change_seq from seq where id = $1`,
    [serviceId, JSON.stringify(LIMITS), JSON.stringify(config), count],
  )
  await runSql(
    admin,
    `insert into loci.databases (instance_id, name, created_at, cyc_interval_ms)
     select $1, $2 || n, date_trunc('milliseconds', now()), ${intervalMs} from generate_series(0, $3::int - 1) n`,
    [serviceId, prefix, count],
  )
  if (isDue) await putDue({ postgres }, { serviceId }, prefix)
  await runSql(admin, 'vacuum analyze loci.databases')
  await new Promise((resolve) => setTimeout(resolve, HEARD_MS))
}

export async function putDue(
  { postgres }: Pick<World, 'postgres'>,
  { serviceId }: Pick<WorldTenant, 'serviceId'>,
  prefix: string,
): Promise<void> {
  await runSql(
    postgres.adminUrl('loci_cell'),
    `insert into loci.due (instance_id, database, kind, at) select h.instance_id, h.name, 'cycle', now() from loci.databases h
     where h.instance_id = $1 and starts_with(h.name, $2)`,
    [serviceId, prefix],
  )
}

export interface Inputs {
  /** Records that were acknowledged, by database. */
  stored: Map<string, number>
  refused: string[]
  stop(): Promise<void>
}

/** One record for each database in `everyMs`, evenly, through whichever replica answers. Each is stored once. */
export function startInputs(
  world: World,
  { capability }: WorldTenant,
  { prefix, count, everyMs, clients = 4 }: { prefix: string; count: number; everyMs: number; clients?: number },
): Inputs {
  const stored = new Map<string, number>()
  const refused: string[] = []
  const startedAt = performance.now()
  let next = 0
  let isOver = false
  const client = async () => {
    const connection = plainClient()
    while (!isOver) {
      const number = next
      next += 1
      const waitMs = (number * everyMs) / count - (performance.now() - startedAt)
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
      if (isOver) break
      const database = `${prefix}${number % count}`
      const answer = await storeOne(world, connection, capability.token, database, number)
      if (answer === undefined) stored.set(database, (stored.get(database) ?? 0) + 1)
      else refused.push(`${database}: ${answer}`)
    }
    connection.close()
  }
  const running = Array.from({ length: clients }, client)
  return {
    stored,
    refused,
    async stop() {
      isOver = true
      await Promise.all(running)
    },
  }
}

const TRIES_MAX = 50
const WORDS = 'pump valve gauge harbour ledger meeting invoice window garden engine'.split(' ')

/** By its source event, so that it can be sent again until it is known to be stored. Undefined: it is. */
export async function storeOne(
  world: World,
  connection: PlainClient,
  token: string,
  database: string,
  number: number,
): Promise<string | undefined> {
  const content = `The ${WORDS[number % WORDS.length]} was checked for the ${number}th time`
  let told = ''
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const daemon = world.daemons[(number + tries) % world.daemons.length]
    const outcome = await connection.send(daemon?.url as string, {
      ...{ method: 'POST', path: '/v1/memory/records' },
      headers: { 'x-loci-capability': token, 'x-loci-database': database },
      body: JSON.stringify({ content, sourceEventId: `event ${number}` }),
    })
    if (outcome.kind === 'answer' && outcome.status === 200) return undefined
    told = outcome.kind === 'answer' ? `${outcome.status} ${outcome.body}` : outcome.kind
    if (outcome.kind === 'answer' && outcome.status < 500) return told
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return told
}

export interface ScheduledCycle {
  database: string
  startedAt: Date
  /** After it was due: an interval after the one before, and when something was there. */
  lagMs: number
}

export function listCycles(
  { postgres }: World,
  { serviceId }: WorldTenant,
  prefix: string,
  intervalMs = INTERVAL_MS,
): Promise<ScheduledCycle[]> {
  return runSql<ScheduledCycle>(
    postgres.adminUrl('loci_cell'),
    `select c.database, c.started_at as "startedAt", (extract(epoch from c.started_at - greatest(i.at,
        p.completed_at + ${intervalMs} * interval '1 millisecond')) * 1000)::float8 as "lagMs"
      from loci.cycles c left join loci.cycles p on p.instance_id = c.instance_id and p.database = c.database and p.seq = c.seq - 1,
        lateral (select min(r.created_at) as at from loci.records r where r.instance_id = c.instance_id and r.database = c.database
          and r.source_event_id is not null and r.created_at > coalesce(p.started_at, '-infinity')) i
      where c.instance_id = $1 and starts_with(c.database, $2) order by c.started_at`,
    [serviceId, prefix],
  )
}

/** Databases in which something waits: a due row, or what no cycle has seen. */
export async function waiting({ postgres }: World, { serviceId }: WorldTenant, prefix: string): Promise<number> {
  const [row] = await runSql<{ count: number }>(
    postgres.adminUrl('loci_cell'),
    `select count(*)::int as count from loci.databases h where h.instance_id = $1 and starts_with(h.name, $2)
      and (exists (select from loci.due d where d.instance_id = h.instance_id and d.database = h.name and d.kind = 'cycle')
        or exists (select from loci.records r where r.instance_id = h.instance_id and r.database = h.name and r.seq > h.cyc_seen))`,
    [serviceId, prefix],
  )
  return row?.count ?? 0
}

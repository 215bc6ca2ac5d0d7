// npm run bench -- capacity [--seconds N] [--instances N] [--write] [--page]: what each operation costs in processor,
// write-ahead log and bytes on disk, with the background work that it leaves behind; what a service costs to make and
// to have; and how many connections a replica holds. `--write` keeps the figures and docs/operations/capacity.md, which
// is made of them; `--page` writes that page alone. PostgreSQL is on disk, beside daemon, generator and management.

import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { addCallers, type WorldCaller } from '@loci/tests/world/callers.ts'
import { cpuTime, processUs } from '@loci/tests/world/cpu-time.ts'
import { mapWidth } from '@loci/tests/world/report.ts'
import { runSql } from '@loci/tests/world/sql.ts'
import type { CapacityFigures, Operation } from './capacity-figures.ts'
import { keepFigures, readFigures } from './capacity-page.ts'

import { type LoadOptions, runLoad } from './load.ts'
import { ARRAY, CLIENTS, DATABASES, fill, type Name, operations, RECORDS } from './operations.ts'
import { indexed, memoryOf, type RecallWorld, restOf, withRecallWorld } from './recall-world.ts'

const MEASURED: Name[] = [
  ...(['kv read', 'kv write', 'slots read', 'slot written', 'record stored', 'recall'] as const),
  ...(['cycle without a focus', 'cycle with a focus', 'projection of an array', 'tools ranked'] as const),
]
/** Runs before the one that counts: a new daemon compiles itself. */
const WARM_UP_RUNS = 2
const REST_MS = 20_000
const SERVICES = 200

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '6' },
    instances: { type: 'string', default: '20000' },
    write: { type: 'boolean', default: false },
    page: { type: 'boolean', default: false },
  },
})
const seconds = Number(options.seconds)
const instances = Number(options.instances)

if (options.page) keepFigures(readFigures())
else
  await withRecallWorld({}, async (bench) => {
    await fill(bench)
    // The filling has left background work, which must not be measured.
    await indexed(bench)
    const rest = await restOf(bench, REST_MS)
    const measured: Operation[] = []
    console.log('operation                    each/s   p99 ms   daemon us   postgres us   WAL bytes   bytes kept')
    const loads = operations(bench, { seconds })
    for (const name of MEASURED) {
      const load = loads[name]
      for (let warm = 0; warm < WARM_UP_RUNS; warm += 1) await runLoad(load())
      const one = await measure(bench, name, load(), name.includes('array') ? ARRAY : 1, rest)
      measured.push(one)
      const cells = [one.perSecond, one.p99Ms, one.daemonUs, one.postgresUs, one.walBytes, one.keptBytes]
      console.log(`${name.padEnd(24)} ${cells.map((cell) => String(Math.round(cell)).padStart(10)).join(' ')}`)
    }
    const connections = await connectionsOf(bench)
    const services = await makeServices(bench)
    const idle = await keepIdle(bench)
    const [cpu] = cpus()
    const [server] = await bench.sql<{ version: string }>(`select current_setting('server_version') as version`)
    const figures: CapacityFigures = {
      at: new Date().toISOString().slice(0, 10),
      machine: {
        ...{ cores: cpus().length, processor: cpu?.model ?? '', gib: Math.round(totalmem() / 1024 ** 3) },
        ...{ node: process.version, postgres: String(server?.version) },
      },
      ...{
        clients: CLIENTS,
        databases: DATABASES,
        records: RECORDS,
        operations: measured,
        connections,
        services,
        idle,
      },
    }
    console.log(JSON.stringify({ connections, services, idle }, null, 2))
    if (options.write) {
      keepFigures(figures)
      console.log('kept in bench/capacity.json and docs/operations/capacity.md')
    }
  })

async function measure(
  bench: RecallWorld,
  name: string,
  load: LoadOptions,
  size: number,
  rest: Awaited<ReturnType<typeof restOf>>,
): Promise<Operation> {
  await indexed(bench)
  const [before, startedAt] = [await costs(bench), performance.now()]
  const result = await runLoad(load)
  if (result.errors > 0 || result.requests !== result.statuses['200'])
    throw new Error(`${name}: not every answer was a 200: ${JSON.stringify(result)}`)
  // Background work that the requests cause is counted too: segments of an index, weights of advice.
  await indexed(bench)
  const after = await costs(bench)
  const ms = performance.now() - startedAt
  const each = (of: keyof typeof before, idle = 0) =>
    Math.max(0, after[of] - before[of] - idle * ms) / result.requests / size
  return {
    ...{ name, perSecond: Math.round(result.perSecond * size), p99Ms: Math.round(result.p99Ms * 10) / 10 },
    daemonUs: Math.round(each('daemonUs', rest.daemonUs)),
    postgresUs: Math.round(each('postgresUs', rest.postgresUs)),
    walBytes: Math.round(each('walBytes')),
    keptBytes: Math.round(each('cellBytes')),
  }
}

async function costs(bench: RecallWorld) {
  const [row] = await bench.sql<{ wal: string; cell: string; control: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as wal, pg_database_size('loci_cell')::text as cell,
       pg_database_size('loci_control')::text as control`,
  )
  return {
    ...cpuTime(bench.world),
    managementUs: processUs(bench.world.management?.pid ?? 0),
    ...{ walBytes: Number(row?.wal), cellBytes: Number(row?.cell), controlBytes: Number(row?.control) },
  }
}

/** While many clients write; and when nobody asks anything. */
async function connectionsOf(bench: RecallWorld) {
  const count = async () => {
    const [row] = await bench.sql<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where usename = 'loci_daemon'`,
    )
    return row?.count ?? 0
  }
  const load = operations(bench, { seconds })['record stored']()
  let most = 0
  const asking = setInterval(() => void count().then((now) => (most = Math.max(most, now))), 100)
  await runLoad({ ...load, connections: 4 * CLIENTS })
  clearInterval(asking)
  const [row] = await bench.sql<{ bytes: number }>(
    `select coalesce(avg(total_bytes), 0)::float8 as bytes from pg_backend_memory_contexts where parent is null`,
  )
  return { most, atRest: await count(), backendBytes: Math.round(row?.bytes ?? 0) }
}

/** Made by a customer, through both planes, until each is active. */
async function makeServices(bench: RecallWorld) {
  const { world } = bench
  // Each may make a few in a minute.
  const callers = await addCallers(world, { organizations: 40, each: 1, name: 'capacity' })
  const base = world.management?.url as string
  const ask = async ({ apiKey }: WorldCaller, path: string, method = 'GET', body?: object) => {
    for (;;) {
      const answer = await fetch(base + path, {
        method,
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      const json = (await answer.json()) as { service_id: string; operation_id: string; status: string }
      if (answer.ok) return json
      if (answer.status !== 429) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(json)}`)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
  }
  await runSql(world.postgres.adminUrl('loci_control'), `update loci.cells set capacity = 1000000`)
  const make = async (count: number, name: string) =>
    mapWidth(
      Array.from({ length: count }, (_, n) => n),
      8,
      async (n) => {
        const caller = callers[n % callers.length] as WorldCaller
        const wanted = { name: `${name}-${n}`, service_type: 'memory' }
        const { service_id: id } = await ask(caller, '/api/v1/services', 'POST', wanted)
        const { operation_id: operation } = await ask(caller, `/api/v1/services/${id}`)
        while ((await ask(caller, `/api/v1/operations/${operation}?wait=20`)).status !== 'succeeded');
      },
    )
  await make(40, 'warm')
  const before = await costs(bench)
  await make(SERVICES, 'service')
  const after = await costs(bench)
  const each = (of: keyof typeof before) => Math.round((after[of] - before[of]) / SERVICES)
  return {
    ...{
      made: SERVICES,
      managementUs: each('managementUs'),
      daemonUs: each('daemonUs'),
      postgresUs: each('postgresUs'),
    },
    ...{ controlBytes: each('controlBytes'), cellBytes: each('cellBytes'), walBytes: each('walBytes') },
  }
}

/** Instances that nobody asks anything: rows of the cell, as the feed writes them. */
async function keepIdle(bench: RecallWorld) {
  const few = await restOf(bench, REST_MS)
  const before = { ...(await costs(bench)), mb: memoryOf(bench.daemon().pid).mb }
  const [columns] = await bench.sql<{ list: string; values: string }>(
    `select string_agg(format('%I', attname), ', ' order by attnum) as list,
        string_agg(case attname when 'id' then $$'svc_0' || lpad(n::text, 25, '0')$$ else format('%I', attname) end, ', ' order by attnum) as values
      from pg_attribute where attrelid = 'loci.instances'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
  )
  await bench.sql(
    `insert into loci.instances (${columns?.list}) select ${columns?.values}
     from (select * from loci.instances order by change_seq desc limit 1) i, generate_series(1, ${instances}) n`,
  )
  await bench.sql('vacuum analyze')
  await new Promise((resolve) => setTimeout(resolve, REST_MS))
  const many = await restOf(bench, REST_MS)
  const after = { ...(await costs(bench)), mb: memoryOf(bench.daemon().pid).mb }
  return {
    ...{ instances, cellBytes: Math.round((after.cellBytes - before.cellBytes) / instances) },
    // Millionths of a second; the figures are hardly above the noise of the machine.
    few: { daemonUs: Math.round(few.daemonUs * 1_000), postgresUs: Math.round(few.postgresUs * 1_000) },
    many: { daemonUs: Math.round(many.daemonUs * 1_000), postgresUs: Math.round(many.postgresUs * 1_000) },
    daemonMb: { few: Math.round(before.mb), many: Math.round(after.mb) },
  }
}

// What the benchmarks of recall over HTTP share: a loci on a durable PostgreSQL, tenants without the limits of a plan,
// records that are stored as clients store them, and questions that are asked at a rate or one after the other.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { cpuTime } from '@loci/tests/world/cpu-time.ts'
import { type Machine, watchMachine } from '@loci/tests/world/machine.ts'
import type { LociProcess, Programs } from '@loci/tests/world/process.ts'
import { mapWidth } from '@loci/tests/world/report.ts'
import { runSql } from '@loci/tests/world/sql.ts'
import { addTenant, type WorldTenant } from '@loci/tests/world/tenants.ts'
import { startWorld, type World } from '@loci/tests/world/world.ts'
import { type LoadOptions, type LoadResult, runLoad } from './load.ts'
import type { Corpus } from './recall-corpus.ts'

const BATCH = 100

export interface RecallWorld {
  world: World
  directory: string
  tenant: WorldTenant
  daemon: () => LociProcess
  /** As an operator restarts it: the new process has nothing in memory. `meanwhile` runs while there is none. */
  restart(meanwhile?: () => Promise<void>): Promise<void>
  sql<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  newTenant(name: string): Promise<WorldTenant>
  /** Prints a figure with its bound; a time is judged by how slow the machine is. */
  judge(what: string, value: number, bound: number, unit: string): Promise<void>
  /** Prints a ratio of the bare engine with what it must be at least. */
  judgeRatio(what: string, ratio: number, target: number, stretch?: number): void
  readonly isReached: boolean
}

export async function withRecallWorld(
  settings: Record<string, string>,
  run: (bench: RecallWorld) => Promise<void>,
  /** Other ones than those of the checkout. */
  programs?: Programs,
): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'loci-bench-'))
  const postgres = await startThrowaway({ directory: `${directory}-postgres` })
  const world = await startWorld({
    asShipped: true,
    replicas: 1,
    postgres,
    settings: { LOCI_LOG_LEVEL: 'info', ...settings },
    ...(programs ? { programs } : {}),
  })
  const machine = await watchMachine()
  try {
    const bench = await openBench(world, directory, machine)
    await run(bench)
    return bench.isReached
  } finally {
    await world.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function openBench(world: World, directory: string, machine: Machine): Promise<RecallWorld> {
  const admin = world.postgres.adminUrl('loci_cell')
  let isMissed = false
  const newTenant = async (name: string) => {
    const tenant = await addTenant(world, { name, plan: 'enterprise' })
    const limits = { requests_per_second: 1e6, burst: 2e6, databases: 1e7, records: 1e9, bytes: 1e12 }
    await runSql(
      admin,
      `with seq as (update loci.cell set change_seq = change_seq + 1 returning change_seq) update loci.instances
       set limits = limits || '${JSON.stringify(limits)}', change_seq = seq.change_seq from seq where id = '${tenant.serviceId}'`,
    )
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    return tenant
  }
  return {
    ...{ world, directory, tenant: await newTenant('bench'), newTenant },
    daemon: () => world.daemons.at(-1) as LociProcess,
    async restart(meanwhile) {
      // Out of the list: who counts replicas counts those that run.
      await world.daemons.pop()?.stop()
      await meanwhile?.()
      await world.startDaemon()
    },
    sql: (text, values) => runSql(admin, text, values),
    async judge(what, value, bound, unit) {
      const factor = unit === 'ms' ? await machine.slowdown() : 1
      const isGood = value <= bound * factor
      isMissed ||= !isGood
      const busy = factor > 1 ? `, × ${factor.toFixed(1)} for the machine is busy` : ''
      const shown = value < 100 ? value.toFixed(2) : Math.round(value)
      console.log(`  ${isGood ? '      ' : 'MISSED'} ${what}: ${shown} ${unit} (at most ${bound}${busy})`)
    },
    judgeRatio(what, ratio, target, stretch) {
      isMissed ||= ratio < target
      const aim = stretch === undefined ? '' : `, stretch ${stretch}`
      console.log(
        `  ${ratio >= target ? '      ' : 'MISSED'} ${what}: ratio ${ratio.toFixed(2)} (target ${target}${aim})`,
      )
    },
    get isReached() {
      return !isMissed
    },
  }
}

/** What is loaded on a busy machine is measured on a quiet one: waits until there is such a file. */
export async function holdUntil(file: string | undefined): Promise<void> {
  if (file === undefined) return
  console.log(`loaded; waiting for ${file}`)
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 250))
}

export async function send<Body>(
  { daemon }: RecallWorld,
  { operator }: WorldTenant,
  database: string,
  line: string,
  body?: object,
): Promise<Body> {
  const [method = '', path] = line.split(' ')
  for (let tries = 0; ; tries += 1) {
    const answer = await fetch(`${daemon().url}${path}`, {
      method,
      headers: {
        ...{ 'x-loci-capability': operator.token, 'x-loci-database': database },
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const json = (await answer.json()) as Body & { error?: { retryable: boolean } }
    if (answer.status === 200) return json
    // A busy machine may overtake a commit by its deadline; records are stored by their source events.
    if (!json.error?.retryable || tries === 10) throw new Error(`${line}: ${answer.status} ${JSON.stringify(json)}`)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

/** As clients store them, by hundreds; returns when the index has caught up. */
export async function storeAll(
  bench: RecallWorld,
  tenant: WorldTenant,
  database: string,
  { records }: Pick<Corpus, 'records'>,
  /** What else a record has. */
  also: (seq: number) => object = () => ({}),
): Promise<void> {
  const batches: object[][] = []
  for (let from = 0; from < records.length; from += BATCH) {
    batches.push(
      records.slice(from, from + BATCH).map(({ seq, content, context, actor, occurredAt, media }) => ({
        ...{
          sourceEventId: `event ${seq}`,
          content,
          contextId: `chat ${context}`,
          occurredAt: new Date(occurredAt).toISOString(),
        },
        ...(actor ? { actor } : {}),
        ...(media ? { media } : {}),
        ...also(seq),
      })),
    )
  }
  await mapWidth(batches, 2, (part) =>
    send(bench, tenant, database, 'POST /v1/memory/records/batch', { records: part }),
  )
  await indexed(bench)
  await bench.sql('vacuum analyze')
  await bench.sql('checkpoint')
}

/** Until no index is due but those of databases that are to rest. */
export async function indexed({ sql }: RecallWorld): Promise<void> {
  for (;;) {
    const due = await sql(`select 1 from loci.due where kind = 'index' and at < now() + interval '1 minute'`)
    if (due.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

export interface Asked extends LoadResult {
  /** Processor time of each request, of the daemon and of all of PostgreSQL, above what they use at rest. */
  daemonMs: number
  postgresMs: number
}

const REST_MS = 2_000

/** Microseconds of processor in a millisecond in which nobody asks anything. */
export type Rest = Record<keyof ReturnType<typeof cpuTime>, number>

export async function restOf({ world }: RecallWorld, ms = REST_MS): Promise<Rest> {
  const before = cpuTime(world)
  await new Promise((resolve) => setTimeout(resolve, ms))
  const after = cpuTime(world)
  const each = (name: keyof Rest) => (after[name] - before[name]) / ms
  return { daemonUs: each('daemonUs'), postgresUs: each('postgresUs') }
}

/** Recalls in a closed loop; throws unless every answer is a 200. */
export async function askQuestions(
  bench: RecallWorld,
  { operator }: WorldTenant,
  { questions }: Corpus,
  options: Pick<LoadOptions, 'connections' | 'seconds'> & { databases: string[]; also?: object; rest?: Rest },
): Promise<Asked> {
  const { world, daemon } = bench
  const { databases, also = {}, rest = await restOf(bench), ...load } = options
  let [before, after] = [cpuTime(world), cpuTime(world)]
  const result = await runLoad(
    {
      ...{ url: daemon().url, method: 'POST', path: '/v1/memory/recall', warmUpSeconds: 1, ...load },
      variants: Math.max(questions.length, databases.length),
      headers: {
        ...{ 'x-loci-capability': operator.token, 'x-loci-database': databases },
        'content-type': 'application/json',
      },
      body: questions.map(({ text }) => JSON.stringify({ query: text, ...also })),
    },
    (at) => {
      if (at === 'begin') before = cpuTime(world)
      else after = cpuTime(world)
    },
  )
  if (result.errors > 0 || result.requests !== result.statuses['200'])
    throw new Error(`not every answer was a 200: ${JSON.stringify(result)}`)
  const each = (name: keyof typeof before) => {
    const atRestUs = rest[name] * result.seconds * 1_000
    return Math.max(0, after[name] - before[name] - atRestUs) / 1_000 / result.requests
  }
  return { ...result, daemonMs: each('daemonUs'), postgresMs: each('postgresUs') }
}

export function shown({ requests, perSecond, p50Ms, p99Ms, daemonMs, postgresMs }: Asked): string {
  return (
    `${requests} recalls, ${Math.round(perSecond)}/s, p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(2)} ms; processor ` +
    `${(daemonMs + postgresMs).toFixed(2)} ms each (daemon ${daemonMs.toFixed(2)}, PostgreSQL ${postgresMs.toFixed(2)})`
  )
}

const PROBE_EVERY_MS = 20

/** What another tenant notices: one small read every 20 ms while `during` runs; its 99th percentile and its longest. */
export async function probe<Result>(
  bench: RecallWorld,
  other: WorldTenant,
  during: () => Promise<Result>,
): Promise<{ p99Ms: number; longestMs: number; result: Result }> {
  const times: number[] = []
  let isOver = false
  const probing = (async () => {
    while (!isOver) {
      const startedAt = performance.now()
      await send(bench, other, 'default', 'GET /v1/kv/entries/probe')
      times.push(performance.now() - startedAt)
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS))
    }
  })()
  try {
    const result = await during()
    isOver = true
    await probing
    times.sort((a, b) => a - b)
    return { p99Ms: times[Math.floor(times.length * 0.99)] ?? 0, longestMs: times.at(-1) ?? 0, result }
  } finally {
    isOver = true
    await probing.catch(() => {})
  }
}

/** Megabytes of memory of a process, now and at most so far. */
export function memoryOf(pid: number): { mb: number; mbMax: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024
  return { mb: of('VmRSS'), mbMax: of('VmHWM') }
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

// npm run bench -- cycle [--seconds N] [--rounds N] [--only empty|focus|replicas|phases]: a cycle that takes in one
// observation, through HTTP, credential, recall, competition, chain and event, as a ratio of pgbench that runs bare
// what any such engine must do in a transaction: lock and read the slots, insert the observation, update the slots,
// insert the cycle, update the counters. `empty`: without a focus, in databases that begin with no records but those of
// one cycle; `focus`: with a question, in databases of 10^3 records; both with an Idempotency-Key and without;
// `replicas`: `empty` through two replicas, as a ratio of one; `phases`: processor time of the computation alone.
// PostgreSQL is on disk here, so that a commit costs what it costs.

import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { cyclePhases } from './cycle-phases.ts'
import { forgetAnswers } from './kv-keyed.ts'
import type { LoadOptions } from './load.ts'
import { type Measured, runMeasured } from './measured.ts'
import { runPgbench } from './pgbench.ts'
import { copyDatabases, requireConsistent } from './recall-copies.ts'
import { corpusOf } from './recall-corpus.ts'
import { median, type RecallWorld, send, storeAll, withRecallWorld } from './recall-world.ts'

type Kind = 'empty' | 'focus'
const TARGETS: Record<Kind, { target: number; stretch: number }> = {
  empty: { target: 1, stretch: 1.35 },
  focus: { target: 0.4, stretch: 0.8 },
}
/** Of one replica. */
const REPLICAS_TARGET = 1
const CLIENTS = 16
const DATABASES = 64
const RECORDS = 1_000
const SLOTS = 7
/** More than are sent, and fewer than the answers that an instance may keep. */
const REQUESTS_MAX = 9_900

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: 'phases,empty,focus,replicas' },
  },
})
const seconds = Number(options.seconds)
const rounds = Number(options.rounds)
const parts = options.only.split(',')

const corpus = corpusOf(RECORDS + 4_000)
const stored = { records: corpus.records.slice(0, RECORDS) }
const said = corpus.records.slice(RECORDS)
const questions = corpus.questions.map(({ text }) => text)
let run = 0

const showLoad = () => console.log(`load of the machine over the last minute: ${loadavg()[0]?.toFixed(1)}`)
showLoad()
if (parts.includes('phases')) cyclePhases(stored.records, said, questions)
const isReached = await withRecallWorld({}, async (bench) => {
  await fill(bench, 'b')
  await prepareBare(bench)
  if (parts.includes('focus')) await fillRecords(bench)
  for (const kind of ['empty', 'focus'] as const) if (parts.includes(kind)) await compare(bench, kind)
  if (parts.includes('replicas')) {
    // Not before: what an idle replica costs is no part of a cycle.
    await bench.world.startDaemon()
    await compareReplicas(bench)
  }
})
showLoad()
process.exitCode = isReached ? 0 : 1

async function compare(bench: RecallWorld, kind: Kind): Promise<void> {
  const bare: number[] = []
  const ours = { unkeyed: [] as Measured[], keyed: [] as Measured[] }
  // The compiler has seen what is hot, and PostgreSQL has its plans.
  await cycles(bench, kind, { keyed: true })
  console.log(`\n${kind}   round    key   bare/s   ours/s   p99 ms   daemon us   postgres us   WAL bytes   ratio`)
  for (let round = 1; round <= rounds; round += 1) {
    const one = await runBare(bench)
    bare.push(one)
    for (const how of ['unkeyed', 'keyed'] as const) {
      const measured = await cycles(bench, kind, { keyed: how === 'keyed' })
      ours[how].push(measured)
      const { perSecond, p99Ms, daemonUs, postgresUs, walBytes } = measured
      const figures = [one, perSecond, p99Ms, daemonUs, postgresUs, walBytes].map((value) => Math.round(value))
      const cells = [round, how, ...figures, (perSecond / one).toFixed(2)]
      console.log(`      ${cells.map((cell) => String(cell).padStart(9)).join(' ')}`)
    }
  }
  for (const how of ['unkeyed', 'keyed'] as const) {
    const of = (name: 'perSecond' | 'daemonUs' | 'postgresUs') => median(ours[how].map((one) => one[name]))
    console.log(
      `${kind}, ${how}: medians bare ${Math.round(median(bare))}/s, ours ${Math.round(of('perSecond'))}/s; processor time of a cycle ` +
        `${Math.round(of('daemonUs') + of('postgresUs'))} us (daemon ${Math.round(of('daemonUs'))}, PostgreSQL ${Math.round(of('postgresUs'))})`,
    )
    const { target, stretch } = TARGETS[kind]
    bench.judgeRatio(`${kind}, ${how}`, of('perSecond') / median(bare), target, stretch)
  }
}

/** The same databases through one replica and through both: cycles of a database meet in PostgreSQL alone. */
async function compareReplicas(bench: RecallWorld): Promise<void> {
  const rates: { one: number[]; two: number[] } = { one: [], two: [] }
  for (let round = 1; round <= rounds; round += 1) {
    rates.one.push((await cycles(bench, 'empty', { keyed: false })).perSecond)
    rates.two.push((await cycles(bench, 'empty', { keyed: false, replicas: 2 })).perSecond)
  }
  console.log(
    `\nreplicas: one ${rates.one.map(Math.round).join(', ')}/s; two ${rates.two.map(Math.round).join(', ')}/s`,
  )
  bench.judgeRatio('two replicas, of one', median(rates.two) / median(rates.one), REPLICAS_TARGET)
}

async function cycles(bench: RecallWorld, kind: Kind, { keyed, replicas = 1 }: { keyed: boolean; replicas?: number }) {
  run += 1
  const prefix = kind === 'empty' ? `r${run}-` : 'm'
  if (kind === 'empty') await fill(bench, prefix)
  if (keyed) await forgetAnswers(bench.world, bench.tenant)
  const loadOf = (replica: number): LoadOptions => ({
    ...{ url: bench.world.daemons[replica]?.url as string, method: 'POST', path: '/v1/cognitive/cycles' },
    ...{ variants: Math.floor(REQUESTS_MAX / replicas), once: true },
    headers: {
      ...{ 'x-loci-capability': bench.tenant.operator.token, 'x-loci-database': `${prefix}{n%${DATABASES}}` },
      'content-type': 'application/json',
      ...(keyed ? { 'idempotency-key': `run-${run}-{n}` } : {}),
    },
    body: said.map(({ content, actor }, n) =>
      JSON.stringify({
        ...(kind === 'focus' ? { focus: questions[n % questions.length] } : {}),
        // As long as a cycle may wait for those of the same database in the other replica.
        limits: { queueMs: 10_000 },
        // Each is heard once.
        observations: [{ content: `${content} (${run}.${replica}.{n})`, actor: actor ?? 'Ada', contextId: 'chat' }],
      }),
    ),
    ...{ connections: CLIENTS / replicas, seconds, warmUpSeconds: 0.5 },
  })
  return runMeasured(bench.world, ...Array.from({ length: replicas }, (_, replica) => loadOf(replica)))
}

/** Databases that have had one cycle, which holds seven slots. */
async function fill(bench: RecallWorld, prefix: string): Promise<void> {
  const observations = said.slice(0, SLOTS).map(({ content, actor }) => ({ content, actor: actor ?? 'Ada' }))
  await Promise.all(
    Array.from({ length: DATABASES }, (_, n) =>
      send(bench, bench.tenant, `${prefix}${n}`, 'POST /v1/cognitive/cycles', { observations }),
    ),
  )
}

async function fillRecords(bench: RecallWorld): Promise<void> {
  await storeAll(bench, bench.tenant, 'm0', stored)
  await copyDatabases(bench, { m: DATABASES })
  await requireConsistent(bench, `m${DATABASES - 1}`)
}

/** Tables of the same columns and indexes, without row-level security, and one row of each to write again. */
async function prepareBare({ sql, tenant }: RecallWorld): Promise<void> {
  const one = `where instance_id = '${tenant.serviceId}' and database = 'b0' order by seq limit 1`
  await sql('create table public.bare_records (like loci.records including all)')
  await sql('create table public.bare_cycles (like loci.cycles including all)')
  await sql(`create table public.bare_record as select * from loci.records ${one}`)
  await sql(`create table public.bare_cycle as select * from loci.cycles ${one}`)
  await sql(
    `create table public.bare as select 'd' || n as database, 1::bigint as version, array_to_string(texts, ',') as document,
       0::bigint as total, 0::bigint as total_ms, now() as last_at from loci.working_memory, generate_series(0, ${DATABASES - 1}) n
     where instance_id = '${tenant.serviceId}' and database = 'b0'`,
  )
  await sql('alter table public.bare add primary key (database)')
  await sql('create table public.bare_heads as select database, total, total_ms, last_at from public.bare')
  await sql('alter table public.bare drop total, drop total_ms, drop last_at')
  await sql('alter table public.bare_heads add primary key (database)')
  await sql('create sequence public.numbers start 1000000 cache 100')
  await sql('vacuum analyze')
}

function runBare(bench: RecallWorld): Promise<number> {
  const number = `currval('public.numbers')`
  const script = `\\set n random(0, ${DATABASES - 1})
begin;
select version, document from public.bare where database = 'd' || :n for update;
insert into public.bare_records (instance_id, database, seq, id, changed_seq, context, position, value_mac, body, created_at, valid_from, digest)
  select instance_id, 'd' || :n, nextval('public.numbers'), id || ${number}, ${number}, context, position,
    sha256(int8send(${number})), body, now(), now(), digest from public.bare_record;
update public.bare set version = version + 1, document = overlay(document placing lpad((version % 1000000)::text, 12, 'x') from 20) where database = 'd' || :n;
insert into public.bare_cycles (instance_id, database, seq, id, started_at, completed_at, duration_ms, after_digest, decisions_hash, body, prev_hash, hash)
  select instance_id, 'd' || :n, ${number}, id || ${number}, now(), now(), duration_ms, after_digest, decisions_hash, body, prev_hash, hash
  from public.bare_cycle;
update public.bare_heads set total = total + 1, total_ms = total_ms + 3, last_at = now() where database = 'd' || :n;
commit;\n`
  const { directory } = bench
  return runPgbench(bench.world, {
    ...{ directory, name: 'cycle', clients: CLIENTS, seconds: Math.ceil(seconds), script, user: 'postgres' },
  })
}

// One record stored over HTTP, through analysis, digest, context, counts and events, against pgbench that inserts the
// same row bare: into a table of the same columns and indexes, without row-level security.

import { forgetAnswers } from './kv-keyed.ts'
import { runMeasured } from './measured.ts'
import { runPgbench } from './pgbench.ts'
import { corpusOf } from './recall-corpus.ts'
import { median, type RecallWorld, send, withRecallWorld } from './recall-world.ts'

const TARGET = 0.8
/** Of both the better counts. */
const CLIENTS = [16, 32]
/** Before the first that counts: a new daemon compiles itself (428 us of its processor a record, then 218). */
const WARM_UP_RUNS = 4
const DATABASES = 16
/** More than are sent, and fewer than the answers that an instance may keep. */
const KEYS = 9_900

interface StoreOptions {
  short: boolean
  /** Of the daemon. */
  settings: Record<string, string>
}

export async function measureStore({ short, settings }: StoreOptions): Promise<boolean> {
  const rounds = short ? 2 : 5
  const seconds = short ? 1 : 1.5
  let isReached = true
  await withRecallWorld(settings, async (bench) => {
    await prepare(bench)
    for (const keyed of [false, true]) {
      const [bare, ours, used]: [number[], number[], string[]] = [[], [], []]
      let runs = 0
      const storeOnce = (clients: number) => {
        runs += 1
        return store(bench, { clients, seconds }, keyed ? `run-${runs}-{n}` : undefined)
      }
      for (let warm = 0; warm < WARM_UP_RUNS; warm += 1) await storeOnce(Math.max(...CLIENTS))
      for (let round = 1; round <= rounds; round += 1) {
        const inserted: number[] = []
        const stored: Awaited<ReturnType<typeof store>>[] = []
        for (const clients of CLIENTS) {
          inserted.push(await insertBare(bench, { clients, seconds }))
          stored.push(await storeOnce(clients))
        }
        const best = stored.reduce((one, other) => (other.perSecond > one.perSecond ? other : one))
        bare.push(Math.max(...inserted))
        ours.push(best.perSecond)
        used.push(`${Math.round(best.daemonUs)} + ${Math.round(best.postgresUs)}`)
      }
      const ratio = median(ours) / median(bare)
      isReached &&= ratio >= TARGET
      console.log(
        `store${keyed ? ' with a key' : ''}: medians bare ${Math.round(median(bare))}/s, ours ${Math.round(median(ours))}/s; ` +
          `ratio ${ratio.toFixed(2)} (target ${TARGET})${ratio < TARGET ? ' MISSED' : ''}; processor time of each in us, ` +
          `daemon + PostgreSQL: ${used.join(', ')}`,
      )
    }
  })
  return isReached
}

interface Load {
  clients: number
  seconds: number
}

const contents = corpusOf(5_000).records.map(({ content, actor }) => ({ content, actor: actor ?? 'Ada' }))

async function prepare(bench: RecallWorld): Promise<void> {
  for (let n = 0; n < DATABASES; n += 1)
    await send(bench, bench.tenant, `d${n}`, 'POST /v1/memory/records', { ...contents[n], contextId: 'chat 0' })
  await bench.sql('create table public.bare (like loci.records including all)')
  await bench.sql('create sequence public.numbers start 1000000 cache 100')
}

async function store(bench: RecallWorld, { clients, seconds }: Load, key?: string) {
  const { tenant } = bench
  await forgetAnswers(bench.world, tenant)
  return runMeasured(bench.world, {
    ...{ url: bench.daemon().url, method: 'POST', path: '/v1/memory/records', variants: KEYS, once: key !== undefined },
    headers: {
      ...{ 'x-loci-capability': tenant.operator.token, 'x-loci-database': `d{n%${DATABASES}}` },
      ...{ 'content-type': 'application/json', ...(key ? { 'idempotency-key': key } : {}) },
    },
    body: contents.map((one, n) => JSON.stringify({ ...one, contextId: `chat ${n % 100}` })),
    ...{ connections: clients, seconds, warmUpSeconds: 0.3 },
  })
}

/** A row of the store, with another number and id each time. */
function insertBare(bench: RecallWorld, { clients, seconds }: Load): Promise<number> {
  const script = `\\set n random(0, ${DATABASES - 1})
insert into public.bare select instance_id, database, nextval('public.numbers'), id || currval('public.numbers'), currval('public.numbers'), key,
  source_event_id, context, position, value_mac, body, created_at, valid_from, valid_to, archived_at, expires_at, digest
  from loci.records where instance_id = '${bench.tenant.serviceId}' and database = 'd' || :n and seq = 1;\n`
  const { directory } = bench
  return runPgbench(bench.world, {
    ...{ directory, name: 'insert', clients, seconds: Math.ceil(seconds), script },
    user: 'postgres',
  })
}

// npm run bench -- kv [--seconds N] [--rounds N] [--only read|write|keyed]: one key-value read, and one durable write,
// through HTTP, credential, row-level security and digest, as a ratio of pgbench that runs the same SQL bare: prepared,
// over the same socket, on the same data, in turns; and what an Idempotency-Key adds to a write. PostgreSQL is on disk
// here, not in memory, so that a commit costs what it costs.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '@loci/tests/world/sql.ts'
import { addTenant, type WorldTenant } from '@loci/tests/world/tenants.ts'
import { startWorld, type World } from '@loci/tests/world/world.ts'
import { compareKeyed } from './kv-keyed.ts'
import { runLoad } from './load.ts'
import { runPgbench } from './pgbench.ts'

const TARGETS = { read: { target: 0.45, stretch: 0.6 }, write: { target: 0.8, stretch: 1 } }
type Kind = keyof typeof TARGETS

const CLIENTS = [8, 16, 32]
const KEYS = 10_000
const DATABASES = 16
const VALUE = JSON.stringify({
  text: 'a value of about a hundred bytes, as agents like to keep them: names, dates, small facts',
  n: 1,
})

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
  },
})
const seconds = Number(options.seconds)
const rounds = Number(options.rounds)
const kinds = (options.only ? [options.only] : ['read', 'write', 'keyed']) as (Kind | 'keyed')[]

const directory = mkdtempSync(join(tmpdir(), 'loci-bench-'))
const world = await startWorld({
  asShipped: true,
  replicas: 1,
  postgres: await startThrowaway({ directory: `${directory}-postgres` }),
  settings: { LOCI_LOG_LEVEL: 'info' },
})
try {
  const tenant = await addTenant(world, { name: 'bench', plan: 'enterprise' })
  await liftRate(world, tenant)
  await fill(world, tenant)
  let isReached = true
  for (const kind of kinds) {
    const compared =
      kind === 'keyed'
        ? await compareKeyed(world, tenant, { seconds, rounds, value: VALUE })
        : await compare(kind, tenant)
    isReached = compared && isReached
  }
  process.exitCode = isReached ? 0 : 1
} finally {
  await world.stop()
  rmSync(directory, { recursive: true, force: true })
}

async function compare(kind: Kind, tenant: WorldTenant): Promise<boolean> {
  const bare: number[] = []
  const ours: number[] = []
  console.log(`\n${kind}   round   clients   bare/s   clients   ours/s   p50 ms   p99 ms   ratio`)
  for (let round = 1; round <= rounds; round += 1) {
    let bestBare = { clients: 0, perSecond: 0 }
    let bestOurs = { clients: 0, perSecond: 0, p50Ms: 0, p99Ms: 0 }
    for (const clients of CLIENTS) {
      const one = { clients, perSecond: await pgbench(kind, tenant, clients) }
      if (one.perSecond > bestBare.perSecond) bestBare = one
      const { perSecond, p50Ms, p99Ms } = await loci(kind, tenant, clients)
      if (perSecond > bestOurs.perSecond) bestOurs = { clients, perSecond, p50Ms, p99Ms }
    }
    bare.push(bestBare.perSecond)
    ours.push(bestOurs.perSecond)
    const cells = [
      round,
      bestBare.clients,
      Math.round(bestBare.perSecond),
      bestOurs.clients,
      Math.round(bestOurs.perSecond),
      bestOurs.p50Ms.toFixed(2),
      bestOurs.p99Ms.toFixed(2),
      (bestOurs.perSecond / bestBare.perSecond).toFixed(2),
    ]
    console.log(`       ${cells.map((cell) => String(cell).padStart(8)).join(' ')}`)
  }
  const ratio = median(ours) / median(bare)
  const { target, stretch } = TARGETS[kind]
  console.log(
    `${kind}: medians bare ${Math.round(median(bare))}/s, ours ${Math.round(median(ours))}/s; ratio ${ratio.toFixed(2)} (target ${target}, stretch ${stretch})`,
  )
  return ratio >= target
}

async function loci(kind: Kind, tenant: WorldTenant, connections: number) {
  const result = await runLoad({
    url: world.daemons[0]?.url as string,
    method: kind === 'read' ? 'GET' : 'PUT',
    path: '/v1/kv/entries/k{n}',
    variants: KEYS,
    headers: {
      'x-loci-capability': tenant.operator.token,
      'x-loci-database': `d{n%${DATABASES}}`,
      ...(kind === 'write' ? { 'content-type': 'application/json' } : {}),
    },
    ...(kind === 'write' ? { body: `{"value":${VALUE}}` } : {}),
    connections,
    seconds,
    warmUpSeconds: 0.3,
  })
  if (result.errors > 0 || result.requests !== result.statuses['200'])
    throw new Error(`not every answer was a 200: ${JSON.stringify(result)}`)
  return result
}

/** The very statements of daemon/kv/store.ts, with the same spread of keys and databases. */
function pgbench(kind: Kind, { serviceId }: WorldTenant, clients: number): Promise<number> {
  const columns = 'value, version, created_at, updated_at, expires_at, digest, intact'
  const read = `select ${columns} from loci.kv_get('${serviceId}', 'd' || (:n % ${DATABASES}), 'k' || :n);`
  const write = `select outcome, version, created_at, updated_at, expires_at, digest from loci.kv_write('${serviceId}', 100000, array['d' || (:n % ${DATABASES})], array['put'], array['k' || :n], array['${VALUE}'], array[null]::float8[], array[null]::bigint[]) order by ord;`
  const script = `\\set n random(0, ${KEYS - 1})\n${kind === 'read' ? read : write}\n`
  return runPgbench(world, { directory, name: kind, script, clients, seconds })
}

/** The plan allows 5,000 requests a second, which is what the limit is for and not what is measured here. */
async function liftRate({ postgres }: World, { serviceId }: WorldTenant): Promise<void> {
  await runSql(
    postgres.adminUrl('loci_cell'),
    `with seq as (update loci.cell set change_seq = change_seq + 1 returning change_seq)
    update loci.instances set limits = limits || '{"requests_per_second": 1000000, "burst": 2000000}', change_seq = seq.change_seq from seq where id = '${serviceId}'`,
  )
  await new Promise((resolve) => setTimeout(resolve, 1_000))
}

async function fill({ daemons }: World, { operator }: WorldTenant): Promise<void> {
  const url = `${daemons[0]?.url}/v1/kv/entries/batch`
  for (let database = 0; database < DATABASES; database += 1) {
    const keys = Array.from({ length: KEYS }, (_, n) => n).filter((n) => n % DATABASES === database)
    for (let from = 0; from < keys.length; from += 100) {
      const operations = keys
        .slice(from, from + 100)
        .map((n) => ({ op: 'put', key: `k${n}`, value: JSON.parse(VALUE) }))
      const answer = await fetch(url, {
        method: 'POST',
        headers: {
          'x-loci-capability': operator.token,
          'x-loci-database': `d${database}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ operations }),
      })
      if (answer.status !== 200) throw new Error(`filling: ${answer.status} ${await answer.text()}`)
    }
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

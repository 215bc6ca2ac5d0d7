// npm run bench -- databases [--databases N] [--rounds N]: does an instance with 100,000 databases cost what one with
// ten costs? Makes them over HTTP, a thousand at a time in turns with a new instance, and then writes into one and the
// other in turns. Both counts that used to grow with the number of databases are in it: the quota of databases at each
// creation, the usage at each write.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '@loci/tests/world/sql.ts'
import { addTenant, type WorldTenant } from '@loci/tests/world/tenants.ts'
import { startWorld } from '@loci/tests/world/world.ts'
import { runLoad } from './load.ts'

/** Of the rate at which an empty instance makes its first thousand. */
const CREATE_TARGET = 0.8
/** The cost of a write, as a multiple of its cost in an instance with ten databases. */
const WRITE_TARGET = 1.2
const LOT = 1_000
const CLIENTS = 16
const FEW = 10

const { values: options } = parseArgs({
  options: { databases: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '5' } },
})
const many = Number(options.databases)
const rounds = Number(options.rounds)

const directory = mkdtempSync(join(tmpdir(), 'loci-bench-'))
const world = await startWorld({
  asShipped: true,
  replicas: 1,
  postgres: await startThrowaway({ directory: `${directory}-postgres` }),
  settings: { LOCI_LOG_LEVEL: 'info' },
})
const url = world.daemons[0]?.url as string
try {
  const large = await newTenant('large')
  const small = await newTenant('small')
  const warm = await newTenant('warm')
  await make(warm, 'w', LOT)
  const firstPerSecond = await make(large, 'l0', LOT)
  const startedAt = performance.now()
  for (let lot = 1; lot < many / LOT; lot += 1) {
    const perSecond = await make(large, `l${lot}`, LOT)
    if (lot % 10 === 9) console.log(`${(lot + 1) * LOT} databases, ${Math.round(perSecond)}/s`)
  }
  const rest = many - LOT
  const restPerSecond = rest / ((performance.now() - startedAt) / 1_000)
  console.log(
    `made: first ${LOT} at ${Math.round(firstPerSecond)}/s, the other ${rest} at ${Math.round(restPerSecond)}/s, ratio ${(restPerSecond / firstPerSecond).toFixed(2)}`,
  )

  const [first, more]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    first.push(await make(await newTenant(`fresh${round}`), 'f', LOT))
    more.push(await make(large, `m${round}`, LOT))
  }
  const created = median(more) / median(first)
  console.log(
    `create, in turns: an empty instance ${Math.round(median(first))}/s, one with ${many} databases ${Math.round(median(more))}/s; ratio ${created.toFixed(2)} (target ${CREATE_TARGET})`,
  )

  for (const tenant of [small, large]) await make(tenant, 'd', FEW)
  const [ofSmall, ofLarge]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    ofSmall.push(await write(small))
    ofLarge.push(await write(large))
  }
  const cost = median(ofLarge) / median(ofSmall)
  console.log(
    `write, in turns, p50: with ${FEW} databases ${median(ofSmall).toFixed(2)} ms, with ${many} ${median(ofLarge).toFixed(2)} ms; ratio ${cost.toFixed(2)} (target ${WRITE_TARGET})`,
  )
  process.exitCode = Math.min(created, restPerSecond / firstPerSecond) >= CREATE_TARGET && cost <= WRITE_TARGET ? 0 : 1
} finally {
  await world.stop()
  rmSync(directory, { recursive: true, force: true })
}

/** Without the limits of its plan, which are not what is measured here. */
async function newTenant(name: string): Promise<WorldTenant> {
  const tenant = await addTenant(world, { name, plan: 'enterprise' })
  const limits = { requests_per_second: 1e6, burst: 2e6, databases: 1e7, records: 1e9, bytes: 1e12 }
  await runSql(
    world.postgres.adminUrl('loci_cell'),
    `with seq as (update loci.cell set change_seq = change_seq + 1 returning change_seq) update loci.instances
     set limits = limits || '${JSON.stringify(limits)}', change_seq = seq.change_seq from seq where id = '${tenant.serviceId}'`,
  )
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  return tenant
}

/** One write into each of `count` new databases; how many were made per second. */
async function make({ operator }: WorldTenant, prefix: string, count: number): Promise<number> {
  const startedAt = performance.now()
  let next = 0
  const client = async () => {
    for (let n = next++; n < count; n = next++) {
      const answer = await fetch(`${url}/v1/kv/entries/k`, {
        method: 'PUT',
        headers: {
          'x-loci-capability': operator.token,
          'x-loci-database': `${prefix}${count === FEW ? n : `-${n}`}`,
          'content-type': 'application/json',
        },
        body: '{"value":1}',
      })
      if (answer.status !== 200) throw new Error(`making ${prefix}${n}: ${answer.status} ${await answer.text()}`)
      await answer.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return count / ((performance.now() - startedAt) / 1_000)
}

async function write({ operator }: WorldTenant): Promise<number> {
  const { requests, statuses, errors, p50Ms } = await runLoad({
    url,
    method: 'PUT',
    path: '/v1/kv/entries/k{n}',
    variants: 1_000,
    headers: {
      'x-loci-capability': operator.token,
      'x-loci-database': `d{n%${FEW}}`,
      'content-type': 'application/json',
    },
    body: '{"value":"a small fact"}',
    connections: 4,
    seconds: 3,
    warmUpSeconds: 0.3,
  })
  if (errors > 0 || requests !== statuses['200'])
    throw new Error(`not every answer was a 200: ${JSON.stringify(statuses)}`)
  return p50Ms
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

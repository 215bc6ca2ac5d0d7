// npm run bench -- events [--streams N] [--seconds N] [--rate N]: how late an event is for a thousand clients that
// follow two instances on one daemon, while it is written through the other replica, and what that daemon takes for
// it. Each event carries the moment at which its write was sent, so the time is that of write, commit, poll and
// sending.

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '@loci/tests/world/sql.ts'
import { addTenant } from '@loci/tests/world/tenants.ts'
import { startWorld } from '@loci/tests/world/world.ts'
import { followMany } from './event-clients.ts'

const LATE_MS_TARGET = 500
const RSS_MB_TARGET = 256

const { values: options } = parseArgs({
  options: {
    streams: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    rate: { type: 'string', default: '100' },
  },
})
const [streams, seconds, rate] = [Number(options.streams), Number(options.seconds), Number(options.rate)]

const world = await startWorld({
  asShipped: true,
  replicas: 2,
  postgres: await startThrowaway(),
  settings: { LOCI_LOG_LEVEL: 'info' },
})
try {
  const tenants = []
  for (const name of ['first', 'second']) tenants.push(await addTenant(world, { name, plan: 'enterprise' }))
  const tokens = tenants.map(({ capability }) => capability.token)
  const [writing, following] = world.daemons as [(typeof world.daemons)[number], (typeof world.daemons)[number]]
  const clients = await followMany({ url: following.url, tokens, streams })
  const before = cpuSecondsOf(following.pid)
  const startedAt = performance.now()
  let sent = 0
  let rssMb = 0
  const writes: Promise<void>[] = []
  while (performance.now() - startedAt < seconds * 1_000) {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * rate)
    for (; sent < due; sent += 1) writes.push(write(writing.url, tokens[sent % 2] as string, sent))
    rssMb = Math.max(rssMb, rssMbOf(following.pid))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await Promise.all(writes)
  const cpu = (cpuSecondsOf(following.pid) - before) / ((performance.now() - startedAt) / 1_000)
  const expected = sent * (streams / 2)
  const { events, p50Ms, p99Ms, maxMs } = await clients.finish(expected)
  rssMb = Math.max(rssMb, rssMbOf(following.pid))
  const [{ n }] = (await runSql<{ n: number }>(
    world.postgres.adminUrl('loci_cell'),
    'select sum(seq)::int as n from loci.event_heads',
  )) as [{ n: number }]
  console.log(
    `${streams} streams of 2 instances, ${sent} writes in ${seconds} s (${n} events), ${events} delivered of ${expected}`,
  )
  console.log(
    `to all: p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms (target ${LATE_MS_TARGET}), longest ${maxMs.toFixed(0)} ms`,
  )
  console.log(
    `the daemon with the streams: ${rssMb.toFixed(0)} MB (target ${RSS_MB_TARGET}), ${(cpu * 100).toFixed(0)} % of a core`,
  )
  process.exitCode = events === expected && p99Ms <= LATE_MS_TARGET && rssMb <= RSS_MB_TARGET ? 0 : 1
} finally {
  await world.stop()
}

async function write(url: string, token: string, n: number): Promise<void> {
  // A name is all of a write that an event tells.
  const answer = await fetch(`${url}/v1/working-memory/slots/t${Date.now()}-${n}`, {
    method: 'PUT',
    headers: { 'x-loci-capability': token, 'x-loci-database': databaseOf(n), 'content-type': 'application/json' },
    body: '{"value":1}',
  })
  if (answer.status !== 200) throw new Error(`a write was answered ${answer.status}: ${await answer.text()}`)
  await answer.arrayBuffer()
}

/** Below the capacity of a database, so that each write is one event. */
function databaseOf(n: number): string {
  return `d${Math.floor(n / 40)}`
}

function rssMbOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') as string[]
  return (Number(fields[11]) + Number(fields[12])) / 100
}

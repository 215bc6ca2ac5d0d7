// P28: no two transactions of a cell wait for each other in a circle. Clients on two replicas clear slots, put
// configurations into new databases, write entries and records and run cycles, most with an
// Idempotency-Key, while management publishes the service anew and the operator revokes. PostgreSQL's own log counts.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type PlainRequest, plainClient } from '../robustness/plain-client.ts'
import { plantMutant } from '../world/mutant.ts'
import { untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization, addTenant, type WorldOrganization, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const RUN_MS = isShort ? 20_000 : 300_000
/** Long enough for the mutant: it was caught within a second. */
const MUTANT_MS_MAX = 60_000
/** Of each kind, so that several of them stand at the same locks. */
const CLIENTS = 2
const FEED_EVERY_MS = 500

type Kind = (number: number) => PlainRequest

await reportOn(async (report) => {
  const world = await startWorld({ asShipped: true, replicas: 2 })
  try {
    const organization = await addOrganization(world, 'locks')
    const tenant = await addTenant(world, { name: 'locks', plan: 'enterprise', of: organization })
    await holds(report, world, organization, tenant)
    await mutant(report, world, organization, tenant)
  } finally {
    await world.stop()
  }
})

async function holds(
  report: Report,
  world: World,
  organization: WorldOrganization,
  tenant: WorldTenant,
): Promise<void> {
  const urls = world.daemons.map(({ url }) => url)
  const until = Date.now() + RUN_MS
  const { done, refused, told } = await play(world, organization, tenant, urls, () => Date.now() > until)
  const { deadlocks, first } = deadlocksOf(world)
  if (first) report.note(first)
  report.note(told)
  report.promise(
    'P28: no two transactions wait for each other in a circle',
    deadlocks === 0 && Object.values(done).every((count) => count > 0),
    `${deadlocks} deadlocks in PostgreSQL's log after ${RUN_MS / 1000} s of ${told}; ${refused} refused`,
  )
}

/** The order of a keyed clear as it was: the audit entry in its work, before its answer is counted. */
async function mutant(
  report: Report,
  world: World,
  organization: WorldOrganization,
  tenant: WorldTenant,
): Promise<void> {
  await using planted = await plantMutant([
    {
      file: 'daemon/working-memory/clear-routes.ts',
      from: `          const last = async (end: Sql) => {
            await appendAudit(end, entry)`,
      to: `          await appendAudit(sql, entry)
          const last = async (end: Sql) => {`,
    },
  ])
  const daemons = await Promise.all([0, 1].map(() => planted.startProgram('daemon', world.daemonSettings())))
  try {
    for (const daemon of daemons) await untilReady(daemon.url)
    const before = deadlocksOf(world).deadlocks
    const isCaught = () => deadlocksOf(world).deadlocks > before
    const until = Date.now() + MUTANT_MS_MAX
    await play(
      world,
      organization,
      tenant,
      daemons.map(({ url }) => url),
      () => isCaught() || Date.now() > until,
    )
    const count = deadlocksOf(world).deadlocks - before
    report.mutant(
      'the audit entry of a clear before the row of the instance',
      count > 0 ? `${count} deadlocks` : undefined,
    )
  } finally {
    await Promise.all(daemons.map((daemon) => daemon.stop()))
  }
}

function deadlocksOf({ postgres }: World): { deadlocks: number; first: string | undefined } {
  const lines = readFileSync(join(postgres.directory, 'postgres.log'), 'utf8').split('\n')
  const found = lines.flatMap((line, at) => (line.includes('deadlock detected') ? [at] : []))
  const [at] = found
  return { deadlocks: found.length, first: at === undefined ? undefined : lines.slice(at, at + 6).join('\n       ') }
}

async function play(
  world: World,
  { apiKey }: WorldOrganization,
  { serviceId, capability, operator }: WorldTenant,
  urls: string[],
  isOver: () => boolean,
) {
  const as = (token: string, database: string, keyed = true) => ({
    'x-loci-capability': token,
    'x-loci-database': database,
    ...(keyed ? { 'idempotency-key': randomUUID() } : {}),
  })
  const post = (path: string, database: string, body?: object): PlainRequest => ({
    ...{ method: 'POST', path, headers: as(capability.token, database) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const put = (path: string, token: string, database: string, body: object): PlainRequest => ({
    ...{ method: 'PUT', path, headers: as(token, database, false), body: JSON.stringify(body) },
  })
  const fact = (n: number) => ({ content: `The valve ${n} is ${n % 2 ? 'open' : 'shut'}`, key: `valve-${n % 20}` })
  const shared = (n: number) => `d${n % 3}`
  const kinds: Record<string, Kind> = {
    slots: (n) => put(`/v1/working-memory/slots/s${n % 5}`, capability.token, shared(n), { value: n }),
    clears: (n) => post('/v1/working-memory/slots/clear', shared(n)),
    'configurations of new databases': (n) =>
      put(`/v1/${n % 2 ? 'cognitive' : 'working-memory'}/config`, operator.token, `new-${randomUUID()}`, {}),
    batches: (n) =>
      post('/v1/kv/entries/batch', shared(n), { operations: [{ op: 'put', key: `k${n % 9}`, value: n }] }),
    'batches into new databases': () =>
      post('/v1/kv/entries/batch', `kv-${randomUUID()}`, { operations: [{ op: 'put', key: 'k', value: 1 }] }),
    records: (n) => post('/v1/memory/records', shared(n), fact(n)),
    cycles: (n) => post('/v1/cognitive/cycles', shared(n), { observations: [fact(n)] }),
  }
  const done: Record<string, number> = Object.fromEntries(Object.keys(kinds).map((name) => [name, 0]))
  let refused = 0
  const run = async (name: string, kind: Kind, number: number) => {
    const client = plainClient()
    for (let n = number; !isOver(); n += CLIENTS) {
      const outcome = await client.send(urls[n % urls.length] as string, kind(n))
      if (outcome.kind === 'answer' && outcome.status === 200) done[name] = (done[name] ?? 0) + 1
      else refused += 1
    }
    client.close()
  }
  let pages = 0
  const publish = async () => {
    for (; !isOver(); pages += 1) {
      await fetch(`${world.management?.url}/api/v1/services/${serviceId}`, {
        method: 'PATCH',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        body: JSON.stringify({ config: { working_memory: { capacity: 10 + (pages % 10) } } }),
      })
      await fetch(`${urls[pages % urls.length]}/admin/revocations`, {
        method: 'POST',
        headers: { 'x-loci-admin-token': world.adminToken, 'content-type': 'application/json' },
        body: JSON.stringify({ jti: `cap_of_nobody_${pages}` }),
      })
      await new Promise((resolve) => setTimeout(resolve, FEED_EVERY_MS))
    }
  }
  await Promise.all([
    publish(),
    ...Object.entries(kinds).flatMap(([name, kind]) => Array.from({ length: CLIENTS }, (_, n) => run(name, kind, n))),
  ])
  const told = Object.entries({ ...done, 'pages and revocations': pages })
    .map(([name, count]) => `${count} ${name}`)
    .join(', ')
  return { done, refused, told }
}

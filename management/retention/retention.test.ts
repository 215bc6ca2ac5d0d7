import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { testLog } from '@loci/chassis/testing/server.ts'
import { newId } from '@loci/contract/ids.ts'
import { PLANS } from '../plans.ts'
import { type TestCell, type TestManagement, testManagement } from '../testing/management.ts'
import { createRetention, type Retention } from './retention.ts'

// Attack review, H7 and L8: answers, operations, usage and tokens were kept for ever.

let management: TestManagement
let cell: TestCell
let retention: Retention
const { log, lines } = testLog()
before(async () => {
  management = await testManagement({ settings: { billingWebhookSecrets: ['a-billing-secret-of-the-tests-1234'] } })
  cell = await management.cell()
  retention = createRetention(management.pool, log)
})
after(() => management?.[Symbol.asyncDispose]())

const TURNS_MAX = 20

/** An organization that was in trouble, as on a machine too busy to connect in time, has another turn, as each hour. */
async function turn(): Promise<void> {
  for (let turns = 0; turns < TURNS_MAX; turns++) {
    const before = lines.length
    await retention.turn()
    if (lines.length === before) return
  }
  assert.fail(lines.at(-1))
}

async function party() {
  const made = await management.organization()
  const of = { organization: made.organizationId, tenant: made.tenantId }
  return { ...made, service: await management.instance(cell.id, of) }
}

const count = async (table: string, organizationId: string) => {
  const [row] = await management.sql<{ count: number }>(
    `select count(*)::int as count from loci.${table} where organization_id = $1`,
    [organizationId],
  )
  return row?.count ?? 0
}

// Mutant: a turn that lists nobody, as before: rows went only with a new claim of the same organization.
test('answers for repeats go after a day, of everybody, without a new request of theirs', async () => {
  const [own, other] = [await party(), await party()]
  for (const one of [own, other]) {
    for (const key of ['old', 'new'])
      await one.ask('POST /api/v1/api-keys', { body: { name: key }, headers: { 'idempotency-key': key } })
    await management.sql(
      `update loci.idempotency set created_at = now() - interval '25 hours' where organization_id = $1 and key = 'old'`,
      [one.organizationId],
    )
  }
  await turn()
  assert.deepEqual(
    [await count('idempotency', own.organizationId), await count('idempotency', other.organizationId)],
    [1, 1],
  )
})

// Mutant: the limit asked before the claim is known to be the first: the repeat is 429.
test('an organization keeps the answers of its plan: then a new key is 429, and a known one is answered', async () => {
  const own = await management.organization({ callsOf: 'free' })
  const rename = (key: string) =>
    own.ask(`PATCH /api/v1/tenants/${own.tenantId}`, { body: { name: 'x' }, headers: { 'idempotency-key': key } })
  const [newest] = management.settings.sealingKeys
  await management.sql(
    `insert into loci.idempotency (organization_id, caller, route, key, fingerprint, sealed_with, status, body, created_at)
     select $1, 'key', 'r', n::text, '\\x00', $2, 200, '{}', now() from generate_series(1, $3) as n`,
    [own.organizationId, newest?.id, PLANS.free.organization.keyed_answers - 1],
  )
  assert.equal((await rename('last')).status, 200)
  const refused = await rename('too-many')
  assert.deepEqual([refused.status, refused.error.code, refused.headers['retry-after']], [429, 'RATE_LIMITED', '60'])
  assert.equal((await rename('last')).headers['idempotent-replayed'], 'true')
  assert.equal((await own.ask(`PATCH /api/v1/tenants/${own.tenantId}`, { body: { name: 'x' } })).status, 200)
})

test('the answer to a renamed service is kept without its config, and repeated with it', async () => {
  const own = await party()
  const config = { secret: 'canary-config-71f3' }
  await management.sql('update loci.services set config = $2 where id = $1', [own.service.id, JSON.stringify(config)])
  const rename = () =>
    own.ask(`PATCH /api/v1/services/${own.service.id}`, {
      body: { name: 'Renamed' },
      headers: { 'idempotency-key': 'rename' },
    })
  const [first, again] = [await rename(), await rename()]
  assert.deepEqual([again.status, again.json(), again.headers['idempotent-replayed']], [200, first.json(), 'true'])
  assert.deepEqual(again.json().config, config)
  const rows = await management.sql('select body from loci.idempotency where organization_id = $1', [
    own.organizationId,
  ])
  assert.ok(!JSON.stringify(rows).includes('canary-config'))
})

test('operations go seven days after their end, but for the one that a service names', async () => {
  const own = await party()
  const old = `now() - interval '8 days'`
  await management.sql(
    `insert into loci.operations (id, organization_id, service_id, kind, status, steps, created_at, updated_at, finished_at)
     select id, $1, $2, 'update', 'succeeded', '[]', ${old}, ${old}, ${old} from unnest($3::text[]) as id`,
    [own.organizationId, own.service.id, Array.from({ length: 3 }, () => newId('op'))],
  )
  const [named] = await management.sql<{ id: string }>(
    `update loci.operations set status = 'succeeded', finished_at = ${old} where id = (
       select operation_id from loci.services where id = $1) returning id`,
    [own.service.id],
  )
  await turn()
  const left = await management.sql('select id from loci.operations where organization_id = $1', [own.organizationId])
  assert.deepEqual(left, [named])
})

test('tokens go seven days after they expired, with their children; one that is good stays', async () => {
  const own = await party()
  const path = `/api/v1/tenants/${own.tenantId}/tokens`
  const mint = async () =>
    (await own.ask(`POST ${path}`, { body: { service_id: own.service.id, max_delegation_depth: 1 } })).json<{
      token_id: string
    }>().token_id
  const [old, good] = [await mint(), await mint()]
  await management.sql(
    `insert into loci.token_children (jti, organization_id, tenant_id, service_id, parent_jti, expires_at)
     select 'child-of-' || $3::text, $1, $2, $4, $3, now() - interval '8 days'`,
    [own.organizationId, own.tenantId, old, own.service.id],
  )
  await management.sql(`update loci.tokens set expires_at = now() - interval '8 days' where jti = $1`, [old])
  await turn()
  const left = await management.sql('select jti from loci.tokens where organization_id = $1', [own.organizationId])
  assert.deepEqual([left, await count('token_children', own.organizationId)], [[{ jti: good }], 0])
})

// Mutants: `requests = excluded.requests` in rollUpUsage(): what comes late replaces what was there; the same of
// latency; no `l.at = o.at` in it.
test('usage becomes hours after two days and days after ninety, and says the same by the day', async () => {
  const own = await party()
  const add = (at: string, dedup: string) =>
    management.sql(
      `insert into loci.usage_minutes (organization_id, service_id, minute, dedup, requests, writes, records, bytes, errors, cycles,
         evictions, latency)
       select $1, $2, $3::timestamptz + n * interval '1 minute', $4, 2, 1, n, n * 10, 3, 1, n, (array[n, n % 7, 1])[:n % 4] from generate_series(0, 2879) as n`,
      [own.organizationId, own.service.id, at, dedup],
    )
  // By today's date: management's own turn, which comes each minute, must find the same to do as the test's.
  const midnight = (daysAgo: number) =>
    new Date((Math.floor(Date.now() / 86_400_000) - daysAgo) * 86_400_000).toISOString()
  await add(midnight(20), 'a')
  await add(midnight(20), 'b')
  await add(midnight(180), 'a')
  const byDay = async () =>
    (
      await own.ask(`GET /api/v1/services/${own.service.id}/usage?from=${midnight(190)}&to=${midnight(0)}&step=day`)
    ).json<{ usage: object[] }>().usage
  const before = await byDay()
  assert.equal(before.length, 4)
  await turn()
  assert.deepEqual(await byDay(), before)
  assert.equal(await count('usage_minutes', own.organizationId), 48 + 2)
  await management.sql(
    `insert into loci.usage_minutes (organization_id, service_id, minute, dedup, requests, writes, records, bytes)
     values ($1, $2, $3::timestamptz - interval '30 seconds', 'late', 5, 0, 2879, 28790)`,
    [own.organizationId, own.service.id, midnight(18)],
  )
  await turn()
  const late = (await byDay()) as { requests: number }[]
  assert.equal(late.at(-1)?.requests, (before.at(-1) as { requests: number }).requests + 5)
})

// A report was taken and its answer lost; the cell told it again when the minutes were hours already, and they were
// counted twice. Mutant: `not exists` left out of saveUsage().
test('a minute that is told again after it was rolled up is counted once, and one that comes late for the first time is counted', async () => {
  const { service } = await party()
  const at = (minutes: number) =>
    new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 5 * 86_400_000 + minutes * 60_000).toISOString()
  const told = (minute: number, dedup: string, requests: number) => ({
    ...{ svc: service.id, minute: at(minute), dedup, requests, writes: 1, records: 1, bytes: 10 },
  })
  const report = async (...usage: ReturnType<typeof told>[]) =>
    assert.deepEqual((await cell.report({ usage })).body, { accepted: true, refused: [] })
  const counted = async () => {
    await turn()
    const [row] = await management.sql<{ requests: number }>(
      'select sum(requests)::int as requests from loci.usage_minutes where service_id = $1',
      [service.id],
    )
    return row?.requests
  }

  await report(told(1, 'r1', 10), told(2, 'r1', 20), told(2, 'r2', 3))
  assert.equal(await counted(), 33)
  await report(told(1, 'r1', 10), told(2, 'r1', 20), told(2, 'r2', 3))
  assert.equal(await counted(), 33)
  await report(told(2, 'r1', 20), told(3, 'r1', 40), told(1, 'r3', 500))
  assert.equal(await counted(), 573)
})

test('a deleted service leaves no config behind', async () => {
  const own = await party()
  await management.sql(`update loci.services set status = 'deleted', config = $2 where id = $1`, [
    own.service.id,
    JSON.stringify({ text: randomUUID() }),
  ])
  await turn()
  const [row] = await management.sql('select config from loci.services where id = $1', [own.service.id])
  assert.deepEqual(row, { config: {} })
})

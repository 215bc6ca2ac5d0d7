// One free organization that tries for an hour: how much it can leave in the control database. The number of acts
// follows from the rates, asked at simulated time; the bytes of an act are measured on the dearest acts there are, over
// every table that has a row of the organization, found in the catalog. docs/operations/left-behind.md states the
// bounds.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { newId } from '@loci/contract/ids.ts'
import { formatSecretToken } from '@loci/contract/secret-token.ts'
import { createRates, type RateLimit } from './access/rates.ts'
import { PLANS, type PlanName } from './plans.ts'
import { createRetention } from './retention/retention.ts'
import { type TestManagement, type TestParty, testManagement } from './testing/management.ts'

let management: TestManagement
before(async () => {
  management = await testManagement({ settings: { billingWebhookSecrets: ['a-billing-secret-of-the-tests-1234'] } })
  await management.cell()
})
after(() => management?.[Symbol.asyncDispose]())

const MIB = 2 ** 20
/** Of docs/operations/left-behind.md. */
const WRITE_BYTES_MAX = 5_000
const HOUR_BYTES_MAX = 64 * MIB
const SERVICE_BYTES_MAX = 12_000
const MEMORY_BYTES_MAX = 8 * MIB

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** GCRA as the store does it, with a clock of the test's. */
function simulated() {
  const clock = { ms: 0 }
  const tats = new Map<string, number>()
  const takeOne = (bucket: string, perMinute: number, burst: number) => {
    const step = 60_000 / perMinute
    const tat = Math.max(tats.get(bucket) ?? 0, clock.ms)
    if (tat - clock.ms > step * (burst - 1)) return false
    tats.set(bucket, tat + step)
    return true
  }
  const take = async ({ bucket, perMinute, burst, shared }: RateLimit) => {
    const before = tats.get(bucket) ?? 0
    const own = takeOne(bucket, perMinute, burst)
    const isGranted = own && (!shared || takeOne(shared.bucket, shared.perMinute, shared.burst))
    if (own && !isGranted) tats.set(bucket, before)
    return { remaining: 0, resetMs: 0, waitMs: isGranted ? undefined : 1_000, isShared: own && !isGranted }
  }
  return { clock, rates: createRates({ take, peek: async () => ({ remaining: 0, resetMs: 0 }) }) }
}

/** As many writes as a hundred keys get in an hour, each asking ten times a second. */
async function writesInAnHour(plan: PlanName, seconds = 3_600): Promise<number> {
  const { clock, rates } = simulated()
  const answer = { header: () => {} } as unknown as Parameters<typeof rates.take>[2]
  let granted = 0
  for (; clock.ms < seconds * 1_000; clock.ms += 1_000)
    for (let key = 0; key < 100; key += 1)
      for (let times = 0; times < 10; times += 1) {
        const caller = { id: `key_${key}`, organizationId: 'org', plan }
        const isGranted = await rates.take(caller, 'write', answer).then(
          () => true,
          () => false,
        )
        if (!isGranted) break
        granted += 1
      }
  return granted
}

/**
 * What the rows of the organization take, with a part of the indexes that is theirs by bytes. Every table with a column
 * that says whose.
 */
async function bytesOf({ organizationId }: TestParty): Promise<number> {
  const tables = await management.sql<{ name: string; owner: string }>(
    `select c.relname as name, a.attname as owner from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'loci'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attname in ('organization_id', 'chain') and not a.attisdropped order by 1`,
  )
  assert.ok(tables.length >= 12, tables.map(({ name }) => name).join())
  let bytes = 0
  for (const { name, owner } of tables) {
    const [row] = await management.sql<{ bytes: number }>(
      `select coalesce(sum(pg_column_size(t.*) + 28), 0)::int as bytes from loci.${name} t where t.${owner} = $1`,
      [organizationId],
    )
    // An index entry for the key and for what is looked up by: at most the columns of the row once more.
    bytes += 2 * (row?.bytes ?? 0)
  }
  const [feed] = await management.sql<{ bytes: number }>(
    `select coalesce(sum(pg_column_size(f.*)), 0)::int as bytes from loci.feed_items f where f.body ->> 'org' = $1`,
    [organizationId],
  )
  return bytes + (feed?.bytes ?? 0)
}

// Mutant: `shared` always undefined in limitOf(): each key has its own 600 writes a minute.
test('in an hour a hundred keys of a free organization write as often as its day allows at once, and no more', async () => {
  const { writes_per_day: day } = PLANS.free.organization
  const granted = await writesInAnHour('free', 600)
  const most = day / 2 + Math.ceil((day / 1_440) * 60)
  assert.ok(granted >= day / 2 && granted <= most, `${granted} of at most ${most}`)
})

/** On a busy machine a confirmation holds the rows longer than a write waits, which asks again as it is told to. */
async function askSoon(party: TestParty, ...request: Parameters<TestParty['ask']>): ReturnType<TestParty['ask']> {
  for (;;) {
    const answer = await party.ask(...request)
    if (answer.status !== 503) return answer
  }
}

// Mutant: none of its own; a table that is left out of the catalog's answer would fail the number of tables.
test('what the dearest writes leave stays within the bound for each, and an hour of them within that of the plan', async () => {
  const party = await management.organization({ callsOf: 'free' })
  const { service_id: service } = (
    await party.ask('POST /api/v1/services', { body: { service_type: 'kv', name: 'n' } })
  ).json<{ service_id: string }>()
  const started = await bytesOf(party)
  const acts = 60
  for (let at = 0; at < acts; at += 1) {
    const headers = { 'idempotency-key': randomBytes(127).toString('hex') }
    const line =
      at % 2 === 0
        ? `PATCH /api/v1/tenants/${party.tenantId}`
        : `POST /api/v1/services/${service}/${at % 4 === 1 ? 'suspend' : 'resume'}`
    const options = at % 2 === 0 ? { body: { name: 'x'.repeat(100) }, headers } : { headers }
    const answer = await askSoon(party, line, options)
    assert.ok(answer.status < 300, answer.text)
  }
  const each = ((await bytesOf(party)) - started) / acts
  assert.ok(each <= WRITE_BYTES_MAX, `${Math.round(each)} bytes for each write`)
  const { writes_per_day: day } = PLANS.free.organization
  const anHour = (day / 2 + (day / 1_440) * 60) * each
  assert.ok(anHour <= HOUR_BYTES_MAX, `${Math.round(anHour / MIB)} MiB in an hour`)
})

test('services that are made with the largest config and deleted leave little, and a thousand a day at most', async () => {
  const party = await management.organization({ callsOf: 'free' })
  const started = await bytesOf(party)
  const config = { text: randomBytes(32_000).toString('hex') }
  const cycles = 10
  for (let at = 0; at < cycles; at += 1) {
    const made = await askSoon(party, 'POST /api/v1/services', {
      body: { service_type: 'kv', name: 'x'.repeat(100), config },
      headers: { 'idempotency-key': randomBytes(127).toString('hex') },
    })
    assert.equal(made.status, 202, made.text)
    const { service_id: id } = made.json<{ service_id: string }>()
    assert.equal((await askSoon(party, `DELETE /api/v1/services/${id}`)).status, 202)
  }
  // As when the cell has confirmed: the config goes with the next upkeep.
  await management.sql(`update loci.services set status = 'deleted' where organization_id = $1`, [party.organizationId])
  await createRetention(management.pool, { error: () => {} } as never).turn()
  await management.sql(`delete from loci.feed_items where body ->> 'org' = $1`, [party.organizationId])
  const left = ((await bytesOf(party)) - started) / cycles
  assert.ok(left <= SERVICE_BYTES_MAX, `${Math.round(left)} bytes left of each`)
})

// Measured: 0.8 MiB. Mutant: createActs() keeps each body in an array (18 MiB).
test('what one organization leaves in the memory of a process is bounded, whatever it sends', async () => {
  const party = await management.organization({ callsOf: 'enterprise' })
  const made = await party.ask('POST /api/v1/services', { body: { service_type: 'kv', name: 'n' } })
  const { service_id: service } = made.json<{ service_id: string }>()
  const heap = async () => {
    management.lines.length = 0
    // What sockets leave behind goes with the ticks after.
    for (let n = 0; n < 5; n += 1) {
      await sleep(50)
      collect()
    }
    return process.memoryUsage().heapUsed
  }
  const act = async (times: number) => {
    for (let n = 0; n < times; n += 1) {
      const headers = { 'idempotency-key': randomBytes(127).toString('hex') }
      const config = { text: randomBytes(30_000).toString('hex') }
      const change = () => party.ask(`PATCH /api/v1/services/${service}`, { body: { config }, headers })
      let changed = await change()
      // A fast machine sends more than the ten writes a second of one caller, a slow one waits for a lock too long.
      while (changed.status === 429 || changed.status === 503) {
        await sleep(100)
        changed = await change()
      }
      assert.ok(changed.status < 300 || changed.status === 409, changed.text)
      // An invented key, and a body that is refused.
      const unknown = formatSecretToken('sk', newId('key'), randomBytes(32).toString('base64url'))
      assert.equal((await management.get('/api/v1/tenants', { 'x-api-key': unknown })).status, 401)
      const refused = await party.ask('POST /api/v1/services', { body: { service_type: 'kv', config } })
      assert.ok(refused.status === 400 || refused.status === 429, refused.text)
    }
  }
  await act(20)
  const started = await heap()
  await act(300)
  const grown = (await heap()) - started
  assert.ok(grown <= MEMORY_BYTES_MAX, `${(grown / MIB).toFixed(1)} MiB`)
})

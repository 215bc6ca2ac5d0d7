import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ask, eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { formatSecretToken } from '@loci/contract/secret-token.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { type TestManagement, testManagement } from '../testing/management.ts'

// The flood itself, with 900 connections, is a scene of `npm run test:system -- slow`. Here the database stands still
// for as long as it takes to count who is let in.

const STRANGER = '127.0.0.9'
/** A caller has four slots and four who wait for them, suspects together one and four. */
const SMALL = { concurrencyMax: 16, queueMax: 16, queueMs: 30_000 }
const AT_ONCE = 30

/** Until it is let go nobody reads or writes the table. */
async function standStill({ database }: TestManagement, table: string) {
  const pool = testPool(database.adminUrl)
  const holder = await pool.client()
  await holder.query({ text: 'begin' })
  await holder.query({ text: `lock table ${table} in access exclusive mode` })
  return async () => {
    await holder.query({ text: 'rollback' })
    holder.release()
    await pool.close()
  }
}

/** How many are told at once that there is no room, while all others still wait. */
async function refusedOf(send: () => Promise<{ status: number; text: string }>, most: number) {
  let refused = 0
  const asked = Array.from({ length: AT_ONCE }, async () => {
    if ((await send()).text.includes('limit of concurrent requests')) refused += 1
  })
  await eventually(() => refused >= most)
  return { refused: () => refused, all: Promise.all(asked) }
}

// Mutants: shareBefore of caller.ts answers undefined (none is refused); `hasShare` not asked for in acquire().
test('of invented API keys from an address over its failures one is looked up at a time, and a known key passes them', async () => {
  await using management = await testManagement({ settings: { ...SMALL, unauthenticatedPerMinute: 5 } })
  const near = await management.organization()
  const read = (apiKey: string) =>
    ask(management.url, 'GET /api/v1/tenants', { from: STRANGER, headers: { 'x-api-key': apiKey } })
  const invented = () => read(formatSecretToken('sk', newId('key'), randomBytes(32).toString('base64url')))
  assert.equal((await read(near.apiKey)).status, 200)
  for (let n = 0; n <= 5; n += 1) await invented()
  const letGo = await standStill(management, 'loci.api_keys')
  const strangers = await refusedOf(invented, AT_ONCE - 5)
  const known = read(near.apiKey)
  await letGo()
  assert.equal((await known).status, 200)
  await strangers.all
  assert.equal(strangers.refused(), AT_ONCE - 5)
})

// Mutants: shareBefore() answers undefined for a known key; `hasShare` not asked for in acquire().
test('one key has the share of its organization from the start: beyond it nothing is asked of the database for it', async () => {
  await using management = await testManagement({ settings: SMALL })
  const greedy = await management.organization()
  assert.equal((await greedy.ask('GET /api/v1/tenants')).status, 200)
  const letGo = await standStill(management, 'loci.rate_limits')
  const flood = await refusedOf(() => greedy.ask('GET /api/v1/tenants'), AT_ONCE - 8)
  await letGo()
  await flood.all
  assert.equal(flood.refused(), AT_ONCE - 8)
})

test('a key that is valid and not known yet comes in from an address that is over its failures', async () => {
  await using management = await testManagement({ settings: { unauthenticatedPerMinute: 2 } })
  const party = await management.organization()
  for (let n = 0; n < 4; n += 1) await management.get('/api/v1/tenants', { 'x-api-key': 'loci_sk_x' })
  assert.equal((await party.ask('GET /api/v1/tenants')).status, 200)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { dropConfirmedDeletions, PAGE_ITEMS_MAX, publish, publishInstance } from '../../acts/feed/store.ts'
import { type FeedAnswer, type TestCell, type TestManagement, testManagement } from '../../testing/management.ts'

const LIMITS = { databases: 1, records: 1, bytes: 1, requests_per_second: 1, burst: 1, streams: 1 }
const inADay = () => new Date(Date.now() + 86_400_000).toISOString()

/** Partner credentials of nobody: what makes a feed long. */
async function fill(management: TestManagement, cellId: string, count: number): Promise<void> {
  const ids = { svc: newId('svc'), org: newId('org'), ten: newId('ten') }
  const rest = { partner: 'p', database: 'default', projection_classes: [], routes: [], digest: '', expires_at: null }
  await management.sql(
    `with raised as (update loci.cells set feed_seq = feed_seq + cardinality($2::text[]) where id = $1 returning feed_seq - cardinality($2::text[]) as base)
     insert into loci.feed_items (cell_id, kind, key, seq, body, bytes)
     select $1, 'partner_credential', one.id, base + one.n, $3::jsonb || jsonb_build_object('id', one.id), 400
     from raised, unnest($2::text[]) with ordinality as one (id, n)`,
    [cellId, Array.from({ length: count }, () => newId('ptr')), JSON.stringify({ ...ids, ...rest, state: 'revoked' })],
  )
}

function revoke(management: TestManagement, cellId: string): Promise<string> {
  const [svc, jti] = [newId('svc'), newId('cap')]
  const change = { kind: 'revocation' as const, key: `jti:${svc}:${jti}`, body: { svc, jti, expires_at: inADay() } }
  return transaction(management.pool, async (sql) => {
    await publish(sql, cellId, change)
    return change.key
  })
}

type LanePage = FeedAnswer & { urgent: number }
const ask = (cell: TestCell, from?: LanePage) =>
  cell.feed(from ? { epoch: from.epoch, after: from.next, urgent: from.urgent } : { urgent: 0 }) as Promise<LanePage>

// Mutants: `urgent` of the page behind its items; the ordinary place moved on while urgent ones are left.
test('keys and revocations come first in every page, whatever else waits, and every item comes once', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  await fill(management, cell.id, 3 * PAGE_ITEMS_MAX)
  const first = await ask(cell)
  assert.deepEqual([first.full, first.more], [true, true])

  const key = await revoke(management, cell.id)
  const second = await ask(cell, first)
  assert.equal(second.items[0]?.key, key, 'in the next page, before what came earlier')
  const seen = [...first.items, ...second.items]
  let page = second
  while (page.more) {
    page = await ask(cell, page)
    seen.push(...page.items)
  }
  const rows = await management.sql('select from loci.feed_items where cell_id = $1', [cell.id])
  assert.deepEqual([seen.length, new Set(seen.map(({ seq }) => seq)).size], [rows.length, rows.length])
  assert.deepEqual((await ask(cell, page)).items, [])
})

test('more revocations than a page holds come before anything else, and none is left out', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  await fill(management, cell.id, 10)
  const keys = new Set<string>()
  for (let count = 0; count < PAGE_ITEMS_MAX + 20; count += 1) keys.add(await revoke(management, cell.id))
  let page = await ask(cell)
  const seen = [...page.items]
  assert.ok(page.items.every(({ kind }) => kind === 'key' || kind === 'revocation'))
  while (page.more) {
    page = await ask(cell, page)
    seen.push(...page.items)
  }
  assert.deepEqual(new Set(seen.filter(({ kind }) => kind === 'revocation').map((one) => one.key)), keys)
  assert.equal(seen.filter(({ kind }) => kind === 'partner_credential').length, 10)
})

test('the size of an item is written beside it, as it is stored', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const { id } = await management.instance(cell.id)
  await management.sql(`update loci.services set config = '{"n": 1e308}' where id = $1`, [id])
  const sizes = await management.sql('select bytes, octet_length(body::text) as real from loci.feed_items')
  assert.ok(sizes.length > 1)
  for (const { bytes, real } of sizes) assert.equal(bytes, real)
})

// Mutants: without the ledger; without `heard_seq >= f.seq`; without the ten minutes.
test('what says deleted leaves the feed when its cell has read it and the ledger has had it for a while', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const { id: svc, organizationId: org, tenantId: ten } = await management.instance(cell.id)
  const body = { org, ten, svc, service_type: 'memory', plan: 'pro', limits: LIMITS, config: {}, state_reason: null }
  await transaction(management.pool, (sql) =>
    publishInstance(sql, cell.id, { ...body, state: 'deleted', generation: 3 }),
  )
  const isThere = async () => {
    await dropConfirmedDeletions(management.pool)
    return (await management.sql(`select from loci.feed_items where key = $1`, [svc])).length === 1
  }
  const older = (generation: number) =>
    management.sql(`update loci.deletions set generation = $1, received_at = now() - interval '11 minutes'`, [
      generation,
    ])

  assert.ok(await isThere())
  const { epoch, next } = await cell.pull()
  await cell.report({ deletions: [{ svc, generation: 3, at: new Date().toISOString() }] })
  await older(3)
  await cell.feed({ epoch, after: next - 1 })
  assert.ok(await isThere(), 'the cell has not said that it has read it')
  await cell.feed({ epoch, after: next })
  await older(2)
  assert.ok(await isThere(), 'what the ledger has is of an earlier life')
  await management.sql('update loci.deletions set generation = 3, received_at = now() where service_id = $1', [svc])
  assert.ok(await isThere(), 'its last usage may be on its way')
  await older(3)
  assert.ok(!(await isThere()))
})

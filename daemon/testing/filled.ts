// An instance with something in every table: what erasing is tested on.

import assert from 'node:assert/strict'
import type { TestAuthority, TestInstance } from './authority.ts'
import { partnerToken } from './credentials.ts'
import type { TestDaemon } from './daemon.ts'
import { until } from './listening-cell.ts'

/** Stands in everything that is put there. */
export const CANARY = 'canary-4f1e'

/** Something in every table that an instance can have rows in, all of it in the database `default`. */
export async function fill(cell: TestDaemon, authority: TestAuthority, own: TestInstance): Promise<void> {
  const token = own.root()
  // One after the other: the two connections of a test's daemon are not to be waited for.
  const batch = {
    body: { operations: [{ op: 'put', key: 'batch', value: CANARY }] },
    headers: { 'idempotency-key': CANARY },
  }
  for (const call of [
    () => own.call(token, 'PUT /v1/kv/entries/plan', { body: { value: CANARY } }),
    () => own.call(token, `PUT /v1/kv/entries/${CANARY}`, { body: { value: 1, ttlMs: 3_600_000 } }),
    () => own.call(token, 'POST /v1/kv/entries/batch', batch),
    () => own.call(token, 'GET /v1/kv/health'),
  ]) {
    const { status, text } = await call()
    assert.equal(status, 200, text)
  }
  assert.equal((await own.call(token, 'GET /v1/kv/consistency?mode=full')).status, 200)
  const operator = own.root({ ops: ['operator'], ks: ['*/*'] })
  const slots = own.root({ ops: ['wm:write', 'wm:delete'], ks: ['working-memory/*'] })
  const memory = own.root({ ops: ['memory:write', 'memory:delete'], ks: ['memory/*'] })
  const cycles = own.root({ ops: ['cycles:run'], ks: ['*/*'] })
  for (const [by, line, body] of [
    [memory, 'POST /v1/memory/records', { content: CANARY, contextId: CANARY, key: CANARY, ttlMs: 3_600_000 }],
    [operator, 'PUT /v1/working-memory/config', { note: CANARY }],
    [slots, `PUT /v1/working-memory/slots/${CANARY}`, { value: CANARY, ttlMs: 3_600_000 }],
    [slots, 'POST /v1/working-memory/slots/clear', undefined],
    [slots, `PUT /v1/working-memory/slots/${CANARY}`, { value: CANARY }],
    [operator, 'PUT /v1/cognitive/config', { note: CANARY }],
    [cycles, 'POST /v1/cognitive/cycles', { focus: CANARY, metadata: { note: CANARY } }],
  ] as const) {
    const { status, text } = await own.call(by, line, body ? { body } : {})
    assert.equal(status, 200, text)
  }
  const records = Array.from({ length: 100 }, (_, n) => ({ content: `${CANARY} ${n}` }))
  for (let n = 0; n < 3; n += 1)
    assert.equal((await own.call(memory, 'POST /v1/memory/records/batch', { body: { records } })).status, 200)
  await until(async () => (await cell.sql('select 1 from loci.segments where instance_id = $1', [own.svc])).length > 0)
  const [record] = await cell.sql('select id from loci.records where instance_id = $1 order by seq desc limit 1', [
    own.svc,
  ])
  assert.equal((await own.call(memory, `DELETE /v1/memory/records/${record?.id}`)).status, 200)
  const authorization = `Bearer ${await partnerToken(authority, own, ['event', 'tool_outcome'], { partner: CANARY })}`
  const event = { projection_class: 'event', source_event_id: CANARY, payload: CANARY }
  assert.equal(
    (await cell.ask('POST /v1/partner/projections', { body: event, headers: { authorization } })).status,
    200,
  )
  const outcomes = Array.from({ length: 256 }, (_, n) => ({
    ...{ projection_class: 'tool_outcome', source_event_id: `${CANARY} ${n}`, task_class: CANARY },
    ...{ task_intent: CANARY, tools: [{ tool_id: CANARY, outcome: 'success' }] },
  }))
  const told = await cell.ask('POST /v1/partner/projections', { body: outcomes, headers: { authorization } })
  assert.equal(told.status, 200, told.text)
  await until(
    async () => (await cell.sql('select 1 from loci.advice_snapshots where instance_id = $1', [own.svc])).length > 0,
  )
  await cell.sql(`insert into loci.advice_passed values ($1, 'default', $2, 1, 1, 1, 1)`, [own.svc, CANARY])
  await cell.sql('select loci.add_totals($1, 0, octet_length($2) + 100)', [own.svc, CANARY])
  await cell.sql(`insert into loci.instance_rates (instance_id, replica, units, at) values ($1, 'r', 1, now())`, [
    own.svc,
  ])
  await cell.sql(
    `insert into loci.usage_minutes (instance_id, minute, replica, requests, writes) values ($1, date_trunc('minute', now()), 'r', 1, 1)`,
    [own.svc],
  )
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createWaiting } from '@loci/chassis/waiting.ts'
import { sharePool } from '@loci/postgres/shares.ts'
import type { Caller } from '../../access/caller.ts'
import { listEventEnds } from '../../acts/events/store.ts'
import { testManagement } from '../../testing/management.ts'
import { createOperationEnds } from './end.ts'

const WAITING = 50
const EVENTS = 20

// Mutant: each wait reads again at every event of the organization, as it was: 1,000 transactions and more.
test('fifty who wait for operations share one question, and each is answered when its own is over', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const own = await management.organization()
  const made = (await own.ask('POST /api/v1/services', { body: { service_type: 'kv', name: 'waited for' } })).json<{
    service_id: string
  }>()
  const { operation_id } = (await own.ask(`GET /api/v1/services/${made.service_id}`)).json<{ operation_id: string }>()
  let transactions = 0
  // On a busy machine fifty first reads take longer than the pool lets one wait for a connection.
  const patient = sharePool(management.pool, {
    connectionsMax: 4,
    waitMs: 120_000,
    refusal: () => new Error('no connection'),
  }).of('test')
  const pool: typeof management.pool = {
    ...patient,
    client() {
      transactions += 1
      return patient.client()
    },
  }
  const events = createWaiting({ readEnds: (ids) => listEventEnds(management.pool, ids), everyMs: 20 })
  const ends = createOperationEnds(pool, events)
  const caller = { organizationId: own.organizationId, tenantIds: null } as Caller
  let begun = 0
  const waiting = Array.from({ length: WAITING }, () =>
    ends.wait(caller, operation_id, 30_000, new AbortController().signal, () => {
      begun += 1
    }),
  )
  while (begun < WAITING) await sleep(5)
  const before = transactions
  // Events of the organization that concern none of them.
  for (let count = 0; count < EVENTS; count += 1) {
    const answer = await own.ask(`PATCH /api/v1/tenants/${own.tenantId}`, { body: { name: `n${count}` } })
    assert.equal(answer.status, 200)
    events.wake(own.organizationId)
    await sleep(1)
  }
  const asked = transactions - before
  await cell.pull()
  await cell.report({ observed: [{ svc: made.service_id, generation: 1, state: 'active' }] })

  assert.deepEqual(new Set((await Promise.all(waiting)).map(({ status }) => status)), new Set(['succeeded']))
  // One question for all of them, at most one for each event and each who came.
  assert.ok(asked <= EVENTS + WAITING, `${asked} transactions for ${EVENTS} events`)
})

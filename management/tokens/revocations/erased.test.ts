import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { dropConfirmedDeletions, publishInstance } from '../../acts/feed/store.ts'
import { ACTOR, testManagement } from '../../testing/management.ts'
import { revokeToken } from '../tokens.ts'
import { foldErased } from './revocations.ts'

const LIMITS = { databases: 1, records: 1, bytes: 1, requests_per_second: 1, burst: 1, streams: 1 }

// Mutants: foldErased() returns at once (three stay for a year); dropConfirmedDeletions() without `not HAS_REVOCATIONS`
// (they are not found any more); listErasedWithRevocations() without CONFIRMED (they go while the service is served).
test('revocations by jti of a service become one epoch when its erasure is confirmed by the cell and the ledger', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const { id: svc, organizationId: org, tenantId: ten } = service
  for (let n = 0; n < 3; n += 1)
    await management.within(service, (sql) => revokeToken(sql, service, newId('cap'), ACTOR))
  await management.sql(`update loci.revocations set created_at = created_at - interval '20 minutes'`)
  const kept = async () => {
    await dropConfirmedDeletions(management.pool)
    await foldErased(management.pool)
    await dropConfirmedDeletions(management.pool)
    const [rows] = await management.sql<{ jtis: number; epochs: number; items: number; instances: number }>(
      `select count(*) filter (where kind = 'jti')::int as jtis, count(*) filter (where kind = 'svc')::int as epochs,
         (select count(*)::int from loci.feed_items where kind = 'revocation') as items,
         (select count(*)::int from loci.feed_items where kind = 'instance') as instances
       from loci.revocations where cell_id = '' and $1 in (svc, value)`,
      [svc],
    )
    return rows
  }
  const all = { jtis: 3, epochs: 0, items: 3, instances: 1 }
  assert.deepEqual(await kept(), all)

  const body = { org, ten, svc, service_type: 'memory', plan: 'pro', limits: LIMITS, config: {}, state_reason: null }
  await transaction(management.pool, (sql) =>
    publishInstance(sql, cell.id, { ...body, state: 'deleted', generation: 3 }),
  )
  const heard = await cell.pull()
  await cell.feed({ epoch: heard.epoch, after: heard.next })
  assert.deepEqual(await kept(), all, 'nobody has said that it is erased')
  await cell.report({ deletions: [{ svc, generation: 3, at: new Date().toISOString() }] })
  assert.deepEqual(await kept(), all, 'ten minutes are for what is on its way')
  await management.sql(`update loci.deletions set received_at = now() - interval '11 minutes'`)
  assert.deepEqual(await kept(), { jtis: 0, epochs: 1, items: 1, instances: 0 })

  const [epoch] = (await cell.pull(heard)).items.map(({ body }) => body as { id: string; not_before: string })
  assert.equal(epoch?.id, svc)
  const agoMinutes = (Date.now() - Date.parse(epoch.not_before)) / 60_000
  assert.ok(agoMinutes > 18.9 && agoMinutes < 20, `${agoMinutes} minutes: a minute after the newest of them`)
})

// Mutant: without the line on `deleted` in revokeToken().
test('what is revoked of a deleted service leaves its audit entry and nothing else', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const jti = newId('cap')
  await management.within(service, (sql) => revokeToken(sql, { ...service, status: 'deleted' }, jti, ACTOR))
  assert.deepEqual(await management.sql('select from loci.revocations'), [])
  const [entry] = await management.sql('select action from loci.audit where subject = $1', [jti])
  assert.deepEqual(entry, { action: 'token.revoke' })
})

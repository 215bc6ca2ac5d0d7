import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '@loci/contract/ids.ts'
import { mintPartnerCredential } from '../partner-credentials/partner-credentials.ts'
import { ACTOR, testManagement } from '../test-management.ts'

const MINUTE = '2026-11-15T09:30:00.000Z'

test('a report on an instance that is not placed in the cell is refused whole', async () => {
  await using management = await testManagement()
  const mine = await management.cell()
  const theirs = await management.cell()
  const service = await management.instance(mine.id)
  const foreign = await management.instance(theirs.id, { organization: 'Other' })
  const usage = (svc: string) => ({ svc, minute: MINUTE, dedup: 'r1', requests: 5, writes: 1, records: 0, bytes: 0 })

  for (const svc of [foreign.id, newId('svc')]) {
    const bodies = [
      { usage: [usage(service.id), usage(svc)] },
      { usage: [usage(service.id)], observed: [{ svc, generation: 1, state: 'active' }] },
      { usage: [usage(service.id)], deletions: [{ svc, at: MINUTE }] },
    ]
    for (const body of bodies) {
      const answer = await mine.report(body)
      assert.equal(answer.status, 404)
      assert.deepEqual((answer.body.error as { details: unknown }).details, { instances: [svc] })
    }
  }

  assert.deepEqual(await management.sql('select * from loci.usage_minutes'), [])
  assert.equal((await mine.report({ usage: [usage(service.id)] })).status, 200)
})

test('the token of a report is good for one report', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const token = cell.token()

  assert.deepEqual(await cell.report({}, token), { status: 200, body: { accepted: true } })
  assert.equal((await cell.report({}, token)).status, 401)
  assert.equal((await cell.report({})).status, 200)
})

test('a minute is counted once for each replica, and a report never lowers it', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const usage = (dedup: string, requests: number, writes: number) => ({
    usage: [{ svc: service.id, minute: MINUTE, dedup, requests, writes, records: 7, bytes: 100 }],
  })

  for (const body of [usage('r1', 10, 4), usage('r1', 10, 4), usage('r1', 3, 5), usage('r2', 2, 2)])
    assert.equal((await cell.report(body)).status, 200)

  assert.deepEqual(
    await management.sql('select dedup, requests, writes, records, bytes from loci.usage_minutes order by dedup'),
    [
      { dedup: 'r1', requests: 10, writes: 5, records: 7, bytes: 100 },
      { dedup: 'r2', requests: 2, writes: 2, records: 7, bytes: 100 },
    ],
  )
})

test('what a cell observes moves the service on, old news does not, and a higher generation is adopted', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const observed = (generation: number) => ({ observed: [{ svc: service.id, generation, state: 'active' }] })
  const read = () => management.sql('select status, generation, observed_generation as observed from loci.services')

  assert.equal((await cell.report(observed(1))).status, 200)
  assert.deepEqual(await read(), [{ status: 'active', generation: 1, observed: 1 }])
  await cell.report(observed(0))
  assert.deepEqual(await read(), [{ status: 'active', generation: 1, observed: 1 }])
  await cell.report(observed(9))
  assert.deepEqual(await read(), [{ status: 'active', generation: 9, observed: 9 }])
})

// Mutant: `wantedState: 'deleted'` for what a cell has erased (adopted() of lifecycle.ts); without the audit entry.
test('what a cell says it has erased unasked is lost, told to its owner, and published to nobody', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  await cell.report({ observed: [{ svc: service.id, generation: 1, state: 'active' }] })
  const before = await cell.pull()

  const lie = { observed: [{ svc: service.id, generation: 1, state: 'deleted' }] }
  assert.equal((await cell.report(lie)).status, 200)
  assert.equal((await cell.report(lie)).status, 200)
  // Somebody has looked at it since.
  while ((await management.sql('select from loci.due_services')).length > 0) await sleep(20)

  assert.deepEqual(
    await management.sql('select status, status_reason as reason, wanted_state as wanted from loci.services'),
    [{ status: 'failed', reason: 'lost_in_restore', wanted: 'active' }],
  )
  assert.deepEqual((await cell.pull()).items, before.items)
  assert.deepEqual(
    await management.sql(`select actor, subject from loci.audit where chain = $1 and action = 'service.lose'`, [
      service.organizationId,
    ]),
    [{ actor: cell.id, subject: service.id }],
  )
})

test('what the administration of a cell revoked comes back to that cell, and reaches no other', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const other = await management.cell()
  const jti = newId('cap')
  const org = newId('org')
  const expires_at = new Date(Date.now() + 86_400_000).toISOString()
  const revocations = [
    { kind: 'jti', value: jti, not_before: null, expires_at, audit_id: newId('aud') },
    { kind: 'org', value: org, not_before: MINUTE, expires_at, audit_id: null },
  ]

  assert.equal((await cell.report({ revocations })).status, 200)

  const heard = (await cell.pull()).items.filter(({ kind }) => kind === 'revocation')
  assert.deepEqual(
    heard.map(({ key, body }) => ({ key, body })),
    [
      { key: `jti:*:${jti}`, body: { svc: '*', jti, expires_at } },
      { key: `epoch:org:${org}`, body: { kind: 'org', id: org, not_before: MINUTE, expires_at } },
    ],
  )
  assert.ok((await other.pull()).items.every(({ kind }) => kind !== 'revocation'))
})

test('deletions are kept, and last use is noted only for credentials of the cell', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const other = await management.cell()
  const service = await management.instance(cell.id)
  const request = { name: 'partner', database: 'default' }
  const { credential } = await management.within(service, (sql) => mintPartnerCredential(sql, service, request, ACTOR))
  const lastUsed = { last_used: [{ credential: credential.id, at: MINUTE }] }
  const read = () => management.sql<{ at: Date | null }>('select last_used_at as at from loci.partner_credentials')

  assert.equal((await other.report(lastUsed)).status, 200)
  assert.deepEqual(await read(), [{ at: null }])
  const deletions = [
    { svc: service.id, at: MINUTE },
    { svc: service.id, database: 'old', at: MINUTE },
  ]
  assert.equal((await cell.report({ ...lastUsed, deletions })).status, 200)

  assert.deepEqual(await read(), [{ at: new Date(MINUTE) }])
  assert.deepEqual(await management.sql('select database from loci.deletions order by database'), [
    { database: '' },
    { database: 'old' },
  ])
})

test('a report without the documented form is refused with the field that is wrong', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const wrong = [
    { report_id: 'no uuid' },
    {
      usage: [
        {
          svc: newId('svc'),
          minute: '2026-11-15T09:30:01.000Z',
          dedup: 'r',
          requests: 1,
          writes: 1,
          records: 1,
          bytes: 1,
        },
      ],
    },
    { usage: [{ svc: newId('svc'), minute: MINUTE, dedup: 'r', requests: -1, writes: 1, records: 1, bytes: 1 }] },
    { revocations: [{ kind: 'jti', value: 'x', not_before: MINUTE, expires_at: MINUTE, audit_id: null }] },
    { observed: [{ svc: 'x', generation: 1, state: 'active' }] },
  ]

  for (const body of wrong) assert.equal((await cell.report(body)).status, 400, JSON.stringify(body))
})

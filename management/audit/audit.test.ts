import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { auditSuite } from '@loci/acts/testing/audit-suite.ts'
import { type ChainRow, problemsOf } from '@loci/acts/testing/chain.ts'
import { newId } from '@loci/contract/ids.ts'
import { SCOPES } from '@loci/contract/roles.ts'
import { type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

let management: TestManagement
before(async () => {
  management = await testManagement()
})
after(() => management?.[Symbol.asyncDispose]())

auditSuite(async () => {
  const own = await testManagement()
  return {
    database: own.database,
    newChain: () => newId('org'),
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  }
})

interface Entry {
  id: string
  seq: number
  actor: string
  action: string
  subject: string
  request_id: string | null
  detail: Record<string, unknown>
  hash: string
  prev_hash: string | null
}

const read = async (party: TestParty, query = '') => {
  const answer = await party.ask(`GET /api/v1/audit-events${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<{ entries: Entry[]; next_cursor: string | null }>()
}

const staffOf = (party: TestParty) =>
  management.member(party, 'owner', { email: 'staff@loci.example', scopes: [...SCOPES, 'staff'] })

test('each act is one entry, newest first, each with the hash of the one before, page by page', async () => {
  const own = await management.organization()
  const requests: unknown[] = []
  for (const name of ['One', 'Two', 'Three'])
    requests.unshift((await own.ask('POST /api/v1/tenants', { body: { name } })).headers['x-request-id'])

  const { entries } = await read(own)

  assert.deepEqual(
    entries.map(({ action }) => action),
    ['tenant.make', 'tenant.make', 'tenant.make', 'api_key.make', 'organization.make'],
  )
  assert.deepEqual(
    entries.slice(0, 3).map(({ request_id }) => request_id),
    requests,
  )
  assert.equal(entries[0]?.actor, `key_${own.apiKey.split('_')[2]}`)
  entries.slice(1).forEach((older, at) => {
    const newer = entries[at] as Entry
    assert.deepEqual([newer.seq, newer.prev_hash], [older.seq + 1, older.hash])
  })
  assert.equal(entries.at(-1)?.prev_hash, null)
  const stored = await management.sql<ChainRow>('select * from loci.audit where chain = $1 order by seq', [
    own.organizationId,
  ])
  assert.deepEqual(problemsOf(stored), [])

  const first = await read(own, '?limit=2')
  const second = await read(own, `?limit=2&cursor=${first.next_cursor}`)
  const third = await read(own, `?limit=2&cursor=${second.next_cursor}`)
  assert.deepEqual(
    [...first.entries, ...second.entries, ...third.entries].map(({ id }) => id),
    entries.map(({ id }) => id),
  )
  assert.equal(third.next_cursor, null)
})

test('what was refused left no entry', async () => {
  const own = await management.organization()
  const before = (await read(own)).entries.length
  await own.ask(`DELETE /api/v1/tenants/${own.tenantId}`)
  await own.ask('POST /api/v1/api-keys', { body: { name: 'x', scopes: ['staff'] } })
  await own.ask(`DELETE /api/v1/organizations/${own.organizationId}/members/${own.ownerId}`)
  assert.equal((await read(own)).entries.length, before)
})

test('the audit is the organization’s own: others, members, viewers, narrow and limited keys are refused', async () => {
  const own = await management.organization()
  const other = await management.organization()
  assert.ok((await read(own)).entries.every(({ subject }) => subject !== other.organizationId))
  const refused = [
    await management.member(own, 'member'),
    await management.member(own, 'viewer'),
    await management.member(own, 'owner', { scopes: ['tenants:read'] }),
    await management.member(own, 'owner', { tenantIds: [own.tenantId] }),
  ]
  for (const caller of refused) assert.equal((await caller.ask('GET /api/v1/audit-events')).status, 403)
  for (const id of [other.organizationId, newId('org'), 'platform']) {
    const answer = await own.ask(`GET /api/v1/audit-events?organization_id=${id}`)
    assert.deepEqual([answer.status, answer.error.code], [403, 'FORBIDDEN'], id)
  }
  assert.equal((await read(own, `?organization_id=${own.organizationId}`)).entries.length > 0, true)
  for (const query of ['limit=0', 'cursor=x', 'cursor=-1', 'organization_id=x', 'organization_id='])
    assert.equal((await own.ask(`GET /api/v1/audit-events?${query}`)).status, 400, query)
})

test('staff read the audit of others and of the platform, and each look is in the platform’s chain', async () => {
  const own = await management.organization()
  const other = await management.organization()
  const staff = await staffOf(own)

  const theirs = await staff.ask(`GET /api/v1/audit-events?organization_id=${other.organizationId}`)

  assert.equal(theirs.status, 200)
  assert.ok(theirs.json<{ entries: Entry[] }>().entries.some(({ subject }) => subject === other.organizationId))
  const { entries } = await read(staff, '?organization_id=platform')
  const [look] = entries
  assert.deepEqual(
    [look?.action, look?.subject, look?.request_id, look?.detail.user_id],
    ['audit.read', other.organizationId, theirs.headers['x-request-id'], staff.ownerId],
  )
  const mine = await read(staff)
  assert.ok(mine.entries.every(({ action }) => action !== 'audit.read'))
  assert.deepEqual((await read(staff, `?organization_id=${newId('org')}`)).entries, [])
})

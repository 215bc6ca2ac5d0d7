import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { SCOPES } from '@loci/contract/roles.ts'
import { type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

let management: TestManagement
before(async () => {
  management = await testManagement()
})
after(() => management?.[Symbol.asyncDispose]())

interface Key {
  id: string
  user_id: string
  name: string
  scopes: string[]
  tenant_ids: string[] | null
  expires_at: string | null
  previous_until: string | null
  secret: string
}

async function make(party: TestParty, body: object = {}): Promise<Key> {
  const answer = await party.ask('POST /api/v1/api-keys', { body: { name: 'made', ...body } })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<Key>()
}

const refusedMake = async (party: TestParty, body: object) => {
  const answer = await party.ask('POST /api/v1/api-keys', { body: { name: 'made', ...body } })
  return [answer.status, answer.error.code]
}

const using = (secret: string, line: string, body?: object) =>
  management.ask(line, { headers: { 'x-api-key': secret }, ...(body ? { body } : {}) })

const list = async (party: TestParty) =>
  (await party.ask('GET /api/v1/api-keys')).json<{ api_keys: Key[] }>().api_keys.map(({ id }) => id)

// specification 221
test('a new key has what was asked, shows its secret once, uncached, and works; nothing stored or logged holds it', async () => {
  const own = await management.organization()

  const answer = await own.ask('POST /api/v1/api-keys', {
    body: { name: 'ci', scopes: [...SCOPES], tenant_ids: [own.tenantId], expires_in: 3600 },
  })

  assert.deepEqual([answer.status, answer.headers['cache-control']], [201, 'no-store'])
  const key = answer.json<Key>()
  assert.deepEqual(
    [key.name, key.scopes, key.tenant_ids, key.user_id],
    ['ci', [...SCOPES], [own.tenantId], own.ownerId],
  )
  assert.ok(Math.abs(Date.parse(key.expires_at as string) - Date.now() - 3_600_000) < 60_000)
  assert.equal((await using(key.secret, 'GET /api/v1/tenants')).status, 200)
  assert.ok(!(await own.ask('GET /api/v1/api-keys')).text.includes(key.secret))
  const rows = await management.sql('select to_jsonb(k) as row from loci.api_keys k where id = $1', [key.id])
  const entries = await management.sql('select to_jsonb(a) as row from loci.audit a where subject = $1', [key.id])
  const events = await management.sql('select to_jsonb(e) as row from loci.events e where subject = $1', [key.id])
  assert.deepEqual([entries.length, events.length], [1, 1])
  assert.ok(!JSON.stringify([rows, entries, events]).includes(key.secret))
  assert.ok(!management.lines.some((line) => line.includes(key.secret)))
})

test('without scopes and tenants a key has those of its maker, and no end', async () => {
  const own = await management.organization()
  const admin = await management.member(own, 'admin')
  const key = await make(admin)
  assert.deepEqual(
    [key.scopes.includes('keys:write'), key.scopes.includes('members:write'), key.tenant_ids, key.expires_at],
    [true, false, null, null],
  )
  const limited = await management.member(own, 'admin', { tenantIds: [own.tenantId], scopes: ['keys:write'] })
  const second = await make(limited)
  assert.deepEqual([second.scopes, second.tenant_ids], [['keys:write'], [own.tenantId]])
})

test('what is no request for a key is 400', async () => {
  const own = await management.organization()
  const other = await management.organization()
  for (const wrong of [
    { name: 5 },
    { name: '' },
    { scopes: 'services:read' },
    { scopes: ['services:fly'] },
    { scopes: [] },
    { expires_in: -1 },
    { expires_in: 59 },
    { expires_in: 60.5 },
    { expires_in: 11 * 365 * 86_400 },
    { tenant_ids: 'all' },
    { tenant_ids: [] },
    { tenant_ids: [newId('ten')] },
    { tenant_ids: ['x'] },
    // As one that does not exist: whose it is must not show.
    { tenant_ids: [other.tenantId] },
  ])
    assert.deepEqual(await refusedMake(own, wrong), [400, 'VALIDATION_ERROR'], JSON.stringify(wrong))
  for (const body of [{}, [], null]) assert.equal((await own.ask('POST /api/v1/api-keys', { body })).status, 400)
})

test('nobody gives what they do not have: scopes, staff, tenants, time', async () => {
  const own = await management.organization()
  const admin = await management.member(own, 'admin')
  const forbidden = [403, 'FORBIDDEN']
  assert.deepEqual(await refusedMake(admin, { scopes: ['members:write'] }), forbidden)
  assert.deepEqual(await refusedMake(own, { scopes: ['services:read', 'staff'] }), forbidden)
  const narrow = await management.member(own, 'owner', { scopes: ['keys:write', 'services:read'] })
  assert.deepEqual(await refusedMake(narrow, { scopes: ['services:write'] }), forbidden)
  for (const role of ['member', 'viewer'] as const)
    assert.deepEqual(await refusedMake(await management.member(own, role), {}), forbidden)

  const { id } = (await own.ask('POST /api/v1/tenants', { body: { name: 'Mine' } })).json<{ id: string }>()
  const limited = await management.member(own, 'owner', { tenantIds: [id] })
  assert.deepEqual(await refusedMake(limited, { tenant_ids: [own.tenantId] }), forbidden)
  assert.deepEqual(await refusedMake(limited, { tenant_ids: [newId('ten')] }), forbidden)
  assert.deepEqual((await make(limited, { tenant_ids: [id, id] })).tenant_ids, [id])

  const expiresAt = new Date(Date.now() + 3_600_000)
  const passing = await management.member(own, 'owner', { expiresAt })
  assert.deepEqual(await refusedMake(passing, { expires_in: 7200 }), forbidden)
  assert.equal((await make(passing)).expires_at, expiresAt.toISOString())
  await make(passing, { expires_in: 600 })
})

test('staff give the staff scope, and it works only while the address is that of staff', async () => {
  const own = await management.organization()
  const scopes = [...SCOPES, 'staff']
  const staff = await management.member(own, 'owner', { email: 'staff@loci.example', scopes })
  const key = await make(staff, { scopes: ['audit:read', 'staff'] })
  assert.equal((await using(key.secret, 'GET /api/v1/audit-events?organization_id=platform')).status, 200)
  const pretender = await management.member(own, 'owner', { scopes })
  assert.equal((await pretender.ask('GET /api/v1/audit-events?organization_id=platform')).status, 403)
})

test('a key does what its maker may do today: a demotion narrows it at once, and without the maker it is 401', async () => {
  const own = await management.organization()
  const admin = await management.member(own, 'admin')
  const { secret } = await make(admin)
  assert.equal((await using(secret, 'POST /api/v1/tenants', { name: 'Before' })).status, 201)
  const member = `/api/v1/organizations/${own.organizationId}/members/${admin.ownerId}`

  await own.ask(`PATCH ${member}`, { body: { role: 'viewer' } })
  assert.equal((await using(secret, 'POST /api/v1/tenants', { name: 'After' })).status, 403)
  assert.equal((await using(secret, 'GET /api/v1/tenants')).status, 200)

  await own.ask(`DELETE ${member}`)
  assert.equal((await using(secret, 'GET /api/v1/tenants')).status, 401)
})

test('a replayed request for a key is withheld and names the key; a rotated key is still the same caller', async () => {
  const own = await management.organization()
  const headers = { 'idempotency-key': randomUUID() }
  const ask = (apiKey: string) =>
    management.ask('POST /api/v1/api-keys', { body: { name: 'once' }, headers: { ...headers, 'x-api-key': apiKey } })
  const first = (await ask(own.apiKey)).json<Key>()
  const withheld = (answer: Awaited<ReturnType<typeof ask>>) => {
    assert.deepEqual([answer.status, answer.error.code], [409, 'IDEMPOTENCY_REPLAY_WITHHELD'])
    assert.deepEqual(answer.error.details, { id: first.id })
    assert.ok(!answer.text.includes(first.secret))
  }
  withheld(await ask(own.apiKey))

  const rotation = { 'idempotency-key': randomUUID() }
  const caller = `key_${own.apiKey.split('_')[2]}`
  const rotate = (apiKey: string) =>
    own.ask(`POST /api/v1/api-keys/${caller}/rotate`, { headers: { ...rotation, 'x-api-key': apiKey } })
  const rotated = (await rotate(own.apiKey)).json<Key>()
  withheld(await ask(rotated.secret))
  const again = await rotate(rotated.secret)
  assert.deepEqual([again.status, again.error.code], [409, 'IDEMPOTENCY_REPLAY_WITHHELD'])
  assert.ok(!again.text.includes(rotated.secret))
  assert.equal((await using(rotated.secret, 'GET /api/v1/tenants')).status, 200)
})

test('after a rotation the new secret works, the old one until the overlap ends, and none before that', async () => {
  const own = await management.organization()
  const first = await make(own, { scopes: ['tenants:read'] })
  const works = async (secret: string) => (await using(secret, 'GET /api/v1/tenants')).status === 200
  const rotate = async (body?: object) => {
    const answer = await own.ask(`POST /api/v1/api-keys/${first.id}/rotate`, body ? { body } : {})
    assert.deepEqual([answer.status, answer.headers['cache-control']], [200, 'no-store'], answer.text)
    return answer.json<Key>()
  }

  const second = await rotate()
  assert.equal(second.id, first.id)
  assert.ok(Math.abs(Date.parse(second.previous_until as string) - Date.now() - 86_400_000) < 60_000)
  assert.deepEqual([await works(first.secret), await works(second.secret)], [true, true])
  await management.sql(`update loci.api_keys set previous_until = now() - interval '1 second' where id = $1`, [
    first.id,
  ])
  assert.deepEqual([await works(first.secret), await works(second.secret)], [false, true])

  const third = await rotate({ overlap_seconds: 60 })
  const fourth = await rotate({ overlap_seconds: 0 })
  assert.equal(fourth.previous_until, null)
  assert.deepEqual(
    [await works(second.secret), await works(third.secret), await works(fourth.secret)],
    [false, false, true],
  )
  for (const overlap_seconds of [-1, 604_801, 1.5, '60', null])
    assert.equal((await own.ask(`POST /api/v1/api-keys/${first.id}/rotate`, { body: { overlap_seconds } })).status, 400)
  await management.sql(`update loci.api_keys set expires_at = now() where id = $1`, [first.id])
  const late = await own.ask(`POST /api/v1/api-keys/${first.id}/rotate`)
  assert.deepEqual([late.status, late.error.code], [409, 'INVALID_STATE'])
})

test('in the overlap the old secret reads and writes as before, and makes, rotates and deletes no key', async () => {
  const own = await management.organization()
  const first = await make(own)
  const second = (await own.ask(`POST /api/v1/api-keys/${first.id}/rotate`)).json<Key>()
  assert.equal((await using(first.secret, 'POST /api/v1/tenants', { name: 'Beta' })).status, 201)
  for (const line of [
    'POST /api/v1/api-keys',
    `POST /api/v1/api-keys/${first.id}/rotate`,
    `DELETE /api/v1/api-keys/${first.id}`,
  ]) {
    const refused = await using(first.secret, line, line.endsWith('api-keys') ? { name: 'more' } : undefined)
    assert.deepEqual([refused.status, refused.error.code], [403, 'FORBIDDEN'], line)
  }
  assert.equal((await using(second.secret, `POST /api/v1/api-keys/${first.id}/rotate`)).status, 200)
})

test('an organization has 100 keys in use, also when many are made at once; a deleted or expired one makes room', async () => {
  const own = await management.organization()
  await management.sql(
    `insert into loci.api_keys (id, organization_id, user_id, name, scopes, digest, pepper)
      select 'key_' || i, $1, $2, 'many', '{}', '', '' from generate_series(1, 97) i`,
    [own.organizationId, own.ownerId],
  )
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) => own.ask('POST /api/v1/api-keys', { body: { name: `key ${i}` } })),
  )
  const refused = answers.filter(({ status }) => status !== 201)
  assert.equal(refused.length, 4)
  for (const { error } of refused)
    assert.deepEqual([error.code, error.details], ['QUOTA_EXCEEDED', { limit: 100, used: 100 }])
  await management.sql(`update loci.api_keys set expires_at = now() where id = 'key_1'`)
  await management.sql(`update loci.api_keys set revoked_at = now() where id = 'key_2'`)
  await make(own)
  await make(own)
  assert.deepEqual(await refusedMake(own, {}), [403, 'QUOTA_EXCEEDED'])
})

test('nobody gets a secret that does more than they may by rotating a key: another person’s, a wider or a longer one', async () => {
  const own = await management.organization()
  const admin = await management.member(own, 'admin')
  const email = `${randomUUID()}@example.com`
  const wide = await management.member(own, 'owner', { email })
  const callers = [
    admin,
    // May do as much, but is another person.
    await management.member(own, 'owner'),
    await management.member(own, 'owner', { email, scopes: ['keys:write', 'tenants:read'] }),
    await management.member(own, 'owner', { email, expiresAt: new Date(Date.now() + 60_000) }),
  ]
  const target = `key_${wide.apiKey.split('_')[2]}`
  for (const caller of callers) {
    const refused = await caller.ask(`POST /api/v1/api-keys/${target}/rotate`)
    assert.deepEqual([refused.status, refused.error.code], [403, 'FORBIDDEN'])
  }
  const limited = await management.member(own, 'owner', { email, tenantIds: [own.tenantId] })
  assert.equal((await limited.ask(`POST /api/v1/api-keys/${target}/rotate`)).status, 404)
  assert.equal((await wide.ask('GET /api/v1/tenants')).status, 200)
})

test('keys are listed to keys:write, else one’s own alone; a key limited to tenants sees none that reach further', async () => {
  const own = await management.organization()
  const viewer = await management.member(own, 'viewer')
  const limited = await management.member(own, 'owner', { tenantIds: [own.tenantId] })
  const idOf = ({ apiKey }: TestParty) => `key_${apiKey.split('_')[2]}`

  assert.deepEqual((await list(own)).sort(), [own, viewer, limited].map(idOf).sort())
  assert.deepEqual(await list(viewer), [idOf(viewer)])
  assert.deepEqual(await list(limited), [idOf(limited)])
  const page = (await own.ask('GET /api/v1/api-keys?limit=2')).json<{ api_keys: Key[]; next_cursor: string }>()
  const rest = await own.ask(`GET /api/v1/api-keys?limit=2&cursor=${page.next_cursor}`)
  const { api_keys: more, next_cursor } = rest.json<{ api_keys: Key[]; next_cursor: null }>()
  assert.deepEqual([page.api_keys.length, more.length, next_cursor], [2, 1, null])
  assert.equal((await limited.ask(`DELETE /api/v1/api-keys/${idOf(own)}`)).status, 404)
})

test('a deleted key is 401 at once, and gone from the list', async () => {
  const own = await management.organization()
  const { id, secret } = await make(own)
  const deleted = await own.ask(`DELETE /api/v1/api-keys/${id}`)
  assert.deepEqual([deleted.status, deleted.json()], [200, { deleted: true }])
  assert.equal((await using(secret, 'GET /api/v1/organizations')).status, 401)
  assert.ok(!(await list(own)).includes(id))
  assert.equal((await own.ask(`DELETE /api/v1/api-keys/${id}`)).status, 404)
  assert.equal((await own.ask(`POST /api/v1/api-keys/${id}/rotate`)).status, 404)
})

test('another organization’s key is 404 like one that does not exist, and goes on working', async () => {
  const own = await management.organization()
  const other = await management.organization()
  const theirs = await make(other)
  const bare = ({ text, headers }: { text: string; headers: Record<string, unknown> }) =>
    text.replaceAll(String(headers['x-request-id']), '')
  for (const line of ['DELETE /api/v1/api-keys/ID', 'POST /api/v1/api-keys/ID/rotate']) {
    const refused = await own.ask(line.replace('ID', theirs.id))
    assert.deepEqual([refused.status, refused.error.code], [404, 'NOT_FOUND'])
    for (const id of [newId('key'), 'x', 'key_'])
      assert.equal(bare(await own.ask(line.replace('ID', id))), bare(refused), `${line} ${id}`)
  }
  assert.equal((await using(theirs.secret, 'GET /api/v1/tenants')).status, 200)
  assert.ok(!(await list(own)).includes(theirs.id))
})

// Mutant: leave out uses.note() in caller.ts.
test('the list says when a key was last used, and nothing while it was not', async () => {
  await using used = await testManagement()
  const party = await used.organization()
  const idle = await used.member(party, 'member')
  const before = Date.now()
  interface Listed {
    api_keys: { id: string; last_used_at: string | null }[]
  }
  const listed = async () => (await party.ask('GET /api/v1/api-keys')).json<Listed>().api_keys
  const idOf = (apiKey: string) => `key_${apiKey.split('_')[2]}`
  const lastUse = async (of: TestParty) => (await listed()).find(({ id }) => id === idOf(of.apiKey))?.last_used_at
  const at = await eventually(async () => (await lastUse(party)) ?? undefined)
  assert.ok(Date.parse(at) >= before - 1_000 && Date.parse(at) <= Date.now() + 1_000, at)
  assert.equal(await lastUse(idle), null)
})

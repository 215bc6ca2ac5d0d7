// What strangers, and keys for another tenant, learn and do about tokens.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Service } from '../services/store.ts'
import { type TestCell, type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

interface Token {
  token_id: string
  token: string
  service_id: string
  ops: string[]
  keyspaces: string[]
  expires_in: number
  expires_at: string
  delegation?: { chain: string; key: { d: string } }
}

let management: TestManagement
let cell: TestCell
before(async () => {
  management = await testManagement()
  cell = await management.cell()
})
after(() => management?.[Symbol.asyncDispose]())

/** An organization with one instance. */
async function party(): Promise<TestParty & { service: Service; tokens: string }> {
  const made = await management.organization()
  const service = await management.instance(cell.id, { organization: made.organizationId, tenant: made.tenantId })
  return { ...made, service, tokens: `/api/v1/tenants/${made.tenantId}/tokens` }
}

async function mint(own: Awaited<ReturnType<typeof party>>, body: object = {}): Promise<Token> {
  const answer = await own.ask(`POST ${own.tokens}`, { body })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<Token>()
}

const bodyOf = (text: string) => text.replace(/req_[0-9a-z]{26}/, '')

/** A key of the owner's for some scopes or tenants. */
async function keyed(own: TestParty, body: object) {
  const answer = await own.ask('POST /api/v1/api-keys', { body: { name: 'k', ...body } })
  const { secret } = answer.json<{ secret: string }>()
  return (line: string, sent?: unknown) =>
    ask(management.url, line, { body: sent, headers: { [HEADER.apiKey]: secret } })
}

test('a stranger’s tenant is 403 with the same body as none, its service 404, its token and jti 404', async () => {
  const [own, other] = [await party(), await party()]
  const theirs = await mint(other, { max_delegation_depth: 1 })
  const parent = await mint(own, { max_delegation_depth: 1 })
  const exp = Math.floor(Date.now() / 1000) + 60
  const child = { jti: newId('cap'), exp }
  await other.ask(`POST ${other.tokens}/${theirs.token_id}/children`, { body: child })
  const requests = (tenantId: string): [string, unknown][] => [
    [`POST /api/v1/tenants/${tenantId}/tokens`, {}],
    [`GET /api/v1/tenants/${tenantId}/tokens`, undefined],
    [`POST /api/v1/tenants/${tenantId}/tokens/${theirs.token_id}/children`, { jti: 'x', exp }],
    [`DELETE /api/v1/tenants/${tenantId}/tokens/${theirs.token_id}`, undefined],
  ]
  const none = requests(newId('ten'))
  for (const [index, [line, body]] of requests(other.tenantId).entries()) {
    const answer = await own.ask(line, { body })
    assert.deepEqual([answer.status, answer.error.code], [403, 'FORBIDDEN'], line)
    const [noLine, noBody] = none[index] as [string, unknown]
    assert.equal(bodyOf((await own.ask(noLine, { body: noBody })).text), bodyOf(answer.text), line)
  }
  for (const odd of ['x', 'ten_', '%00']) {
    const answer = await own.ask(`GET /api/v1/tenants/${odd}/tokens`)
    assert.equal(answer.status, 403, odd)
  }
  const [service, noService] = [other.service.id, newId('svc')].map((service_id) =>
    own.ask(`POST ${own.tokens}`, { body: { service_id } }),
  )
  assert.deepEqual(
    [(await service)?.status, bodyOf((await service)?.text ?? '')],
    [404, bodyOf((await noService)?.text ?? 'x')],
  )
  for (const jti of [theirs.token_id, child.jti])
    assert.equal((await own.ask(`DELETE ${own.tokens}/${jti}`)).status, 404)
  const claim = { body: { jti: theirs.token_id, exp } }
  assert.equal((await own.ask(`POST ${own.tokens}/${parent.token_id}/children`, claim)).status, 404)
  assert.equal(
    (await own.ask(`POST ${own.tokens}/${theirs.token_id}/children`, { body: { jti: 'x', exp } })).status,
    404,
  )
  const revoked = await management.sql('select value from loci.revocations where value = any($1)', [
    [theirs.token_id, child.jti],
  ])
  assert.deepEqual(revoked, [])
})

// Whoever was given a link knows its jti. Mutants: a primary key without the service (the second registration is 409),
// and is_token_of_another() looking at token_children too (404: its owner could no longer take it back).
test('a jti that a stranger has registered first is still registered and taken back by its owner', async () => {
  const [own, stranger] = [await party(), await party()]
  const parent = await mint(own, { max_delegation_depth: 1 })
  const theirs = await mint(stranger, { max_delegation_depth: 1 })
  const body = { jti: newId('cap'), exp: Math.floor(Date.now() / 1000) + 60 }

  assert.equal((await stranger.ask(`POST ${stranger.tokens}/${theirs.token_id}/children`, { body })).status, 201)
  const { epoch, next } = await cell.pull()
  assert.equal((await own.ask(`POST ${own.tokens}/${parent.token_id}/children`, { body })).status, 201)
  assert.equal((await own.ask(`DELETE ${own.tokens}/${body.jti}`)).status, 200)

  // In the owner's service alone: the stranger's registration stands, and so would a link of that jti there.
  const told = (await cell.feed({ epoch, after: next })).items.map(({ key }) => key)
  assert.deepEqual(told, [`jti:${own.service.id}:${body.jti}`])
  const children = await management.sql<{ service_id: string; revoked_at: Date | null }>(
    'select service_id, revoked_at from loci.token_children where jti = $1 order by revoked_at nulls first',
    [body.jti],
  )
  assert.deepEqual(
    children.map(({ service_id, revoked_at }) => [service_id, revoked_at !== null]),
    [
      [stranger.service.id, false],
      [own.service.id, true],
    ],
  )
})

// Measured from outside: 404 for a's tenant, service and child, 201 for nobody's id. Mutant: owner_of() asked again.
test('registering a child does not tell which ids of others exist', async () => {
  const [own, other] = [await party(), await party()]
  const theirs = await mint(other, { max_delegation_depth: 1 })
  const exp = Math.floor(Date.now() / 1000) + 60
  const child = { jti: newId('cap'), exp }
  await other.ask(`POST ${other.tokens}/${theirs.token_id}/children`, { body: child })
  const credential = await other.ask(`POST /api/v1/services/${other.service.id}/partner-credentials`, {
    body: { name: 'p', database: 'default' },
  })
  const parent = await mint(own, { max_delegation_depth: 1 })
  const { id } = credential.json<{ id: string }>()
  for (const jti of [other.tenantId, other.service.id, id, child.jti, newId('svc')]) {
    const answer = await own.ask(`POST ${own.tokens}/${parent.token_id}/children`, { body: { jti, exp } })
    assert.equal(answer.status, 201, jti)
  }
  // And what stands there as a jti is in nobody's way: an id is looked up among ids of our own making.
  const [owner] = await management.sql('select organization_id from loci.owner_of($1)', [other.service.id])
  assert.deepEqual(owner, { organization_id: other.organizationId })
})

test('with service_id any jti of an own service is taken back and reaches its cell', async () => {
  const [own, other] = [await party(), await party()]
  const jti = `made-offline:${newId('cap')}`
  const path = `DELETE ${own.tokens}/${encodeURIComponent(jti)}`
  const { epoch, next } = await cell.pull()
  assert.equal((await own.ask(path)).status, 404)
  for (const service of [other.service.id, newId('svc'), 'x'])
    assert.equal((await own.ask(`${path}?service_id=${service}`)).status, 404, service)
  assert.equal((await own.ask(`${path}?service=${own.service.id}`)).status, 400)
  assert.deepEqual((await cell.feed({ epoch, after: next })).items, [])

  assert.deepEqual((await own.ask(`${path}?service_id=${own.service.id}`)).json(), { deleted: true })

  const [item] = (await cell.feed({ epoch, after: next })).items
  assert.deepEqual(item?.key, `jti:${own.service.id}:${jti}`)
  const audit = await management.sql('select action from loci.audit where subject = $1', [jti])
  assert.deepEqual(audit, [{ action: 'token.revoke' }])
})

test('a key for one tenant is refused the tokens of another tenant of its organization', async () => {
  const own = await party()
  const second = (await own.ask('POST /api/v1/tenants', { body: { name: 'second' } })).json<{ id: string }>()
  const { token_id } = await mint(own)
  const as = await keyed(own, { tenant_ids: [second.id] })
  assert.equal((await as(`GET ${own.tokens}`)).status, 403)
  assert.equal((await as(`POST ${own.tokens}`, {})).status, 403)
  assert.equal((await as(`DELETE ${own.tokens}/${token_id}`)).status, 403)
  const path = `/api/v1/tenants/${second.id}/tokens`
  assert.equal((await as(`GET ${path}`)).status, 200)
  assert.equal((await as(`POST ${path}`, { service_id: own.service.id })).status, 404)
  assert.equal((await as(`DELETE ${path}/${token_id}`)).status, 404)
})

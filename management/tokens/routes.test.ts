import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { verifyCapability } from '@loci/capability/capability.ts'
import { newKeyPair, publicKeyOf } from '@loci/capability/jws.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
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

interface Listed {
  tokens: {
    token_id: string
    name: string | null
    service_id: string
    revoked_at: string | null
    children: ListedChild[]
    children_total: number
  }[]
  next_cursor: string | null
}

interface ListedChild {
  jti: string
  name: string | null
  ops: string[] | null
  revoked_at: string | null
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

/** A key of the owner's for some scopes or tenants. */
async function keyed(own: TestParty, body: object) {
  const answer = await own.ask('POST /api/v1/api-keys', { body: { name: 'k', ...body } })
  const { secret } = answer.json<{ secret: string }>()
  return (line: string, sent?: unknown) =>
    ask(management.url, line, { body: sent, headers: { [HEADER.apiKey]: secret } })
}

async function setRole(own: TestParty, role: string): Promise<void> {
  await management.sql('update loci.members set role = $2 where organization_id = $1', [own.organizationId, role])
}

test('a token is 201, signed for the service and by the key set, and names who asked', async () => {
  const own = await party()

  const answer = await own.ask(`POST ${own.tokens}`, {
    body: { service_id: own.service.id, name: 'first', ops: ['kv:read'], databases: ['a'], ttl_seconds: 600 },
  })

  assert.equal(answer.status, 201, answer.text)
  assert.equal(answer.headers['cache-control'], 'no-store')
  const token = answer.json<Token>()
  assert.deepEqual([token.ops, token.keyspaces, token.expires_in], [['kv:read'], ['kv/a'], 600])
  const { keys } = (await management.get('/.well-known/loci-capability-keys.json')).json<{
    keys: { kid: string; x: string }[]
  }>()
  const findKey = (kid: string) =>
    publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x: keys.find((key) => key.kid === kid)?.x })
  const { root } = verifyCapability(token.token, { now: Date.now() / 1000, findKey })
  assert.deepEqual([root.svc, root.sub, root.jti], [own.service.id, `key_${own.apiKey.split('_')[2]}`, token.token_id])
  const [audited] = await management.sql(
    `select actor, request_id from loci.audit where action = 'token.mint' and subject = $1`,
    [token.token_id],
  )
  assert.match(audited?.actor as string, /^key_/)
  assert.equal(audited?.request_id, answer.headers['x-request-id'])
  const events = (await own.ask('GET /api/v1/events?after=0')).json<{ events: { type: string; data: object }[] }>()
  assert.deepEqual(
    events.events.filter(({ type }) => type.startsWith('token.')).map(({ data }) => data),
    [{ tenant_id: own.tenantId, service_id: own.service.id }],
  )
})

test('without ops a token has all but operator; owner and admin may ask for operator, a member gets the rest, a viewer nothing', async () => {
  const own = await party()
  const all = { ops: ['operator', 'kv:read'], databases: ['*'] }
  assert.deepEqual(
    (await mint(own)).ops,
    OPERATION_NAMES.filter((op) => op !== 'operator'),
  )
  assert.deepEqual((await mint(own, all)).ops, ['kv:read', 'operator'])
  await setRole(own, 'member')
  assert.deepEqual((await mint(own, all)).ops, ['kv:read'])
  assert.deepEqual(
    (await mint(own)).ops,
    OPERATION_NAMES.filter((op) => op !== 'operator'),
  )
  const nothing = await own.ask(`POST ${own.tokens}`, { body: { ops: ['operator'], databases: ['*'] } })
  assert.deepEqual([nothing.status, nothing.error.code], [403, 'FORBIDDEN'])
  await setRole(own, 'viewer')
  assert.equal((await own.ask(`POST ${own.tokens}`, { body: {} })).status, 403)
  assert.equal((await own.ask(`GET ${own.tokens}`)).status, 200)
})

test('without service_id the only usable service is meant; with none or several it is 422, without a place 409', async () => {
  const own = await management.organization()
  const path = `POST /api/v1/tenants/${own.tenantId}/tokens`
  const none = await own.ask(path, { body: {} })
  assert.deepEqual([none.status, none.error.code], [422, 'SERVICE_REQUIRED'])
  const of = { organization: own.organizationId, tenant: own.tenantId }
  const first = await management.instance(cell.id, of)
  assert.equal((await own.ask(path, { body: {} })).json<Token>().service_id, first.id)
  // Mutant: the route without `bodyDefault`.
  assert.equal((await own.ask(path)).json<Token>().service_id, first.id)
  const second = await management.instance(cell.id, of)
  assert.equal((await own.ask(path, { body: {} })).status, 422)
  assert.equal((await own.ask(path, { body: { service_id: second.id } })).status, 201)
  for (const status of ['failed', 'deleting', 'deleted']) {
    await management.sql('update loci.services set status = $2 where id = $1', [second.id, status])
    assert.equal((await own.ask(path, { body: {} })).json<Token>().service_id, first.id, status)
  }
  assert.equal((await own.ask(path, { body: { service_id: second.id } })).status, 404)
  await management.sql('update loci.services set cell_id = null where id = $1', [first.id])
  assert.equal((await own.ask(path, { body: {} })).error.code, 'INVALID_STATE')
})

test('what is no token request is 400', async () => {
  const own = await party()
  const { publicJwk, privateJwk } = newKeyPair()
  const wrong: unknown[] = [[], null, 'x']
  for (const ops of ['kv:read', [5], ['kv:fly'], [], null]) wrong.push({ ops })
  for (const databases of ['x', ['Upper'], ['a/b'], [''], ['a*']]) wrong.push({ databases })
  for (const ttl_seconds of [59, 0, 60.5, '60', 366 * 86_400]) wrong.push({ ttl_seconds })
  for (const max_delegation_depth of [-1, 5, '1']) wrong.push({ max_delegation_depth })
  wrong.push({ holder_key: publicJwk }, { holder_key: privateJwk, max_delegation_depth: 1 }, { name: '' }, { name: 5 })
  wrong.push({ ops: ['operator'] }, { service_id: 5 })
  for (const body of wrong) {
    const answer = await own.ask(`POST ${own.tokens}`, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`)
  }
})

test('a token of a key that ends ends with it, and in its last minute there is none', async () => {
  const own = await party()
  const endOf = async (expiresAt: Date, body: object) => {
    const key = await management.member(own, 'owner', { expiresAt })
    const answer = await key.ask(`POST ${own.tokens}`, { body })
    return answer.status === 201 ? answer.json<Token>() : [answer.status, answer.error.code]
  }
  const soon = new Date(Date.now() + 600_000)
  for (const body of [{}, { ttl_seconds: 3_600 }, { max_delegation_depth: 2 }]) {
    const token = (await endOf(soon, body)) as Token
    assert.ok(Date.parse(token.expires_at) <= soon.getTime() && token.expires_in >= 590, token.expires_at)
  }
  assert.equal(((await endOf(soon, { ttl_seconds: 60 })) as Token).expires_in, 60)
  assert.deepEqual(await endOf(new Date(Date.now() + 30_000), {}), [403, 'FORBIDDEN'])
})

test('where plans are billed a token lives as long as the lesser of the service’s plan and the covered one', async () => {
  await using billed = await testManagement({ settings: { billingWebhookSecrets: ['a-secret-of-the-provider'] } })
  const { id: cellId } = await billed.cell()
  const own = await billed.organization()
  await billed.instance(cellId, { organization: own.organizationId, tenant: own.tenantId, plan: 'pro' })
  const ask = async (ttl_seconds: number) =>
    (await own.ask(`POST /api/v1/tenants/${own.tenantId}/tokens`, { body: { ttl_seconds } })).status
  const cover = (plan: string) => billed.sql('update loci.tenants set plan = $2 where id = $1', [own.tenantId, plan])
  await cover('free')
  assert.deepEqual([await ask(86_400), await ask(86_401)], [201, 400])
  await cover('enterprise')
  assert.deepEqual([await ask(7_776_000), await ask(7_776_001)], [201, 400])
})

test('a replay gives no token away and names the first', async () => {
  const own = await party()
  const options = { body: { ops: ['kv:read'] }, headers: { 'idempotency-key': 'k1' } }
  const first = (await own.ask(`POST ${own.tokens}`, options)).json<Token>()
  const again = await own.ask(`POST ${own.tokens}`, options)
  assert.deepEqual([again.status, again.error.code], [409, 'IDEMPOTENCY_REPLAY_WITHHELD'])
  assert.ok(again.text.includes(first.token_id) && !again.text.includes(first.token))
})

test('the list is newest first, in pages, by service, and holds no token', async () => {
  const own = await party()
  const minted: Token[] = []
  for (const name of ['a', 'b', 'c']) minted.push(await mint(own, { name, ops: ['kv:read'] }))
  const first = (await own.ask(`GET ${own.tokens}?limit=2`)).json<Listed>()
  const second = (await own.ask(`GET ${own.tokens}?limit=2&cursor=${first.next_cursor}`)).json<Listed>()
  assert.deepEqual([...first.tokens, ...second.tokens].map(({ name }) => name).toSorted(), ['a', 'b', 'c'])
  assert.deepEqual([first.tokens.length, second.tokens.length, second.next_cursor], [2, 1, null])
  const whole = await own.ask(`GET ${own.tokens}?service_id=${own.service.id}`)
  assert.equal(whole.json<Listed>().tokens.length, 3)
  for (const { token } of minted) assert.ok(!whole.text.includes(token.split('.')[2] as string))
  assert.equal((await own.ask(`GET ${own.tokens}?service_id=${newId('svc')}`)).json<Listed>().tokens.length, 0)
  for (const query of ['cursor=x', 'limit=0', 'limit=201', 'limit=2&limit=2'])
    assert.equal((await own.ask(`GET ${own.tokens}?${query}`)).status, 400, query)
})

test('the list needs tenants:read or tokens:write, the others tokens:write', async () => {
  const own = await party()
  const { token_id } = await mint(own)
  const child = `${own.tokens}/${token_id}/children`
  for (const [scopes, list, write] of [
    [['tenants:read'], 200, 403],
    [['tokens:write'], 200, 201],
    [['services:read', 'usage:read'], 403, 403],
  ] as const) {
    const as = await keyed(own, { scopes })
    assert.equal((await as(`GET ${own.tokens}`)).status, list, scopes.join())
    assert.equal((await as(`POST ${own.tokens}`, {})).status, write)
    if (write === 403) {
      assert.equal((await as(`POST ${child}`, { jti: 'x', exp: 1 })).status, 403)
      assert.equal((await as(`DELETE ${own.tokens}/${token_id}`)).status, 403)
    }
  }
})

test('a child is registered once, listed, and taken back by its jti; a second registration changes nothing', async () => {
  const own = await party()
  const parent = await mint(own, { max_delegation_depth: 1, ttl_seconds: 3600 })
  const path = `POST ${own.tokens}/${parent.token_id}/children`
  const exp = Math.floor(Date.parse(parent.expires_at) / 1000)
  const jti = newId('cap')

  const first = await own.ask(path, { body: { jti, exp: exp - 10 } })
  const again = await own.ask(path, { body: { jti, exp: exp - 10 } })

  assert.equal(first.status, 201, first.text)
  assert.deepEqual(again.json(), first.json())
  assert.equal((await management.sql('select from loci.audit where subject = $1', [jti])).length, 1)
  for (const body of [
    { jti, exp: exp - 11 },
    { jti: parent.token_id, exp: exp - 10 },
  ])
    assert.equal((await own.ask(path, { body })).error.code, 'INVALID_STATE')
  for (const body of [
    { jti: 'x', exp: exp + 1 },
    { jti: 'x', exp: 1 },
    { jti: 'x', exp: 2 ** 52 },
    { jti: '', exp },
    { jti: 'x' },
    { jti: 'x'.repeat(201), exp },
  ])
    assert.equal((await own.ask(path, { body })).status, 400, JSON.stringify(body))
  const bare = await mint(own)
  assert.equal((await own.ask(`POST ${own.tokens}/${bare.token_id}/children`, { body: { jti: 'y', exp } })).status, 409)
  assert.equal((await own.ask(`POST ${own.tokens}/${newId('cap')}/children`, { body: { jti: 'y', exp } })).status, 404)

  const { epoch, next } = await cell.pull()
  assert.deepEqual((await own.ask(`DELETE ${own.tokens}/${jti}`)).json(), { deleted: true })
  assert.equal((await own.ask(`DELETE ${own.tokens}/a%00b`)).status, 400)
  const told = (await cell.feed({ epoch, after: next })).items
  assert.deepEqual(
    told.map(({ key }) => key),
    [`jti:${own.service.id}:${jti}`],
  )
  // The registered end is its holder's word: the revocation is kept as long as the root could live.
  const { expires_at } = (told[0] as { body: object }).body as { expires_at: string }
  assert.ok(Date.parse(expires_at) >= exp * 1000)
  const listed = (await own.ask(`GET ${own.tokens}`))
    .json<Listed>()
    .tokens.find((one) => one.token_id === parent.token_id)
  assert.deepEqual(
    [listed?.children.map((one) => one.jti), listed?.children_total, listed?.revoked_at],
    [[jti], 1, null],
  )
  assert.notEqual(listed?.children[0]?.revoked_at, null)
})

// Mutants: no opsWithin(), so that a list shows what no link can have; no `isOther`, so that another name is answered
// as if it had been kept.
test('a child is listed with the name and the operations that its holder told, none of them beyond its token', async () => {
  const own = await party()
  const parent = await mint(own, { max_delegation_depth: 1, ops: ['kv:read', 'kv:write'] })
  const path = `POST ${own.tokens}/${parent.token_id}/children`
  const exp = Math.floor(Date.parse(parent.expires_at) / 1000)
  const told = { jti: newId('cap'), exp, name: 'the night shift', ops: ['kv:write', 'kv:read', 'kv:write'] }
  const untold = { jti: newId('cap'), exp }
  const said = (one: ListedChild | undefined) => [one?.name, one?.ops]

  const first = await own.ask(path, { body: told })
  assert.equal(first.status, 201, first.text)
  assert.equal((await own.ask(path, { body: untold })).status, 201)

  assert.deepEqual(said(first.json<ListedChild>()), ['the night shift', ['kv:read', 'kv:write']])
  for (const again of [told, { jti: told.jti, exp }])
    assert.deepEqual((await own.ask(path, { body: again })).json(), first.json(), 'the same child')
  for (const other of [{ name: 'days' }, { ops: ['kv:read'] }])
    assert.equal((await own.ask(path, { body: { ...told, ...other } })).error.code, 'INVALID_STATE')
  for (const ops of [['kv:delete'], ['kv:read', 'operator'], ['*'], []]) {
    const refused = await own.ask(path, { body: { jti: newId('cap'), exp, ops } })
    assert.deepEqual([refused.status, refused.error.code], [400, 'VALIDATION_ERROR'], ops.join())
  }
  const children = (await own.ask(`GET ${own.tokens}`)).json<Listed>().tokens[0]?.children ?? []
  assert.deepEqual(said(children.find(({ jti }) => jti === told.jti)), said(first.json<ListedChild>()))
  assert.deepEqual(said(children.find(({ jti }) => jti === untold.jti)), [null, null])
})

test('a deleted token wakes the waiting poll of its cell at once, and stays listed as revoked', async () => {
  const own = await party()
  const { token_id } = await mint(own)
  const { epoch, next } = await cell.pull()
  const started = performance.now()
  const polled = cell.feed({ epoch, after: next, wait: 20 })
  await new Promise((resolve) => setTimeout(resolve, 50))

  const answer = await own.ask(`DELETE ${own.tokens}/${token_id}`)

  assert.deepEqual([answer.status, answer.json()], [200, { deleted: true }])
  assert.deepEqual(
    (await polled).items.map(({ key }) => key),
    [`jti:${own.service.id}:${token_id}`],
  )
  assert.ok(performance.now() - started < 18_000, 'before its wait was over')
  assert.notEqual((await own.ask(`GET ${own.tokens}`)).json<Listed>().tokens[0]?.revoked_at, null)
  assert.equal((await own.ask(`DELETE ${own.tokens}/${newId('cap')}`)).status, 404)
  for (const odd of ['x', '%2e%2e', 'cap_'])
    assert.equal((await own.ask(`DELETE ${own.tokens}/${odd}`)).status, 404, odd)
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { ask } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import { type TestCell, type TestManagement, testManagement } from '../../testing/management.ts'

interface Credential {
  id: string
  token: string
  routes: string[]
  projection_classes: string[]
  partner: string
  expires_at: string | null
  rotated_at: string | null
}
interface Listed {
  partner_credentials: Credential[]
  next_cursor: string | null
}

let management: TestManagement
let cell: TestCell
before(async () => {
  management = await testManagement()
  cell = await management.cell()
})
after(() => management?.[Symbol.asyncDispose]())

async function party() {
  const made = await management.organization()
  const service = await management.instance(cell.id, { organization: made.organizationId, tenant: made.tenantId })
  return { ...made, service, path: `/api/v1/services/${service.id}/partner-credentials` }
}

const REQUEST = { name: 'crm', database: 'default' }
const digestOf = (token: string) => createHash('sha256').update(token).digest('hex')
const bodyOf = (text: string) => text.replace(/req_[0-9a-z]{26}/, '')

/** What the cell was told of the credential last. */
async function told(id: string): Promise<{ digest: string; state: string; partner: string } | undefined> {
  const { items } = await cell.pull()
  return items.find(({ kind, key }) => kind === 'partner_credential' && key === id)?.body as never
}

test('a partner credential is shown once, told to the cell, and listed without its token', async () => {
  const own = await party()

  const answer = await own.ask(`POST ${own.path}`, { body: { ...REQUEST, routes: ['projections'], expires_in: 3600 } })

  assert.equal(answer.status, 201, answer.text)
  assert.equal(answer.headers['cache-control'], 'no-store')
  const made = answer.json<Credential>()
  assert.match(made.token, /^loci_ptr_/)
  assert.deepEqual(made.routes, ['projections'])
  assert.ok(Math.abs(Date.parse(made.expires_at as string) - Date.now() - 3_600_000) < 10_000)
  assert.deepEqual(await told(made.id).then((body) => [body?.digest, body?.state]), [digestOf(made.token), 'active'])
  const listed = await own.ask(`GET ${own.path}`)
  assert.deepEqual(
    listed.json<Listed>().partner_credentials.map(({ id }) => id),
    [made.id],
  )
  assert.ok(!listed.text.includes(made.token) && !listed.text.includes(digestOf(made.token)))
})

// Mutants: `partner` left out of the request in the route; the default 'partner' in mintPartnerCredential().
test('a credential names its partner, by default its own id: in the answer, the list and the feed, and after a rotation', async () => {
  const own = await party()
  for (const partner of ['crm.eu_west-1', undefined]) {
    const made = (await own.ask(`POST ${own.path}`, { body: { ...REQUEST, partner } })).json<Credential>()
    const expected = partner ?? made.id
    const rotated = (await own.ask(`POST ${own.path}/${made.id}/rotate`)).json<Credential>()
    const listed = (await own.ask(`GET ${own.path}`))
      .json<Listed>()
      .partner_credentials.find(({ id }) => id === made.id)
    const shown = [made, rotated, listed, await told(made.id)].map((one) => one?.partner)
    assert.deepEqual(shown, [expected, expected, expected, expected])
  }
})

test('a rotated credential has a new token under its id and the old digest is gone at once', async () => {
  const own = await party()
  const first = (await own.ask(`POST ${own.path}`, { body: REQUEST })).json<Credential>()

  const answer = await own.ask(`POST ${own.path}/${first.id}/rotate`, { body: {} })

  assert.equal(answer.status, 200, answer.text)
  const second = answer.json<Credential>()
  assert.equal(second.id, first.id)
  assert.notEqual(second.token, first.token)
  assert.notEqual(second.rotated_at, null)
  assert.equal((await told(first.id))?.digest, digestOf(second.token))
  assert.equal((await own.ask(`POST ${own.path}/${first.id}/rotate`)).status, 200, 'the body may be left out')
  const keyed = { headers: { 'idempotency-key': 'r' } }
  const third = (await own.ask(`POST ${own.path}/${first.id}/rotate`, keyed)).json<Credential>()
  const again = await own.ask(`POST ${own.path}/${first.id}/rotate`, keyed)
  assert.equal(again.error.code, 'IDEMPOTENCY_REPLAY_WITHHELD')
  assert.equal((await told(first.id))?.digest, digestOf(third.token))
  await management.sql(`update loci.partner_credentials set expires_at = now() where id = $1`, [first.id])
  assert.equal((await own.ask(`POST ${own.path}/${first.id}/rotate`)).error.code, 'INVALID_STATE')
})

test('what a key makes that ends does not last longer than the key, nor does it rotate what does', async () => {
  const own = await party()
  const endless = (await own.ask(`POST ${own.path}`, { body: REQUEST })).json<Credential>()
  const until = new Date(Date.now() + 600_000)
  const key = await management.member(own, 'owner', { expiresAt: until })
  const make = async (body: object) =>
    (await key.ask(`POST ${own.path}`, { body: { ...REQUEST, ...body } })).json<Credential>()
  const cut = [await make({}), await make({ expires_in: 3_600 })]
  assert.deepEqual(
    cut.map(({ expires_at }) => expires_at),
    [until.toISOString(), until.toISOString()],
  )
  const shorter = await make({ expires_in: 300 })
  assert.ok(Date.parse(shorter.expires_at as string) < until.getTime())
  assert.equal((await key.ask(`POST ${own.path}/${shorter.id}/rotate`)).status, 200)
  const refused = await key.ask(`POST ${own.path}/${endless.id}/rotate`)
  assert.deepEqual([refused.status, refused.error.code], [403, 'FORBIDDEN'])
  assert.equal((await told(endless.id))?.digest, digestOf(endless.token))
})

test('a deleted credential is revoked in its cell, leaves the list, and is 404 from then on', async () => {
  const own = await party()
  const { id } = (await own.ask(`POST ${own.path}`, { body: REQUEST })).json<Credential>()
  const { epoch, next } = await cell.pull()
  const polled = cell.feed({ epoch, after: next, wait: 20 })
  await new Promise((resolve) => setTimeout(resolve, 50))

  const answer = await own.ask(`DELETE ${own.path}/${id}`)

  assert.deepEqual([answer.status, answer.json()], [200, { deleted: true }])
  assert.deepEqual(
    (await polled).items.map(({ key }) => key),
    [id],
  )
  assert.equal((await told(id))?.state, 'revoked')
  assert.deepEqual((await own.ask(`GET ${own.path}`)).json<Listed>().partner_credentials, [])
  assert.equal((await own.ask(`DELETE ${own.path}/${id}`)).status, 404)
  assert.equal((await own.ask(`POST ${own.path}/${id}/rotate`)).status, 404)
  const acts = await management.sql(`select action from loci.audit where subject = $1 order by seq`, [id])
  assert.deepEqual(
    acts.map(({ action }) => action),
    ['partner_credential.mint', 'partner_credential.revoke'],
  )
  const { events } = (await own.ask('GET /api/v1/events?after=0')).json<{ events: { type: string }[] }>()
  assert.deepEqual(
    events.map(({ type }) => type).filter((type) => type.startsWith('partner')),
    ['partner_credential.issued', 'partner_credential.revoked'],
  )
})

test('the list comes in pages', async () => {
  const own = await party()
  for (const name of ['a', 'b', 'c']) await own.ask(`POST ${own.path}`, { body: { ...REQUEST, name } })
  const first = (await own.ask(`GET ${own.path}?limit=2`)).json<Listed>()
  const second = (await own.ask(`GET ${own.path}?limit=2&cursor=${first.next_cursor}`)).json<Listed>()
  assert.deepEqual(
    [first.partner_credentials.length, second.partner_credentials.length, second.next_cursor],
    [2, 1, null],
  )
})

test('what is no credential is 400, and a service without a place has none', async () => {
  const own = await party()
  for (const change of [
    { name: '' },
    { name: 5 },
    { database: '*' },
    { database: undefined },
    { routes: [] },
    { routes: ['admin'] },
    { projection_classes: ['gossip'] },
    { expires_in: 59 },
    { expires_in: '60' },
    { partner: 'holder:ada' },
    { partner: '' },
    { partner: 'Crm' },
    { partner: '-crm' },
    { partner: 'x'.repeat(65) },
    { partner: null },
  ])
    assert.equal(
      (await own.ask(`POST ${own.path}`, { body: { ...REQUEST, ...change } })).status,
      400,
      JSON.stringify(change),
    )
  await management.sql('update loci.services set cell_id = null where id = $1', [own.service.id])
  assert.equal((await own.ask(`POST ${own.path}`, { body: REQUEST })).error.code, 'INVALID_STATE')
})

test('a stranger’s service, and a credential under another service, are 404 with the body of none', async () => {
  const [own, other] = [await party(), await party()]
  const { id } = (await other.ask(`POST ${other.path}`, { body: REQUEST })).json<Credential>()
  const requests = (path: string, credential: string): [string, unknown][] => [
    [`POST ${path}`, REQUEST],
    [`GET ${path}`, undefined],
    [`DELETE ${path}/${credential}`, undefined],
    [`POST ${path}/${credential}/rotate`, undefined],
  ]
  const none = requests(`/api/v1/services/${newId('svc')}/partner-credentials`, newId('ptr'))
  for (const [index, [line, body]] of requests(other.path, id).entries()) {
    const answer = await own.ask(line, { body })
    assert.deepEqual([answer.status, answer.error.code], [404, 'NOT_FOUND'], line)
    const [noLine, noBody] = none[index] as [string, unknown]
    assert.equal(bodyOf(answer.text), bodyOf((await own.ask(noLine, { body: noBody })).text), line)
  }
  assert.equal((await own.ask(`DELETE ${own.path}/${id}`)).status, 404)
  assert.equal((await own.ask(`POST ${own.path}/${id}/rotate`)).status, 404)
  assert.equal((await told(id))?.state, 'active')
})

test('making, changing and deleting need tokens:write, listing services:read; a key of another tenant finds nothing', async () => {
  const own = await party()
  const { id } = (await own.ask(`POST ${own.path}`, { body: REQUEST })).json<Credential>()
  const second = (await own.ask('POST /api/v1/tenants', { body: { name: 'second' } })).json<{ id: string }>()
  for (const [made, read, write] of [
    [{ scopes: ['services:read', 'services:write'] }, 200, 403],
    [{ scopes: ['tokens:write'] }, 403, 200],
    [{ tenant_ids: [second.id] }, 404, 404],
  ] as const) {
    const { secret } = (await own.ask('POST /api/v1/api-keys', { body: { name: 'k', ...made } })).json<{
      secret: string
    }>()
    const as = (line: string) => ask(management.url, line, { headers: { [HEADER.apiKey]: secret } })
    assert.equal((await as(`GET ${own.path}`)).status, read, JSON.stringify(made))
    assert.equal((await as(`POST ${own.path}/${id}/rotate`)).status, write, JSON.stringify(made))
  }
})

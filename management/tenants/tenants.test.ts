import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { ACTOR, type TestManagement, type TestParty, testManagement } from '../testing/management.ts'
import { makeTenant } from './tenants.ts'

let management: TestManagement
before(async () => {
  management = await testManagement()
})
after(() => management?.[Symbol.asyncDispose]())

interface Tenant {
  id: string
  organization_id: string
  name: string
  slug: string
  status: string
  is_default: boolean
  created_at: string
}

async function make(party: TestParty, body: object): Promise<Tenant> {
  const answer = await party.ask('POST /api/v1/tenants', { body })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<Tenant>()
}

const list = async (party: TestParty, query = '') =>
  (await party.ask(`GET /api/v1/tenants${query}`)).json<{ tenants: Tenant[]; next_cursor: string | null }>()

/** As the provisioning of services leaves it; the counters follow by trigger. */
async function addService({ organizationId }: TestParty, tenantId: string, status: string): Promise<string> {
  const id = newId('svc')
  await management.sql(
    `insert into loci.services (id, organization_id, tenant_id, name, slug, service_type, plan, region, status, desired_state)
      values ($1, $2, $3, 'memory', $1, 'memory', 'free', 'us-east-1', $4, 'active')`,
    [id, organizationId, tenantId, status],
  )
  return id
}

test('a tenant is made, read, listed newest first page by page, and renamed', async () => {
  const own = await management.organization()
  const first = await make(own, { name: 'First', slug: 'first-one' })
  const second = await make(own, { name: 'Zweite Größe' })

  assert.deepEqual(
    [first.organization_id, first.slug, first.status, first.is_default],
    [own.organizationId, 'first-one', 'active', false],
  )
  assert.match(second.slug, /^zweite-gro-e-[a-z0-9]{6}$/)
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const page: { tenants: Tenant[]; next_cursor: string | null } = await list(
      own,
      `?limit=2${cursor && `&cursor=${cursor}`}`,
    )
    seen.push(...page.tenants.map(({ id }) => id))
    cursor = page.next_cursor
  }
  assert.deepEqual(seen, [second.id, first.id, own.tenantId])
  const renamed = await own.ask(`PATCH /api/v1/tenants/${first.id}`, { body: { name: 'Renamed' } })
  assert.deepEqual([renamed.status, renamed.json().name, renamed.json().slug], [200, 'Renamed', 'first-one'])
  assert.equal((await own.ask(`GET /api/v1/tenants/${first.id}`)).text, renamed.text)
  const acts = await management.sql(
    'select action, actor, request_id from loci.audit where subject = $1 order by seq',
    [first.id],
  )
  assert.deepEqual(
    acts.map(({ action }) => action),
    ['tenant.make', 'tenant.change'],
  )
  assert.equal(acts[1]?.request_id, renamed.headers['x-request-id'])
  const events = await management.sql('select type from loci.events where subject = $1 order by seq', [first.id])
  assert.deepEqual(events, [{ type: 'tenant.created' }, { type: 'tenant.updated' }])
})

test('a slug that is taken is 409 in its own organization only, and free again after deletion', async () => {
  const own = await management.organization()
  const other = await management.organization()
  const { id } = await make(own, { name: 'One', slug: 'the-slug' })

  const taken = await own.ask('POST /api/v1/tenants', { body: { name: 'Two', slug: 'the-slug' } })

  assert.deepEqual([taken.status, taken.error.code], [409, 'SLUG_TAKEN'])
  await make(other, { name: 'One', slug: 'the-slug' })
  assert.equal((await own.ask(`DELETE /api/v1/tenants/${id}`)).status, 200)
  await make(own, { name: 'Two', slug: 'the-slug' })
})

test('two who want one slug at the same moment: one has it, the other is told', async () => {
  const own = await management.organization()
  const ask = () => own.ask('POST /api/v1/tenants', { body: { name: 'Race', slug: 'race-slug' } })
  const statuses = (await Promise.all([ask(), ask(), ask()])).map(({ status }) => status).sort()
  assert.deepEqual(statuses, [201, 409, 409])
})

test('what is no tenant is 400', async () => {
  const own = await management.organization()
  const bodies = [
    {},
    [],
    null,
    { name: '' },
    { name: ' x' },
    { name: 5 },
    { name: 'x'.repeat(101) },
    { name: 'x', slug: 'Upper' },
    { name: 'x', slug: 'ab' },
    { name: 'x', slug: 'x'.repeat(64) },
    { name: 'x', slug: 'a_b' },
  ]
  for (const body of bodies)
    assert.equal((await own.ask('POST /api/v1/tenants', { body })).status, 400, JSON.stringify(body))
  for (const body of [{}, { name: '' }, []])
    assert.equal((await own.ask(`PATCH /api/v1/tenants/${own.tenantId}`, { body })).status, 400, JSON.stringify(body))
})

test('a repeated creation is one tenant, and the same key with another body is 422', async () => {
  const own = await management.organization()
  const headers = { 'idempotency-key': randomUUID() }
  const ask = (name: string) => own.ask('POST /api/v1/tenants', { body: { name }, headers })
  const [first, again, other] = [await ask('A'), await ask('A'), await ask('B')]
  assert.deepEqual([again.status, again.json(), again.headers['idempotent-replayed']], [201, first.json(), 'true'])
  assert.equal(other.error.code, 'IDEMPOTENCY_KEY_REUSED')
  assert.equal((await list(own)).tenants.length, 2)
})

test('a tenant is deleted only when every service of it is gone, failed and deleting ones included', async () => {
  const own = await management.organization()
  const { id } = await make(own, { name: 'Busy' })
  const service = await addService(own, id, 'provisioning')
  for (const status of ['provisioning', 'active', 'updating', 'suspended', 'failed', 'deleting']) {
    await management.sql('update loci.services set status = $2 where id = $1', [service, status])
    const refused = await own.ask(`DELETE /api/v1/tenants/${id}`)
    assert.deepEqual([refused.status, refused.error.code], [409, 'INVALID_STATE'], status)
  }
  await management.sql(`update loci.services set status = 'deleted' where id = $1`, [service])

  const deleted = await own.ask(`DELETE /api/v1/tenants/${id}`)

  assert.deepEqual([deleted.status, deleted.json()], [200, { deleted: true }])
  const [row] = await management.sql('select status, deleted_at is not null as gone from loci.tenants where id = $1', [
    id,
  ])
  assert.deepEqual(row, { status: 'closed', gone: true })
  for (const line of [`GET /api/v1/tenants/${id}`, `DELETE /api/v1/tenants/${id}`])
    assert.equal((await own.ask(line)).status, 403, line)
  assert.ok(!(await list(own)).tenants.some((tenant) => tenant.id === id))
})

test('the default tenant stays', async () => {
  const own = await management.organization()
  const refused = await own.ask(`DELETE /api/v1/tenants/${own.tenantId}`)
  assert.deepEqual([refused.status, refused.error.code], [409, 'INVALID_STATE'])
})

test('another organization’s tenant is 403 for every method, with the same words as one that does not exist', async () => {
  const own = await management.organization()
  const other = await management.organization()
  const theirs = await make(other, { name: 'Theirs' })
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const options = method === 'PATCH' ? { body: { name: 'stolen' } } : {}
    const at = async (id: string) => {
      const answer = await own.ask(`${method} /api/v1/tenants/${id}`, options)
      return [answer.status, answer.text.replaceAll(String(answer.headers['x-request-id']), '')]
    }
    const refused = await at(theirs.id)
    assert.equal(refused[0], 403)
    for (const id of [newId('ten'), 'x', 'ten_', '..%2f']) assert.deepEqual(await at(id), refused, `${method} ${id}`)
  }
  assert.equal((await other.ask(`GET /api/v1/tenants/${theirs.id}`)).json().name, 'Theirs')
  assert.ok(!(await own.ask('GET /api/v1/tenants')).text.includes(theirs.id))
  assert.ok(!(await own.ask(`GET /api/v1/tenants?cursor=${newId('ten', Date.now() + 1000)}`)).text.includes(theirs.id))
})

test('a key that is limited to tenants sees and changes those alone, and makes none', async () => {
  const own = await management.organization()
  const mine = await make(own, { name: 'Mine' })
  const limited = await management.member(own, 'owner', { tenantIds: [mine.id] })

  assert.deepEqual(
    (await list(limited)).tenants.map(({ id }) => id),
    [mine.id],
  )
  assert.equal((await limited.ask(`PATCH /api/v1/tenants/${mine.id}`, { body: { name: 'Still mine' } })).status, 200)
  for (const line of [`GET /api/v1/tenants/${own.tenantId}`, `DELETE /api/v1/tenants/${own.tenantId}`])
    assert.equal((await limited.ask(line)).status, 403, line)
  const made = await limited.ask('POST /api/v1/tenants', { body: { name: 'More' } })
  assert.deepEqual([made.status, made.error.code], [403, 'FORBIDDEN'])
})

test('a viewer and a member read tenants and change none', async () => {
  const own = await management.organization()
  for (const role of ['viewer', 'member'] as const) {
    const caller = await management.member(own, role)
    assert.equal((await caller.ask('GET /api/v1/tenants')).status, 200)
    assert.equal((await caller.ask(`GET /api/v1/tenants/${own.tenantId}`)).status, 200)
    assert.equal((await caller.ask('POST /api/v1/tenants', { body: { name: 'x' } })).status, 403)
    assert.equal((await caller.ask(`PATCH /api/v1/tenants/${own.tenantId}`, { body: { name: 'x' } })).status, 403)
    assert.equal((await caller.ask(`DELETE /api/v1/tenants/${own.tenantId}`)).status, 403)
  }
})

test('what follows from a new tenant is in its transaction: it shows in the answer, and when it fails there is no tenant', async () => {
  const { organizationId } = await management.organization()
  const wanted = { organizationId, name: 'Paid', slug: 'paid-for' }
  const attempt = (follow: Parameters<typeof makeTenant>[3]) =>
    transaction(management.pool, async (sql) => {
      await useOrganization(sql, organizationId)
      return makeTenant(sql, wanted, { actor: ACTOR }, follow)
    })

  await assert.rejects(
    attempt(async () => {
      throw new Error('the parked events cannot be applied')
    }),
    /parked/,
  )
  const made = await attempt(async (sql, { id }) => {
    await sql.query({ text: `update loci.tenants set plan = 'pro' where id = $1`, values: [id] })
  })

  assert.equal(made.plan, 'pro')
})

test('a tenant is renamed while somebody else is writing what belongs to it', async () => {
  const own = await management.organization()
  const { id } = await make(own, { name: 'Busy' })

  const answer = await transaction(management.pool, async (sql) => {
    await useOrganization(sql, own.organizationId)
    // As every row that refers to the tenant does.
    await sql.query({ text: 'select from loci.tenants where id = $1 for key share', values: [id] })
    return own.ask(`PATCH /api/v1/tenants/${id}`, { body: { name: 'Renamed' } })
  })

  assert.equal(answer.status, 200, answer.text)
})

test('a deleted tenant no longer gives its plan to the organization', async () => {
  const own = await management.organization()
  const { id } = await make(own, { name: 'Gone' })
  const { organizationId } = own
  const planOf = async () =>
    (await management.sql<{ plan: string }>('select plan from loci.organizations where id = $1', [organizationId]))[0]
  await management.sql(`update loci.tenants set plan = 'pro' where id = $1`, [id])
  await management.sql(`update loci.organizations set plan = 'pro' where id = $1`, [organizationId])

  assert.equal((await own.ask(`DELETE /api/v1/tenants/${id}`)).status, 200)

  assert.deepEqual(await planOf(), { plan: 'free' })
})

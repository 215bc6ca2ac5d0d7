import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '@loci/contract/ids.ts'
import { PLANS } from '../plans.ts'
import { type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

// Attack review, H6: a free organization had as many services as it made tenants.

let management: TestManagement
before(async () => {
  management = await testManagement({ settings: { billingWebhookSecrets: ['a-billing-secret-of-the-tests-1234'] } })
  await management.cell()
})
after(() => management?.[Symbol.asyncDispose]())

const free = () => management.organization({ callsOf: 'free' })

/** Again where the process is too busy: 503 promises that nothing was done. */
async function create(party: TestParty, tenantId?: string): Promise<202 | string> {
  const body = { service_type: 'kv', name: 'n', ...(tenantId ? { tenant_id: tenantId } : {}) }
  const answer = await party.ask('POST /api/v1/services', { body })
  if (answer.status === 503) return create(party, tenantId)
  return answer.status === 202 ? 202 : `${answer.status} ${answer.error.code}`
}

async function makeTenant(party: TestParty, name: string) {
  const answer = await party.ask('POST /api/v1/tenants', { body: { name } })
  return answer.status === 201
    ? { id: answer.json<{ id: string }>().id }
    : { refused: `${answer.status} ${answer.error.code}`, details: answer.error.details }
}

// Mutant: createService() without requireRoomOfOrganization(): the second and third tenant get services too.
test('tenants of an organization share its services: more tenants are no more services', async () => {
  const party = await free()
  const [second, third] = [await makeTenant(party, 'b'), await makeTenant(party, 'c')]
  const tenants = [party.tenantId, second.id, third.id] as string[]
  const answers = await Promise.all(Array.from({ length: 15 }, (_, at) => create(party, tenants[at % 3])))
  assert.equal(answers.filter((answer) => answer === 202).length, PLANS.free.organization.services)
  assert.ok(
    answers.every((answer) => answer === 202 || answer === '403 QUOTA_EXCEEDED'),
    answers.join(),
  )
  const [{ service }] = (await management.sql<{ service: string }>(
    'select id as service from loci.services where organization_id = $1 limit 1',
    [party.organizationId],
  )) as [{ service: string }]
  assert.equal((await party.ask(`DELETE /api/v1/services/${service}`)).status, 202)
  assert.equal(await create(party, third.id), 202, 'a deleted one makes room')
})

// Mutant: the route without requireTenantRoom().
test('an organization has the tenants of its plan, exactly, also when many are made at once', async () => {
  const party = await free()
  const made = await Promise.all(Array.from({ length: 5 }, (_, at) => makeTenant(party, `t${at}`)))
  assert.equal(made.filter(({ id }) => id !== undefined).length, 2, 'beside the default one')
  const refusals = made.filter(({ id }) => id === undefined)
  for (const { refused, details } of refusals)
    assert.deepEqual([refused, details], ['403 QUOTA_EXCEEDED', { limit: 3, used: 3 }])
  const [first] = made.filter(({ id }) => id !== undefined)
  assert.equal((await party.ask(`DELETE /api/v1/tenants/${first?.id}`)).status, 200)
  assert.ok((await makeTenant(party, 'again')).id, 'a deleted one makes room')
  await management.sql(`update loci.organizations set plan = 'starter' where id = $1`, [party.organizationId])
  assert.ok((await makeTenant(party, 'paid')).id, 'the plan of the organization decides')
})

test('services that were made and deleted within a day count: a circle of both ends', async () => {
  const party = await free()
  assert.equal(await create(party), 202)
  await management.sql(
    `insert into loci.services (id, organization_id, tenant_id, name, slug, service_type, plan, region, status, desired_state)
     select id, $1, $2, 'n', id, 'kv', 'free', 'us-east-1', 'deleted', 'deleted' from unnest($3::text[]) as id`,
    [party.organizationId, party.tenantId, Array.from({ length: 998 }, () => newId('svc', Date.now() - 3_600_000))],
  )
  assert.equal(await create(party), 202)
  const body = { service_type: 'kv', name: 'n' }
  const refused = await party.ask('POST /api/v1/services', { body })
  assert.deepEqual([refused.status, refused.error.code], [403, 'QUOTA_EXCEEDED'])
  assert.deepEqual(refused.error.details, { limit: 1_000, used: 1_000 })
  const yesterday = newId('svc', Date.now() - 86_460_000)
  await management.sql(
    `update loci.services set id = $2, slug = $2 where organization_id = $1 and id = (
       select min(id) from loci.services where organization_id = $1)`,
    [party.organizationId, yesterday],
  )
  assert.equal(await create(party), 202, 'what is older than a day does not count')
})

// Mutant: POST /api/v1/organizations without requireMayOwn().
test('a person owns at most five organizations, by founding, by a role or by an invitation', async () => {
  const party = await free()
  const found = async () => (await party.ask('POST /api/v1/organizations', { body: { name: 'More' } })).status
  const statuses = await Promise.all(Array.from({ length: 6 }, found))
  assert.deepEqual(statuses.sort(), [201, 201, 201, 201, 403, 403])

  const email = 'owns-five@example.com'
  const rich = await management.organization({ email, callsOf: 'free' })
  for (let at = 0; at < 4; at += 1) await management.organization({ email, callsOf: 'free' })
  const other = await free()
  const invited = await other.ask(`POST /api/v1/organizations/${other.organizationId}/invitations`, {
    body: { email, role: 'owner' },
  })
  const { token } = invited.json<{ token: string }>()
  const accepted = await rich.ask('POST /api/v1/invitations/accept', { body: { token } })
  assert.deepEqual([accepted.status, accepted.error.code], [403, 'QUOTA_EXCEEDED'])
  const again = await other.ask(`POST /api/v1/organizations/${other.organizationId}/invitations`, {
    body: { email, role: 'admin' },
  })
  const lesser = await rich.ask('POST /api/v1/invitations/accept', { body: { token: again.json().token } })
  assert.equal(lesser.status, 200, lesser.text)
  const path = `/api/v1/organizations/${other.organizationId}/members/${rich.ownerId}`
  const raised = await other.ask(`PATCH ${path}`, { body: { role: 'owner' } })
  assert.deepEqual([raised.status, raised.error.code], [403, 'QUOTA_EXCEEDED'])
})

// Mutant: `cell_part` 1 for free.
test('free services leave a fifth of a shared cell to those who pay', async () => {
  const region = 'reserve-1'
  const cell = await management.cell()
  await management.sql(`update loci.cells set region = $2, capacity = 10 where id = $1`, [cell.id, region])
  const [first, second] = [await free(), await free()]
  const make = async (party: TestParty, plan: string) =>
    (await party.ask('POST /api/v1/services', { body: { service_type: 'kv', name: 'n', region, plan } })).json<{
      service_id: string
    }>().service_id
  const cellOf = async (party: TestParty, id: string) =>
    (await party.ask(`GET /api/v1/services/${id}`)).json<{ cell: string | null; status_reason: string | null }>()
  const settled = async (party: TestParty, id: string) => {
    for (let tries = 0; ; tries += 1) {
      const { cell: at, status_reason: reason } = await cellOf(party, id)
      if (at !== null || reason === 'no_capacity') return at ?? reason
      if (tries > 1_200) return 'neither placed nor told why'
      await sleep(50)
    }
  }
  const places: (string | null)[] = []
  for (let at = 0; at < 9; at += 1) {
    const party = at < 5 ? first : second
    places.push(await settled(party, await make(party, 'free')))
  }
  assert.deepEqual(places, [...Array(8).fill(cell.id), 'no_capacity'])
  await management.sql(`update loci.tenants set plan = 'pro' where id = $1`, [second.tenantId])
  assert.equal(await settled(second, await make(second, 'pro')), cell.id, 'a place was left for those who pay')
})

// Mutants: isBeyond() without its last line; settle() puts the services of its own tenant due alone; putUncoveredDue()
// of one tenant.
test('after a smaller plan the newest services of the organization stand back, whichever tenant they are of', async () => {
  const party = await free()
  const second = (await makeTenant(party, 'b')).id as string
  const bill = (eventType: string, status: string) =>
    management.post(
      '/api/webhooks/billing',
      { eventType, status, tenantId: second, subscriptionId: 'sub', plan: 'starter' },
      { authorization: 'Bearer a-billing-secret-of-the-tests-1234' },
    )
  assert.equal((await bill('subscription.created', 'active')).status, 200)
  // The newest are of the tenant whose own plan does not change.
  for (let n = 0; n < 6; n += 1) assert.equal(await create(party, second), 202)
  for (let n = 0; n < 6; n += 1) assert.equal(await create(party, party.tenantId), 202)
  const reasons = async () =>
    management.sql<{ id: string; reason: string | null; tenant: string }>(
      `select id, state_reason as reason, tenant_id as tenant from loci.services where organization_id = $1 and status <> 'deleted'
       and desired_state <> 'deleted' order by id`,
      [party.organizationId],
    )
  const held = async (count: number) => {
    for (let tries = 0; ; tries += 1) {
      const found = await reasons()
      if (found.filter(({ reason }) => reason === 'plan_not_covered').length === count || tries > 1_200) return found
      await sleep(50)
    }
  }
  assert.ok((await held(0)).every(({ reason }) => reason === null))

  assert.equal((await bill('subscription.cancelled', 'cancelled')).status, 200)

  // Six and six: each tenant is within its ten, and the organization has ten for both.
  const after = await held(2)
  assert.deepEqual(
    after.map(({ reason }) => reason),
    [...Array(10).fill(null), 'plan_not_covered', 'plan_not_covered'],
  )
  assert.equal((await party.ask(`DELETE /api/v1/services/${after[0]?.id}`)).status, 202)
  const left = (await held(1)).filter(({ id }) => id !== after[0]?.id)
  assert.deepEqual(
    left.map(({ reason }) => reason),
    [...Array(10).fill(null), 'plan_not_covered'],
    'one of the second tenant went, and one of the first came forward',
  )
})

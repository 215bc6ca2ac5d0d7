import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AskOptions } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { countDeadlocks } from '@loci/postgres/testing/deadlocks.ts'
import { PLANS } from '../plans.ts'
import { type TestCell, type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

const SECRET = 'a-billing-secret-of-the-tests-1234'

let management: TestManagement
let cell: TestCell
before(async () => {
  management = await testManagement({ settings: { billingWebhookSecrets: [SECRET] } })
  cell = await management.cell()
})
after(() => management?.[Symbol.asyncDispose]())

/** Whatever of it a test looks at: the schemas are held against every answer by the harness. */
interface Body {
  id: string
  service_id: string
  status: string
  status_reason: string | null
  percent: number
  kind: string
  name: string
  config: unknown
  cell: string
  operation_id: string
  steps: { name: string; status: string }[]
  error: { code: string; message: string; details: unknown }
  services: unknown[]
  pagination: { total: number }
}

async function ask(party: TestParty, line: string, options?: AskOptions) {
  const answer = await party.ask(line, options)
  return { status: answer.status, headers: answer.headers, json: answer.json<Body>() }
}

const create = (party: TestParty, body: object = {}, headers: Record<string, string> = {}) =>
  ask(party, 'POST /api/v1/services', { body: { service_type: 'memory', name: 'A service', ...body }, headers })

/** The cell says that it has done what its feed tells it of the service. */
async function confirm(serviceId: string, by: TestCell = cell): Promise<void> {
  const { items } = await by.pull()
  const item = items.find(({ kind, key }) => kind === 'instance' && key === serviceId)
  assert.ok(item?.kind === 'instance', `the cell was told of ${serviceId}`)
  const { generation, state } = item.body
  const { status } = await by.report({ observed: [{ svc: serviceId, generation, state }] })
  assert.equal(status, 200)
}

async function until<T>(read: () => Promise<T>, fits: (value: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const value = await read()
    if (fits(value) || tries > 1_200) return value
    await sleep(50)
  }
}

const statusOf = async (party: TestParty, id: string) => (await ask(party, `GET /api/v1/services/${id}`)).json.status
const told = (id: string) =>
  until(
    async () => (await cell.pull()).items.find(({ key }) => key === id),
    (item) => item !== undefined,
  )

async function active(party: TestParty, body: object = {}): Promise<string> {
  const { json: made } = await create(party, body)
  await told(made.service_id)
  await confirm(made.service_id)
  return made.service_id
}

test('a service is accepted, told to a cell at once, and active when the cell confirms it', async () => {
  const party = await management.organization()
  const answer = await create(party)
  assert.equal(answer.status, 202)
  assert.equal(answer.json.status, 'provisioning')
  assert.match(String(answer.headers['operation-location']), /^\/api\/v1\/operations\/op_/)
  assert.ok(answer.headers.ratelimit && answer.headers['ratelimit-policy'])
  await told(answer.json.service_id)
  const waiting = ask(party, `GET ${answer.headers['operation-location']}?wait=10`)
  await confirm(answer.json.service_id)
  const operation = (await waiting).json
  assert.deepEqual([operation.status, operation.percent, operation.kind], ['succeeded', 100, 'provision'])
  assert.deepEqual(
    operation.steps.map((step) => [step.name, step.status]),
    [
      ['place', 'succeeded'],
      ['publish', 'succeeded'],
      ['confirm', 'succeeded'],
    ],
  )
  const service = (await ask(party, `GET /api/v1/services/${answer.json.service_id}`)).json
  assert.deepEqual([service.status, service.cell], ['active', cell.id])
})

/** On a busy machine the last ones wait for a lock longer than they may, and ask again as they are told to. */
async function createSoon(party: TestParty, headers?: Record<string, string>) {
  for (;;) {
    const answer = await create(party, {}, headers)
    if (answer.status !== 503) return answer
  }
}

test('simultaneous creations with one key make one service', async () => {
  const party = await management.organization()
  const key = randomUUID()
  const answers = await Promise.all(Array.from({ length: 4 }, () => createSoon(party, { 'idempotency-key': key })))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [202])
  assert.equal(new Set(answers.map(({ json }) => json.service_id)).size, 1)
  assert.equal(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true').length, 3)
  assert.equal((await ask(party, 'GET /api/v1/services')).json.pagination.total, 1)
})

test('the quota is exact when many ask at once, and a deleted service makes room at once', async () => {
  const party = await management.organization()
  const answers = await Promise.all(Array.from({ length: 14 }, () => createSoon(party)))
  const statuses = Map.groupBy(answers, ({ status }) => status)
  assert.deepEqual([statuses.get(202)?.length, statuses.get(403)?.length], [10, 4])
  const made = answers.find(({ status }) => status === 202)?.json.service_id
  const gone = await ask(party, `DELETE /api/v1/services/${made}`)
  assert.deepEqual([gone.status, gone.json.kind], [202, 'delete'])
  assert.equal((await create(party)).status, 202)
})

test('a plan that is not paid for is refused', async () => {
  const party = await management.organization()
  assert.equal((await create(party, { plan: 'pro' })).json.error.code, 'PLAN_NOT_COVERED')
})

test('suspend, resume and delete come true, and each ends its operation', async () => {
  const party = await management.organization()
  const id = await active(party)
  for (const [verb, status] of [
    ['suspend', 'suspended'],
    ['resume', 'active'],
  ]) {
    const answer = await ask(party, `POST /api/v1/services/${id}/${verb}`)
    assert.equal(answer.status, 202)
    await until(
      () => statusOf(party, id),
      (now) => now === 'updating',
    )
    await until(
      async () => (await cell.pull()).items.find(({ key }) => key === id),
      (item) => item?.kind === 'instance' && item.body.state === status,
    )
    await confirm(id)
    assert.equal(await statusOf(party, id), status)
    assert.equal((await ask(party, `GET /api/v1/operations/${answer.json.id}`)).json.status, 'succeeded')
  }
  await ask(party, `DELETE /api/v1/services/${id}`)
  await until(
    async () => (await cell.pull()).items.find(({ key }) => key === id),
    (item) => item?.kind === 'instance' && item.body.state === 'deleted',
  )
  await confirm(id)
  assert.equal(await statusOf(party, id), 'deleted')
  const listed = (await ask(party, 'GET /api/v1/services')).json
  assert.deepEqual([listed.services, listed.pagination.total], [[], 0])
  assert.equal((await ask(party, 'GET /api/v1/services?status=deleted')).json.pagination.total, 1)
  assert.equal((await ask(party, `POST /api/v1/services/${id}/resume`)).json.error.code, 'INVALID_STATE')
})

test('commands on a service that is still being made, or is being deleted, are accepted', async () => {
  const party = await management.organization()
  const { json: body } = await create(party)
  for (const verb of ['suspend', 'resume', 'retry'])
    assert.equal((await ask(party, `POST /api/v1/services/${body.service_id}/${verb}`)).status, 202)
  await told(body.service_id)
  assert.equal((await ask(party, `DELETE /api/v1/services/${body.service_id}`)).status, 202)
  const suspended = await ask(party, `POST /api/v1/services/${body.service_id}/suspend`)
  assert.deepEqual([suspended.status, suspended.json.status], [202, 'superseded'])
  assert.equal((await ask(party, `DELETE /api/v1/services/${body.service_id}`)).status, 202)
})

test('what belongs to another organization is not there, whatever the method', async () => {
  const [own, other] = [await management.organization(), await management.organization()]
  const { json: body } = await create(own)
  for (const line of ['GET ', 'PATCH ', 'DELETE ', 'POST /suspend', 'POST /resume', 'POST /retry']) {
    const [method, suffix] = line.split(' ')
    const path = (id: string) => `${method} /api/v1/services/${id}${suffix}`
    const options = method === 'PATCH' ? { body: { name: 'stolen' } } : {}
    const [theirs, none] = [
      await ask(other, path(body.service_id), options),
      await ask(other, path(newId('svc')), options),
    ]
    assert.deepEqual([theirs.status, theirs.json.error.message], [404, none.json.error.message])
  }
  const operationId = (await ask(own, `GET /api/v1/services/${body.service_id}`)).json.operation_id
  assert.equal((await ask(other, `GET /api/v1/operations/${operationId}`)).status, 404)
  assert.equal((await ask(other, `GET /api/v1/services?tenant_id=${own.tenantId}`)).status, 403)
  assert.equal((await create(other, { tenant_id: own.tenantId })).status, 403)
})

test('a renamed service is told to nobody; a changed config is told to its cell', async () => {
  const party = await management.organization()
  const id = await active(party)
  const renamed = await ask(party, `PATCH /api/v1/services/${id}`, { body: { name: 'Renamed' } })
  assert.deepEqual([renamed.status, renamed.json.name, renamed.json.status], [200, 'Renamed', 'active'])
  const changed = await ask(party, `PATCH /api/v1/services/${id}`, {
    body: { config: { working_memory: { capacity: 9 } } },
  })
  assert.deepEqual([changed.status, changed.json.kind], [202, 'update'])
  await until(
    async () => (await cell.pull()).items.find(({ key }) => key === id),
    (item) => item?.kind === 'instance' && item.body.generation === 2,
  )
  await confirm(id)
  assert.equal(await statusOf(party, id), 'active')
})

test('every act is in the audit once and in the events, in order', async () => {
  const party = await management.organization()
  const id = await active(party)
  await ask(party, `POST /api/v1/services/${id}/suspend`)
  const audit = await management.sql<{ action: string }>(
    `select action from loci.audit where chain = $1 and subject = $2 order by seq`,
    [party.organizationId, id],
  )
  assert.deepEqual(
    audit.map(({ action }) => action),
    ['service.make', 'service.suspend'],
  )
  const events = await management.sql<{ type: string }>(
    `select type from loci.events where organization_id = $1 and subject = $2 order by seq`,
    [party.organizationId, id],
  )
  assert.deepEqual(
    events.map(({ type }) => type),
    ['service.created', 'service.status_changed', 'service.status_changed'],
  )
})

test('what is past its time fails with its reason, gives its quota back, and can be tried again', async () => {
  await using lonely = await testManagement()
  const party = await lonely.organization()
  const { json: body } = await create(party)
  // A place must have been looked for: what nobody has tried by its deadline gets another.
  await until(
    async () => (await ask(party, `GET /api/v1/services/${body.service_id}`)).json,
    ({ status, status_reason: reason }) => status === 'provisioning' && reason === 'no_capacity',
  )
  await lonely.sql(`update loci.services set deadline_at = now() - interval '1 second'`)
  await lonely.sql(`update loci.due_services set due_at = now()`)
  const failed = await until(
    async () => (await ask(party, `GET /api/v1/services/${body.service_id}`)).json,
    ({ status }) => status === 'failed',
  )
  assert.deepEqual([failed.status, failed.status_reason], ['failed', 'no_capacity'])
  const operation = (await ask(party, `GET /api/v1/operations/${failed.operation_id}`)).json
  assert.deepEqual([operation.status, operation.error.code], ['failed', 'NO_CAPACITY'])
  const late = await lonely.cell()
  const retried = await ask(party, `POST /api/v1/services/${body.service_id}/retry`)
  assert.deepEqual([retried.status, retried.json.kind], [202, 'provision'])
  await until(async () => (await late.pull()).items.some(({ key }) => key === body.service_id), Boolean)
  await confirm(body.service_id, late)
  assert.equal(await statusOf(party, body.service_id), 'active')
})

test('commands of two tenants at once neither deadlock nor lose each other’s changes', async () => {
  using deadlocks = countDeadlocks()
  const party = await management.organization()
  const { json: other } = await ask(party, 'POST /api/v1/tenants', { body: { name: 'Other' } })
  const ids = [await active(party), await active(party, { tenant_id: other.id })]
  // Forty at once may wait too long for a connection: 503, nothing was done, and again.
  const persist = async (once: () => ReturnType<typeof ask>) => {
    for (;;) {
      const answer = await once()
      if (answer.status !== 503) return answer
    }
  }
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, at) => [
      ...ids.flatMap((id) => [
        persist(() => ask(party, `PATCH /api/v1/services/${id}`, { body: { config: { at } } })),
        persist(() => ask(party, `PATCH /api/v1/services/${id}`, { body: { name: `Name ${at}` } })),
        persist(() => ask(party, `POST /api/v1/services/${id}/${at % 2 === 0 ? 'suspend' : 'resume'}`)),
      ]),
      persist(() => create(party, { tenant_id: at % 2 === 0 ? other.id : party.tenantId })),
    ]).flat(),
  )
  assert.deepEqual(
    answers.filter(({ status }) => status >= 500),
    [],
  )
  for (const id of ids) assert.match((await ask(party, `GET /api/v1/services/${id}`)).json.name, /^Name \d$/)
  assert.equal(deadlocks.count(), 0)
})

test('a change of the name and a change of the config at the same moment are both kept', async () => {
  const party = await management.organization()
  const id = await active(party)
  for (let at = 0; at < 5; at += 1) {
    await Promise.all([
      ask(party, `PATCH /api/v1/services/${id}`, { body: { name: `Name ${at}` } }),
      ask(party, `PATCH /api/v1/services/${id}`, { body: { config: { at } } }),
    ])
    const { json } = await ask(party, `GET /api/v1/services/${id}`)
    assert.deepEqual([json.name, json.config], [`Name ${at}`, { at }])
  }
})

// Attack review, H4: 9,300 of these numbers were 56 KB in the request and 2.9 MB in the feed.
// Mutant: Buffer.byteLength(JSON.stringify(config)) in requireSmall().
test('a config is measured as it is stored: numbers that grow there are refused, and what is taken is within the limit', async () => {
  const party = await management.organization()
  const post = (config: string) =>
    ask(party, 'POST /api/v1/services', {
      body: `{"service_type":"kv","name":"n","config":${config}}`,
      headers: { 'content-type': 'application/json' },
    })
  const bomb = await post(`{"n":[${Array(9_300).fill('1e308').join(',')}]}`)
  assert.deepEqual([bomb.status, bomb.json.error.code], [413, 'PAYLOAD_TOO_LARGE'])
  assert.equal((await post(`{"n":[${Array(200).fill('1e308').join(',')}]}`)).status, 202)
  assert.equal((await post(`{"n":[${Array(16_000).fill('10').join(',')}]}`)).status, 202)
  assert.equal((await post(`{"n":[${Array(17_000).fill('10').join(',')}]}`)).status, 413)
  const [{ bytes }] = (await management.sql<{ bytes: number }>(
    'select max(octet_length(config::text)) as bytes from loci.services where organization_id = $1',
    [party.organizationId],
  )) as [{ bytes: number }]
  assert.ok(bytes <= 65_536, `${bytes} bytes`)
})

test('a config over 64 KiB is refused, and a deleted service leaves none of it in the feed', async () => {
  const party = await management.organization()
  assert.equal((await create(party, { config: { text: 'x'.repeat(65_536) } })).status, 413)
  const id = await active(party, { config: { text: 'x'.repeat(60_000) } })
  const large = await ask(party, `PATCH /api/v1/services/${id}`, { body: { config: { text: 'x'.repeat(65_536) } } })
  assert.equal(large.json.error.code, 'PAYLOAD_TOO_LARGE')
  await ask(party, `DELETE /api/v1/services/${id}`)
  const item = await until(
    async () => (await cell.pull()).items.find(({ key }) => key === id),
    (found) => found?.kind === 'instance' && found.body.state === 'deleted',
  )
  assert.ok(item?.kind === 'instance')
  assert.deepEqual(item.body.config, {})
})

test('what stood back for the plan comes forward when an older service fails', async () => {
  const party = await management.organization()
  const ids: string[] = []
  for (let at = 0; at < PLANS.free.services; at += 1) ids.push(await active(party))
  // As after a plan that covered more: one more than the free plan covers.
  await management.sql(`update loci.tenants set plan = 'starter' where id = $1`, [party.tenantId])
  ids.push(await active(party))
  await management.sql(`update loci.tenants set plan = 'free' where id = $1`, [party.tenantId])
  await management.sql(
    `insert into loci.due_services select id, organization_id, now() from loci.services where id = $1
     on conflict (service_id) do update set due_at = excluded.due_at`,
    [ids.at(-1)],
  )
  const state = async () => {
    const item = (await cell.pull()).items.find(({ key }) => key === ids.at(-1))
    return item?.kind === 'instance' ? `${item.body.state} ${item.body.state_reason}` : ''
  }
  assert.equal(await until(state, (now) => now.startsWith('suspended')), 'suspended plan_not_covered')
  await ask(party, `DELETE /api/v1/services/${ids[0]}`)
  assert.equal(await until(state, (now) => now.startsWith('active')), 'active null')
})

test('staff cannot erase as nobody’s what lives in the cell', async () => {
  const staff = await management.organization({ email: 'staff@loci.example', scopes: ['services:read', 'staff'] })
  const party = await management.organization()
  const id = await active(party)
  await management.sql(
    `insert into loci.quarantine (cell_id, service_id, organization_id, tenant_id, service_type, plan, state, generation)
     values ($1, $2, $3, $4, 'memory', 'free', 'active', 1)`,
    [cell.id, id, party.organizationId, party.tenantId],
  )
  const refusal = await staff.ask(`DELETE /api/v1/quarantine/${cell.id}/${id}`)
  assert.deepEqual([refusal.status, refusal.error.code], [409, 'INVALID_STATE'])
  assert.equal(await statusOf(party, id), 'active')
})

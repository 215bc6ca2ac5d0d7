import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { AskOptions, TestAnswer } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

const SETTINGS = { billingWebhookSecrets: ['a-billing-secret-of-the-tests-1234'] }
const JSON_TYPE = { 'content-type': 'application/json' }

let management: TestManagement
before(async () => {
  management = await testManagement({ settings: SETTINGS })
  await management.cell()
})
after(() => management?.[Symbol.asyncDispose]())

const post = (party: TestParty, options: AskOptions) => party.ask('POST /api/v1/services', options)
const create = (party: TestParty, body: object = {}, headers: Record<string, string> = {}) =>
  post(party, { body: { service_type: 'memory', name: 'A service', ...body }, headers })
const outcome = ({ status, text }: TestAnswer) => [status, JSON.parse(text).error?.code]

const countOf = async (party: TestParty) =>
  (await party.ask('GET /api/v1/services')).json<{ pagination: { total: number } }>().pagination.total

// specification 75 85 93
// Mutants: case is looked at; the filter of the list takes `service_type` as it was sent.
test('memory, kv and graph are types in any case, key-value is kv in every spelling, and any other name lists them', async () => {
  const party = await management.organization()
  for (const [asked, told] of [
    ['memory', 'memory'],
    ['kv', 'kv'],
    ['graph', 'graph'],
    ['key-value', 'kv'],
    ['KEY_VALUE', 'kv'],
    ['KeyValue', 'kv'],
    ['Graph', 'graph'],
    ['MEMORY', 'memory'],
  ]) {
    const made = await create(party, { service_type: asked })
    assert.deepEqual([made.status, made.json().service_type], [202, told], asked)
    const { service_id: id } = made.json()
    const read = (await party.ask(`GET /api/v1/services/${id}`)).json()
    assert.deepEqual([read.service_type, read.service_type_id], [told, told])
  }
  // Ids and types: status and endpoint change while they are provisioned.
  const listed = async (type: string) => {
    const { services } = (await party.ask(`GET /api/v1/services?service_type=${type}`)).json<{
      services: { id: string; service_type: string }[]
    }>()
    return services.map((service) => [service.id, service.service_type])
  }
  assert.equal((await listed('kv')).length, 4)
  for (const spelling of ['KV', 'key-value', 'Key_Value', 'keyvalue'])
    assert.deepEqual(await listed(spelling), await listed('kv'), spelling)
  assert.deepEqual([(await listed('graph')).length, (await listed('GRAPH')).length], [2, 2])
  for (const name of ['teapot', 'key value', 'kv ', 'constructor']) {
    const refused = await create(party, { service_type: name })
    assert.deepEqual(outcome(refused), [422, 'SERVICE_TYPE_UNAVAILABLE'], name)
    assert.deepEqual(refused.error.details, { service_types: ['memory', 'kv', 'graph'] })
  }
})

/** What is no JSON, or none that we read. */
const UNREADABLE: Record<string, AskOptions> = {
  'no body': {},
  'an empty body': { body: '', headers: JSON_TYPE },
  'broken JSON': { body: '{"broken', headers: JSON_TYPE },
  'broken UTF-8': { body: Buffer.from([0x7b, 0xff, 0x7d]), headers: JSON_TYPE },
  'a poisoned body': { body: '{"__proto__":{"a":1}}', headers: JSON_TYPE },
  'plain text': { body: 'hello', headers: { 'content-type': 'text/plain' } },
  'another encoding': { body: 'x', headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } },
  'no object': { body: [] },
  'another service': { body: { service_type: 'kv', name: 'Other' } },
  'a type that does not exist': { body: { service_type: 'teapot', name: 'x' } },
}

// Mutant: the route without `bodyRaw`: the chassis answers 400 and 415 before the handler looks for the key.
// specification 166
test('a known key is answered with the stored answer whatever the body is, marked; a strict caller is refused', async () => {
  const party = await management.organization()
  const key = { 'idempotency-key': randomUUID() }
  const first = await create(party, {}, key)
  assert.equal(first.status, 202)
  for (const [what, options] of Object.entries(UNREADABLE)) {
    const again = await post(party, { ...options, headers: { ...options.headers, ...key } })
    assert.deepEqual([again.status, again.text], [202, first.text], what)
    assert.deepEqual(
      [again.headers['idempotent-replayed'], again.headers['idempotency-body-differs']],
      ['true', 'true'],
      what,
    )
    assert.ok(again.headers.ratelimit, what)
    const strict = await post(party, {
      ...options,
      headers: { ...options.headers, ...key, 'idempotency-strict': 'true' },
    })
    assert.deepEqual(outcome(strict), [422, 'IDEMPOTENCY_KEY_REUSED'], what)
  }
  const same = await create(party, {}, { ...key, 'idempotency-strict': 'true' })
  assert.deepEqual([same.status, same.headers['idempotency-body-differs']], [202, undefined])
  assert.equal(await countOf(party), 1)
})

// Mutant: `if (!sealedWith) throw inProgress()` in answerFrom: 409 for the rest of the day.
// specification 166
test('a stored answer outlives the sealing key that its request was compared with', async () => {
  await using old = await testManagement()
  const party = await old.organization()
  const key = { 'idempotency-key': randomUUID() }
  const first = await create(party, {}, key)
  await old.sql(`update loci.idempotency set sealed_with = 'gone'`)

  const again = await create(party, {}, key)
  const strict = await create(party, {}, { ...key, 'idempotency-strict': 'true' })
  const elsewhere = await party.ask('POST /api/v1/tenants', { body: { name: 'x' }, headers: key })
  await old.sql(`update loci.idempotency set sealed_with = 'gone'`)
  const repeated = await party.ask('POST /api/v1/tenants', { body: { name: 'x' }, headers: key })

  assert.deepEqual(
    [again.status, again.text, again.headers['idempotency-body-differs']],
    [202, first.text, 'true'],
    'the specification’s own route',
  )
  assert.deepEqual(outcome(strict), [422, 'IDEMPOTENCY_KEY_REUSED'])
  assert.deepEqual([elsewhere.status, ...outcome(repeated)], [201, 422, 'IDEMPOTENCY_KEY_REUSED'])
})

// Mutant: requireServiceRequest() after rates.take(): the refusals below are 429.
// specification 165 166 167 168 174
test('the order is: caller, known key, body, rate limit, creation', async () => {
  const party = await management.organization({ callsOf: 'free' })
  const key = { 'idempotency-key': randomUUID() }
  assert.equal((await create(party, {}, key)).status, 202)
  const bucket = `${party.organizationId}:%:write:services`
  const tat = async () =>
    (await management.sql<{ tat: number }>('select tat from loci.rate_limits where bucket like $1', [bucket]))[0]?.tat
  await management.sql('update loci.rate_limits set tat = $2 where bucket like $1', [bucket, Date.now() + 3_600_000])
  const full = await tat()

  const stranger = await management.ask('POST /api/v1/services', { body: '{"broken', headers: JSON_TYPE })
  assert.deepEqual(outcome(stranger), [401, 'UNAUTHENTICATED'])
  assert.deepEqual(outcome(await create(party, {}, key)), [429, 'RATE_LIMITED'], 'a replay is limited')
  const bodies: [AskOptions, number, string][] = [
    [{ body: '{"broken', headers: JSON_TYPE }, 400, 'VALIDATION_ERROR'],
    [{ body: 'x', headers: { 'content-type': 'text/plain' } }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [{ body: { service_type: 'memory', name: '' } }, 400, 'VALIDATION_ERROR'],
    [{ body: { service_type: 'teapot', name: 'x' } }, 422, 'SERVICE_TYPE_UNAVAILABLE'],
    [{ body: { service_type: 'memory', name: 'x', region: 'Not\na region' } }, 400, 'VALIDATION_ERROR'],
    [{ body: { service_type: 'memory', name: 'x', config: { text: 'x'.repeat(65_536) } } }, 413, 'PAYLOAD_TOO_LARGE'],
    [{ body: 'x'.repeat(1_100_000), headers: JSON_TYPE }, 413, 'PAYLOAD_TOO_LARGE'],
  ]
  for (const [options, status, code] of bodies) {
    const refused = await post(party, options)
    assert.deepEqual(outcome(refused), [status, code])
    assert.match(String(refused.headers.ratelimit), /^"write";r=0;t=\d+$/, 'a refusal tells how the limit is')
    assert.equal(refused.headers['ratelimit-policy'], '"write";q=60;w=60;burst=30')
  }
  assert.equal(await tat(), full, 'nothing of it was paid')
  const unknown = await create(party, { tenant_id: newId('ten') })
  assert.deepEqual(outcome(unknown), [429, 'RATE_LIMITED'], 'what needs the store comes after the limit')
  assert.ok(Number(unknown.headers['retry-after']) >= 1)
})

// specification 172 174
test('a query is judged before the limit of the list, and its refusal tells how the limit is', async () => {
  const party = await management.organization({ callsOf: 'free' })
  const refused = await party.ask('GET /api/v1/services?limit=0')
  assert.deepEqual(outcome(refused), [400, 'VALIDATION_ERROR'])
  assert.match(String(refused.headers.ratelimit), /^"read";r=60;t=0$/)
  assert.match(String((await party.ask('GET /api/v1/services')).headers.ratelimit), /^"read";r=59;t=1$/)
})

// specification 81
// Mutant: a region has an alphabet of its own (a-z, 0-9 and -).
test('any visible region is taken and told back where none are configured; a service waits for a cell of its region', async () => {
  const party = await management.organization()
  for (const region of ['r', 'US_EAST_1', 'Frankfurt 1', '東京', '💥', 'r'.repeat(64), 'ä'.repeat(64)]) {
    const { service_id: id } = (await create(party, { region, service_type: 'kv' })).json()
    assert.equal((await party.ask(`GET /api/v1/services/${id}`)).json().region, region)
  }
  for (const region of ['', ' ', 'r'.repeat(65), 'a\nb', 'a\tb', 'a\u007fb', 'a\u200bb', 5, null])
    assert.deepEqual(outcome(await create(party, { region })), [400, 'VALIDATION_ERROR'], String(region))
  const made = (await create(party)).json()
  assert.equal((await party.ask(`GET /api/v1/services/${made.service_id}`)).json().region, 'us-east-1')
  const placed = await management.sql(
    `select from loci.services where organization_id = $1 and region <> 'us-east-1' and cell_id is not null`,
    [party.organizationId],
  )
  assert.equal(placed.length, 0)
})

test('where regions are configured another one is refused and told them', async () => {
  await using fixed = await testManagement({ settings: { regions: ['eu-west-1', 'us-east-1'] } })
  const party = await fixed.organization()
  assert.equal((await create(party, { region: 'eu-west-1' })).status, 202)
  const refused = await create(party, { region: 'atlantis-1' })
  assert.deepEqual(outcome(refused), [400, 'VALIDATION_ERROR'])
  assert.match(refused.error.message, /The regions are eu-west-1, us-east-1/)
})

// Mutant: queryInteger with nine digits again.
// specification 96 97
test('an offset has as many digits as it likes: beyond the end the page is empty', async () => {
  const party = await management.organization()
  await create(party)
  for (const offset of ['1', '999999999', '1000000000', '9007199254740993', '9'.repeat(400)]) {
    const answer = await party.ask(`GET /api/v1/services?offset=${offset}`)
    assert.equal(answer.status, 200, offset)
    const { services, pagination } = answer.json<{ services: unknown[]; pagination: { offset: number } }>()
    assert.deepEqual(services, [])
    assert.ok(Number.isSafeInteger(pagination.offset))
  }
  for (const offset of ['-1', '1.5', '1e3', '', 'x', '%2B5'])
    assert.equal((await party.ask(`GET /api/v1/services?offset=${offset}`)).status, 400, offset)
})

// specification 231
test('an unexpected failure of creating or listing services is 500 with the text of the operation', async () => {
  await using broken = await testManagement()
  const party = await broken.organization()
  await broken.sql(
    `create function loci.fail() returns trigger language plpgsql as $$ begin raise 'on purpose'; end $$`,
  )
  await broken.sql(`create trigger fail before insert on loci.services for each row execute function loci.fail()`)
  const creation = await create(party, {}, { 'idempotency-key': 'k' })
  assert.deepEqual(
    [creation.status, creation.error.code, creation.error.message],
    [500, 'INTERNAL_ERROR', 'Failed to create service'],
  )
  await broken.sql('drop trigger fail on loci.services')
  assert.equal((await create(party, {}, { 'idempotency-key': 'k' })).status, 202, 'the key is free after a failure')
  await broken.sql('alter table loci.service_counts rename to hidden_counts')
  const list = await party.ask('GET /api/v1/services')
  assert.deepEqual(
    [list.status, list.error.code, list.error.message],
    [500, 'INTERNAL_ERROR', 'Failed to list services'],
  )
  assert.match(String(list.error.request_id), /^req_/)
})

test('the document of the creation names the headers of a repeat', async () => {
  const { paths } = (await management.get('/openapi.json')).json<{ paths: Record<string, Record<string, unknown>> }>()
  const { parameters, responses } = (paths['/api/v1/services'] as { post: unknown }).post as {
    parameters: { name: string; in: string }[]
    responses: Record<string, { headers?: object }>
  }
  const names = parameters.filter((one) => one.in === 'header').map(({ name }) => name)
  assert.deepEqual(names, ['Idempotency-Key', 'Idempotency-Strict'])
  assert.deepEqual(Object.keys(responses[202]?.headers ?? {}), ['Idempotent-Replayed', 'Idempotency-Body-Differs'])
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import { type TestCell, type TestManagement, testManagement } from '../testing/management.ts'
import { rangeOf } from './usage.ts'

interface Point {
  at: string
  requests: number
  writes: number
  records: number
  bytes: number
  units: number
  errors: number
  p50_ms: number | null
  p95_ms: number | null
  cycles: number
  evictions: number
}

interface ByService {
  services: { service_id: string; usage: Point[] }[]
  next_cursor: string | null
}

/** What a cell of a release before says nothing of. */
const SILENT = { units: 0, errors: 0, p50_ms: null, p95_ms: null, cycles: 0, evictions: 0 }

interface Usage {
  usage: Point[]
  dearest: { route: string; units: number }[]
  from: string
  to: string
  step: string
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
  const of = { organization: made.organizationId, tenant: made.tenantId }
  const services = [await management.instance(cell.id, of), await management.instance(cell.id, of)] as const
  return { ...made, services, tenant: `/api/v1/tenants/${made.tenantId}/usage` }
}

/** Yesterday: what is older than two days is rolled up by management's own turn, which comes each minute. */
const DAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
const NEXT = new Date(Date.parse(DAY) + 86_400_000).toISOString()
const range = `from=${DAY}T00:00:00.000Z&to=${NEXT}`

async function report(
  svc: string,
  rows: [minute: string, dedup: string, requests: number, writes: number, records: number][],
) {
  const usage = rows.map(([minute, dedup, requests, writes, records]) => ({
    svc,
    minute: `${DAY}T${minute}:00.000Z`,
    dedup,
    requests,
    writes,
    records,
    bytes: records * 10,
  }))
  const { status, body } = await cell.report({ usage })
  assert.equal(status, 200, JSON.stringify(body))
}

test('requests and writes add up over replicas and minutes; records and bytes are those of the newest minute, the most of any replica', async () => {
  const own = await party()
  const [first, second] = own.services
  await report(first.id, [
    ['10:00', 'a', 5, 1, 100],
    ['10:00', 'b', 7, 2, 101],
    ['10:59', 'a', 1, 1, 40],
    ['10:59', 'b', 1, 0, 42],
    ['11:00', 'a', 9, 9, 43],
  ])
  await report(second.id, [['10:30', 'a', 100, 10, 1000]])

  const one = (await own.ask(`GET /api/v1/services/${first.id}/usage?${range}`)).json<Usage>()
  const all = (await own.ask(`GET ${own.tenant}?${range}`)).json<Usage>()

  const at = (hour: number) => `${DAY}T${hour}:00:00.000Z`
  assert.deepEqual(one, {
    usage: [
      { at: at(10), requests: 14, writes: 4, records: 42, bytes: 420, ...SILENT },
      { at: at(11), requests: 9, writes: 9, records: 43, bytes: 430, ...SILENT },
    ],
    dearest: [],
    from: `${DAY}T00:00:00.000Z`,
    to: NEXT,
    step: 'hour',
  })
  assert.deepEqual(all.usage, [
    { at: at(10), requests: 114, writes: 14, records: 1042, bytes: 10_420, ...SILENT },
    { at: at(11), requests: 9, writes: 9, records: 43, bytes: 430, ...SILENT },
  ])
  const byDay = (await own.ask(`GET ${own.tenant}?${range}&step=day`)).json<Usage>()
  assert.deepEqual(byDay.usage, [
    { at: `${DAY}T00:00:00.000Z`, requests: 123, writes: 23, records: 1043, bytes: 10_430, ...SILENT },
  ])
  const minutes = (await own.ask(`GET /api/v1/services/${first.id}/usage?${range}&step=minute`)).json<Usage>()
  assert.deepEqual(
    minutes.usage.map(({ requests }) => requests),
    [12, 2, 9],
  )
})

// Mutants: greatest() left out of saveUsage(), so that a report that comes twice counts twice; no `minute >` in
// listDearest(); nothing forgotten in saveUsage().
test('what was charged is told by the minute, and the five dearest routes of the last hour', async () => {
  const own = await party()
  const [first, second] = own.services
  const now = Math.floor(Date.now() / 60_000) * 60_000
  const minute = (ago: number) => new Date(now - ago * 60_000).toISOString()
  const told = (svc: string, ago: number, routes: Record<string, number>, dedup = 'r') => ({
    ...{ svc, minute: minute(ago), dedup, requests: 1, writes: 0, records: 0, bytes: 0 },
    units: Object.values(routes).reduce((sum, units) => sum + units, 0),
    routes: Object.entries(routes).map(([route, units]) => ({ route, units })),
  })
  const usage = [
    told(first.id, 2, { 'GET /v1/a': 1, 'GET /v1/b': 2, 'GET /v1/c': 3, 'GET /v1/d': 4, 'GET /v1/e': 5 }),
    told(first.id, 2, { 'GET /v1/a': 1 }, 'r2'),
    told(first.id, 3, { 'POST /v1/f': 40.5, 'due work: cycle': 1.5 }),
    told(first.id, 90, { 'GET /v1/old': 1_000 }),
    told(second.id, 2, { 'POST /v1/f': 7 }),
  ]
  for (let n = 0; n < 2; n += 1) assert.equal((await cell.report({ usage })).status, 200)
  // A cell of the release before says nothing of it.
  await cell.report({ usage: [{ ...usage[0], routes: undefined, units: undefined, minute: minute(5) }] })

  const url = `GET /api/v1/services/${first.id}/usage?step=minute`
  const one = (await own.ask(url)).json<Usage>()
  const all = (await own.ask(`GET ${own.tenant}`)).json<Usage>()

  assert.deepEqual(
    new Map(one.usage.map(({ at, units }) => [at, units])),
    new Map([
      [minute(90), 1_000],
      [minute(5), 0],
      [minute(3), 42],
      [minute(2), 16],
    ]),
  )
  const routes = ['POST /v1/f', 'GET /v1/e', 'GET /v1/d', 'GET /v1/c', 'GET /v1/a']
  assert.deepEqual(
    one.dearest.map(({ route }) => route),
    routes,
  )
  assert.deepEqual(one.dearest[0], { route: 'POST /v1/f', units: 40.5 })
  assert.deepEqual(all.dearest[0], { route: 'POST /v1/f', units: 47.5 })
  // What is shown for an hour is kept for an hour.
  await management.sql(`update loci.usage_minutes set minute = minute - interval '1 hour' where service_id = $1`, [
    first.id,
  ])
  await cell.report({ usage: [told(first.id, 1, {})] })
  assert.deepEqual((await own.ask(url)).json<Usage>().dearest, [])
  const kept = await management.sql('select 1 from loci.usage_minutes where service_id = $1 and routes is not null', [
    first.id,
  ])
  assert.equal(kept.length, 0)
})

// Mutants: the average of the percentiles of the services; `max` instead of `sum` in `classes`; greatest() left out of
// saveUsage(), so that a report that comes twice counts twice.
test('percentiles are those of all answers of a step, over replicas, minutes and services; errors, cycles and evictions add up', async () => {
  const own = await party()
  const [first, second] = own.services
  const told = (svc: string, minute: string, dedup: string, counts: object) => ({
    ...{ svc, minute: `${DAY}T${minute}:00.000Z`, dedup, requests: 100, writes: 0, records: 0, bytes: 0 },
    ...counts,
  })
  const usage = [
    // 1 ms, 2 ms, 3 ms, …
    told(first.id, '10:00', 'a', { errors: 2, cycles: 3, evictions: 1, latency: [60] }),
    told(first.id, '10:00', 'b', { errors: 1, latency: [0, 0, 0, 0, 0, 10] }),
    told(first.id, '10:01', 'a', { cycles: 1, evictions: 4, latency: [30] }),
    told(second.id, '10:00', 'a', { errors: 5, latency: [0, 900] }),
    told(second.id, '11:00', 'a', { requests: 0 }),
  ]
  for (let n = 0; n < 2; n += 1) assert.equal((await cell.report({ usage })).status, 200)
  for (const latency of [[-1], [0.5], Array.from({ length: 22 }, () => 0)])
    assert.equal((await cell.report({ usage: [told(first.id, '10:00', 'c', { latency })] })).status, 400)

  const one = (await own.ask(`GET /api/v1/services/${first.id}/usage?${range}`)).json<Usage>().usage
  const all = (await own.ask(`GET ${own.tenant}?${range}`)).json<Usage>().usage
  const each = (await own.ask(`GET /api/v1/usage?by=service&${range}`)).json<ByService>()

  const said = ({ errors, p50_ms, p95_ms, cycles, evictions }: Point) => [errors, p50_ms, p95_ms, cycles, evictions]
  assert.deepEqual(one.map(said), [[3, 1, 10, 4, 5]])
  assert.deepEqual(all.map(said), [
    [8, 2, 2, 4, 5],
    [0, null, null, 0, 0],
  ])
  assert.deepEqual(
    each.services.map(({ service_id, usage }) => [service_id, usage.map(said)]),
    [
      [
        second.id,
        [
          [5, 2, 2, 0, 0],
          [0, null, null, 0, 0],
        ],
      ],
      [first.id, [[3, 1, 10, 4, 5]]],
    ],
  )
  assert.deepEqual(each.services[1]?.usage, one, 'a service says the same in both')
})

// Mutants: no tenantIds in listLivingServiceIds(); `<=` for its cursor.
test('the services of an organization tell their usage in one call, in pages, each key of the tenants it is for', async () => {
  const [own, other] = [await party(), await party()]
  const [first, second] = own.services
  await report(first.id, [['10:00', 'a', 5, 0, 0]])
  await report(other.services[0].id, [['10:00', 'a', 7, 0, 0]])
  const ids = async (query: string, as = own.ask) => {
    const { services, next_cursor } = (await as(`GET /api/v1/usage?${range}${query}`)).json<ByService>()
    return [services.map(({ service_id, usage }) => [service_id, usage.length]), next_cursor]
  }

  assert.deepEqual(await ids(''), [
    [
      [second.id, 0],
      [first.id, 1],
    ],
    null,
  ])
  const page = await ids('&limit=1')
  assert.deepEqual(page, [[[second.id, 0]], second.id])
  assert.deepEqual(await ids(`&limit=1&cursor=${second.id}`), [[[first.id, 1]], null])

  const tenant = (await own.ask('POST /api/v1/tenants', { body: { name: 'second' } })).json<{ id: string }>()
  const third = await management.instance(cell.id, { organization: own.organizationId, tenant: tenant.id })
  const { secret } = (await own.ask('POST /api/v1/api-keys', { body: { name: 'k', tenant_ids: [tenant.id] } })).json<{
    secret: string
  }>()
  const keyed = (line: string) => ask(management.url, line, { headers: { [HEADER.apiKey]: secret } })
  assert.deepEqual(await ids('', keyed), [[[third.id, 0]], null])
  await management.sql(`update loci.services set status = 'deleted' where id = any($1)`, [[third.id, second.id]])
  assert.deepEqual(await ids(''), [[[first.id, 1]], null])

  for (const query of ['by=tenant', 'step=minute', 'limit=0', 'limit=101', 'cursor=x'])
    assert.equal((await own.ask(`GET /api/v1/usage?${query}`)).status, 400, query)
})

test('a range is half-open: what begins at its end belongs to the next', async () => {
  const own = await party()
  const [{ id }] = own.services
  await report(id, [
    ['10:00', 'a', 1, 0, 0],
    ['11:00', 'a', 10, 0, 0],
  ])
  const between = async (from: string, to: string) =>
    (await own.ask(`GET /api/v1/services/${id}/usage?from=${DAY}T${from}:00Z&to=${DAY}T${to}:00Z`))
      .json<Usage>()
      .usage.map(({ requests }) => requests)
  assert.deepEqual(await between('10:00', '11:00'), [1])
  assert.deepEqual(await between('11:00', '12:00'), [10])
  assert.deepEqual(await between('10:00', '11:01'), [1, 10])
})

test('without a range it is the last day by the hour, from the beginning of an hour', () => {
  const now = new Date('2026-03-01T10:20:30.400Z')
  const { from, to, step } = rangeOf({ step: 'hour' }, { now })
  assert.deepEqual([from.toISOString(), to, step], ['2026-02-28T10:00:00.000Z', now, 'hour'])
})

test('1500 points are answered, more are 400 with the most there is for the step; what is no range is 400', async () => {
  const own = await party()
  const get = (query: string) => own.ask(`GET ${own.tenant}?${query}`)
  assert.equal((await get('')).status, 200)
  assert.equal((await get('from=2026-01-01T00:00:00Z&to=2026-01-02T01:00:00Z&step=minute')).status, 200)
  const tooMany = await get('from=2026-01-01T00:00:00Z&to=2026-01-02T01:01:00Z&step=minute')
  assert.deepEqual([tooMany.status, /1500 minutes/.test(tooMany.error.message)], [400, true])
  assert.equal((await get('from=2020-01-01T00:00:00Z&to=2024-01-01T00:00:00Z&step=day')).status, 200)
  for (const query of [
    'step=week',
    'from=yesterday',
    'from=2026-01-01',
    'from=0000-01-01T00:00:00Z&to=0000-01-02T00:00:00Z',
    'from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
    'to=1969-12-31T00:00:00Z',
    'to=9999-12-31T23:59:59-23:59',
    'from=1970-01-01T00:00:00%2B23:59&to=1970-01-02T00:00:00Z',
    'step=hour&step=hour',
  ])
    assert.equal((await get(query)).status, 400, query)
  assert.equal((await get('from=9999-12-31T00:00:00Z&to=9999-12-31T23:59:59Z')).status, 200)
})

test('a stranger’s service is 404 and its tenant 403, like those that do not exist; the scope is usage:read', async () => {
  const [own, other] = [await party(), await party()]
  for (const id of [other.services[0].id, newId('svc'), 'x', '%00']) {
    const answer = await own.ask(`GET /api/v1/services/${id}/usage`)
    assert.deepEqual([answer.status, answer.error.code], [404, 'NOT_FOUND'], id)
  }
  for (const id of [other.tenantId, newId('ten'), 'x']) {
    const answer = await own.ask(`GET /api/v1/tenants/${id}/usage`)
    assert.deepEqual([answer.status, answer.error.code], [403, 'FORBIDDEN'], id)
  }
  const second = (await own.ask('POST /api/v1/tenants', { body: { name: 'second' } })).json<{ id: string }>()
  for (const [made, service, tenant] of [
    [{ scopes: ['services:read', 'tenants:read'] }, 403, 403],
    [{ tenant_ids: [second.id] }, 404, 403],
    [{ scopes: ['usage:read'] }, 200, 200],
  ] as const) {
    const { secret } = (await own.ask('POST /api/v1/api-keys', { body: { name: 'k', ...made } })).json<{
      secret: string
    }>()
    const as = (line: string) => ask(management.url, line, { headers: { [HEADER.apiKey]: secret } })
    assert.equal((await as(`GET /api/v1/services/${own.services[0].id}/usage`)).status, service, JSON.stringify(made))
    assert.equal((await as(`GET ${own.tenant}`)).status, tenant, JSON.stringify(made))
  }
})

test('usage is read by the index of its key', async () => {
  const own = await party()
  const [{ id }] = own.services
  await management.sql(
    `insert into loci.usage_minutes select $1, $2, '2026-01-01Z'::timestamptz + n * interval '1 minute', 'a', 1, 1, 1, 1, 1
      from generate_series(1, 40000) as n`,
    [own.organizationId, id],
  )
  await management.sql('analyze loci.usage_minutes')
  const plan = await management.sql<{ 'QUERY PLAN': string }>(
    `explain select service_id, minute, sum(requests) from loci.usage_minutes where organization_id = $1 and service_id = any($2)
      and minute >= '2026-01-03Z' and minute < '2026-01-04Z' group by service_id, minute`,
    [own.organizationId, [id]],
  )
  const text = plan.map((line) => line['QUERY PLAN']).join('\n')
  assert.match(text, /Index (Only )?Scan.* using usage_minutes_pkey|Bitmap Index Scan on usage_minutes_pkey/, text)
  assert.match(text, /Index Cond:.*minute >=/, text)
})

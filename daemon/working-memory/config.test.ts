import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { slotsOf } from '../testing/slots.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
let token: string
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
  token = tenant.mint({ ops: ['operator'], ks: ['*/*'] })
})
after(() => daemon?.[Symbol.asyncDispose]())

const CONFIG = '/v1/working-memory/config'
const get = (db: string) => tenant.call(`GET ${CONFIG}`, undefined, { db, token })
const put = (db: string, body: unknown, headers: Record<string, string> = {}) =>
  tenant.call(`PUT ${CONFIG}`, body, { db, token, headers })

// specification 51 139 140
test('an operator puts any object as the configuration of one database, and reads what is in force', async () => {
  const sent = { capacity: 3, ourOwn: { deep: [1, null], snake_case: true }, '': 1, 'ä €': 'x' }
  const body = (await put('a', sent)).json<{ ok: boolean; config: Record<string, unknown>; version: number }>()
  assert.equal(body.ok, true)
  for (const [key, value] of Object.entries(sent)) assert.deepEqual(body.config[key], value)
  assert.deepEqual((await get('a')).json(), { ...body.config, warnings: [] })
  assert.equal((await get('a')).headers.etag, `"${body.version}"`)
  assert.equal((await get('b')).json<{ capacity: number }>().capacity, 25)
  assert.deepEqual(
    [(await slotsOf(tenant, 'a').stats()).capacity, (await slotsOf(tenant, 'a').list()).capacity],
    [3, 3],
  )
  for (const bad of [[], 5]) assert.equal((await put('a', bad)).status, 400)
  const agent = tenant.mint({ ops: ['wm:read', 'wm:write'], ks: ['working-memory/*'] })
  for (const method of ['GET', 'PUT']) {
    const refused = await tenant.call(`${method} ${CONFIG}`, method === 'PUT' ? {} : undefined, {
      db: 'a',
      token: agent,
    })
    assert.deepEqual([refused.status, refused.error.code], [403, 'OPERATOR_REQUIRED'])
  }
})

// Before, GET showed a value that was not in force, without a word. Mutants: GET that answers RULES.kept();
// warningsOf() that looks at the topmost layer alone.
test('an unusable value is kept, not applied and named, by PUT and GET; the service’s own lies below what was put', async () => {
  await daemon.sql('update loci.instances set config = $2 where id = $1', [
    tenant.instanceId,
    { working_memory: { capacity: 4, ourOwn: true } },
  ])
  const { config, warnings } = (await put('c', { capacity: -1, policy: 'whim' })).json<{
    config: Record<string, unknown>
    warnings: { key: string; problem: string; using: unknown }[]
  }>()
  assert.deepEqual([config.capacity, config.policy, config.ourOwn], [-1, 'whim', true])
  assert.deepEqual(
    warnings.map(({ key, using }) => [key, using]),
    [
      ['capacity', 4],
      ['policy', 'activation'],
    ],
  )
  assert.equal((await slotsOf(tenant, 'c').stats()).capacity, 4)
  const shown = (await get('c')).json<typeof config>()
  assert.deepEqual([shown.capacity, shown.policy, shown.ourOwn, shown.warnings], [4, 'activation', true, warnings])
  await daemon.sql('update loci.instances set config = $2 where id = $1', [
    tenant.instanceId,
    { working_memory: { capacity: 'many', warnings: 'our own' } },
  ])
  const bare = (await get('never-put')).json<typeof config>()
  assert.deepEqual(
    [bare.capacity, bare.warnings],
    [25, [{ key: 'capacity', problem: 'must be a whole number from 0 to 256', using: 25 }]],
  )
  await daemon.sql(`update loci.instances set config = '{"working_memory": "no object"}' where id = $1`, [
    tenant.instanceId,
  ])
  assert.equal((await slotsOf(tenant, 'c').stats()).capacity, 25)
  await daemon.sql(`update loci.instances set config = '{}' where id = $1`, [tenant.instanceId])
})

test('each configuration has a version for If-Match, counts for its bytes and is in the audit once', async () => {
  const first = (await put('v', { capacity: 5 })).json<{ version: number }>()
  assert.equal((await put('v', { capacity: 6 }, { 'if-match': `"${first.version}"` })).status, 200)
  const late = await put('v', { capacity: 7 }, { 'if-match': `"${first.version}"` })
  assert.deepEqual([late.status, late.error.code], [412, 'VERSION_CONFLICT'])
  assert.equal((await get('v')).json<{ capacity: number }>().capacity, 6)
  const audited = await daemon.sql<{ detail: { capacity: number } }>(
    `select detail from loci.audit where chain = $1 and action = 'working_memory.configure' and subject = 'v' order by seq`,
    [tenant.instanceId],
  )
  assert.deepEqual(
    audited.map(({ detail }) => detail.capacity),
    [5, 6],
  )
  const large = await put('v', { x: 'x'.repeat(64 * 1024) })
  assert.deepEqual([large.status, large.error.code], [413, 'PAYLOAD_TOO_LARGE'])
})

// Mutants: settings() that shows the topmost value as sent; `range` and `schema` of another key (capacity's for all).
test('who reads slots reads the configuration in force with what each key may be, and changes nothing of it', async () => {
  const db = 'settings'
  const reader = { db, token: tenant.mint({ ops: ['wm:read'], ks: [`working-memory/${db}`] }) }
  const settings = async () => {
    const answer = await tenant.call('GET /v1/working-memory/settings', undefined, reader)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<Settings>()
  }
  const { version } = await settings()
  assert.equal(version, 0)
  await put(db, { capacity: 'many', slotTtlMs: 60_000, policy: 'lru', ourOwn: { deep: 1 } })

  const shown = await settings()
  const { warnings, ...config } = (await get(db)).json<Record<string, unknown>>()
  assert.deepEqual([shown.config, shown.warnings], [config, warnings])
  assert.equal(`"${shown.version}"`, (await get(db)).headers.etag)
  const byKey = new Map(shown.settings.map(({ key, ...setting }) => [key, setting]))
  assert.deepEqual(byKey.get('capacity'), {
    ...{ value: config.capacity, default: 25, range: 'a whole number from 0 to 256' },
    schema: { type: 'integer', minimum: 0, maximum: 256 },
  })
  assert.deepEqual(byKey.get('policy'), {
    ...{ value: 'lru', default: 'activation', range: 'one of activation, lru, fifo, reject' },
    schema: { type: 'string', enum: ['activation', 'lru', 'fifo', 'reject'] },
  })
  const { value, default: fallback, schema } = byKey.get('slotTtlMs') as Settings['settings'][number]
  assert.deepEqual([value, fallback, schema.type], [60_000, null, ['integer', 'null']])
  assert.ok(byKey.has('echo.weight'))

  const others = await Promise.all([
    tenant.call('GET /v1/working-memory/settings', undefined, { ...reader, db: 'other' }),
    tenant.call('GET /v1/working-memory/settings', undefined, {
      db,
      token: tenant.mint({ ops: ['cycles:read'], ks: ['*/*'] }),
    }),
    tenant.call(`PUT ${CONFIG}`, {}, reader),
  ])
  assert.deepEqual(
    others.map(({ error }) => error.code),
    ['DATABASE_MISMATCH', 'OPERATION_NOT_ALLOWED', 'OPERATOR_REQUIRED'],
  )
})

interface Settings {
  config: Record<string, unknown>
  version: number
  warnings: unknown[]
  settings: { key: string; value: unknown; default: unknown; range: string; schema: Record<string, unknown> }[]
}

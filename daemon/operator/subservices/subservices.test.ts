import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { isId } from '@loci/contract/ids.ts'
import { planSwitch, SUBSERVICE_NAMES } from '@loci/contract/subservices.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'

interface Update {
  service: string
  previous: string
  current: string
  changed: boolean
  effective_at: string
  drained: boolean
  audit_id: string | null
}
interface Switched {
  success: boolean
  updates: Update[]
  failed_services: { service: string; code: string; message: string; dependents: string[] }[]
}
interface Status {
  name: string
  enabled: boolean
  required: boolean
  state: string
  since: string
  depends_on: string[]
  changed_by: string | null
  auto_revert_at: string | null
}

async function turn(daemon: TestDaemon, action: 'enable' | 'disable', body: object): Promise<Switched> {
  const answer = await daemon.admin(`POST /admin/services/${action}`, body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Switched>()
}

async function statusOf(daemon: TestDaemon, name: string): Promise<Status> {
  const { services } = (await daemon.admin('GET /admin/services/status')).json<{ services: Status[] }>()
  return services.find((one) => one.name === name) as Status
}

const audit = (daemon: TestDaemon) => daemon.sql('select * from loci.audit order by at, id')

test('a new cell has every sub-service enabled, and shows the dependencies', async () => {
  await using daemon = await testDaemon()
  const { services } = (await daemon.admin('GET /admin/services/status')).json<{ services: Status[] }>()
  assert.deepEqual(
    services.map(({ name }) => name),
    SUBSERVICE_NAMES,
  )
  assert.ok(services.every(({ enabled, changed_by }) => enabled && changed_by === null))
  const cognitive = services.find(({ name }) => name === 'cognitive')
  assert.deepEqual([cognitive?.required, cognitive?.depends_on], [false, ['kv', 'working_memory']])
})

test('disabling is stored, shown in the answer and in the status, and leaves one audit row', async () => {
  await using daemon = await testDaemon()
  const before = await statusOf(daemon, 'mcp')

  const { success, updates, failed_services } = await turn(daemon, 'disable', { services: ['mcp'], reason: 'a test' })

  assert.deepEqual([success, failed_services, updates.length], [true, [], 1])
  const { audit_id, effective_at, ...update } = updates[0]!
  assert.deepEqual(update, { service: 'mcp', previous: 'enabled', current: 'disabled', changed: true, drained: true })
  const status = await statusOf(daemon, 'mcp')
  assert.deepEqual([status.enabled, status.state, status.auto_revert_at], [false, 'disabled', null])
  assert.ok(status.since > before.since && status.since <= effective_at)
  assert.match(String(status.changed_by), /^admin:[0-9a-f]{8}@127\.0\.0\.1$/)
  const rows = await audit(daemon)
  assert.equal(rows.length, 1)
  const { id, chain, action, subject, outcome, actor, detail, request_id } = rows[0]!
  assert.equal(id, audit_id)
  assert.deepEqual([chain, action, subject, outcome], ['cell', 'subservice.disable', 'mcp', 'done'])
  assert.equal(actor, status.changed_by)
  assert.deepEqual(detail, { reason: 'a test', auto_revert_ms: null, previous: true })
  assert.ok(isId('req', String(request_id)))
})

test('enabling brings it back, with an audit row of its own', async () => {
  await using daemon = await testDaemon()
  await turn(daemon, 'disable', { service: 'mcp' })
  const { updates } = await turn(daemon, 'enable', { service: 'mcp' })
  assert.deepEqual([updates[0]?.previous, updates[0]?.current, updates[0]?.changed], ['disabled', 'enabled', true])
  assert.equal((await statusOf(daemon, 'mcp')).enabled, true)
  assert.deepEqual(
    (await audit(daemon)).map(({ action }) => action),
    ['subservice.disable', 'subservice.enable'],
  )
})

test('switching again changes nothing and leaves no row', async () => {
  await using daemon = await testDaemon()
  await turn(daemon, 'disable', { services: ['mcp'] })
  const { success, updates } = await turn(daemon, 'disable', { services: ['mcp', 'mcp'] })
  assert.equal(success, true)
  assert.equal(updates.length, 1)
  assert.deepEqual([updates[0]?.changed, updates[0]?.audit_id], [false, null])
  assert.equal((await audit(daemon)).length, 1)
})

test('a dry run shows what would happen and changes nothing', async () => {
  await using daemon = await testDaemon()
  const { success, updates } = await turn(daemon, 'disable', { services: ['advice'], dry_run: true })
  assert.deepEqual([success, updates[0]?.current, updates[0]?.audit_id], [true, 'disabled', null])
  assert.equal((await statusOf(daemon, 'advice')).enabled, true)
  assert.deepEqual(await audit(daemon), [])
  const refused = await turn(daemon, 'disable', { services: ['kv'], dry_run: true })
  assert.equal(refused.failed_services[0]?.code, 'SUBSERVICE_REQUIRED')
})

test('what an enabled one needs is not disabled, and its dependents are named; both in one call succeed', async () => {
  await using daemon = await testDaemon()
  const alone = await turn(daemon, 'disable', { services: ['projections'] })
  assert.deepEqual([alone.success, alone.updates], [false, []])
  const { message, ...failure } = alone.failed_services[0]!
  assert.deepEqual(failure, { service: 'projections', code: 'INVALID_STATE', dependents: ['advice'] })
  assert.match(message, /advice still needs projections/)
  assert.deepEqual(await audit(daemon), [])

  const both = await turn(daemon, 'disable', { services: ['projections', 'advice'] })
  assert.deepEqual([both.success, both.updates.length], [true, 2])
  assert.equal((await audit(daemon)).length, 2)
})

test('what needs a disabled one is not enabled', async () => {
  await using daemon = await testDaemon()
  await turn(daemon, 'disable', { services: ['projections', 'advice'] })
  const { success, failed_services } = await turn(daemon, 'enable', { services: ['advice'] })
  assert.deepEqual([success, failed_services[0]?.code], [false, 'DEPENDENCY_DISABLED'])
  assert.equal((await statusOf(daemon, 'advice')).enabled, false)
})

test('kv and unknown names fail by name, and do not stop the others', async () => {
  await using daemon = await testDaemon()
  const { success, updates, failed_services } = await turn(daemon, 'disable', {
    services: ['kv', 'nonsense', 'mcp'],
  })
  assert.equal(success, false)
  assert.deepEqual(
    updates.map(({ service }) => service),
    ['mcp'],
  )
  assert.deepEqual(
    failed_services.map(({ service, code }) => [service, code]),
    [
      ['kv', 'SUBSERVICE_REQUIRED'],
      ['nonsense', 'NOT_FOUND'],
    ],
  )
})

test('a property of every object (`constructor`) is no sub-service', async () => {
  await using daemon = await testDaemon()
  for (const action of ['enable', 'disable'] as const) {
    const services = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
    const { success, failed_services } = await turn(daemon, action, { services })
    assert.equal(success, false)
    assert.deepEqual(new Set(failed_services.map(({ code }) => code)), new Set(['NOT_FOUND']))
    assert.equal(failed_services.length, 4)
  }
})

test('a body that names nothing, or names it wrongly, is 400', async () => {
  await using daemon = await testDaemon()
  for (const body of [
    undefined,
    {},
    [],
    { services: [] },
    { services: 'mcp' },
    { services: [5] },
    { service: 7 },
    { services: ['mcp'], drain_timeout_ms: 8_001 },
    { services: ['mcp'], auto_revert_ms: 0 },
    { services: ['mcp'], dry_run: 'yes' },
  ]) {
    const { status, error } = await daemon.admin('POST /admin/services/disable', body)
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], JSON.stringify(body))
  }
  assert.deepEqual(await audit(daemon), [])
})

test('a switch with auto-revert is reverted in time, with an audit row of its own', async () => {
  await using daemon = await testDaemon()
  await turn(daemon, 'disable', { services: ['mcp'], auto_revert_ms: 600_000 })
  const status = await statusOf(daemon, 'mcp')
  assert.equal(status.enabled, false)
  assert.ok(Date.parse(String(status.auto_revert_at)) > Date.now() + 300_000)
  // As if the time were nearly over. How soon after it is measured by `test:system -- admin`.
  const dueAt = Date.now() + 200
  await daemon.sql(`update loci.subservices set auto_revert_at = $1 where name = 'mcp'`, [new Date(dueAt)])

  await eventually(async () => (await statusOf(daemon, 'mcp')).enabled)

  assert.ok(Date.now() >= dueAt - 50, 'and not before')
  assert.equal((await statusOf(daemon, 'mcp')).auto_revert_at, null)
  const rows = await audit(daemon)
  assert.deepEqual(
    rows.map(({ action, actor }) => [action, String(actor).split(':')[0]]),
    [
      ['subservice.disable', 'admin'],
      ['subservice.enable', 'auto-revert'],
    ],
  )
})

test('disabling again without auto-revert means for good', async () => {
  await using daemon = await testDaemon()
  await turn(daemon, 'disable', { services: ['mcp'], auto_revert_ms: 60_000 })
  const { updates } = await turn(daemon, 'disable', { services: ['mcp'] })
  assert.ok(updates[0]?.audit_id, 'that is a change, so it is audited')
  assert.equal((await statusOf(daemon, 'mcp')).auto_revert_at, null)
})

test('a switch reaches the second replica, and two replicas revert it once', async () => {
  await using one = await testDaemon()
  await using two = await testDaemon({ replicaOf: one })
  await turn(one, 'disable', { services: ['mcp'] })
  const stateAt = async (daemon: TestDaemon) =>
    (await daemon.get('/health/startup')).json<{ services: Record<string, string> }>().services.mcp
  await eventually(async () => (await stateAt(two)) === 'disabled')
  await turn(one, 'disable', { services: ['mcp'], auto_revert_ms: 100 })
  await eventually(async () => (await stateAt(one)) !== 'disabled' && (await stateAt(two)) !== 'disabled')
  const reverted = (await audit(one)).filter(({ actor }) => String(actor).startsWith('auto-revert'))
  assert.equal(reverted.length, 1)
})

test('administrators who switch at once leave one row per change', async () => {
  await using daemon = await testDaemon()
  // Both come to the switches while a third one holds them, so neither has seen what the other does.
  const admin = testPool(daemon.database.adminUrl)
  const holder = await admin.client()
  await holder.query({ text: 'begin; select name from loci.subservices for update' })
  const both = Promise.all([1, 2].map(() => turn(daemon, 'disable', { services: ['mcp', 'events'] })))
  const waiting =
    'select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0'
  await eventually(async () => (await daemon.sql(waiting)).length === 2)
  await holder.query({ text: 'commit' })
  holder.release()
  await admin.close()

  const answers = await both

  assert.ok(answers.every(({ success }) => success))
  assert.equal(answers.flatMap(({ updates }) => updates).filter(({ changed }) => changed).length, 2)
  assert.equal((await audit(daemon)).length, 2)
})

test('a plan never leaves an enabled sub-service on a disabled one, whatever is asked', () => {
  const all = new Set(SUBSERVICE_NAMES)
  const { accepted, failures } = planSwitch(all, 'disable', ['working_memory', 'projections', 'advice'])
  assert.deepEqual(accepted, ['projections', 'advice'])
  assert.deepEqual(failures[0]?.dependents, ['cognitive'])
  const cascade = planSwitch(new Set(['kv']), 'enable', ['cognitive', 'advice', 'working_memory'])
  assert.deepEqual(cascade.accepted, ['cognitive', 'working_memory'])
  assert.equal(cascade.failures[0]?.code, 'DEPENDENCY_DISABLED')
})

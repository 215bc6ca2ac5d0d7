import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import { SCOPES } from '@loci/contract/roles.ts'
import { type TestManagement, testManagement } from '../testing/management.ts'

const quarantined = (management: TestManagement) =>
  management.sql('select cell_id, service_id, state, generation::int from loci.quarantine')

test('what lives in a cell where it is not, and which its feed cannot take away, is kept aside until it is gone', async () => {
  await using management = await testManagement()
  const [here, there] = [await management.cell(), await management.cell()]
  const { id: svc } = await management.instance(here.id)
  await management.sql('update loci.services set cell_id = $2 where id = $1', [svc, there.id])
  const tell = (generation: number, state: string) => here.report({ observed: [{ svc, generation, state }] })

  await tell(1, 'active')
  assert.deepEqual(await quarantined(management), [], 'its feed says as much: it is told what to do')
  await tell(5, 'active')
  assert.deepEqual(await quarantined(management), [
    { cell_id: here.id, service_id: svc, state: 'active', generation: 5 },
  ])
  await tell(6, 'deleted')
  assert.deepEqual(await quarantined(management), [])
})

test('a service that a restored database knows as failed, and that lives in a cell, is taken back and not erased', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const { id: svc, organizationId: org, tenantId: ten } = await management.instance(cell.id)
  await management.sql(
    `update loci.services set status = 'failed', status_reason = 'no_capacity', cell_id = null, generation = 0,
      published_digest = null, deadline_at = null where id = $1`,
    [svc],
  )
  await management.sql('delete from loci.feed_items where key = $1', [svc])
  await management.sql('delete from loci.due_services')
  await restored(management)
  const living = { svc, org, ten, service_type: 'memory', plan: 'pro', generation: 4, state: 'active' }

  const { status } = await cell.report({ unknown: [living] })

  assert.equal(status, 200)
  const body = await toldOf(cell, svc)
  assert.deepEqual([body.state, body.generation], ['active', 5])
  assert.deepEqual(await quarantined(management), [])
})

/** As after a restore of the control database: the epoch of the feed is another one than the last that was seen. */
function restored(management: TestManagement): Promise<unknown> {
  return management.sql('update loci.feed_epoch set value = value + 1')
}

// Mutants: isExplained always true; without the comparison of timeOfId(); adopted ones active (insertAdopted) and so in
// the quota.
test('an instance that nobody knows is taken back only where a restore explains it, and uses nothing before its owner accepts it', async () => {
  await using management = await testManagement({ settings: { billingWebhookSecrets: ['s'.repeat(32)] } })
  const cell = await management.cell()
  const own = await management.organization()
  const ids = { org: own.organizationId, ten: own.tenantId, service_type: 'kv', plan: 'free', state: 'active' }
  const describe = (svc: string) => cell.report({ unknown: [{ ...ids, svc, generation: 1 }] })
  const [invented, early, late] = [newId('svc'), newId('svc'), newId('svc', Date.now() + 3_600_000)]
  const services = () =>
    management.sql(
      'select id, status, status_reason as reason from loci.services where organization_id = $1 order by id',
      [own.organizationId],
    )

  await describe(invented)
  assert.deepEqual([await services(), (await quarantined(management)).length], [[], 1])

  await restored(management)
  for (const svc of [early, late, newId('svc')]) await describe(svc)
  const [{ count }] = (await management.sql('select count(*)::int as count from loci.quarantine')) as [
    { count: number },
  ]
  assert.equal(count, 2, 'the invented one, and the one that is younger than the restore')
  assert.deepEqual(
    (await services()).map(({ status, reason }) => [status, reason]),
    [
      ['failed', 'recovered'],
      ['failed', 'recovered'],
    ],
  )
  assert.deepEqual(
    (await cell.pull()).items.filter(({ kind }) => kind === 'instance'),
    [],
    'nothing is published',
  )
  const status = (await own.ask(`GET /api/v1/tenants/${own.tenantId}/status`)).json<{
    limits: { services: { used: number } }
  }>()
  assert.equal(status.limits.services.used, 0)

  assert.equal((await own.ask(`POST /api/v1/services/${early}/retry`)).status, 202)
  assert.deepEqual([(await toldOf(cell, early)).state, (await toldOf(cell, early)).generation], ['active', 2])
  const acts = await management.sql(
    `select action, count(*)::int as count from loci.audit where chain = $1 and actor = $2 group by action order by action`,
    [own.organizationId, cell.id],
  )
  assert.deepEqual(acts, [
    { action: 'service.adopt', count: 2 },
    { action: 'service.quarantine', count: 2 },
  ])
})

test('staff takes back what is in quarantine, when its organization is here', async () => {
  await using management = await testManagement()
  const staff = await management.organization({ email: 'staff@loci.example', scopes: [...SCOPES, 'staff'] })
  const cell = await management.cell()
  const own = await management.organization()
  const ids = { service_type: 'kv', plan: 'free', state: 'active', generation: 1 }
  const [known, unknown] = [newId('svc'), newId('svc')]
  await cell.report({
    unknown: [
      { ...ids, svc: known, org: own.organizationId, ten: own.tenantId },
      { ...ids, svc: unknown, org: newId('org'), ten: newId('ten') },
    ],
  })
  const adopt = (svc: string) => staff.ask(`POST /api/v1/quarantine/${cell.id}/${svc}/adopt`)

  assert.equal((await own.ask(`POST /api/v1/quarantine/${cell.id}/${known}/adopt`)).status, 403)
  assert.deepEqual([(await adopt(known)).status, (await adopt(unknown)).error.code], [200, 'INVALID_STATE'])
  assert.equal((await adopt(known)).status, 404)
  const found = (await own.ask(`GET /api/v1/services/${known}`)).json<{ status: string; status_reason: string }>()
  assert.deepEqual([found.status, found.status_reason], ['failed', 'recovered'])
})

/** The look comes after the report. */
async function toldOf(cell: Awaited<ReturnType<TestManagement['cell']>>, svc: string) {
  for (let tries = 0; tries < 1_200; tries += 1) {
    const { items } = await cell.pull()
    const found = items.find(({ kind, key }) => kind === 'instance' && key === svc)
    if (found?.kind === 'instance') return found.body
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${cell.id} was told nothing of ${svc}`)
}

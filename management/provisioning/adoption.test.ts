import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestManagement, testManagement } from '../test-management.ts'

const quarantined = (management: TestManagement) =>
  management.sql('select cell_id, service_id, state, generation::int from loci.quarantine')

test('what lives in a cell where it is not, and which its feed can not take away, is kept aside until it is gone', async () => {
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
  const living = { svc, org, ten, service_type: 'memory', plan: 'pro', generation: 4, state: 'active' }

  const { status } = await cell.report({ unknown: [living] })

  assert.equal(status, 200)
  const body = await toldOf(cell, svc)
  assert.deepEqual([body.state, body.generation], ['active', 5])
  assert.deepEqual(await quarantined(management), [])
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

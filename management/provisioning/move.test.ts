import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testManagement } from '../testing/management.ts'

// Mutant: without holdOrganization() in move(): the due row is locked before the organization.
test('staff places a service that has failed and is in no cell, in a cell of its choice', async () => {
  await using management = await testManagement({ settings: { billingWebhookSecrets: ['s'.repeat(32)] } })
  const cell = await management.cell()
  const party = await management.organization()
  const staff = await management.organization({ email: 'staff@loci.example', scopes: ['services:read', 'staff'] })
  const body = { service_type: 'kv', name: 'n', region: 'nowhere' }
  const { service_id: id } = (await party.ask('POST /api/v1/services', { body })).json<{ service_id: string }>()
  const move = () => staff.ask(`POST /api/v1/services/${id}/move`, { body: { cell_id: cell.id } })
  assert.equal((await move()).error.code, 'INVALID_STATE')
  // As after its deadline.
  await management.sql(
    `update loci.services set status = 'failed', status_reason = 'no_capacity', deadline_at = null where id = $1`,
    [id],
  )
  const moved = await move()
  assert.equal(moved.status, 202, moved.text)
  assert.ok((await cell.pull()).items.some(({ key }) => key === id))
})

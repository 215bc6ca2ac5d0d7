import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { type TestCell, type TestManagement, testManagement } from '../testing/management.ts'

let management: TestManagement
let cell: TestCell
before(async () => {
  management = await testManagement()
  cell = await management.cell()
})
after(() => management?.[Symbol.asyncDispose]())

async function issuer(serviceType: string) {
  const party = await management.organization()
  const service = await management.instance(cell.id, { organization: party.organizationId, tenant: party.tenantId })
  await management.sql('update loci.services set service_type = $2 where id = $1', [service.id, serviceType])
  return async (body: object) => {
    const answer = await party.ask(`POST /api/v1/tenants/${party.tenantId}/tokens`, {
      body: { service_id: service.id, ...body },
    })
    const { ops, keyspaces, error } = answer.json<{ ops: string[]; keyspaces: string[]; error?: { code: string } }>()
    return answer.status === 201 ? { ops, keyspaces } : [answer.status, error?.code]
  }
}

// Mutant: requireGrant() without hasOperation(): every operation is in the token.
test('a token of a service of type kv carries kv, system:read, events:read and, asked for, operator: nothing else', async () => {
  const issue = await issuer('kv')
  const ofKv = ['system:read', 'kv:read', 'kv:write', 'kv:delete', 'events:read']
  assert.deepEqual(await issue({}), { ops: ofKv, keyspaces: ['kv/default'] })
  assert.deepEqual(await issue({ ops: ['kv:read', 'wm:read', 'memory:write'], databases: ['a', 'b'] }), {
    ops: ['kv:read'],
    keyspaces: ['kv/a', 'kv/b'],
  })
  assert.deepEqual(await issue({ ops: OPERATION_NAMES, databases: ['*'] }), {
    ops: [...ofKv, 'operator'],
    keyspaces: ['kv/*'],
  })
  assert.deepEqual(await issue({ ops: ['wm:read', 'cycles:run'] }), [403, 'FORBIDDEN'])
  assert.deepEqual(await issue({ ops: ['teapot'] }), [400, 'VALIDATION_ERROR'])
})

test('a token of a service of type graph carries what one of type memory carries', async () => {
  const [ofGraph, ofMemory] = [await (await issuer('graph'))({}), await (await issuer('memory'))({})]
  assert.deepEqual(ofGraph, ofMemory)
  assert.deepEqual(
    (ofMemory as { ops: string[] }).ops,
    OPERATION_NAMES.filter((op) => op !== 'operator'),
  )
})

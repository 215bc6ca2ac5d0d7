import assert from 'node:assert/strict'
import { test } from 'node:test'
import { route } from '@loci/chassis/route.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { OPERATION_NAMES, type Operation } from '@loci/contract/operations.ts'
import { anyObject } from '@loci/contract/wire.ts'
import { testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'

// Mutant: without requireServiceType() in admit() every operation of the second test is admitted.
const OPEN_IN_KV: Operation[] = ['system:read', 'kv:read', 'kv:write', 'kv:delete', 'events:read']

test('an instance of type kv serves its kv and system routes', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const plain = await authority.addInstance({ service_type: 'kv' })
  const token = plain.root()

  assert.equal((await plain.call(token, 'PUT /v1/kv/entries/a', { body: { value: 1 } })).status, 200)
  assert.equal((await plain.call(token, 'GET /v1/kv/entries/a')).status, 200)
  assert.equal((await plain.call(token, 'GET /v1/system/info')).status, 200)
  const operator = plain.root({ ops: ['operator'], ks: ['*/*'] })
  assert.equal((await plain.call(operator, 'GET /v1/audit')).status, 200)
})

// Mutant: hasDomain() that answers true for an unknown type.
test('whatever a capability says, an instance of type kv opens nothing else: 403 FORBIDDEN', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const { access } = daemon.daemon
  const plain = await authority.addInstance({ service_type: 'kv' })
  const full = await authority.addInstance({ service_type: 'memory' })
  const graph = await authority.addInstance({ service_type: 'graph' })
  const later = await authority.addInstance({ service_type: 'type_of_a_later_release' })
  const spec = { method: 'GET', summary: 's', tag: 't', answers: { 200: anyObject } } as const
  const others = OPERATION_NAMES.filter((op) => op !== 'operator')
  await using server = await testHttpServer([
    ...others.map((op) =>
      route({ ...spec, path: `/${op.replace(':', '-')}`, access: access.capability(op) }, () => ({})),
    ),
    route({ ...spec, path: '/audit', access: access.operator('operate') }, () => ({})),
    route({ ...spec, path: '/config', access: access.operator('operate', 'cognitive') }, () => ({})),
  ])
  const statusOf = async (token: string, path: string) => {
    const answer = await ask(server.url, `GET ${path}`, { headers: { [HEADER.capability]: token } })
    return answer.status === 200 ? 200 : `${answer.status} ${answer.error.code}`
  }

  for (const op of others) {
    const path = `/${op.replace(':', '-')}`
    const claims = { ops: [op], ks: ['*/*'] }
    assert.equal(await statusOf(plain.root(claims), path), OPEN_IN_KV.includes(op) ? 200 : '403 FORBIDDEN', op)
    assert.equal(await statusOf(full.root(claims), path), 200, op)
    assert.equal(await statusOf(graph.root(claims), path), 200, op)
    const isOfInstance = op === 'system:read' || op === 'events:read'
    assert.equal(
      await statusOf(later.root(claims), path),
      isOfInstance ? 200 : '403 FORBIDDEN',
      `${op}, a type unknown`,
    )
  }
  const operator = { ops: ['operator'], ks: ['*/*'] }
  assert.equal(await statusOf(plain.root(operator), '/audit'), 200)
  assert.equal(await statusOf(plain.root(operator), '/config'), '403 FORBIDDEN')
  assert.equal(await statusOf(full.root(operator), '/config'), 200)
})

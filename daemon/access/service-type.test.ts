import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressSet } from '@loci/chassis/addresses.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { createLastUses } from '@loci/chassis/last-uses.ts'
import { route } from '@loci/chassis/route.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { OPERATIONS, type Operation } from '@loci/contract/operations.ts'
import { anyObject } from '@loci/contract/wire.ts'
import { AGELESS } from '../testing/ageless.ts'
import { testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'
import type { Instance } from './authority.ts'
import { createAuthority } from './authority.ts'
import { capabilityAccess } from './capability-access.ts'
import { createRates } from './rates.ts'

// Mutant: without requireOpen() in admit() every operation of the second test is admitted.
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

test('whatever a capability says, an instance of type kv opens nothing else: 403 FORBIDDEN', async () => {
  await using daemon = await testDaemon()
  await using known = await testAuthority(daemon)
  const [plain, full, graph] = [
    await known.addInstance({ service_type: 'kv' }),
    await known.addInstance({ service_type: 'memory' }),
    await known.addInstance({ service_type: 'graph' }),
  ]
  const types = new Map([plain, full, graph].map(({ svc }, at) => [svc, ['kv', 'memory', 'graph'][at] as string]))
  const authority = createAuthority({
    loadInstance: async (id) => ({ id, serviceType: types.get(id), state: 'active', limits: full.limits }) as Instance,
    loadPartnerCredential: async () => undefined,
    ...AGELESS,
  })
  const key = { kid: known.kid, x: known.key.x, state: 'active' as const, retireAt: null }
  const none = { revocations: [], instances: [], partnerCredentials: [] }
  authority.accept({ changeSeq: 1, feedAgeS: 0, isRestored: false, keys: [key], ...none })
  const access = capabilityAccess({
    authority,
    failures: createFailures(1_000),
    rates: createRates(),
    uses: createLastUses(),
    legacyJwt: undefined,
    trustedProxies: addressSet([]),
    feedStaleS: 3_600,
  })
  const spec = { method: 'GET', summary: 's', tag: 't', answers: { 200: anyObject } } as const
  const others = OPERATIONS.filter((op) => op !== 'operator')
  await using server = await testHttpServer([
    ...others.map((op) =>
      route({ ...spec, path: `/${op.replace(':', '-')}`, access: access.capability(op) }, () => ({})),
    ),
    route({ ...spec, path: '/audit', access: access.operator() }, () => ({})),
    route({ ...spec, path: '/config', access: access.operator('cognitive') }, () => ({})),
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
  }
  const operator = { ops: ['operator'], ks: ['*/*'] }
  assert.equal(await statusOf(plain.root(operator), '/audit'), 200)
  assert.equal(await statusOf(plain.root(operator), '/config'), '403 FORBIDDEN')
  assert.equal(await statusOf(full.root(operator), '/config'), 200)
})

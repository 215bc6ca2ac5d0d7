import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { ApiError } from '@loci/chassis/api-error.ts'
import { open } from '@loci/chassis/probes.ts'
import { route } from '@loci/chassis/route.ts'
import { type MatrixRequest, matrixProblems } from '@loci/chassis/test-matrix.ts'
import { ask } from '@loci/chassis/test-request.ts'
import { testHttpServer } from '@loci/chassis/test-server.ts'
import { healthResponse } from '@loci/contract/health.ts'
import { keepKeys } from '../keys/keys.ts'
import type { Service } from '../services/store.ts'
import { ACTOR, type TestManagement, testManagement } from '../test-management.ts'
import { mintToken } from '../tokens/tokens.ts'
import { credentialsOf, type Holders, type Kind, MATRIX } from './matrix.ts'

let management: TestManagement
let service: Service
let holders: Holders

before(async () => {
  management = await testManagement()
  const [own, other] = [await management.cell(), await management.cell()]
  service = await management.instance(own.id)
  await management.instance(other.id, { organization: 'Globex' })
  await keepKeys(management.pool, management.sealer)
  const { token } = await management.within(service, (sql) =>
    mintToken(sql, management.issuer, service, { ops: ['operator'], databases: ['*'] }, ACTOR),
  )
  holders = { own, other, capability: token }
})
after(() => management?.[Symbol.asyncDispose]())

const asker =
  (url: string, leaks: string[] = []) =>
  async (kind: Kind, { line, body }: MatrixRequest) => {
    const report = { report_id: randomUUID(), observed: [{ svc: service.id, generation: 1, state: 'active' }] }
    const answer = await ask(url, line, { headers: credentialsOf(kind, holders), body: body && report })
    const canaries = [service.id, service.tenantId, service.organizationId]
    // Who names an instance is told that it is not his; he learns nothing that he did not say.
    const isRepeated = line === 'POST /cell/v1/reports' && kind === 'cell key of another cell'
    if (kind !== 'cell key' && !isRepeated && canaries.some((text) => answer.text.includes(text)))
      leaks.push(`${line} with '${kind}'`)
    return answer
  }

test('every registered route answers every kind of credential as the reviewed table says', async () => {
  const leaks: string[] = []
  assert.deepEqual(await matrixProblems(MATRIX, management.management.routes, asker(management.url, leaks)), [])
  assert.deepEqual(leaks, [])
})

test('the canary of the first cell is in its own feed', async () => {
  const answer = await asker(management.url)('cell key', {
    line: 'GET /cell/v1/feed',
    body: undefined,
    operation: undefined,
  })
  assert.ok(answer.text.includes(service.id))
})

test('a route that nobody reviewed is found', async () => {
  const answers = { 200: healthResponse }
  const extra = route(
    { method: 'GET', path: '/api/v1/extra', access: open, summary: 's', tag: 't', answers },
    () => ({}),
  )
  assert.deepEqual(await matrixProblems(MATRIX, [...management.management.routes, extra], asker(management.url)), [
    'GET /api/v1/extra is registered and has no row: review who may call it and add one',
  ])
})

test('an open route that looks at a credential all the same is found', async () => {
  const live = management.management.routes.find(({ spec }) => spec.path === '/health/live')!
  const curious = {
    ...open,
    authorize({ headers }: { headers: Record<string, unknown> }) {
      if (headers.cookie) throw new ApiError('UNAUTHENTICATED', 'no')
      return undefined
    },
  }
  const routes = [route({ ...live.spec, access: curious }, live.handle)]
  await using server = await testHttpServer(routes)
  const matrix = { ...MATRIX, rows: { 'GET /health/live': { class: 'open' } } }
  assert.deepEqual(await matrixProblems(matrix, routes, asker(server.url)), [
    "GET /health/live with 'garbage cookie': expected as none, came 401 UNAUTHENTICATED",
  ])
})

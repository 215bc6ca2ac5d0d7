import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ApiError } from '@loci/chassis/api-error.ts'
import { open } from '@loci/chassis/probes.ts'
import { route } from '@loci/chassis/route.ts'
import { type MatrixRequest, matrixProblems } from '@loci/chassis/test-matrix.ts'
import { ask } from '@loci/chassis/test-request.ts'
import { testHttpServer } from '@loci/chassis/test-server.ts'
import { healthResponse } from '@loci/contract/health.ts'
import { type TestManagement, testManagement } from '../test-management.ts'
import { CREDENTIALS, type Kind, MATRIX } from './matrix.ts'

let management: TestManagement
before(async () => {
  management = await testManagement()
})
after(() => management?.[Symbol.asyncDispose]())

const asker =
  (url: string) =>
  (kind: Kind, { line, body }: MatrixRequest) =>
    ask(url, line, { headers: CREDENTIALS[kind], body })

test('every registered route answers every kind of credential as the reviewed table says', async () => {
  assert.deepEqual(await matrixProblems(MATRIX, management.management.routes, asker(management.url)), [])
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

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { ApiError } from './api-error.ts'
import { createRefusalLines } from './refusal-lines.ts'
import { type Access, route } from './route.ts'
import { eventually } from './testing/request.ts'
import { testHttpServer } from './testing/server.ts'

// Mutants: next() that answers 0; SAMPLE lines without their count; one count for all addresses.
test('an address has sixty lines of refusals a minute, then each hundredth, and each says how many left none', () => {
  const clock = { ms: 0 }
  const lines = createRefusalLines(() => clock.ms)
  const counted = (network: string, times: number) =>
    Array.from({ length: times }, () => lines.next(network)).filter((one) => one !== undefined)
  assert.deepEqual(counted('a', 60), Array(60).fill(0))
  assert.deepEqual(counted('a', 250), [99, 99])
  assert.deepEqual(counted('b', 1), [0])
  clock.ms += 60_000
  assert.deepEqual(counted('a', 1), [0])
})

test('addresses that there is no room for share one count', () => {
  const lines = createRefusalLines(() => 0)
  for (let i = 0; i < 10_000; i += 1) lines.next(`a${i}`)
  const counted = Array.from({ length: 200 }, (_, i) => lines.next(`b${i}`)).filter((one) => one !== undefined)
  assert.equal(counted.length, 61)
})

// Mutants: #isOfStranger() that is true of everybody, or of nobody.
test('strangers who are refused leave few lines, and whoever is known leaves one for each', async () => {
  const asked: Access<string> = {
    class: 'key',
    schemes: [['key']],
    errors: [],
    authorize({ headers }) {
      if (headers.authorization !== 'good') throw new ApiError('UNAUTHENTICATED', 'no')
      return 'somebody'
    },
  }
  const spec = { method: 'GET', summary: 's', tag: 't', answers: { 200: z.object({}) } } as const
  const known = route({ ...spec, path: '/known', access: asked }, () => {
    throw new ApiError('NOT_FOUND', 'no')
  })
  await using server = await testHttpServer([known])
  const linesOf = (status: number) => server.lines.filter((line) => JSON.parse(line).status === status).length
  for (let i = 0; i < 100; i += 1) {
    await server.ask('GET /known')
    await server.ask('GET /known', { headers: { authorization: 'good' } })
  }
  await eventually(() => linesOf(404) === 100)
  assert.equal(linesOf(401), 60)
})

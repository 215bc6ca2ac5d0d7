import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { createAddressRates } from './address-rates.ts'
import { addressSet } from './addresses.ts'
import { createLifecycle } from './lifecycle.ts'
import { createLimiter, SUSPECTS, strangersAt } from './limiter.ts'
import { createMetrics } from './metrics.ts'
import { documentRoutes, open, probeRoutes } from './probes.ts'
import { route } from './route.ts'
import { testHttpServer } from './testing/server.ts'

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 't', version: 'v', description: 'd'.repeat(300_000) },
  paths: {},
  components: { schemas: {} },
}

/** A clock that stands still unless it is moved. */
async function probed(trustedProxies: string[] = []) {
  const clock = { ms: 0 }
  const lifecycle = createLifecycle()
  const metrics = createMetrics({ version: 'x' })
  const probes = probeRoutes({ lifecycle, metrics, prefixes: ['', '/v1'], parts: () => ({}) })
  lifecycle.move('warming', 'test')
  lifecycle.move('ready', 'test')
  const server = await testHttpServer([...probes, ...documentRoutes(() => DOCUMENT)], {
    ...{ lifecycle, metrics, trustedProxies: addressSet(trustedProxies) },
    addressRates: createAddressRates(() => clock.ms),
  })
  return Object.assign(server, { clock })
}

type Probed = Awaited<ReturnType<typeof probed>>

async function untilRefused(server: Probed, line: string, options = {}): Promise<number> {
  for (let count = 0; count < 300; count += 1) {
    const { status, error, headers } = await server.ask(line, options).then((answer) => ({
      ...answer,
      error: answer.status === 429 ? answer.error : undefined,
    }))
    if (status === 200 || status === 304) continue
    assert.deepEqual([status, error?.code], [429, 'RATE_LIMITED'])
    assert.ok(Number(headers['retry-after']) >= 1)
    return count
  }
  throw new Error('never refused')
}

// Mutants: addressRates.take() left out of admit(); charge() left out of succeed(): 2,000 documents before one is
// refused.
test('an address that asks for documents again and again is refused by what they weigh, and others are not', async () => {
  await using server = await probed()
  const count = await untilRefused(server, 'GET /openapi.json')
  assert.ok(count >= 50 && count <= 120, `${count} documents of 300 KB`)
  assert.equal((await server.ask('GET /metrics')).status, 429)
  assert.equal((await server.ask('GET /openapi.json', { from: '127.0.0.2' })).status, 200)
  server.clock.ms += 1_000
  const more = await untilRefused(server, 'GET /openapi.json')
  assert.ok(more >= 5 && more <= 15, `${more} in a second`)
})

// Mutant: `units: 1` for the probes too.
test('what a load balancer asks for is never refused', async () => {
  await using server = await probed()
  await untilRefused(server, 'GET /openapi.json')
  for (const prefix of ['', '/v1'])
    for (const name of ['live', 'ready', 'startup'])
      for (let i = 0; i < 20; i += 1) assert.equal((await server.ask(`GET ${prefix}/health/${name}`)).status, 200)
})

// Mutant: the rate of the peer whoever it speaks for.
test('behind a trusted proxy the rate is that of the client it names', async () => {
  await using server = await probed(['127.0.0.1'])
  const client = (address: string) => ({ headers: { 'x-forwarded-for': address } })
  await untilRefused(server, 'GET /openapi.json', client('198.51.100.1'))
  assert.equal((await server.ask('GET /openapi.json', client('198.51.100.2'))).status, 200)
  assert.equal((await server.ask('GET /openapi.json', client('198.51.100.1'))).status, 429)
})

// Mutant: NEWCOMERS left out of keyOf() of paces.ts: the flood has a rate of its own for each address.
test('a flood of addresses shares one rate when there is no room for more, and forgets nobody who is over', () => {
  const clock = { ms: 0 }
  const rates = createAddressRates(() => clock.ms)
  for (let i = 0; i < 50_000; i += 1) assert.equal(rates.take(`a${i}`, 100), undefined)
  rates.charge('a0', 2_000)
  let taken = 0
  while (taken < 100 && !rates.take(`b${taken}`, 100)) taken += 1
  assert.equal(taken, 20)
  assert.ok(rates.take('a0', 1))
  assert.equal(rates.take('a1', 1), undefined)
  clock.ms += 60_000
  assert.equal(rates.take('c', 1), undefined)
})

// Mutants: strangersAt() left out of admit(); an open route that gives its share back before its handler runs.
test('the open routes of one address hold a sixteenth of the slots', async () => {
  const limiter = createLimiter({ runningMax: 64, queueMax: 256, queueMs: 60_000 })
  const gate = Promise.withResolvers<object>()
  const spec = { method: 'GET', summary: 's', tag: 't', answers: { 200: z.object({}) } } as const
  const slow = route({ ...spec, path: '/slow', access: open }, () => gate.promise)
  const quick = route({ ...spec, path: '/quick', access: { ...open, units: 0 } }, () => ({}))
  await using server = await testHttpServer([slow, quick], { limiter })
  const asked = Array.from({ length: 30 }, () => server.ask('GET /slow'))
  await server.ask('GET /quick')
  while (limiter.running + limiter.waiting < 30) await server.ask('GET /quick')
  assert.deepEqual([limiter.running, limiter.waiting], [4, 26])
  assert.equal((await server.ask('GET /quick')).status, 200)
  gate.resolve({})
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
  assert.equal(limiter.running, 0)
  assert.notEqual(strangersAt('a'), SUSPECTS)
})

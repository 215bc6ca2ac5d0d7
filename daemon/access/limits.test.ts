import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { testAuthority } from '../test-authority.ts'
import { testDaemon } from '../test-daemon.ts'
import { createRates } from './rates.ts'

const LIST = 'GET /v1/kv/entries'

test('an address whose credentials keep failing is slowed, and a valid credential from there never is', async () => {
  await using daemon = await testDaemon({ settings: { unauthenticatedPerMinute: 5 } })
  await using authority = await testAuthority(daemon)
  const { root, call } = await authority.addInstance()
  const bad = () => daemon.get('/v1/kv/entries', { 'x-loci-capability': 'x' })
  for (let i = 0; i < 5; i += 1) assert.equal((await bad()).status, 401)
  const slowed = await bad()
  assert.deepEqual([slowed.status, slowed.error.code], [429, 'RATE_LIMITED'])
  assert.ok(Number(slowed.headers['retry-after']) >= 1 && Number(slowed.headers['retry-after']) <= 60)
  assert.equal((await daemon.get('/v1/kv/entries')).status, 429, 'none at all is one that fails')
  assert.equal((await call(root(), LIST)).status, 200)
  assert.equal((await call(root({ ops: ['kv:write'] }), LIST)).error.code, 'OPERATION_NOT_ALLOWED')
})

test('what a valid credential may not do is no failure of the credential', async () => {
  await using daemon = await testDaemon({ settings: { unauthenticatedPerMinute: 5 } })
  await using authority = await testAuthority(daemon)
  const { root, call } = await authority.addInstance()
  for (let i = 0; i < 20; i += 1) assert.equal((await call(root({ ops: ['kv:write'] }), LIST)).status, 403)
  assert.equal((await daemon.get('/v1/kv/entries')).status, 401)
})

test('failures are counted by address and forgotten after a minute', () => {
  let now = 0
  const failures = createFailures(2, () => now)
  const refusal = new ApiError('UNAUTHENTICATED', 'no')
  const codes = (address: string) => [1, 2, 3].map(() => failures.refuse(address, refusal).code)
  assert.deepEqual(codes('a'), ['UNAUTHENTICATED', 'UNAUTHENTICATED', 'RATE_LIMITED'])
  assert.deepEqual(codes('b'), ['UNAUTHENTICATED', 'UNAUTHENTICATED', 'RATE_LIMITED'])
  now = 59_999
  assert.equal(failures.refuse('a', refusal).code, 'RATE_LIMITED')
  now = 60_000
  assert.deepEqual(codes('a'), ['UNAUTHENTICATED', 'UNAUTHENTICATED', 'RATE_LIMITED'])
})

test('a flood from many addresses does not fill the memory', () => {
  const failures = createFailures(1, () => 0)
  const refusal = new ApiError('UNAUTHENTICATED', 'no')
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < 300_000; i += 1) failures.refuse(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, refusal)
  assert.ok(process.memoryUsage().heapUsed - before < 64 * 2 ** 20)
})

test('an instance gets its burst, then its rate, and is told when to come back; another is not touched', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const limits = { databases: 1, records: 10, bytes: 1e6, streams: 1, requests_per_second: 2, burst: 4 }
  const busy = await authority.addInstance({ limits })
  const quiet = await authority.addInstance()
  const token = busy.root()
  // While the machine makes a call in less than half a second, the fifth is refused; else the rate has filled up meanwhile.
  const startedAt = performance.now()
  let granted = 0
  const untilRefused = async () => {
    for (;;) {
      const answer = await busy.call(granted % 2 ? token : busy.root(), LIST)
      const filled = 2 * ((performance.now() - startedAt) / 1_000)
      if (answer.status !== 200) return answer
      granted += 1
      assert.ok(granted <= 4 + filled, `${granted} granted after ${performance.now() - startedAt} ms`)
    }
  }
  const refused = await untilRefused()
  assert.ok(granted >= 4)
  assert.deepEqual([refused.status, refused.error.code], [429, 'RATE_LIMITED'])
  assert.equal(refused.headers['retry-after'], '1')
  assert.equal((await quiet.call(quiet.root(), LIST)).status, 200)
  const before = granted
  await sleep(refused.error.retryAfterMs as number)
  assert.equal((await untilRefused()).status, 429, 'by either token: the rate is the instance’s')
  assert.ok(granted > before, 'it was told when to come back')
})

test('a credential that fails takes nothing of the instance that it names', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const limits = { databases: 1, records: 10, bytes: 1e6, streams: 1, requests_per_second: 1, burst: 2 }
  const busy = await authority.addInstance({ limits })
  const token = busy.root()
  const [header, , signature] = token.split('.')
  const [, claims] = busy.root({ jti: 'cap_other' }).split('.')
  for (let i = 0; i < 10; i += 1) assert.equal((await busy.call(`${header}.${claims}.${signature}`, LIST)).status, 401)
  assert.equal((await busy.call(token, LIST)).status, 200)
})

test('the rate refills evenly, never beyond the burst, and a replica grants its share', () => {
  let now = 1_000
  const rates = createRates(() => now)
  const taken = () => {
    let count = 0
    try {
      for (;;) {
        rates.take('svc', 10, 20, true)
        count += 1
      }
    } catch (error) {
      return [count, (error as { retryAfterMs?: number }).retryAfterMs]
    }
  }
  assert.deepEqual(taken(), [20, 100])
  now += 99
  assert.deepEqual(taken(), [0, 1])
  now += 1
  assert.deepEqual(taken(), [1, 100])
  now += 550
  assert.deepEqual(taken(), [5, 50])
  now += 3_600_000
  assert.deepEqual(taken(), [20, 100], 'an hour of silence is not saved up')
  rates.setShares(new Map([['svc', 0.5]]))
  now += 3_600_000
  assert.deepEqual(taken(), [20, 200])
  assert.equal(rates.drainCounts().get('svc')?.requests, 20 + 1 + 0 + 1 + 1 + 1 + 5 + 1 + 20 + 1 + 20 + 1)
  assert.equal(rates.drainCounts().size, 0)
})

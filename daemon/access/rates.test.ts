import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRates, payingDue } from './rates.ts'

const PAYER = {
  id: 'svc',
  organizationId: 'org',
  limits: { databases: 1, records: 1, bytes: 1, streams: 1, requests_per_second: 10, burst: 20 },
}

test('the rate refills evenly, never beyond the burst, and a replica grants its share', () => {
  let now = 1_000
  const rates = createRates(() => now)
  const taken = () => {
    let count = 0
    try {
      for (;;) {
        rates.take(PAYER, true)
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
  assert.equal(rates.drainCounts().instances.get('svc')?.requests, 20 + 1 + 0 + 1 + 1 + 1 + 5 + 1 + 20 + 1 + 20 + 1)
  assert.equal(rates.drainCounts().instances.size, 0)
})

test('the rate counts work: an admitted request is charged for the rest, and the next one waits until that is paid', () => {
  let now = 1_000
  const rates = createRates(() => now)
  const take = (cost?: number) => rates.take(PAYER, true, cost)
  take(50)
  assert.throws(() => take(), { code: 'RATE_LIMITED', retryAfterMs: 3_100 })
  now += 3_100
  take()
  rates.charge(PAYER, 30, false)
  assert.throws(() => rates.charge(PAYER, 30, false), { code: 'RATE_LIMITED' }, 'a second large body at once')
  rates.charge(PAYER, 5, true)
  now += 10_000
  take()
})

// Mutants: chargeUpkeep() that adds all of it, or looks at the instance alone; payingDue() that pays for cycles as for
// upkeep.
test('upkeep uses up half of the burst and leaves no debt; cycles and advice leave one, and who is unknown pays nothing', () => {
  const now = 1_000
  const rates = createRates(() => now)
  const pay = payingDue(rates, (id) => (id === PAYER.id ? PAYER : undefined))
  const together = { ...PAYER, id: 'other', limits: { ...PAYER.limits, organization_rate: 1 } }
  for (let n = 0; n < 3; n += 1) pay('index', PAYER.id, 1_000_000)
  for (let n = 0; n < 10; n += 1) rates.take(PAYER, false)
  assert.throws(() => rates.take(PAYER, false), { code: 'RATE_LIMITED', retryAfterMs: 100 })
  for (let n = 0; n < 9; n += 1) rates.chargeUpkeep({ ...together, id: `${n}` }, 1_000)
  rates.take(together, false)
  pay('cycle', 'unknown', 1_000_000)
  pay('cycle', PAYER.id, 30_000)
  assert.equal(rates.isInDebt(PAYER), true)
  assert.throws(() => rates.take(PAYER, false), { code: 'RATE_LIMITED', retryAfterMs: 2_100 })
})

// Mutants: organizationOf() that answers undefined; that takes the interval of one instance, or its share; no counts of
// organizations.
test('the services of an organization have a bucket together, as many times the rate of one as the plan says', () => {
  let now = 1_000
  const rates = createRates(() => now)
  const serviceOf = (organizationId: string, id: string, perSecond: number) => {
    const limits = { ...PAYER.limits, requests_per_second: perSecond, burst: 2 * perSecond, organization_rate: 2 }
    return { id, organizationId, limits }
  }
  const takenBy = (payer: ReturnType<typeof serviceOf>) => {
    for (let count = 0; ; count += 1)
      try {
        rates.take(payer, true)
      } catch (error) {
        return [count, /services of the organization/.test(String(error))] as const
      }
  }
  const services = ['a', 'b', 'c'].map((id) => serviceOf('org', id, 10))
  assert.deepEqual(services.map(takenBy), [
    [20, false],
    [20, false],
    [0, true],
  ])
  assert.deepEqual(takenBy(serviceOf('other', 'd', 10)), [20, false], 'another organization is not concerned')
  now += 1_000
  assert.deepEqual(services.map(takenBy), [
    [10, false],
    [10, false],
    [0, true],
  ])
  now += 3_600_000
  // In time: what fills the burst of a plan takes as much of the bucket as that of any other plan.
  assert.deepEqual([serviceOf('org', 'a', 10), serviceOf('org', 'e', 100)].map(takenBy), [
    [20, false],
    [200, false],
  ])
  // Counted together, so that replicas share its rate.
  assert.deepEqual(rates.drainCounts().organizations.get('other'), { units: 21, perSecond: 20 })
  rates.charge(serviceOf('org', 'a', 10), 100, true)
  assert.ok(rates.isInDebt(serviceOf('org', 'f', 10)), 'due work of another service of theirs waits as well')
  assert.ok(!rates.isInDebt(serviceOf('other', 'g', 10)))
  now += 3_600_000
  // A small share of one service at this replica takes nothing from the others.
  rates.setShares(new Map([['a', 0.05]]))
  assert.deepEqual([serviceOf('org', 'a', 10), serviceOf('org', 'b', 10)].map(takenBy), [
    [20, false],
    [20, false],
  ])
  now += 3_600_000
  rates.setShares(new Map([['org', 0.25]]))
  const burst = services.map(takenBy)
  now += 1_000
  assert.deepEqual(
    [...burst, ...services.map(takenBy)],
    [
      [20, false],
      [20, false],
      [0, true],
      [5, true],
      [0, true],
      [0, true],
    ],
  )
})

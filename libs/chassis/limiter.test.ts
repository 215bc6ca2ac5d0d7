import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLimiter, SUSPECTS } from './limiter.ts'

test('a free slot is taken at once, without a promise', () => {
  const limiter = createLimiter({ runningMax: 2, queueMax: 1, queueMs: 1_000 })
  assert.equal(limiter.acquire(), undefined)
  assert.equal(limiter.acquire(), undefined)
  assert.deepEqual([limiter.running, limiter.waiting], [2, 0])
})

test('waiters get slots in the order in which they came, and the number of running never passes its bound', async () => {
  const limiter = createLimiter({ runningMax: 1, queueMax: 3, queueMs: 5_000 })
  void limiter.acquire()
  const order: number[] = []
  const waiting = [1, 2, 3].map((n) => limiter.acquire()?.then(() => order.push(n)))
  assert.deepEqual([limiter.running, limiter.waiting], [1, 3])

  for (const one of waiting) {
    limiter.release()
    await one
    assert.equal(limiter.running, 1)
  }

  assert.deepEqual(order, [1, 2, 3])
  limiter.release()
  assert.deepEqual([limiter.running, limiter.waiting], [0, 0])
})

test('who finds the queue full is refused at once', () => {
  const limiter = createLimiter({ runningMax: 1, queueMax: 0, queueMs: 1_000 })
  void limiter.acquire()
  assert.throws(() => limiter.acquire(), { code: 'OVERLOADED' })
  assert.deepEqual([limiter.running, limiter.waiting], [1, 0])
  limiter.release()
  assert.equal(limiter.acquire(), undefined, 'a refusal takes no slot')
})

test('who waits too long is refused, each in its own time, and takes no slot', async (t) => {
  const pass = fakeTime(t)
  const limiter = createLimiter({ runningMax: 1, queueMax: 10, queueMs: 60 })
  void limiter.acquire()
  const first = assert.rejects(async () => limiter.acquire(), { code: 'OVERLOADED' })
  pass(30)
  const second = assert.rejects(async () => limiter.acquire(), { code: 'OVERLOADED' })

  pass(29)
  assert.equal(limiter.waiting, 2)
  pass(1)
  await first
  assert.equal(limiter.waiting, 1)
  pass(29)
  assert.equal(limiter.waiting, 1)
  pass(1)
  await second

  assert.deepEqual([limiter.running, limiter.waiting], [1, 0])
  limiter.release()
  assert.equal(limiter.running, 0)
})

test('of many who find the queue full only some are refused at once; the others are paced, in order, and none is forgotten', async (t) => {
  const pass = fakeTime(t)
  const limiter = createLimiter({ runningMax: 1, queueMax: 0, queueMs: 1_000 })
  void limiter.acquire()
  const refused: number[] = []
  let atOnce = 0
  const held = Array.from({ length: 100 }, (_, at) => {
    try {
      return limiter.acquire()?.catch(() => refused.push(at))
    } catch {
      atOnce += 1
      return undefined
    }
  })
  assert.equal(atOnce, 50)
  let ms = 0
  for (; refused.length < 50; ms += 20) {
    pass(20)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(held)

  assert.deepEqual(
    refused,
    Array.from({ length: 50 }, (_, at) => 50 + at),
  )
  assert.ok(ms >= 100 && ms <= 140, `500 a second: fifty more take a tenth of one, not ${ms} ms`)
  assert.deepEqual([limiter.running, limiter.waiting], [1, 0])
})

/** The limiter's clock and timers; real ones would make these tests depend on how soon a timer is served. */
function fakeTime(t: TestContext): (ms: number) => void {
  let now = 1_000
  t.mock.timers.enable({ apis: ['setTimeout'] })
  t.mock.method(performance, 'now', () => now)
  return (ms) => {
    for (let passed = 0; passed < ms; passed += 1) {
      now += 1
      t.mock.timers.tick(1)
    }
  }
}

test('a caller with its share waits for a slot of its own; the slot it came with goes to somebody else', async () => {
  const limiter = createLimiter({ runningMax: 4, queueMax: 8, queueMs: 5_000 })
  void limiter.acquire()
  assert.equal(limiter.assign('a'), undefined)
  void limiter.acquire()
  const second = limiter.assign('a')
  assert.ok(second)
  assert.deepEqual([limiter.running, limiter.waiting], [1, 1])
  limiter.release('a')
  await second
  assert.deepEqual([limiter.running, limiter.waiting], [1, 0])
  limiter.release('a')
  assert.equal(limiter.running, 0)
  void limiter.acquire()
  assert.equal(limiter.assign('a'), undefined, 'its share is free again')
})

test('who gave its slot back for its body comes before those who have had none, but not beyond its share', async () => {
  const limiter = createLimiter({ runningMax: 4, queueMax: 8, queueMs: 5_000 })
  for (const caller of ['a', 'b', 'c', 'd']) {
    void limiter.acquire()
    assert.equal(limiter.assign(caller), undefined)
  }
  const order: string[] = []
  const newcomer = limiter.acquire()?.then(() => order.push('newcomer'))
  const again = limiter.resume('e')?.then(() => order.push('e'))
  const beyond = limiter.resume('a')?.then(() => order.push('a, a second time'))
  limiter.release('b')
  await again
  limiter.release('c')
  await newcomer
  assert.deepEqual(order, ['e', 'newcomer'])
  limiter.release('a')
  await beyond
  assert.equal(order.at(-1), 'a, a second time')
  assert.deepEqual([limiter.running, limiter.waiting], [4, 0])
})

test('a crowd of one caller is bounded and expires like any queue', async () => {
  const limiter = createLimiter({ runningMax: 4, queueMax: 8, queueMs: 40 })
  void limiter.acquire()
  void limiter.assign('a')
  const join = () => {
    void limiter.acquire()
    return limiter.assign('a')
  }
  const waiting = [join(), join()]
  assert.throws(join, { code: 'OVERLOADED' })
  limiter.release()
  for (const one of waiting) await assert.rejects(async () => one, { code: 'OVERLOADED' })
  assert.deepEqual([limiter.running, limiter.waiting], [1, 0])
})

// Mutants: shareMax for suspects as for everybody; no bound of suspects in the queue (the newcomer is refused).
test('suspects have few slots and few places in the queue; the others of them wait among themselves', async () => {
  const limiter = createLimiter({ runningMax: 8, queueMax: 4, queueMs: 5_000 })
  assert.equal(limiter.acquire(SUSPECTS), undefined)
  const second = limiter.acquire(SUSPECTS)
  assert.ok(second, 'one of eight is theirs')
  for (let n = 0; n < 7; n += 1) assert.equal(limiter.acquire(), undefined)
  limiter.release(SUSPECTS)
  await second
  limiter.release(SUSPECTS)
  assert.equal(limiter.running, 7)
  assert.equal(limiter.acquire(), undefined)
  const queued = limiter.acquire(SUSPECTS)
  assert.ok(queued)
  assert.throws(() => Array.from({ length: 3 }, () => limiter.acquire(SUSPECTS)), { code: 'OVERLOADED' })
  const newcomer = limiter.acquire()
  assert.ok(newcomer, 'three of the four places are for everybody')
  limiter.release()
  limiter.release()
  await Promise.all([queued, newcomer])
})

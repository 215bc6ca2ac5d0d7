import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimiter } from './limiter.ts'

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

test('who waits too long is refused, each in its own time, and takes no slot', async () => {
  const limiter = createLimiter({ runningMax: 1, queueMax: 10, queueMs: 60 })
  void limiter.acquire()
  const startedAt = performance.now()
  const first = assert.rejects(async () => limiter.acquire(), { code: 'OVERLOADED' })
  await new Promise((resolve) => setTimeout(resolve, 30))
  const second = assert.rejects(async () => limiter.acquire(), { code: 'OVERLOADED' })

  await first
  assert.equal(limiter.waiting, 1)
  await second

  assert.ok(performance.now() - startedAt >= 85)
  assert.deepEqual([limiter.running, limiter.waiting], [1, 0])
  limiter.release()
  assert.equal(limiter.running, 0)
})

test('of many who find the queue full only some are refused at once; the others are paced, in order, and none is forgotten', async () => {
  const limiter = createLimiter({ runningMax: 1, queueMax: 0, queueMs: 1_000 })
  void limiter.acquire()
  const startedAt = performance.now()
  const at: number[] = []
  let atOnce = 0
  const held = Array.from({ length: 100 }, () => {
    try {
      return limiter.acquire()?.catch(() => at.push(performance.now() - startedAt))
    } catch {
      atOnce += 1
      return undefined
    }
  })
  await Promise.all(held)

  assert.ok(atOnce >= 50 && atOnce < 60, `${atOnce} at once`)
  assert.equal(at.length, 100 - atOnce)
  assert.ok((at.at(-1) as number) >= 60, 'fifty more take a tenth of a second')
  assert.ok((at.at(-1) as number) <= 2_500)
  assert.deepEqual([limiter.running, limiter.waiting], [1, 0])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWaiting } from './waiting.ts'

const never = new AbortController().signal

async function took(waited: Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await waited
  return performance.now() - startedAt
}

test('a wait ends at once when its own cell is told, and not for another', async () => {
  const waiting = createWaiting({ readEnds: async (ids) => new Map(ids.map((id) => [id, 5])) })
  const mine = took(waiting.wait('mine', 5, 10_000, never))
  const theirs = took(waiting.wait('theirs', 5, 300, never))

  waiting.wake('mine')

  assert.ok((await mine) < 9_000, 'before its wait was over')
  assert.ok((await theirs) >= 290)
})

test('a change by another process is found by asking, also one that put the numbers back', async () => {
  let end = 5
  const waiting = createWaiting({ readEnds: async (ids) => new Map(ids.map((id) => [id, end])), everyMs: 20 })
  const waited = took(waiting.wait('cell', 5, 10_000, never))
  end = 3

  assert.ok((await waited) < 9_000)
})

test('a database that does not answer wakes nobody and does not stop the asking', async () => {
  let asked = 0
  const readEnds = async () => {
    asked += 1
    if (asked < 3) throw new Error('away')
    return new Map([['cell', 6]])
  }
  const waiting = createWaiting({ readEnds, everyMs: 20 })

  await waiting.wait('cell', 5, 10_000, never)

  assert.equal(asked, 3)
})

test('a client that goes away ends its wait; a process that drains ends all, and allows no new one', async () => {
  const waiting = createWaiting({ readEnds: async () => new Map([['cell', 5]]) })
  const client = new AbortController()
  const gone = took(waiting.wait('cell', 5, 10_000, client.signal))
  client.abort()
  assert.ok((await gone) < 9_000)

  const drained = took(waiting.wait('cell', 5, 10_000, never))
  waiting.endAll()

  assert.ok((await drained) < 9_000)
  assert.ok((await took(waiting.wait('cell', 5, 10_000, never))) < 9_000)
})

// A poll of the feed was answered empty at once. Mutants: all waiters of the moment after the reading are compared (the
// second wait ends); a second wake-up of one waiter that removes the set (nobody asks for the second).
test('who begins to wait while the numbers are read is not woken by them', async () => {
  const readings: ((ends: Map<string, number>) => void)[] = []
  const waiting = createWaiting({ readEnds: () => new Promise((resolve) => readings.push(resolve)), everyMs: 10 })
  const reading = async (count: number) => {
    for (let tries = 0; readings.length < count; tries += 1) {
      assert.ok(tries < 2_000, 'nobody asks for the waiter')
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const first = waiting.wait('cell', 5, 10_000, never)
  await reading(1)
  waiting.wake('cell')
  await first
  let isOver = false
  const second = waiting.wait('cell', 6, 10_000, never).then(() => {
    isOver = true
  })
  readings[0]?.(new Map([['cell', 9]]))
  await reading(2)
  assert.equal(isOver, false)

  readings[1]?.(new Map([['cell', 7]]))
  await second
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseUnavailableError } from '@loci/contract/outcomes.ts'
import pg from 'pg'
import { createBatches } from './batches.ts'

async function callsUntilFailed(error: Error): Promise<{ calls: number; failed: number }> {
  let calls = 0
  const run = async () => {
    calls += 1
    throw error
  }
  const batches = createBatches<number, number>({ run, runningMax: 1, batchMax: 64 })
  const results = await Promise.allSettled(Array.from({ length: 20 }, (_, item) => batches.add('svc_a', item)))
  return { calls, failed: results.filter(({ status }) => status === 'rejected').length }
}

test('when the store is away, no item waits for the tries of the others', async () => {
  assert.deepEqual(await callsUntilFailed(new DatabaseUnavailableError('away')), { calls: 1, failed: 20 })
})

test('a refusal that may be one item’s fault is tried for each alone', async () => {
  assert.deepEqual(await callsUntilFailed(new Error('value out of range')), { calls: 21, failed: 20 })
})

// Mutant: run() called without againAfterConflict(): the only item of a call fails although nothing is wrong with it.
test('a deadlock is no item’s fault: the same call is made again', async () => {
  const calls: number[][] = []
  const run = async (_: string, items: number[]) => {
    calls.push(items)
    if (calls.length === 1)
      throw Object.assign(new pg.DatabaseError('deadlock detected', 0, 'error'), { code: '40P01' })
    return items
  }
  const batches = createBatches<number, number>({ run, runningMax: 1, batchMax: 64 })
  assert.deepEqual(await Promise.all([batches.add('svc_a', 1), batches.add('svc_a', 2)]), [1, 2])
  assert.deepEqual(calls, [
    [1, 2],
    [1, 2],
  ])
})

// Mutant: `at > 0 &&` left out of fitting(): an item that is larger than a call is never sent.
test('a call holds as much as its sizes allow, in order, and an item that is larger goes alone', async () => {
  const calls: number[][] = []
  const run = async (_: string, items: number[]) => {
    calls.push(items)
    return items
  }
  const batches = createBatches<number, number>({ run, runningMax: 1, batchMax: 10, sizeOf: (item) => item })
  const sizes = [4, 5, 3, 25, 9, 1, 1]
  assert.deepEqual(await Promise.all(sizes.map((size) => batches.add('svc_a', size))), sizes)
  assert.deepEqual(calls, [[4, 5], [3], [25], [9, 1], [1]])
})

// Mutant: lanesMax left out of laneOf(): the second group waits for the first.
test('groups in different lanes do not wait for each other, and a group keeps its order', async () => {
  const first = Promise.withResolvers<void>()
  const done: string[] = []
  const batches = createBatches<string, string>({
    async run(_, items) {
      if (items.includes('a1')) await first.promise
      done.push(...items)
      return items
    },
    ...{ runningMax: 1, batchMax: 1, lanes: 2, groupOf: ([group = '']) => group },
  })
  const all = Promise.all(['a1', 'a2', 'b1', 'b2'].map((item) => batches.add('svc_a', item)))
  const last = batches.add('svc_a', 'b3')
  // Turns, not time: what waits for nothing is done within a few of them.
  for (let turn = 0; turn < 100 && done.length < 3; turn += 1) await new Promise(setImmediate)
  first.resolve()
  await Promise.all([all, last])
  assert.deepEqual(done, ['b1', 'b2', 'b3', 'a1', 'a2'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseUnavailableError } from '@loci/contract/outcomes.ts'
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

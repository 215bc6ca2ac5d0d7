import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLastUses, writeLastUses } from './last-uses.ts'

test('the newest use of each credential is written, at most once a minute each', () => {
  let now = 0
  const uses = createLastUses(() => now)
  uses.note('a')
  now = 10
  uses.note('a')
  uses.note('b', 'org')
  assert.deepEqual(uses.take(), [
    { id: 'a', owner: '', at: 10 },
    { id: 'b', owner: 'org', at: 10 },
  ])
  now = 30_000
  uses.note('a')
  assert.deepEqual(uses.take(), [], 'its minute is not over')
  now = 60_011
  assert.deepEqual(uses.take(), [{ id: 'a', owner: '', at: 30_000 }], 'and is not lost')
  uses.note('a')
  assert.equal(uses.take({ isLast: true }).length, 1, 'at the end nothing waits')
})

test('what could not be written is written the next time, and newer wins', async () => {
  let now = 0
  const uses = createLastUses(() => now)
  uses.note('a')
  uses.note('b')
  await assert.rejects(
    writeLastUses(uses, async () => {
      now = 5
      uses.note('b')
      throw new Error('the store is away')
    }),
  )
  const written: string[] = []
  await writeLastUses(uses, async (taken) => void written.push(...taken.map(({ id, at }) => `${id} ${at}`)))
  assert.deepEqual(written.sort(), ['a 0', 'b 5'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Work, workFor } from '@loci/meter/meter.ts'
import { createTurn } from './turn.ts'

// Mutants: next() that does not wait; `endsAt` that is not set again (the second look waits too).
test('after a turn of work others are served, and then there is another turn', async () => {
  const turn = createTurn()
  assert.equal(turn(), undefined)
  const work = () => {
    for (const until = performance.now() + 3; performance.now() < until; );
  }
  work()
  let isServed = false
  setImmediate(() => {
    isServed = true
  })
  await turn()
  assert.ok(isServed)
  work()
  assert.notEqual(turn(), undefined)
})

// Mutants: round() that lets in the whole line; createTurn() that does not look at the line.
test('however many requests of an organization are at work, others are served after one turn of it', async () => {
  const inRound: Record<string, number> = {}
  const most: Record<string, number> = { a: 0, b: 0 }
  let left = 10
  const part = (owner: string) => {
    inRound[owner] = (inRound[owner] ?? 0) + 1
    most[owner] = Math.max(most[owner] as number, inRound[owner])
    for (const until = performance.now() + 3; performance.now() < until; );
  }
  const request = (owner: string) => async () => {
    const work = new Work(`${owner} ${left}`)
    work.share = owner
    await workFor(work, async () => {
      const turn = createTurn()
      for (let parts = 0; parts < 4; parts += 1) {
        await turn()
        part(owner)
      }
    })
    left -= 1
  }
  // As when they arrive together: each begins in the same round of the loop.
  for (let n = 0; n < 8; n += 1) setImmediate(request('a'))
  for (let n = 0; n < 2; n += 1) setImmediate(request('b'))
  await new Promise<void>((resolve) => {
    const served = () => {
      for (const owner of Object.keys(inRound)) inRound[owner] = 0
      if (left === 0) resolve()
      else setImmediate(served)
    }
    setImmediate(served)
  })
  assert.deepEqual(most, { a: 1, b: 1 })
})

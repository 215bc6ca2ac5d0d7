import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cachedFor } from './cached.ts'

function counted() {
  const made: { resolve(value: number): void; reject(error: Error): void }[] = []
  const make = () => new Promise<number>((resolve, reject) => made.push({ resolve, reject }))
  return { made, make }
}

// Mutants: no single flight (`making = renew()`), nothing kept (`known` never set), no bound on those who wait.
test('whoever asks while an answer is made gets that one, and those after it too, until it is old', async () => {
  const { made, make } = counted()
  const ask = cachedFor(1_000, make)
  const asked = [ask(), ask(), ask()]
  made[0]?.resolve(1)
  assert.deepEqual(await Promise.all(asked), [1, 1, 1])
  assert.equal(ask(), 1, 'at once, without a promise')
  assert.equal(made.length, 1)
  while (typeof ask() === 'number') await new Promise((resolve) => setTimeout(resolve, 5))
  made[1]?.resolve(2)
  assert.equal(await ask(), 2)
  assert.equal(made.length, 2)
})

test('a failure is told to those who waited for it and is not kept', async () => {
  const { made, make } = counted()
  const ask = cachedFor(1_000, make)
  const asked = [ask(), ask()] as Promise<number>[]
  made[0]?.reject(new Error('no'))
  for (const one of asked) await assert.rejects(one, /no/)
  const again = ask()
  made[1]?.resolve(2)
  assert.equal(await again, 2)
})

test('a flood does not wait without a bound', async () => {
  const { made, make } = counted()
  const ask = cachedFor(1_000, make)
  const waiting = Array.from({ length: 256 }, () => ask())
  assert.throws(ask, { code: 'OVERLOADED' })
  made[0]?.resolve(1)
  assert.equal((await Promise.all(waiting)).length, 256)
  assert.equal(ask(), 1)
})

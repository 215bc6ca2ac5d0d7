import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLines, createShare } from './share.ts'

const refusal = () => new Error('too long')

// Mutants: `<=` in hasRoom(); leave() that counts one less although the next of its own has the place.
test('an account holds its share, its next one waits for one of its own, and no other account does', async () => {
  const share = createShare({ each: () => 2, waitMs: 60_000, refusal })
  assert.deepEqual([share.enter('a'), share.enter('a')], [undefined, undefined])
  const order: number[] = []
  const waiting = [1, 2].map((n) => share.enter('a')?.then(() => order.push(n)))
  assert.equal(share.enter('b'), undefined)
  assert.deepEqual([share.waitingOf('a'), share.waitingOf('b'), share.waiting], [2, 0, 2])
  assert.equal(share.leave('b'), false)
  assert.equal(share.leave('a'), true)
  assert.equal(share.hasRoom('a'), false)
  await waiting[0]
  assert.equal(share.leave('a'), true)
  await waiting[1]
  assert.deepEqual(order, [1, 2])
  assert.deepEqual([share.leave('a'), share.leave('a')], [false, false])
  assert.equal(share.enter('a'), undefined)
})

// Mutant: expireAt() that waits from when it was pushed.
test('who waits too long is refused, also one that waited in another line before, and the others go on', async (t) => {
  let now = 1_000
  t.mock.timers.enable({ apis: ['setTimeout'] })
  t.mock.method(performance, 'now', () => now)
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1) {
      now += 1
      t.mock.timers.tick(1)
    }
  }
  const lines = createLines({ waitMs: 100, refusal })
  const told: string[] = []
  const waiter = (name: string, since: number) => ({
    ...{ since, account: name },
    resolve: () => void told.push(`${name} has its turn`),
    reject: () => void told.push(`${name} is refused`),
  })
  lines.push('x', waiter('young', now))
  lines.push('x', waiter('moved', now - 60))
  pass(39)
  assert.deepEqual(told, [])
  pass(1)
  assert.deepEqual([told, lines.size], [['moved is refused'], 1])
  pass(30)
  lines.next('x')?.resolve()
  assert.deepEqual([told.at(-1), lines.size], ['young has its turn', 0])
  pass(200)
  assert.equal(told.length, 2)
})

// Mutant: wait() that takes no `until`.
test('one that may wait for a shorter or a longer time than the others is refused then', async (t) => {
  let now = 1_000
  t.mock.timers.enable({ apis: ['setTimeout'] })
  t.mock.method(performance, 'now', () => now)
  const share = createShare({ each: () => 1, waitMs: 100, refusal })
  share.hold('a')
  const told: string[] = []
  for (const [name, until] of [
    ['usual', undefined],
    ['short', now + 10],
    ['long', now + 300],
  ] as const)
    share.enter('a', until)?.catch(() => told.push(`${name} at ${now - 1_000}`))
  for (let passed = 0; passed < 400; passed += 1) {
    now += 1
    t.mock.timers.tick(1)
    await Promise.resolve()
  }
  assert.deepEqual(told, ['short at 10', 'usual at 100', 'long at 300'])
})

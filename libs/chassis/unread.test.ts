import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testLog } from './testing/server.ts'
import { createUnreadAnswers, type UnreadAnswer } from './unread.ts'

const MIB = 1024 * 1024

function world() {
  const clock = { ms: 0 }
  const unread = createUnreadAnswers(() => clock.ms)
  const inFlight = new Set<UnreadAnswer>()
  const { log, lines } = testLog()
  function answer(network: string, bytes = MIB): UnreadAnswer {
    const destroy = () => {
      inFlight.delete(one)
      unread.add(one, -bytes)
    }
    const one: UnreadAnswer = { requestId: 'req_x', network, unreadBytes: bytes, answeredAt: clock.ms, destroy }
    unread.add(one, bytes)
    inFlight.add(one)
    return one
  }
  const cut = () => {
    const before = inFlight.size
    unread.cut([...inFlight], log)
    return before - inFlight.size
  }
  return { clock, unread, inFlight, lines, answer, cut }
}

// Mutants: ADDRESS_BYTES_MAX as large as BYTES_MAX; SLOW_MS 0: who reads many pages at once is cut.
test('an address whose answers lie unread loses the oldest beyond 8 MiB, and nobody else does', () => {
  const { clock, inFlight, lines, answer, cut } = world()
  const [first, second] = [answer('a'), answer('a')]
  const other = answer('b')
  for (let i = 0; i < 8; i += 1) answer('a')
  assert.equal(cut(), 0)
  clock.ms += 3_000
  answer('a')
  assert.equal(cut(), 3)
  assert.deepEqual(
    [first, second, other].map((one) => inFlight.has(one)),
    [false, false, true],
  )
  assert.equal(cut(), 0)
  assert.match(lines.join(), /over 8 MiB of one address/)
})

test('beyond 64 MiB of everybody the oldest go, whoever they belong to', () => {
  const { answer, cut, lines } = world()
  for (let i = 0; i < 70; i += 1) answer(`a${i}`)
  assert.equal(cut(), 6)
  assert.match(lines.join(), /over 64 MiB of answers/)
})

// Mutant: the second cutThose() left out.
test('beyond 64 MiB an address with more than its 8 MiB goes first, however young its answers are', () => {
  const { clock, inFlight, answer, cut } = world()
  const others = [answer('b'), answer('c')]
  clock.ms += 60_000
  for (let i = 0; i < 70; i += 1) answer('a')
  assert.equal(cut(), 8)
  assert.ok(others.every((one) => inFlight.has(one)))
})

// Mutants: bytesOf() left out of requireRead(); no look at their age; at their age alone, whatever the total.
test('nothing more is begun for an address with twice its bytes unread for long, or with young ones beyond 64 MiB', () => {
  const { clock, unread, answer, inFlight } = world()
  const isRefused = (network: string) => {
    try {
      unread.requireRead({ network })
      return false
    } catch (error) {
      return (error as { code: string }).code === 'OVERLOADED'
    }
  }
  // A back end that reads many large pages at once.
  for (let i = 0; i < 60; i += 1) {
    answer('a')
    assert.equal(isRefused('a'), false, `${i}`)
  }
  for (let i = 0; i < 4; i += 1) answer('a')
  assert.equal(isRefused('a'), false)
  answer('a')
  assert.deepEqual([isRefused('a'), isRefused('b')], [true, false])
  for (const one of [...inFlight].slice(17)) one.destroy()
  assert.equal(isRefused('a'), false)
  clock.ms += 3_000
  assert.deepEqual([isRefused('a'), isRefused('b')], [true, false])
  for (const one of [...inFlight]) one.destroy()
  assert.equal(isRefused('a'), false)
})

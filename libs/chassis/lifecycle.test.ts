import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLifecycle, type Lifecycle, type LifecycleState } from './lifecycle.ts'

let clock = Date.parse('2026-11-15T09:30:00.000Z')
const now = () => clock

function at(...states: LifecycleState[]): Lifecycle {
  const lifecycle = createLifecycle(now)
  for (const state of states) lifecycle.move(state, 'test')
  return lifecycle
}

test('a process goes from starting to stopped, and each step is told', () => {
  const lifecycle = at('migrating', 'warming', 'ready', 'draining', 'stopped')
  assert.deepEqual(
    lifecycle.status(0).transitions.map(({ from, to }) => [from, to]),
    [
      [null, 'starting'],
      ['starting', 'migrating'],
      ['migrating', 'warming'],
      ['warming', 'ready'],
      ['ready', 'draining'],
      ['draining', 'stopped'],
    ],
  )
})

test('no way leads back from draining, round warming, or out of stopped', () => {
  const forbidden: [LifecycleState[], LifecycleState][] = [
    [[], 'ready'],
    [['migrating'], 'ready'],
    [['warming', 'ready'], 'migrating'],
    [['warming', 'ready', 'draining'], 'ready'],
    [['draining', 'stopped'], 'ready'],
    [['draining', 'stopped'], 'draining'],
    [['failed'], 'ready'],
  ]
  for (const [states, to] of forbidden) {
    const lifecycle = at(...states)
    assert.throws(() => lifecycle.move(to, 'x'), /cannot become/, `${states.join()} to ${to}`)
  }
})

test('a move to the state it is in leaves no entry', () => {
  const lifecycle = at('warming', 'ready')
  lifecycle.move('ready', 'again')
  assert.equal(lifecycle.status(0).transitions.length, 3)
})

test('a part that is down degrades, all parts back make ready, and the reasons say which', () => {
  const lifecycle = at('warming', 'ready')
  lifecycle.report('postgres', 'does not answer')
  lifecycle.report('search', 'slow')
  assert.equal(lifecycle.state, 'degraded')
  assert.deepEqual(lifecycle.status(0).reasons, ['postgres: does not answer', 'search: slow'])
  lifecycle.report('postgres', undefined)
  assert.equal(lifecycle.state, 'degraded')
  lifecycle.report('search', undefined)
  assert.equal(lifecycle.state, 'ready')
  assert.deepEqual(lifecycle.status(0).reasons, [])
  // Both, not only the last one to come back.
  assert.equal(lifecycle.status(0).transitions.at(-1)?.reason, 'recovered: postgres, search')
})

test('what was down before the process was ready makes it degraded, not ready', () => {
  const lifecycle = at('warming')
  lifecycle.report('postgres', 'does not answer')
  assert.equal(lifecycle.state, 'warming')
  lifecycle.move('ready', 'everything is read')
  assert.equal(lifecycle.state, 'degraded')
})

test('requests are refused while starting, served while ready or degraded', () => {
  assert.equal(at().refusal()?.code, 'STARTING')
  assert.equal(at('migrating').refusal()?.code, 'STARTING')
  assert.equal(at('warming', 'ready').refusal(), undefined)
  assert.equal(at('warming', 'degraded').refusal(), undefined)
})

test('a drain still serves during its grace, and refuses after it', () => {
  const lifecycle = at('warming', 'ready')
  lifecycle.beginDrain('SIGTERM', { graceMs: 3_000, deadlineMs: 18_000 })
  assert.deepEqual(lifecycle.status(5), {
    state: 'draining',
    since: '2026-11-15T09:30:00.000Z',
    acceptingRequests: false,
    reasons: ['SIGTERM'],
    transitions: lifecycle.status(5).transitions,
    drain: { deadline: '2026-11-15T09:30:18.000Z', inFlight: 5 },
  })
  assert.equal(lifecycle.refusal(), undefined)
  clock += 2_999
  assert.equal(lifecycle.refusal(), undefined)
  clock += 1
  assert.equal(lifecycle.refusal()?.code, 'DRAINING')
  lifecycle.report('postgres', 'does not answer')
  assert.equal(lifecycle.state, 'draining', 'a dependency does not bring it back')
})

test('a process that never served has no grace, and a second drain changes nothing', () => {
  const lifecycle = at('migrating')
  lifecycle.beginDrain('SIGTERM', { graceMs: 3_000, deadlineMs: 18_000 })
  assert.equal(lifecycle.refusal()?.code, 'DRAINING')
  const before = lifecycle.status(0)
  lifecycle.beginDrain('SIGINT', { graceMs: 9_000, deadlineMs: 9_000 })
  assert.deepEqual(lifecycle.status(0), before)
})

test('a flapping dependency does not grow the list of transitions for ever', () => {
  const lifecycle = at('warming', 'ready')
  for (let i = 0; i < 100; i += 1) lifecycle.report('postgres', i % 2 === 0 ? 'down' : undefined)
  assert.equal(lifecycle.status(0).transitions.length, 50)
})

test('listeners hear each move once', () => {
  const lifecycle = at('warming')
  const heard: string[] = []
  lifecycle.onMove(({ from, to, reason }) => heard.push(`${from} ${to} ${reason}`))
  lifecycle.move('ready', 'a')
  lifecycle.move('ready', 'b')
  assert.deepEqual(heard, ['warming ready a'])
})

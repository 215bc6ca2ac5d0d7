import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALL, databasesOf, inWords, joinReasons, PRESETS, whyNot, whyNotNarrowed } from './rights.ts'

const of = (id: string) => ALL.filter((op) => PRESETS.find((preset) => preset.id === id)?.has(op))

// Mutant: the preset of an agent has deletes.
test('what a token may do is told in words: by its preset, else by its rights', () => {
  assert.equal(inWords(of('agent')), 'all but deletes and operator')
  assert.equal(inWords(of('reader')), 'everything, only reading')
  assert.equal(inWords(of('all')), 'all but operator')
  assert.equal(inWords(of('operator')), 'operator: everything')
  assert.equal(inWords(['memory:read', 'wm:read']), 'memory:read, wm:read')
  assert.equal(inWords(['a', 'b', 'c', 'd']), 'a, b and 2 more')
  assert.equal(
    of('agent').some((op) => /delete|operator/.test(op)),
    false,
  )
})

test('its databases are told by name, and `*` as all of them', () => {
  assert.equal(databasesOf(['kv/default', 'memory/default']), 'default')
  assert.equal(databasesOf(['kv/a', 'kv/b', 'memory/a']), 'a and 1 more')
  assert.equal(databasesOf(['kv/*']), 'all')
})

// Mutant: the operator right of a parent is offered.
test('what can’t be asked for says why: the role, the type of service, the parent', () => {
  const bounds = { role: 'member', ops: ALL.filter((op) => op !== 'operator'), serviceType: 'kv' }
  assert.equal(whyNot('kv:read', bounds), undefined)
  assert.equal(whyNot('memory:read', bounds), 'a service of the type kv has no memory:read')
  assert.equal(whyNot('operator', bounds), 'the role member has no operator')
  assert.equal(whyNotNarrowed('kv:read', ['kv:read']), undefined)
  assert.equal(whyNotNarrowed('operator', ['operator']), 'operator can’t be handed on')
  const reasons = [
    whyNotNarrowed('memory:delete', []),
    whyNotNarrowed('kv:delete', []),
    whyNotNarrowed('operator', []),
  ] as string[]
  assert.equal(joinReasons(reasons), 'its parent has no memory:delete, no kv:delete; operator can’t be handed on')
})

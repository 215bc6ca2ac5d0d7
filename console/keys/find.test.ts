import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fits, isId } from './find.ts'

test('a few letters find a name, in any order of its words', () => {
  assert.ok(fits('Working memory', 'mem wo'))
  assert.ok(fits('Support agent support-agent-7q3kd9', '7q3'))
  assert.ok(!fits('Support agent', 'cycle'))
  assert.ok(fits('anything', ''))
})

// Mutant: an id without its prefix.
test('a pasted id is known by its prefix', () => {
  assert.ok(isId(' svc_01m7r9tj1ef3pahp93x0pxxz3b '))
  for (const text of ['01m7r9tj1ef3pahp93x0pxxz3b', 'svc_', 'what is svc_01m7r9tj1ef3pahp93x0pxxz3b'])
    assert.ok(!isId(text), text)
})

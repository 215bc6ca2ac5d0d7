// Mutants: words are parsed; JSON that is not whole is sent as words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readValue, typedOf } from './typed.ts'

test('words stay words, whatever they look like', () => {
  assert.deepEqual(readValue({ text: '4411', isJson: false }), { value: '4411' })
  assert.deepEqual(readValue(typedOf('{"a":1}')), { value: '{"a":1}' })
})

test('a value that is no text comes back as it was', () => {
  for (const value of [{ a: [1, null] }, 4411, true, null]) assert.deepEqual(readValue(typedOf(value)), { value })
})

test('what is not whole is told and never sent', () => {
  assert.ok('problem' in readValue({ text: '{"a":', isJson: true }))
  assert.ok('problem' in readValue({ text: '  ', isJson: false }))
})

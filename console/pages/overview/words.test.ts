import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesOf } from './words.ts'

const NONE = { admitted: 0, merged: 0, reinforced: 0, stored: 0, evicted: 0 }

test('what a cycle changed is told in the words of the language, and nothing where nothing changed', () => {
  assert.equal(changesOf({ ...NONE, admitted: 1, merged: 1 }, 10), '10 held · 1 came, 1 merged')
  assert.equal(changesOf({ ...NONE, evicted: 8, stored: 2 }, 7), '7 held · 8 left, 2 only stored')
  assert.equal(changesOf(NONE, 3), '3 held · nothing changed')
})

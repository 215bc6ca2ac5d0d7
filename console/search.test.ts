import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memorySearch, mindSearch, overviewSearch, servicesSearch } from './search.ts'

// Mutant: oneOf() takes whatever is there.
test('what an address says is read as far as it fits, and the rest is left out', () => {
  assert.deepEqual(servicesSearch({ q: 'bot', status: 'look', other: 1 }), { q: 'bot', status: 'look' })
  assert.deepEqual(servicesSearch({ q: ['a'], status: 'on fire' }), {})
  assert.deepEqual([overviewSearch({ range: '7d' }), overviewSearch({ range: '1h' })], [{ range: '7d' }, {}])
  assert.deepEqual(memorySearch({ q: 4411, tag: '' }), { q: '4411' })
  assert.deepEqual(mindSearch({ range: '2h', at: '2026-11-17T11:46:36Z' }), { at: '2026-11-17T11:46:36Z' })
})

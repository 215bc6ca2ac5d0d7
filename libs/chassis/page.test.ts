import assert from 'node:assert/strict'
import { test } from 'node:test'
import { page } from './page.ts'

// Mutant: `>=` for `>` in page(): the last page names a next one, which is empty.
test('a page has a next one exactly when a row more than it shows was read', () => {
  const idOf = ({ id }: { id: number }) => id
  const rows = [1, 2, 3].map((id) => ({ id }))
  assert.deepEqual(page(rows, 2, idOf), { rows: rows.slice(0, 2), next: '2' })
  assert.deepEqual(page(rows, 3, idOf), { rows, next: null })
  assert.deepEqual(page([], 3, idOf), { rows: [], next: null })
})

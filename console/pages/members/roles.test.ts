import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LINES, may, ROLES_SHOWN } from './roles.ts'

// Mutant: a member may operate (libs/contract/roles.ts).
test('each role may do what the one below it may, and one line more', () => {
  const shown = LINES.map((line) => ROLES_SHOWN.filter((role) => may(role, line)).length)
  assert.deepEqual(shown, [4, 3, 3, 2, 1])
})

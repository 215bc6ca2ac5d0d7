import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { operationsOf } from '@loci/contract/roles.ts'

// Mutant: `effect !== 'operate'` for viewers, as for members.
test('on data a viewer reads, a member does everything but operate, admin and owner do everything', () => {
  assert.deepEqual(operationsOf('viewer'), [
    'system:read',
    'kv:read',
    'cycles:read',
    'wm:read',
    'memory:read',
    'advice:read',
    'events:read',
  ])
  assert.deepEqual(
    operationsOf('member'),
    OPERATION_NAMES.filter((op) => op !== 'operator'),
  )
  assert.deepEqual([operationsOf('admin'), operationsOf('owner')], [OPERATION_NAMES, OPERATION_NAMES])
})

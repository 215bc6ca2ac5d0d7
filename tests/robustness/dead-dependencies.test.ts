import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MATRIX as DAEMON } from '@loci/daemon/testing/matrix.ts'
import { MATRIX as MANAGEMENT } from '@loci/management/testing/matrix.ts'
import { ACCIDENTS, DEAD, DEPENDENCIES } from './dead-dependencies.ts'

// The rows of the two matrices are those of the two routers (access/matrix.test.ts of each program). Mutant: any row of
// the table left out.
test('P19: what each route answers while a dependency is dead, and after each accident of the store, was reviewed', () => {
  for (const [program, { rows }] of [
    ['daemon', DAEMON],
    ['management', MANAGEMENT],
  ] as const) {
    assert.deepEqual(Object.keys(DEAD[program]).sort(), Object.keys(rows).sort())
    for (const [line, cells] of Object.entries(DEAD[program]))
      assert.deepEqual(Object.keys(cells).sort(), [...DEPENDENCIES, ...ACCIDENTS].sort(), line)
  }
})

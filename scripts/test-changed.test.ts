import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reachedBy } from './test-changed.ts'

const TREE = new Map([
  ['libs/contract/slots.ts', 'export const slot = 1'],
  ['daemon/schema.ts', 'export const SCHEMA = 1'],
  ['daemon/slots/routes.ts', "import { slot } from '@loci/contract/slots.ts'\nexport const routes = [slot]"],
  ['daemon/app.ts', "import { routes } from './slots/routes.ts'\nimport { SCHEMA } from './schema.ts'"],
  ['daemon/worker.ts', 'export {}'],
  ['daemon/slots/slots.test.ts', "import '../app.ts'"],
  ['daemon/thread.test.ts', "start(new URL('./worker.ts', import.meta.url))"],
  ['management/plans.ts', "read('plans.json')"],
  ['management/plans.test.ts', "import type { Plan } from './plans.ts'"],
  ['libs/chassis/json.test.ts', 'export {}'],
])
const TESTS = [...TREE.keys()].filter((file) => file.endsWith('.test.ts'))
const reached = (...changed: string[]) => reachedBy(changed, TREE, TESTS)

// Mutants: imports are followed one step; file names in strings are not followed.
test('a change reaches the tests that import it, through others or by its path, and no others', () => {
  assert.deepEqual(reached('libs/contract/slots.ts'), ['daemon/slots/slots.test.ts'])
  assert.deepEqual(reached('daemon/worker.ts'), ['daemon/thread.test.ts'])
  assert.deepEqual(reached('libs/chassis/json.test.ts'), ['libs/chassis/json.test.ts'])
  assert.deepEqual(reached('docs/nothing-reads-this.md'), [])
})

// Mutants: LISTED left out; readersOf() that knows no names.
test('SQL reaches the tests of its program, and a data file those that read it by name', () => {
  assert.deepEqual(reached('daemon/slots/functions.sql'), ['daemon/slots/slots.test.ts'])
  assert.deepEqual(reached('management/plans.json'), ['management/plans.test.ts'])
})

test('a change of the lockfile or of the runner reaches every test', () => {
  for (const file of ['package-lock.json', 'scripts/test.ts', '.ci/run']) assert.deepEqual(reached(file), TESTS)
})

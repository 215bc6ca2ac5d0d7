import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstSteps } from './steps.ts'

const done = (counts: Parameters<typeof firstSteps>[0]) => firstSteps(counts).map(({ isDone }) => isDone)

// Mutant: what is not known counts as not done.
test('the first steps follow from counts, and what is not known yet is neither done nor to do', () => {
  assert.deepEqual(done({ services: 0, records: undefined, held: undefined, agents: undefined }), [
    false,
    false,
    false,
    false,
  ])
  assert.deepEqual(done({ services: 1, records: undefined, held: 0, agents: 0 }), [true, undefined, false, false])
  assert.deepEqual(done({ services: 1, records: 3, held: 2, agents: 1 }), [true, true, true, true])
})

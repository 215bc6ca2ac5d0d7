// What random runs of the simulation have found, each kept for good with the rule that it broke. `npm run test:system
// -- provisioning` runs thousands of others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SABOTAGE } from './sabotage.ts'
import { simulate } from './simulation.ts'

// The control database is restored to a moment before the service was active, its cell is silent for 15 minutes, and
// the cell is told to erase what had lived in the history that was lost.
for (const seed of [36831046, 278422787, 278423655])
  test(`nothing that had lived is erased because its cell was silent: run ${seed}`, () => {
    assert.deepEqual(simulate(seed).findings, [])
    assert.match(simulate(seed, SABOTAGE['silence erases']).findings.join(), /^erased: /)
  })

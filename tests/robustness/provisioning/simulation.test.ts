// What random runs of the simulation have found, each kept for good with the rule that it broke. `npm run test:system
// -- provisioning` runs thousands of others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepDone } from '@loci/management/provisioning/operations/operation.ts'
import { reconcile } from '@loci/management/provisioning/reconcile.ts'
import { SABOTAGE } from './sabotage.ts'
import { simulate } from './simulation.ts'

// The control database is restored to a moment before the service was active, its cell is silent for 15 minutes, and
// the cell is told to erase what had lived in the history that was lost.
for (const seed of [36831046, 278422787, 278423655])
  test(`nothing that had lived is erased because its cell was silent: run ${seed}`, () => {
    assert.deepEqual(simulate(seed).findings, [])
    assert.match(simulate(seed, SABOTAGE['silence erases']).findings.join(), /^erased: /)
  })

// A retry waits for its first reconciliation while management is down, until its deadline: the cell was never told of
// it, has what it had, and nothing would ever settle that.
test('what was never published is not given up as if its cell were silent: run unwatched:967169275', () => {
  const seed = 967169275
  const givesUp: typeof reconcile = (service, around, now) => {
    const operation = service.operation && stepDone(service.operation, 'publish', null, now)
    const isDue = service.deadlineAt !== null && service.deadlineAt <= now
    return reconcile(isDue ? { ...service, operation } : service, around, now)
  }

  assert.deepEqual(simulate(seed, {}, 'unwatched').findings, [])
  assert.match(simulate(seed, { reconcile: givesUp }, 'unwatched').findings.join(), /^stuck: s2 has failed and c2 /)
})

// Acts of an agent whose work is several statements: claim, work, answer and what follows are one transaction. A route
// that writes by one call makes its claim in there (kv_write_acts, wm_commit_acts, mem_write_acts).

import { type Answers, type Claim, createActs, type RunAct } from '@loci/acts/idempotency/idempotency.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller } from '../access/capability-access.ts'
import { instanceGone } from '../access/served.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { enterInstance } from '../databases/store.ts'
import { scopeOf, tooManyKept } from './idempotency.ts'
import { claimKey, dropExpired, findAnswerIn, keepAnswer, showInstance } from './store.ts'

export function createInstanceActs(pool: Pool, shares: PoolShares, keys: InstanceKeys): RunAct<Caller> {
  const { act } = createActs<Caller>({
    ...{ pool, shares, answers, scopeOf },
    keysOf: async ({ instance }) => [await keys.of(instance.id)],
    actorOf: ({ actor }) => actor,
    enter: (sql, { instance }) => showInstance(sql, instance.id),
    // The claim itself knows how many there are.
    async requireRoom() {},
  })
  // The lock on the instance comes after the claim, as in the functions that claim: see the lock order.
  return async (call, work, options) => {
    const { instance } = call.caller
    const entered: typeof work = async (sql, by) => {
      if (!(await enterInstance(sql, instance.id))) throw instanceGone()
      return work(sql, by)
    }
    try {
      return await act(call, entered, options)
    } catch (error) {
      if (!(error instanceof StoppedClaim)) throw error
      if (error.outcome === 'answers') throw tooManyKept(instance)
      await dropExpired(pool, [error], [{ claim: 1, outcome: error.outcome }])
      return act(call, entered, options)
    }
  }
}

/** Takes the transaction back. */
class StoppedClaim extends Error {
  claim: Claim
  outcome: 'answers' | 'expired'
  constructor(claim: Claim, outcome: 'answers' | 'expired') {
    super(`the claim of an Idempotency-Key was stopped: ${outcome}`)
    this.claim = claim
    this.outcome = outcome
  }
}

const answers: Answers = {
  async claim(sql, claim) {
    const outcome = await claimKey(sql, claim)
    if (outcome === 'answers' || outcome === 'expired') throw new StoppedClaim(claim, outcome)
    return outcome === undefined
  },
  keep: (sql, claim, { body, kept = body }) => keepAnswer(sql, claim, kept),
  find: findAnswerIn,
}

// Acts of an agent whose work is several statements: claim, work, answer and what follows are one transaction. A route
// that writes by one call makes its claim in there (kv_write_acts, wm_commit_acts, mem_write_acts).

import { type Answers, createActs, type RunAct, tooManyAnswers } from '@loci/acts/idempotency/idempotency.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller } from '../access/capability-access.ts'
import { instanceGone } from '../access/served.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { enterInstance } from '../databases/store.ts'
import { ANSWERS_MAX, scopeOf } from './idempotency.ts'
import { claimKey, findAnswerIn, keepAnswer, showInstance } from './store.ts'

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
  return (call, work, options) =>
    act(
      call,
      async (sql, by) => {
        if (!(await enterInstance(sql, call.caller.instance.id))) throw instanceGone()
        return work(sql, by)
      },
      options,
    )
}

const answers: Answers = {
  async claim(sql, claim) {
    let outcome = await claimKey(sql, claim, ANSWERS_MAX)
    if (outcome === 'expired') outcome = await claimKey(sql, claim, ANSWERS_MAX)
    if (outcome === 'answers') throw tooManyAnswers('instance', ANSWERS_MAX)
    return outcome === undefined
  },
  keep: (sql, claim, { body, kept = body }) => keepAnswer(sql, claim, kept),
  find: findAnswerIn,
}

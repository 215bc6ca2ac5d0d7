// How an act of an agent is run once: by instance, database, route, holder of the credential and Idempotency-Key (CONTRACT 0, Repeats).

import { createActs, type RunAct, tooManyAnswers } from '@loci/acts/idempotency/idempotency.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller } from '../access/capability-access.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { answers, countAnswers, enterInstance } from './store.ts'

/** Per instance: who needs more keys a day than this has a loop. */
const ANSWERS_MAX = 10_000

export function createInstanceActs(pool: Pool, shares: PoolShares, keys: InstanceKeys): RunAct<Caller> {
  return createActs<Caller>({
    pool,
    shares,
    keysOf: async ({ instance }) => [await keys.of(instance.id)],
    answers,
    scopeOf: ({ instance, database, holder }, route, key) => [instance.id, database, route, holder, key],
    actorOf: ({ actor }) => actor,
    enter: (sql, { instance }) => enterInstance(sql, instance.id),
    async requireRoom(sql, { instance }) {
      if ((await countAnswers(sql, instance.id)) >= ANSWERS_MAX) throw tooManyAnswers('instance', ANSWERS_MAX)
    },
  }).act
}

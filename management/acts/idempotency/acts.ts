// How an act of a customer is run once: by organization, caller, route with its ids, and Idempotency-Key.

import { type Acts, createActs, type RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { createAnswers } from '@loci/acts/idempotency/store.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller } from '../../access/caller.ts'
import { useOrganization } from '../../access/store.ts'
import { createAnswerCounts } from './counts.ts'
import { findAnswer } from './store.ts'

/** `creations`: of services, where the specification orders the stored answer for another body too. */
export function createCustomerActs(
  pool: Pool,
  shares: PoolShares,
  sealing: SealingKey[],
): { act: RunAct<Caller>; creations: Acts<Caller> } {
  const counts = createAnswerCounts()
  const options = {
    pool,
    shares,
    keysOf: () => sealing,
    answers: { ...createAnswers(['organization_id', 'caller', 'route', 'key']), find: findAnswer },
    scopeOf: ({ organizationId, id }: Caller, route: string, key: string) => [organizationId, id, route, key],
    actorOf: ({ id }: Caller) => id,
    enter: (sql: Parameters<typeof useOrganization>[0], { organizationId }: Caller) =>
      useOrganization(sql, organizationId),
    requireRoom: counts.requireRoom,
  }
  return { act: createActs(options).act, creations: createActs({ ...options, onOtherBody: 'mark' }) }
}

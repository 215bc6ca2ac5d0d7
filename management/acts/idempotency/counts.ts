// How many answers for repeats an organization keeps, by its plan. Counted at most every ten seconds by each process;
// what this process adds meanwhile is added to the count, so the limit is met but for what other processes add within
// ten seconds.

import { tooManyAnswers } from '@loci/acts/idempotency/idempotency.ts'
import { countAnswers } from '@loci/acts/idempotency/store.ts'
import { createCache } from '@loci/chassis/cache.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Caller } from '../../access/caller.ts'
import { PLANS } from '../../plans.ts'

interface AnswerCounts {
  /** Requires room for one more, else RATE_LIMITED. In a transaction with the caller's organization in use. */
  requireRoom(sql: Sql, caller: Pick<Caller, 'organizationId' | 'plan'>): Promise<void>
}

const FRESH_MS = 10_000
const REMEMBERED_MAX = 10_000

export function createAnswerCounts(): AnswerCounts {
  const known = createCache<{ count: number; at: number }>(REMEMBERED_MAX)
  return {
    async requireRoom(sql, { organizationId, plan }) {
      const max = PLANS[plan].organization.keyed_answers
      let counted = known.find(organizationId)
      if (!counted || performance.now() - counted.at > FRESH_MS) {
        // The claim of this request is among them.
        const count = (await countAnswers(sql, 'organization_id', organizationId, max + 1)) - 1
        counted = { count, at: performance.now() }
        known.keep(organizationId, counted)
      }
      if (counted.count >= max) throw tooManyAnswers('organization', max)
      counted.count += 1
    },
  }
}

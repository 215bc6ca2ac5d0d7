// How often. What a person allows leaves a grant and an audit entry behind, and each use of it a token, an entry and,
// when the grant ends, a revocation: so each is a write of hers and of her organization's day, by the same buckets as
// those that she sends herself.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { AnswerHeaders } from '@loci/chassis/route.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { RateStore, Rates } from '../access/rates.ts'
import type { Session } from '../access/session.ts'
import { findHolderOf } from './grants.ts'

export interface GrantUses {
  /** Throws FORBIDDEN where the person does not belong to the organization, RATE_LIMITED where it was too often. */
  takeAllow(session: Session, organizationId: string, answer: AnswerHeaders): Promise<void>
  /** Of a code or a refresh token. False: it is nobody's, and nothing is counted. */
  takeUse(text: string, answer: AnswerHeaders): Promise<boolean>
}

/** Of one grant: a client that asks for a token every half minute asks too often. */
const USED = { perMinute: 2, burst: 20 }

interface Options {
  pool: Pool
  rates: Pick<Rates, 'take'>
  take: RateStore['take']
  isBilled: boolean
}

export function createGrantUses({ pool, rates, take, isBilled }: Options): GrantUses {
  return {
    async takeAllow({ userId: id, organizations }, organizationId, answer) {
      const organization = organizations.find((one) => one.id === organizationId)
      if (!organization) throw new ApiError('FORBIDDEN', 'You do not belong to this organization.')
      await rates.take({ id, organizationId, plan: isBilled ? organization.plan : 'enterprise' }, 'write', answer)
    },
    async takeUse(text, answer) {
      // First: who knows an id and no more neither uses up the rate of its grant nor leaves buckets behind.
      const holder = await findHolderOf(pool, text)
      if (!holder) return false
      const { grantId, organizationId, userId: id, plan } = holder
      const { waitMs } = await take({ bucket: `oauth:${grantId}`, ...USED, shared: undefined })
      if (waitMs !== undefined)
        throw new ApiError('RATE_LIMITED', 'This grant was used too often. Keep an access token until it expires.', {
          retryAfterMs: waitMs,
        })
      await rates.take({ id, organizationId, plan: isBilled ? plan : 'enterprise' }, 'write', answer)
      return true
    },
  }
}

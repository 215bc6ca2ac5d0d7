// Whether an instance takes what is asked of it now, for capabilities and partner credentials alike: its state, then
// the age of the cell's feed, by the tables of libs/contract/operations.ts and states.ts.

import { ApiError } from '@loci/chassis/api-error.ts'
import { EFFECTS, type Effect } from '@loci/contract/operations.ts'
import { GONE, knownReason, STATE_REASONS, type StateReason } from '@loci/contract/states.ts'
import type { Authority, Instance } from './authority.ts'

/** Throws when the instance's state, or the age of what the cell knows, forbids the effect now. */
export type RequireServed = (instance: Pick<Instance, 'state' | 'stateReason' | 'heldUntilMs'>, effect: Effect) => void

/** Beyond `feedStaleS` seconds without contact to management, writes and operator operations are refused. */
export function servedBy(authority: Pick<Authority, 'feedAgeS'>, feedStaleS: number): RequireServed {
  return ({ state, stateReason, heldUntilMs }, effect) => {
    if (heldUntilMs !== null && heldUntilMs > Date.now())
      throw new ApiError('STARTING', 'The service is being put back from a backup. Try again in some seconds.', {
        retryAfterMs: 5_000,
      })
    if (state !== 'active') requireGoesOn(knownReason(stateReason), effect)
    if (EFFECTS[effect].whileFeedIsStale) return
    const ageS = authority.feedAgeS()
    if (ageS !== null && ageS > feedStaleS)
      throw new ApiError(
        'AUTHORITY_STALE',
        'The cell has been without contact to management for too long to accept writes or operator requests.',
        { retryAfterMs: 60_000 },
      )
  }
}

function requireGoesOn(reason: StateReason, effect: Effect): void {
  const { access, code } = STATE_REASONS[reason]
  if (access === 'none' || !EFFECTS[effect].whileSuspended) throw new ApiError(code, MESSAGES[reason])
}

const MESSAGES: Record<StateReason, string> = {
  suspended: 'The service is suspended. Reads and deletions go on; resume it to write.',
  unpaid: 'The tenant is suspended for payment. Reads and deletions go on; pay the open bill to write.',
  unpaid_off:
    'The tenant has been suspended for payment for over 30 days: the service is off, and nothing is read, exported or deleted. Its data is kept for now; pay the open bill to have it back.',
  plan_not_covered: 'The plan of the tenant does not cover this service any more. Reads and deletions go on.',
}

/** Deleted and unknown get the same answer; so does a write that arrives while the instance is being erased. */
export function instanceGone(): ApiError {
  return new ApiError(
    GONE,
    'The capability is for an instance that this cell does not have. If its service was just made, try again in a few seconds; else ask management for its endpoint, or for a new capability.',
  )
}

/** The replica's authority is stale, and what the database says cannot be trusted or read. */
export function authorityUnread(): ApiError {
  return new ApiError(
    'AUTHORITY_STALE',
    'This replica has not been able to read keys and revocations for some seconds. Try again.',
    { retryAfterMs: 1_000 },
  )
}

export function keyRemoved(): ApiError {
  return new ApiError('UNAUTHENTICATED', 'The capability does not verify: its key is no longer in use.')
}

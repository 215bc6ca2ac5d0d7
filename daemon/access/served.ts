// Whether an instance is served at all, and whether it takes what is asked for now: its state, and how old the cell's feed is.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { Operation } from '@loci/contract/operations.ts'
import type { Authority, Instance } from './authority.ts'

/** Deleted and never heard of are the same to a caller; also to one whose write comes while the instance is being erased. */
export function instanceGone(): ApiError {
  return new ApiError(
    'UNAUTHENTICATED',
    'The capability is for an instance that this cell does not have. Ask management for its endpoint, or for a new capability.',
  )
}

/**
 * Suspended, for payment or otherwise: reads and deletions stay, writes wait. Unpaid for so long that it is off (CONTRACT 4.3): nothing
 * is served, and what is stored waits for the bill or for its deletion.
 */
export function requireState({ state, stateReason }: Instance, operation: Operation): void {
  if (state !== 'suspended') return
  if (stateReason === 'unpaid_off') throw switchedOff()
  if (!isWrite(operation)) return
  if (stateReason === 'plan_not_covered')
    throw new ApiError(
      'PLAN_NOT_COVERED',
      'The tenant’s plan does not cover this service any more. Reads and deletions go on.',
    )
  if (stateReason === 'unpaid')
    throw new ApiError('PAYMENT_REQUIRED', 'The tenant is suspended for payment. Reads and deletions go on.')
  throw new ApiError('FORBIDDEN', 'The service is suspended. Reads and deletions go on; resume it to write.')
}

export function switchedOff(): ApiError {
  return new ApiError(
    'PAYMENT_REQUIRED',
    'The tenant has been suspended for payment too long: the service is off, and nothing is read, exported or deleted. Its data is kept for now; pay the open bill to have it back.',
  )
}

export function isWrite(operation: Operation): boolean {
  return operation.endsWith(':write') || operation === 'cycles:run'
}

export function requireFresh(authority: Authority, operation: Operation, feedStaleS: number): void {
  const ageS = authority.feedAgeS()
  if (ageS === null || ageS <= feedStaleS || !(isWrite(operation) || operation === 'operator')) return
  throw new ApiError('AUTHORITY_STALE', 'The cell has not heard from management for too long to accept writes.', {
    retryAfterMs: 60_000,
  })
}

// What a cell reports of a service. Pure; the states: service-state.ts.

import {
  DEADLINE_MS,
  failed,
  isCommandPublished,
  isConfirmed,
  isUnpublished,
  LOST,
  type ObservedState,
  RECOVERED,
  type ServiceState,
  settled,
  type Transition,
} from './service-state.ts'

/** A cell ahead by up to this saw a history that this database lost; beyond it the report is wrong. */
const GENERATIONS_AHEAD_MAX = 1_000

/** No restore explains it: the report is quarantined, because its generation would stay with the service for ever. */
export function isTooFarAhead(service: ServiceState, generation: number): boolean {
  return generation > service.generation + GENERATIONS_AHEAD_MAX
}

/** A report of an older generation than before, or from a cell that the service is not placed in, changes nothing. */
export function observe(
  given: ServiceState,
  { cellId, generation, state }: { cellId: string; generation: number; state: ObservedState },
  now: Date,
): Transition {
  // Without a cell here, and the cell has it: this database was restored from before it was placed.
  const isTakenBack = given.cellId === null && generation > given.generation && state !== 'deleted'
  if ((cellId !== given.cellId && !isTakenBack) || generation < given.observedGeneration) return dueNow(given, now)
  const service: ServiceState = { ...given, cellId, observedGeneration: generation, observedState: state }
  const isLivingOn = generation > given.generation && state !== 'deleted'
  if (given.status === 'deleted')
    return dueNow(isLivingOn ? { ...service, generation, publishedDigest: null } : given, now)
  // The same number with another meaning is of a history that was lost too.
  const isRepeated = generation === given.observedGeneration && state === given.observedState
  const isLost =
    state === 'deleted' && generation === given.generation && given.desiredState !== 'deleted' && !isRepeated
  if (generation > given.generation || isLost) return dueNow(adopted(service, generation, state, now), now)
  if (generation < given.generation || given.publishedDigest === null || !isCommandPublished(service))
    return dueNow(service, now)
  if (state === 'failed' && service.status === 'provisioning')
    return dueNow(failed(service, 'cell_failed', 'The cell could not make the instance.', now), now)
  if (!isConfirmed(service)) return dueNow(service, now)
  const confirmed = settled(service, now)
  return { ...confirmed, ...dueNow(confirmed.state, now) }
}

/** To be reconciled at once; a deleted one only when that must be published again. */
function dueNow(service: ServiceState, now: Date): Transition {
  return { state: service, dueAt: service.status === 'deleted' && !isUnpublished(service) ? null : now }
}

/**
 * More was published to the cell than this database knows: it was restored. What the cell has is adopted, and the
 * wanted state is published again under a higher generation, so that the next report is about that. What the cell
 * erased cannot be brought back, and a report never becomes intent: the owner decides between an empty service and
 * none.
 */
function adopted(service: ServiceState, generation: number, state: ObservedState, now: Date): ServiceState {
  const known: ServiceState = { ...service, generation, publishedDigest: null }
  const { status, wantedState, desiredState } = known
  if (wantedState === 'deleted' || state === 'failed') return known
  if (state !== 'deleted') {
    // It exists by now, so it is not treated as one that was never made.
    const isRevived = (status === 'failed' && known.statusReason !== RECOVERED) || status === 'provisioning'
    const deadlineAt = new Date(now.getTime() + DEADLINE_MS)
    return isRevived ? { ...known, statusReason: null, deadlineAt, status: 'updating' } : known
  }
  if (status === 'failed' && desiredState === 'deleted') return known
  return failed(known, LOST, 'Its cell erased it, and no deletion was requested. Retry makes an empty one.', now)
}

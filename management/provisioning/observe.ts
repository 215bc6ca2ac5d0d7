// What a cell says of a service. Pure; the states: service-state.ts.

import { isOpen } from './operations/operation.ts'
import {
  DEADLINE_MS,
  failed,
  isConfirmed,
  isUntold,
  type Life,
  LOST,
  type ObservedState,
  RECOVERED,
  settled,
  type Turn,
} from './service-state.ts'

/** A cell that is told less than so many changes more than we know of was restored with us; one beyond it says what never was. */
const GENERATIONS_AHEAD_MAX = 1_000

/** No history explains it: what is said there is kept aside, for it would stay with the service for ever. */
export function isTooFarAhead(life: Life, generation: number): boolean {
  return generation > life.generation + GENERATIONS_AHEAD_MAX
}

/** What a cell says of it. Of an older generation than it said before, or from a cell where it is not: nothing. */
export function observe(
  given: Life,
  { cellId, generation, state }: { cellId: string; generation: number; state: ObservedState },
  now: Date,
): Turn {
  // Without a place here and with one there: this database was restored from before it had one.
  const isTakenBack = given.cellId === null && generation > given.generation && state !== 'deleted'
  if ((cellId !== given.cellId && !isTakenBack) || generation < given.observedGeneration) return heard(given, now)
  const life: Life = { ...given, cellId, observedGeneration: generation, observedState: state }
  const isLivingOn = generation > given.generation && state !== 'deleted'
  if (given.status === 'deleted') return heard(isLivingOn ? { ...life, generation, publishedDigest: null } : given, now)
  // The same number with another meaning is of a history that was lost too.
  const isRepeated = generation === given.observedGeneration && state === given.observedState
  const isLost =
    state === 'deleted' && generation === given.generation && given.desiredState !== 'deleted' && !isRepeated
  if (generation > given.generation || isLost) return heard(adopted(life, generation, state, now), now)
  if (generation < given.generation || given.publishedDigest === null || !isToldOfCommand(life)) return heard(life, now)
  if (state === 'failed' && life.status === 'provisioning')
    return heard(failed(life, 'cell_failed', 'The cell could not make the instance.', now), now)
  if (!isConfirmed(life)) return heard(life, now)
  const turn = settled(life, now)
  return { ...turn, ...heard(turn.life, now) }
}

/** Somebody looks at once; at a deleted one only when its cell must be told again. */
function heard(life: Life, now: Date): Turn {
  return { life, dueAt: life.status === 'deleted' && !isUntold(life) ? null : now }
}

/** What the cell confirms is what it was told, and not a command that was given since. */
function isToldOfCommand({ operation }: Life): boolean {
  if (!operation || !isOpen(operation)) return true
  return operation.steps.some(({ name, status }) => name === 'publish' && status === 'succeeded')
}

/**
 * The cell was told more than this database knows: it was restored. What the cell has is adopted, and it is told again under a
 * higher generation, so that its next word is about what we want now, and its feed does not say what was lost. What it has erased
 * can not be brought back, and a report never becomes intent: the owner decides between an empty one and none.
 */
function adopted(life: Life, generation: number, state: ObservedState, now: Date): Life {
  const known: Life = { ...life, generation, publishedDigest: null }
  const { status, wantedState, desiredState } = known
  if (wantedState === 'deleted' || state === 'failed') return known
  if (state !== 'deleted') {
    // It has come to be meanwhile, so it is not taken away as one that never had.
    const isRevived = (status === 'failed' && known.statusReason !== RECOVERED) || status === 'provisioning'
    const deadlineAt = new Date(now.getTime() + DEADLINE_MS)
    return isRevived ? { ...known, statusReason: null, deadlineAt, status: 'updating' } : known
  }
  if (status === 'failed' && desiredState === 'deleted') return known
  return failed(known, LOST, 'Its cell has erased it, and nobody had asked for that. Retry makes an empty one.', now)
}

// One look at a service: what its cell must be told, given what is wanted and what is paid for. Pure; the states: service-state.ts.

import type { StateReason } from '@loci/contract/states.ts'
import { isOpen, type OperationKind, stepDone, stepRunning } from './operations/operation.ts'
import {
  command,
  DEADLINE_MS,
  type DesiredState,
  failed,
  givenUp,
  isConfirmed,
  isUntold,
  type Life,
  opened,
  settled,
  type Turn,
} from './service-state.ts'

const BACKOFF_MS_MAX = 30_000
/** Later than this past a deadline nobody was there to look, and the cells could not speak either. */
const UNWATCHED_MS = 60_000

/** What should be so, apart from the customer's own word: the tenant's billing, and what of the plan it covers. */
export interface Entitlement {
  state: 'active' | 'suspended'
  reason: StateReason | null
  /** The tenant is past everything: its services are deleted. */
  isOver: boolean
  /** Of limits, plan and config together with the state: what the cell would be told. */
  digestOf(state: DesiredState, reason: StateReason | null): string
}

export interface Surroundings {
  entitlement: Entitlement
  /** Where it could go now; undefined = nowhere has room. Asked for only when it has no place. */
  placement: string | undefined
  operationId: string
}

export interface Reconciled extends Turn {
  /** Set when the cell must be told: the life's state and generation are those to tell. */
  publish: boolean
  /** It took a place in this cell. */
  placed?: string
}

/** What needs a place, so that whoever calls knows whether to look for one. */
export function needsPlace(life: Life): boolean {
  return life.cellId === null && life.wantedState !== 'deleted' && life.status !== 'failed'
}

/** One look: gives up what is past its deadline, finds a place, tells the cell. Idempotent: a second look changes nothing. */
export function reconcile(given: Life, around: Surroundings, now: Date): Reconciled {
  if (given.status === 'deleted') return deletedAgain(given, around, now)
  if (around.entitlement.isOver && given.wantedState !== 'deleted') {
    const turn = command(given, 'delete', around.operationId, now)
    const next = reconcile(turn.life, { ...around, entitlement: { ...around.entitlement, isOver: false } }, now)
    return { ...next, ...(turn.superseded ? { superseded: turn.superseded } : {}) }
  }
  const life = given.deadlineAt && given.deadlineAt <= now ? overdue(given, given.deadlineAt, now) : given
  // What its cell may have of it stays there: silence says nothing, and a report is no intent.
  if (life.status === 'failed' && life.wantedState !== 'deleted') return { life, dueAt: null, publish: false }
  const state = stateNeeded(life, around.entitlement.state)
  const reason = state === 'suspended' ? reasonOf(life, around.entitlement) : null
  const result = act(life, around, state, reason, now)
  // Given up and replaced in one look: both must be known.
  const isReplaced = life.operation !== given.operation && result.life.operation?.id !== life.operation?.id
  return isReplaced && life.operation ? { ...result, superseded: life.operation } : result
}

function act(life: Life, around: Surroundings, state: DesiredState, reason: StateReason | null, now: Date): Reconciled {
  if (life.cellId !== null) return tell(life, around, state, reason, now)
  if (state === 'deleted') return { ...settled(life, now), publish: false }
  return place(life, around, state, reason, now)
}

/** For ever, also in a cell that was restored from a backup of a history that this database has lost. */
function deletedAgain(life: Life, { entitlement }: Surroundings, now: Date): Reconciled {
  if (!isUntold(life)) return { life, dueAt: null, publish: false }
  const publishedDigest = entitlement.digestOf('deleted', null)
  const told: Life = {
    ...life,
    desiredState: 'deleted',
    stateReason: null,
    generation: life.generation + 1,
    publishedDigest,
  }
  return { life: running(told, now), dueAt: null, publish: true }
}

/** As the customer wants it, within what is paid for. */
function stateNeeded(life: Life, entitled: 'active' | 'suspended'): DesiredState {
  return life.wantedState === 'active' ? entitled : life.wantedState
}

/** Want of payment is told before the customer's own word: a payment is what would help. */
function reasonOf(life: Life, { state, reason }: Entitlement): StateReason {
  if (state === 'suspended' && (reason !== 'plan_not_covered' || life.wantedState !== 'suspended'))
    return reason ?? 'suspended'
  return 'suspended'
}

function place(
  life: Life,
  around: Surroundings,
  state: DesiredState,
  reason: StateReason | null,
  now: Date,
): Reconciled {
  if (around.placement === undefined) {
    const attempts = life.attempts + 1
    const retryAt = new Date(now.getTime() + Math.min(BACKOFF_MS_MAX, 500 * 2 ** Math.min(attempts, 10)))
    const operation = life.operation && stepRunning(life.operation, 'place', 'no cell has room', now)
    const waiting = { ...life, attempts, statusReason: 'no_capacity', operation }
    return { life: waiting, dueAt: earliest(retryAt, life.deadlineAt), publish: false }
  }
  const operation = life.operation && stepDone(life.operation, 'place', around.placement, now)
  const placed = { ...life, cellId: around.placement, attempts: 0, statusReason: null, operation }
  return { ...tell({ ...placed, publishedDigest: null }, around, state, reason, now), placed: around.placement }
}

function tell(
  life: Life,
  around: Surroundings,
  state: DesiredState,
  reason: StateReason | null,
  now: Date,
): Reconciled {
  const digest = around.entitlement.digestOf(state, reason)
  // What was told to be deleted is not told again when its plan changes: a restored database would raise its number past that of
  // a cell where it lives.
  const isToldDeleted = state === 'deleted' && life.desiredState === 'deleted' && life.publishedDigest !== null
  if (digest === life.publishedDigest || isToldDeleted) {
    // Told before. A new command that changes nothing is over when the cell has confirmed what it was told.
    if (isConfirmed(life)) return { ...settled(life, now), publish: false }
    return { life: running(life, now), dueAt: dueOf(life), publish: false }
  }
  const told: Life = {
    ...life,
    desiredState: state,
    stateReason: reason,
    generation: life.generation + 1,
    publishedDigest: digest,
  }
  // A change that nobody commanded, such as a payment that came: it gets an operation of its own.
  const isCommanded = told.operation !== null && isOpen(told.operation)
  if (isCommanded || told.status === 'failed') return { life: running(told, now), dueAt: dueOf(told), publish: true }
  const kind = kindOfChange(life.desiredState, state)
  const turn = opened(told, kind, state === 'deleted' ? 'deleting' : 'updating', around.operationId, now)
  return { ...turn, life: running(turn.life, now), dueAt: dueOf(turn.life), publish: true }
}

function kindOfChange(before: DesiredState, after: DesiredState): OperationKind {
  if (after === 'deleted') return 'delete'
  if (after === 'suspended') return 'suspend'
  return before === 'suspended' ? 'resume' : 'update'
}

function running(life: Life, now: Date): Life {
  if (!life.operation || !isOpen(life.operation)) return life
  const detail = `generation ${life.generation}`
  if (life.operation.steps.some((step) => step.name === 'publish' && step.detail === detail)) return life
  const told = stepDone(life.operation, 'publish', detail, now)
  return { ...life, operation: stepRunning(told, 'confirm', life.cellId, now) }
}

/** Past its deadline: it is given up, unless nobody was there to see its cell answer. */
function overdue(life: Life, deadlineAt: Date, now: Date): Life {
  if (now.getTime() - deadlineAt.getTime() <= UNWATCHED_MS) return expired(life, now)
  return { ...life, deadlineAt: new Date(now.getTime() + DEADLINE_MS) }
}

function expired(life: Life, now: Date): Life {
  if (life.status === 'provisioning') {
    return life.cellId === null
      ? failed(life, 'no_capacity', 'No cell of the region had room for it. Try again later.', now)
      : failed(life, 'cell_silent', 'Its cell did not confirm it in time. It can be tried again.', now)
  }
  if (life.status === 'deleting')
    return failed(life, 'deletion_unconfirmed', 'Its cell has not confirmed yet that everything is erased.', now)
  // Back to what the cell last said. It is still told the new state, and its late word settles it.
  const status = life.observedState === 'suspended' ? 'suspended' : 'active'
  return { ...givenUp(life, 'unconfirmed', 'Its cell did not confirm the change in time.', now), status }
}

/** Whatever has a deadline is looked at again when that has passed. */
function dueOf({ deadlineAt }: Life): Date | null {
  return deadlineAt
}

function earliest(one: Date, other: Date | null): Date {
  return other !== null && other < one ? other : one
}

// The life of a service: what is wanted, what its cell was told, what the cell says. Pure: each function takes a life and a moment
// and answers the next life and what must be done beside it. The stores and the simulation in tests/ run these same functions.
//
//   provisioning  new, or tried again. Moves on: its cell confirms → active (or suspended); 15 minutes → failed.
//   active        as wanted. suspended: as wanted, or for want of payment.
//   updating      the cell is being told something new. Moves on: confirmed → active or suspended; 15 minutes → back to what the cell
//                 last said, reason `unconfirmed`; the cell still has it in its feed, and a late confirmation settles it.
//   failed        nobody pays for it, and nothing is published for it. Moves on: retry → provisioning, told anew; delete → deleting; its
//                 cell confirms after all what it was told → active (or suspended). `lost_in_restore`: the cell has erased it unasked,
//                 and only its owner goes on. `recovered`: it lives in its cell and was not known here; retry accepts it.
//   deleting      Moves on: the cell has erased it → deleted; 15 minutes → failed, reason `deletion_unconfirmed`, and the late
//                 confirmation ends it. deleted: for ever.
//
// Only a look may find that nothing is left to do, for only a look knows what is paid for: a command and a cell's word make the
// service due at once. A deadline that passed while nobody looked (management was down, or its database is restored) begins anew.
// A cell that has more than was ever told is believed: what it has lives, and it is told again what is wanted.
//
// Can never happen: a transitional status without a deadline; a command that is refused because of a state, except deleted; a command
// that is over before its cell was told of it; a cell that is told an older generation after a newer one; a cell that is told `deleted`
// because it was silent, or because of its own report. This database can not know what lived in a history that it has lost: only the
// word of the owner, of billing or of staff erases.

import {
  finish,
  isOpen,
  newOperation,
  type Operation,
  type OperationKind,
  stepDone,
  stepRunning,
} from './operations/operation.ts'

export type Status = 'provisioning' | 'active' | 'updating' | 'suspended' | 'failed' | 'deleting' | 'deleted'
export type DesiredState = 'active' | 'suspended' | 'deleted'
export type ObservedState = DesiredState | 'failed'

export interface Life {
  id: string
  wantedState: DesiredState
  status: Status
  statusReason: string | null
  cellId: string | null
  desiredState: DesiredState
  stateReason: string | null
  /** Of what the cell was last told; 0 = nothing yet. */
  generation: number
  /** Of everything that the cell was told under it; null = it must be told (again). */
  publishedDigest: string | null
  observedGeneration: number
  observedState: ObservedState | null
  /** Of the last command. */
  operation: Operation | null
  deadlineAt: Date | null
  /** Failures to place in a row. */
  attempts: number
}

/** What changed, and what must be done in the same transaction. */
export interface Turn {
  life: Life
  /** The operation that was open before, now over. */
  superseded?: Operation
  /** When somebody must look again; null = nothing is left to do, which only a look can say of one that is not deleted. */
  dueAt: Date | null
  /** Set when a provisioning has just ended well: how long it took. */
  readyMs?: number
}

const DEADLINE_MS = 15 * 60_000
const BACKOFF_MS_MAX = 30_000
/** The reason of one that its cell has erased unasked. */
export const LOST = 'lost_in_restore'
/** The reason of one that a cell had and this database did not: its owner accepts it with retry, or deletes it. */
export const RECOVERED = 'recovered'
/** A cell that is told less than so many changes more than we know of was restored with us; one beyond it says what never was. */
const GENERATIONS_AHEAD_MAX = 1_000
/** Later than this past a deadline nobody was there to look, and the cells could not speak either. */
const UNWATCHED_MS = 60_000

export type Verb = 'suspend' | 'resume' | 'update' | 'delete' | 'retry'

export function newLife(id: string, operationId: string, now: Date): Life {
  return {
    id,
    wantedState: 'active',
    status: 'provisioning',
    statusReason: null,
    cellId: null,
    desiredState: 'active',
    stateReason: null,
    generation: 0,
    publishedDigest: null,
    observedGeneration: 0,
    observedState: null,
    operation: newOperation(operationId, 'provision', now),
    deadlineAt: new Date(now.getTime() + DEADLINE_MS),
    attempts: 0,
  }
}

/** Accepted in any state but deleted. What is being deleted stays so: a command on it is over as soon as it is given. */
export function command(life: Life, verb: Verb, operationId: string, now: Date): Turn {
  if (life.wantedState === 'deleted') {
    if (verb === 'delete' || verb === 'retry') return again(life, 'delete', operationId, now)
    const unheard = finish(newOperation(operationId, kindOf(verb), now), 'superseded', now)
    return { life, superseded: unheard, dueAt: now }
  }
  if (verb === 'delete') return removal(life, operationId, now)
  const isRevival = life.status === 'failed' && (verb === 'retry' || verb === 'resume')
  const wanted: Life = { ...life, wantedState: wantedBy(verb, life.wantedState) }
  // Told anew under a higher generation: a cell that could not make it tries again, one that has erased it begins an empty one.
  const revived: Life = { ...wanted, attempts: 0, publishedDigest: null }
  if (isRevival) return opened(revived, 'provision', 'provisioning', operationId, now)
  if (verb === 'retry') return again(life, kindNow(life), operationId, now)
  if (life.status === 'failed') {
    // It takes effect when it is tried again; until then there is nothing to change.
    const operation = finish(newOperation(operationId, kindOf(verb), now), 'succeeded', now)
    return { life: { ...wanted, operation }, dueAt: now }
  }
  return opened(wanted, kindOf(verb), life.status === 'provisioning' ? 'provisioning' : 'updating', operationId, now)
}

function wantedBy(verb: Verb, before: DesiredState): DesiredState {
  if (verb === 'suspend') return 'suspended'
  return verb === 'resume' ? 'active' : before
}

function kindOf(verb: Verb): OperationKind {
  return verb === 'retry' ? 'provision' : verb
}

function kindNow({ status, wantedState }: Life): OperationKind {
  if (status === 'provisioning') return 'provision'
  return wantedState === 'suspended' ? 'suspend' : 'update'
}

/** What was never placed is nowhere, so it is gone at once. */
function removal(life: Life, operationId: string, now: Date): Turn {
  const turn = opened({ ...life, wantedState: 'deleted' }, 'delete', 'deleting', operationId, now)
  return life.cellId === null ? { ...turn, ...settled(turn.life, now) } : turn
}

/** Looks again at once. An operation that is open goes on as it is; one that is over is begun anew while there is something to do. */
function again(life: Life, kind: OperationKind, operationId: string, now: Date): Turn {
  const isSettled = life.deadlineAt === null && life.status !== 'failed' && life.publishedDigest !== null
  if ((life.operation && isOpen(life.operation)) || (isSettled && isConfirmed(life))) return { life, dueAt: now }
  const status = kind === 'delete' ? 'deleting' : kind === 'provision' ? 'provisioning' : 'updating'
  return opened(life, kind, status, operationId, now)
}

function opened(life: Life, kind: OperationKind, status: Status, operationId: string, now: Date): Turn {
  const superseded =
    life.operation && isOpen(life.operation) ? { superseded: finish(life.operation, 'superseded', now) } : {}
  return {
    life: {
      ...life,
      status,
      statusReason: null,
      operation: newOperation(operationId, kind, now),
      // A service that is still being made must be made in its first fifteen minutes, however often it is changed meanwhile.
      deadlineAt:
        status === 'provisioning' && life.status === 'provisioning' && life.deadlineAt
          ? life.deadlineAt
          : new Date(now.getTime() + DEADLINE_MS),
    },
    ...superseded,
    dueAt: now,
  }
}

/** What should be so, apart from the customer's own word: the tenant's billing, and what of the plan it covers. */
export interface Entitlement {
  state: 'active' | 'suspended'
  reason: string | null
  /** The tenant is past everything: its services are deleted. */
  isOver: boolean
  /** Of limits, plan and config together with the state: what the cell would be told. */
  digestOf(state: DesiredState, reason: string | null): string
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

function act(life: Life, around: Surroundings, state: DesiredState, reason: string | null, now: Date): Reconciled {
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
function reasonOf(life: Life, { state, reason }: Entitlement): string {
  if (state === 'suspended' && (reason !== 'plan_not_covered' || life.wantedState !== 'suspended'))
    return reason ?? 'suspended'
  return 'suspended'
}

function place(life: Life, around: Surroundings, state: DesiredState, reason: string | null, now: Date): Reconciled {
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

function tell(life: Life, around: Surroundings, state: DesiredState, reason: string | null, now: Date): Reconciled {
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

function isUntold({ cellId, publishedDigest }: Life): boolean {
  return cellId !== null && publishedDigest === null
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

function isConfirmed(life: Life): boolean {
  return life.observedGeneration === life.generation && life.observedState === life.desiredState
}

/** The cell has what it should have. The same life when that was known. */
function settled(life: Life, now: Date): Turn {
  const isGone = life.desiredState === 'deleted' || life.cellId === null
  const operation = life.operation && isOpen(life.operation) ? finish(life.operation, 'succeeded', now) : life.operation
  if (isGone && life.wantedState === 'deleted')
    return { life: { ...life, status: 'deleted', statusReason: null, operation, deadlineAt: null }, dueAt: null }
  // A release before took failed ones away from their cell; with its confirmation the next try may go anywhere.
  if (isGone)
    return {
      life: life.cellId === null ? life : { ...life, cellId: null, publishedDigest: null },
      dueAt: life.deadlineAt,
    }
  const status = life.desiredState === 'suspended' ? 'suspended' : 'active'
  const isKnown = life.status === status && life.statusReason === life.stateReason && life.deadlineAt === null
  if (isKnown && operation === life.operation) return { life, dueAt: null }
  const isReady = life.operation?.kind === 'provision' && isOpen(life.operation)
  return {
    life: { ...life, status, statusReason: life.stateReason, operation, deadlineAt: null, attempts: 0 },
    dueAt: null,
    ...(isReady && life.operation ? { readyMs: now.getTime() - life.operation.createdAt.getTime() } : {}),
  }
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

function failed(life: Life, reason: string, message: string, now: Date): Life {
  return { ...givenUp(life, reason, message, now), status: 'failed' }
}

function givenUp(life: Life, reason: string, message: string, now: Date): Life {
  const error = { code: reason.toUpperCase(), message }
  const operation =
    life.operation && isOpen(life.operation) ? finish(life.operation, 'failed', now, error) : life.operation
  return { ...life, statusReason: reason, operation, deadlineAt: null }
}

/** Whatever has a deadline is looked at again when that has passed. */
function dueOf({ deadlineAt }: Life): Date | null {
  return deadlineAt
}

function earliest(one: Date, other: Date | null): Date {
  return other !== null && other < one ? other : one
}

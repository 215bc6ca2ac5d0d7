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

import type { InstanceState, StateReason } from '@loci/contract/states.ts'
import { finish, isOpen, newOperation, type Operation, type OperationKind } from './operations/operation.ts'

export type Status = 'provisioning' | 'active' | 'updating' | 'suspended' | 'failed' | 'deleting' | 'deleted'
export type DesiredState = InstanceState
export type ObservedState = DesiredState | 'failed'

export interface Life {
  id: string
  wantedState: DesiredState
  status: Status
  statusReason: string | null
  cellId: string | null
  desiredState: DesiredState
  stateReason: StateReason | null
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

export const DEADLINE_MS = 15 * 60_000
/** The reason of one that its cell has erased unasked. */
export const LOST = 'lost_in_restore'
/** The reason of one that a cell had and this database did not: its owner accepts it with retry, or deletes it. */
export const RECOVERED = 'recovered'

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

export function opened(life: Life, kind: OperationKind, status: Status, operationId: string, now: Date): Turn {
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

export function isUntold({ cellId, publishedDigest }: Life): boolean {
  return cellId !== null && publishedDigest === null
}

export function isConfirmed(life: Life): boolean {
  return life.observedGeneration === life.generation && life.observedState === life.desiredState
}

/** The cell has what it should have. The same life when that was known. */
export function settled(life: Life, now: Date): Turn {
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

export function failed(life: Life, reason: string, message: string, now: Date): Life {
  return { ...givenUp(life, reason, message, now), status: 'failed' }
}

export function givenUp(life: Life, reason: string, message: string, now: Date): Life {
  const error = { code: reason.toUpperCase(), message }
  const operation =
    life.operation && isOpen(life.operation) ? finish(life.operation, 'failed', now, error) : life.operation
  return { ...life, statusReason: reason, operation, deadlineAt: null }
}

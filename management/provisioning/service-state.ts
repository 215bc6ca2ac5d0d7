// The state of a service: what is wanted, what was published to its cell, what the cell reports. Pure: each function
// takes a state and a time and returns the next state with what must be written beside it. The stores and the
// simulation in tests/ run these same functions.
//
//   provisioning  new, or retried. Leaves: the cell confirms → active (or suspended); after 15 minutes → failed.
//   active        as wanted.
//   suspended     as wanted, or because of billing.
//   updating      a change is published. Leaves: confirmed → active or suspended; after 15 minutes → what the cell last
//                 reported, reason `unconfirmed`. The change stays in the feed of the cell, and a late confirmation
//                 settles it.
//   failed        not billed, and nothing is published. Leaves: retry → provisioning, published anew; delete →
//                 deleting; the cell confirms after all what was published → active (or suspended).
//                 `lost_in_restore`: the cell erased it unasked; only its owner can go on. `recovered`: its cell had it
//                 and this database did not; retry accepts it.
//   deleting      Leaves: the cell has erased it → deleted; after 15 minutes → failed, reason `deletion_unconfirmed`; a
//                 late confirmation deletes it.
//   deleted       final.
//
// Only a reconciliation can find that nothing is left to do, because only it knows what billing covers: a command and a
// report make the service due at once. A deadline that passed while nothing was reconciled (management was down, or its
// database was restored) starts again. A cell that reports a higher generation than was ever published is believed: its
// instance lives, and the wanted state is published again.
//
// Can never happen: a transitional status without a deadline; a command that is refused because of a state, except
// deleted; an operation that ends before its command was published; an older generation published after a newer one;
// `deleted` published because a cell was silent, or because of its own report. This database cannot know what existed
// in a history that it has lost: only the owner, billing or staff delete.

import type { InstanceState, StateReason } from '@loci/contract/states.ts'
import { finish, isOpen, newOperation, type Operation, type OperationKind } from './operations/operation.ts'

export type Status = 'provisioning' | 'active' | 'updating' | 'suspended' | 'failed' | 'deleting' | 'deleted'
export type DesiredState = InstanceState
export type ObservedState = DesiredState | 'failed'

export interface ServiceState {
  id: string
  wantedState: DesiredState
  status: Status
  statusReason: string | null
  cellId: string | null
  desiredState: DesiredState
  stateReason: StateReason | null
  /** Of what was last published; 0 = nothing yet. */
  generation: number
  /** Of everything published under this generation; null = it must be published (again). */
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
export interface Transition {
  state: ServiceState
  /** The operation that was open before, now over. */
  superseded?: Operation
  /** When to reconcile next; null = nothing left to do, which only a reconciliation can decide. */
  dueAt: Date | null
  /** Set when a provisioning has just ended well: how long it took. */
  readyMs?: number
}

export const DEADLINE_MS = 15 * 60_000
/** The reason of one that its cell erased unasked. */
export const LOST = 'lost_in_restore'
/** The reason of one that a cell had and this database did not: its owner accepts it with retry, or deletes it. */
export const RECOVERED = 'recovered'

export type Verb = 'suspend' | 'resume' | 'update' | 'delete' | 'retry'

export function newServiceState(id: string, operationId: string, now: Date): ServiceState {
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

/** Accepted in any state but deleted. What is being deleted stays so: another command on it ends at once. */
export function command(service: ServiceState, verb: Verb, operationId: string, now: Date): Transition {
  if (service.wantedState === 'deleted') {
    if (verb === 'delete' || verb === 'retry') return restarted(service, 'delete', operationId, now)
    const unheard = finish(newOperation(operationId, kindOf(verb), now), 'superseded', now)
    return { state: service, superseded: unheard, dueAt: now }
  }
  if (verb === 'delete') return removal(service, operationId, now)
  const isRevival = service.status === 'failed' && (verb === 'retry' || verb === 'resume')
  const wanted: ServiceState = { ...service, wantedState: wantedBy(verb, service.wantedState) }
  // Published anew under a higher generation: a cell that could not make it tries again, one that erased it makes an
  // empty one.
  const revived: ServiceState = { ...wanted, attempts: 0, publishedDigest: null }
  if (isRevival) return opened(revived, 'provision', 'provisioning', operationId, now)
  if (verb === 'retry') return restarted(service, kindNow(service), operationId, now)
  if (service.status === 'failed') {
    // It takes effect with the next retry; until then there is nothing to change.
    const operation = finish(newOperation(operationId, kindOf(verb), now), 'succeeded', now)
    return { state: { ...wanted, operation }, dueAt: now }
  }
  return opened(wanted, kindOf(verb), service.status === 'provisioning' ? 'provisioning' : 'updating', operationId, now)
}

function wantedBy(verb: Verb, before: DesiredState): DesiredState {
  if (verb === 'suspend') return 'suspended'
  return verb === 'resume' ? 'active' : before
}

function kindOf(verb: Verb): OperationKind {
  return verb === 'retry' ? 'provision' : verb
}

function kindNow({ status, wantedState }: ServiceState): OperationKind {
  if (status === 'provisioning') return 'provision'
  return wantedState === 'suspended' ? 'suspend' : 'update'
}

/** What was never placed exists nowhere, so it is deleted at once. */
function removal(service: ServiceState, operationId: string, now: Date): Transition {
  const next = opened({ ...service, wantedState: 'deleted' }, 'delete', 'deleting', operationId, now)
  return service.cellId === null ? { ...next, ...settled(next.state, now) } : next
}

/** Reconciles at once. An open operation continues; an ended one is started again if there is work left. */
function restarted(service: ServiceState, kind: OperationKind, operationId: string, now: Date): Transition {
  const isSettled = service.deadlineAt === null && service.status !== 'failed' && service.publishedDigest !== null
  if ((service.operation && isOpen(service.operation)) || (isSettled && isConfirmed(service)))
    return { state: service, dueAt: now }
  const status = kind === 'delete' ? 'deleting' : kind === 'provision' ? 'provisioning' : 'updating'
  return opened(service, kind, status, operationId, now)
}

export function opened(
  service: ServiceState,
  kind: OperationKind,
  status: Status,
  operationId: string,
  now: Date,
): Transition {
  const superseded =
    service.operation && isOpen(service.operation) ? { superseded: finish(service.operation, 'superseded', now) } : {}
  return {
    state: {
      ...service,
      status,
      statusReason: null,
      operation: newOperation(operationId, kind, now),
      // A service that is still being made must be made in its first fifteen minutes, however often it is changed
      // meanwhile.
      deadlineAt:
        status === 'provisioning' && service.status === 'provisioning' && service.deadlineAt
          ? service.deadlineAt
          : new Date(now.getTime() + DEADLINE_MS),
    },
    ...superseded,
    dueAt: now,
  }
}

export function isUnpublished({ cellId, publishedDigest }: ServiceState): boolean {
  return cellId !== null && publishedDigest === null
}

/** A cell confirms what was published, not a command that was given since. */
export function isCommandPublished({ operation }: ServiceState): boolean {
  if (!operation || !isOpen(operation)) return true
  return operation.steps.some(({ name, status }) => name === 'publish' && status === 'succeeded')
}

export function isConfirmed(service: ServiceState): boolean {
  return service.observedGeneration === service.generation && service.observedState === service.desiredState
}

/** The cell has what it should have. The same state when that was known. */
export function settled(service: ServiceState, now: Date): Transition {
  const isGone = service.desiredState === 'deleted' || service.cellId === null
  const operation =
    service.operation && isOpen(service.operation) ? finish(service.operation, 'succeeded', now) : service.operation
  if (isGone && service.wantedState === 'deleted')
    return { state: { ...service, status: 'deleted', statusReason: null, operation, deadlineAt: null }, dueAt: null }
  // An earlier release removed failed services from their cell; once that is confirmed, a retry may use any cell.
  if (isGone)
    return {
      state: service.cellId === null ? service : { ...service, cellId: null, publishedDigest: null },
      dueAt: service.deadlineAt,
    }
  const status = service.desiredState === 'suspended' ? 'suspended' : 'active'
  const isKnown =
    service.status === status && service.statusReason === service.stateReason && service.deadlineAt === null
  if (isKnown && operation === service.operation) return { state: service, dueAt: null }
  const isReady = service.operation?.kind === 'provision' && isOpen(service.operation)
  return {
    state: { ...service, status, statusReason: service.stateReason, operation, deadlineAt: null, attempts: 0 },
    dueAt: null,
    ...(isReady && service.operation ? { readyMs: now.getTime() - service.operation.createdAt.getTime() } : {}),
  }
}

export function failed(service: ServiceState, reason: string, message: string, now: Date): ServiceState {
  return { ...givenUp(service, reason, message, now), status: 'failed' }
}

export function givenUp(service: ServiceState, reason: string, message: string, now: Date): ServiceState {
  const error = { code: reason.toUpperCase(), message }
  const operation =
    service.operation && isOpen(service.operation) ? finish(service.operation, 'failed', now, error) : service.operation
  return { ...service, statusReason: reason, operation, deadlineAt: null }
}

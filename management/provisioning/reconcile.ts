// One reconciliation of a service: what must be published to its cell, given what is wanted and what billing covers.
// Pure; the states: service-state.ts.

import type { StateReason } from '@loci/contract/states.ts'
import { isOpen, type OperationKind, stepDone, stepRunning } from './operations/operation.ts'
import {
  command,
  DEADLINE_MS,
  type DesiredState,
  failed,
  givenUp,
  isCommandPublished,
  isConfirmed,
  isUnpublished,
  opened,
  type ServiceState,
  settled,
  type Transition,
} from './service-state.ts'

const BACKOFF_MS_MAX = 30_000
/** A deadline that passed longer ago than this passed while management was down and cells could not report. */
const UNWATCHED_MS = 60_000

/** What billing of the tenant allows, apart from what the customer asked for. */
export interface Entitlement {
  state: 'active' | 'suspended'
  reason: StateReason | null
  /** The last deadline for payment has passed: the services are deleted. */
  isOver: boolean
  /** Of limits, plan and config together with the state: what would be published. */
  digestOf(state: DesiredState, reason: StateReason | null): string
}

export interface Surroundings {
  entitlement: Entitlement
  /** A cell with room; undefined = none has. Looked for only when the service has no cell. */
  placement: string | undefined
  operationId: string
}

export interface Reconciled extends Transition {
  /** The state and generation of `state` must be published. */
  publish: boolean
  /** The cell that it was placed in. */
  placed?: string
}

/** Whether the caller must look for a cell. */
export function needsPlace(service: ServiceState): boolean {
  return service.cellId === null && service.wantedState !== 'deleted' && service.status !== 'failed'
}

/** Gives up what is past its deadline, places, publishes. Idempotent: a second call changes nothing. */
export function reconcile(given: ServiceState, around: Surroundings, now: Date): Reconciled {
  if (given.status === 'deleted') return deletedAgain(given, around, now)
  if (around.entitlement.isOver && given.wantedState !== 'deleted') {
    const deleted = command(given, 'delete', around.operationId, now)
    const result = reconcile(deleted.state, { ...around, entitlement: { ...around.entitlement, isOver: false } }, now)
    return { ...result, ...(deleted.superseded ? { superseded: deleted.superseded } : {}) }
  }
  const service = given.deadlineAt && given.deadlineAt <= now ? overdue(given, given.deadlineAt, now) : given
  // What its cell may have of it stays there: silence proves nothing, and a report is no intent.
  if (service.status === 'failed' && service.wantedState !== 'deleted')
    return { state: service, dueAt: null, publish: false }
  const state = stateNeeded(service, around.entitlement.state)
  const reason = state === 'suspended' ? reasonOf(service, around.entitlement) : null
  const result = act(service, around, state, reason, now)
  // An operation that failed and was replaced in one reconciliation: both are saved.
  const isReplaced = service.operation !== given.operation && result.state.operation?.id !== service.operation?.id
  return isReplaced && service.operation ? { ...result, superseded: service.operation } : result
}

function act(
  service: ServiceState,
  around: Surroundings,
  state: DesiredState,
  reason: StateReason | null,
  now: Date,
): Reconciled {
  if (service.cellId !== null) return publishState(service, around, state, reason, now)
  if (state === 'deleted') return { ...settled(service, now), publish: false }
  return place(service, around, state, reason, now)
}

/** Deleted is final, also in a cell that was restored from a backup of a history that this database has lost. */
function deletedAgain(service: ServiceState, { entitlement }: Surroundings, now: Date): Reconciled {
  if (!isUnpublished(service)) return { state: service, dueAt: null, publish: false }
  const publishedDigest = entitlement.digestOf('deleted', null)
  const published: ServiceState = {
    ...service,
    desiredState: 'deleted',
    stateReason: null,
    generation: service.generation + 1,
    publishedDigest,
  }
  return { state: running(published, now), dueAt: null, publish: true }
}

/** As the customer wants it, within what billing covers. */
function stateNeeded(service: ServiceState, entitled: 'active' | 'suspended'): DesiredState {
  return service.wantedState === 'active' ? entitled : service.wantedState
}

/** A missing payment is the reason that is shown, also where the customer suspended: a payment is what would help. */
function reasonOf(service: ServiceState, { state, reason }: Entitlement): StateReason {
  if (state === 'suspended' && (reason !== 'plan_not_covered' || service.wantedState !== 'suspended'))
    return reason ?? 'suspended'
  return 'suspended'
}

function place(
  service: ServiceState,
  around: Surroundings,
  state: DesiredState,
  reason: StateReason | null,
  now: Date,
): Reconciled {
  if (around.placement === undefined) {
    const attempts = service.attempts + 1
    const retryAt = new Date(now.getTime() + Math.min(BACKOFF_MS_MAX, 500 * 2 ** Math.min(attempts, 10)))
    const operation = service.operation && stepRunning(service.operation, 'place', 'no cell has room', now)
    const waiting = { ...service, attempts, statusReason: 'no_capacity', operation }
    return { state: waiting, dueAt: earliest(retryAt, service.deadlineAt), publish: false }
  }
  const operation = service.operation && stepDone(service.operation, 'place', around.placement, now)
  const placed = { ...service, cellId: around.placement, attempts: 0, statusReason: null, operation }
  return { ...publishState({ ...placed, publishedDigest: null }, around, state, reason, now), placed: around.placement }
}

function publishState(
  service: ServiceState,
  around: Surroundings,
  state: DesiredState,
  reason: StateReason | null,
  now: Date,
): Reconciled {
  const digest = around.entitlement.digestOf(state, reason)
  // A published deletion is not published again when the plan changes: a restored database would raise its generation
  // past that of a cell where it lives.
  const isDeletionPublished =
    state === 'deleted' && service.desiredState === 'deleted' && service.publishedDigest !== null
  if (digest === service.publishedDigest || isDeletionPublished) {
    // Published before. A new command that changes nothing ends when the cell has confirmed what was published.
    if (isConfirmed(service)) return { ...settled(service, now), publish: false }
    return { state: running(service, now), dueAt: dueOf(service), publish: false }
  }
  const published: ServiceState = {
    ...service,
    desiredState: state,
    stateReason: reason,
    generation: service.generation + 1,
    publishedDigest: digest,
  }
  // A change without a command, such as a payment: it gets an operation of its own.
  const isCommanded = published.operation !== null && isOpen(published.operation)
  if (isCommanded || published.status === 'failed')
    return { state: running(published, now), dueAt: dueOf(published), publish: true }
  const kind = kindOfChange(service.desiredState, state)
  const next = opened(published, kind, state === 'deleted' ? 'deleting' : 'updating', around.operationId, now)
  return { ...next, state: running(next.state, now), dueAt: dueOf(next.state), publish: true }
}

function kindOfChange(before: DesiredState, after: DesiredState): OperationKind {
  if (after === 'deleted') return 'delete'
  if (after === 'suspended') return 'suspend'
  return before === 'suspended' ? 'resume' : 'update'
}

function running(service: ServiceState, now: Date): ServiceState {
  if (!service.operation || !isOpen(service.operation)) return service
  const detail = `generation ${service.generation}`
  if (service.operation.steps.some((step) => step.name === 'publish' && step.detail === detail)) return service
  const published = stepDone(service.operation, 'publish', detail, now)
  return { ...service, operation: stepRunning(published, 'confirm', service.cellId, now) }
}

/** Past its deadline it is given up, unless management was down: then nobody could publish it, or hear of it. */
function overdue(service: ServiceState, deadlineAt: Date, now: Date): ServiceState {
  const isWatched = now.getTime() - deadlineAt.getTime() <= UNWATCHED_MS
  return isWatched && isTried(service)
    ? expired(service, now)
    : { ...service, deadlineAt: new Date(now.getTime() + DEADLINE_MS) }
}

/** A cell is silent only about what was published to it, and none has room only where one was looked for. */
function isTried(service: ServiceState): boolean {
  return service.cellId === null ? service.attempts > 0 : isCommandPublished(service)
}

function expired(service: ServiceState, now: Date): ServiceState {
  if (service.status === 'provisioning') {
    return service.cellId === null
      ? failed(service, 'no_capacity', 'No cell of the region had room for it. Try again later.', now)
      : failed(service, 'cell_silent', 'Its cell did not confirm it in time. It can be tried again.', now)
  }
  if (service.status === 'deleting')
    return failed(service, 'deletion_unconfirmed', 'Its cell has not confirmed yet that everything is erased.', now)
  // Back to what the cell last reported. The new state stays published, and a late confirmation settles it.
  const status = service.observedState === 'suspended' ? 'suspended' : 'active'
  return { ...givenUp(service, 'unconfirmed', 'Its cell did not confirm the change in time.', now), status }
}

/** What has a deadline is reconciled again when that has passed. */
function dueOf({ deadlineAt }: ServiceState): Date | null {
  return deadlineAt
}

function earliest(one: Date, other: Date | null): Date {
  return other !== null && other < one ? other : one
}

// Reconciles services with what is wanted. There is no queue and no lease, because nothing happens outside the
// transaction: cells pull, so publishing to a cell is a row of its feed in this same database. One reconciliation is
// one transaction, whole or not at all, whichever process is killed. A worker that froze is fenced by the server, which
// ends a transaction that is idle for five seconds; a cell is fenced by the generation.
// (docs/decisions/2026-11-15-provisioning-without-queue.md)

import { createHash } from 'node:crypto'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { InstanceLimits } from '@loci/contract/feed.ts'
import { newId } from '@loci/contract/ids.ts'
import { type StateReason, TENANT_ACCESS } from '@loci/contract/states.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { useOrganization } from '../access/store.ts'
import { appendEvents, type EventEntry } from '../acts/events/store.ts'
import { publishInstance } from '../acts/feed/store.ts'
import { limitsOf, PLAN_NAMES, PLANS, type PlanName } from '../plans.ts'
import { dropDeadline, dropDue, putDue, putUncoveredDue, reconcileSoon, setDue } from './due/store.ts'
import { isTooFarAhead, observe } from './observe.ts'
import { isOpen, type Operation } from './operations/operation.ts'
import { saveOperation } from './operations/store.ts'
import { addReadyTime, type Candidate, listCandidates, lockRoom } from './placement/store.ts'
import { deleteQuarantined, quarantineStray, saveQuarantined } from './quarantine/store.ts'
import { type Entitlement, needsPlace, reconcile } from './reconcile.ts'
import { type DesiredState, LOST, type ObservedState, type ServiceState, type Transition } from './service-state.ts'
import {
  findPlaced,
  findRankInOrganization,
  holdCoverage,
  holdOrganizationCoverage,
  type ObservedRow,
  type Placed,
  saveServiceState,
  type TenantCoverage,
} from './store.ts'

export interface Rules {
  /** False without a billing webhook: then every plan is covered. */
  isBilled: boolean
  random?: () => number
}

interface ServiceName {
  organizationId: string
  serviceId: string
  now?: Date
}

/** Reconciles one service, in a transaction of its own. */
export async function reconcileService(sql: Sql, rules: Rules, one: ServiceName): Promise<void> {
  await appendEvents(sql, await reconcileWithoutEvents(sql, rules, one), one.now ?? new Date())
}

/** The same as a part of a transaction, which appends the events when it has appended its own audit entries. */
export async function reconcileWithoutEvents(
  sql: Sql,
  rules: Rules,
  { organizationId, serviceId, now = new Date() }: ServiceName,
): Promise<EventEntry[]> {
  await useOrganization(sql, organizationId)
  // A cell is locked before the service, so it is chosen by a read without a lock, which may be outdated.
  const seen = await findPlaced(sql, organizationId, serviceId, { lock: false })
  if (!seen) {
    await dropDue(sql, serviceId)
    return []
  }
  const placement = needsPlace(seen.state) ? await choose(sql, seen, rules) : undefined
  const cellId = seen.state.cellId ?? placement
  const room = cellId === undefined ? undefined : await lockRoom(sql, cellId)
  const coverage = await holdCoverage(sql, organizationId, seen.tenantId, serviceId)
  const placed = await findPlaced(sql, organizationId, serviceId, { lock: true })
  if (!placed || placed.state.cellId !== seen.state.cellId) {
    await putDue(sql, organizationId, serviceId, now)
    return []
  }
  const around = {
    entitlement: entitlementOf(
      placed,
      coverage,
      rules.isBilled,
      rules.isBilled && (await isBeyond(sql, organizationId, serviceId, coverage)),
    ),
    placement: placement !== undefined && room && hasRoom(room, placed.plan, rules) ? placement : undefined,
    operationId: newId('op', now.getTime()),
  }
  const result = reconcile(placed.state, around, now)
  const events = await saveTransition(sql, organizationId, placed, result, now)
  await setDue(sql, organizationId, serviceId, result.dueAt)
  const publishedTo = result.publish ? result.state.cellId : null
  if (publishedTo !== null)
    await publishInstance(sql, publishedTo, {
      ...bodyOf(placed, coverage, rules.isBilled, result.state.desiredState, result.state.stateReason),
      org: organizationId,
      ten: placed.tenantId,
      svc: serviceId,
      generation: result.state.generation,
    })
  if (result.state.wantedState === 'deleted' && placed.state.wantedState !== 'deleted')
    await appendAudit(sql, {
      chain: organizationId,
      actor: 'billing',
      action: 'service.delete',
      subject: serviceId,
      detail: { tenant_id: placed.tenantId, reason: 'unpaid' },
    })
  return events
}

export interface Observation {
  organizationId: string
  cellId: string
  svc: string
  generation: number
  state: ObservedState
}

/**
 * What a cell reports of one service, in a transaction of its own: a report may name a thousand, and their
 * organizations should not wait for all of them. A report that is interrupted is sent again, and what was taken of it
 * changes nothing then.
 */
export async function takeObserved(
  sql: Sql,
  { organizationId, cellId, svc, generation, state }: Observation,
  now: Date,
): Promise<'taken' | 'ahead' | 'lost'> {
  await useOrganization(sql, organizationId)
  const placed = await findPlaced(sql, organizationId, svc, { lock: true })
  if (!placed) return 'taken'
  if (isTooFarAhead(placed.state, generation)) {
    await quarantineAhead(sql, organizationId, cellId, placed, { svc, generation, state })
    return 'ahead'
  }
  const next = observe(placed.state, { cellId, generation, state }, now)
  const isHere = next.state.cellId === cellId
  if (!isHere && placed.state.cellId !== cellId) {
    if (state === 'deleted') await deleteQuarantined(sql, cellId, svc)
    else await quarantineStray(sql, cellId, { svc, generation, state })
    return 'taken'
  }
  // Taken back, so it is no longer an instance without an owner.
  if (isHere && placed.state.cellId !== cellId) await deleteQuarantined(sql, cellId, svc)
  const events = await saveTransition(sql, organizationId, placed, next, now)
  const isLost = next.state.statusReason === LOST && placed.state.statusReason !== LOST
  if (isLost)
    await appendAudit(sql, {
      chain: organizationId,
      actor: cellId,
      action: 'service.lose',
      subject: svc,
      detail: { tenant_id: placed.tenantId, cell_id: cellId, generation },
    })
  await appendEvents(sql, events, now)
  reconcileSoon(sql, organizationId, svc)
  return isLost ? 'lost' : 'taken'
}

/** The service stays as it is. One audit entry for its organization, however often it is reported. */
async function quarantineAhead(
  sql: Sql,
  organizationId: string,
  cellId: string,
  { state: known, tenantId, serviceType, plan }: Placed,
  { svc, generation, state }: ObservedRow,
): Promise<void> {
  const one = { svc, org: organizationId, ten: tenantId, service_type: serviceType, plan, state, generation }
  if (!(await saveQuarantined(sql, cellId, one))) return
  const detail = { tenant_id: tenantId, cell_id: cellId, generation, known_generation: known.generation }
  const entry = { actor: cellId, action: 'service.quarantine', subject: svc, detail }
  await appendAudit(sql, { ...entry, chain: organizationId })
}

/**
 * The state, its operations and when to reconcile next. Returns the events to append: they come after the audit, last
 * in every transaction, because each locks a head that the whole organization shares.
 */
export async function saveTransition(
  sql: Sql,
  organizationId: string,
  { state: before, tenantId, region }: Placed,
  { state, superseded, dueAt, readyMs }: Transition,
  now: Date,
): Promise<EventEntry[]> {
  if (superseded) await saveOperation(sql, organizationId, state.id, superseded)
  if (state.operation && state.operation !== before.operation)
    await saveOperation(sql, organizationId, state.id, state.operation)
  if (state !== before) await saveServiceState(sql, organizationId, state, now)
  // A service that leaves the quota may let another of the organization be covered.
  if (!usesQuota(state) && usesQuota(before)) await putUncoveredDue(sql, organizationId, state.id, now)
  if (dueAt !== null) await putDue(sql, organizationId, state.id, dueAt)
  else if (before.deadlineAt) await dropDeadline(sql, state.id, before.deadlineAt)
  if (readyMs !== undefined) await addReadyTime(sql, region, now, readyMs)
  const event = (type: string, subject: string, data: Record<string, string | null>): EventEntry => ({
    organizationId,
    type,
    subject,
    data: { tenant_id: tenantId, ...data },
  })
  const ended = [superseded, hasJustEnded(before.operation, state.operation)].filter((one) => one !== undefined)
  return [
    ...(state.status === before.status
      ? []
      : [
          event('service.status_changed', state.id, {
            from: before.status,
            to: state.status,
            reason: state.statusReason,
          }),
        ]),
    ...ended.map(({ id, kind, status }) => event('operation.finished', id, { service_id: state.id, kind, status })),
  ]
}

function usesQuota({ status }: ServiceState): boolean {
  return status !== 'failed' && status !== 'deleting' && status !== 'deleted'
}

function hasJustEnded(before: Operation | null, after: Operation | null): Operation | undefined {
  return after && !isOpen(after) && (before?.id !== after.id || isOpen(before)) ? after : undefined
}

/** A cell reserved for the tenant; else the emptier of two random ones, so that processes do not all agree. */
async function choose(sql: Sql, { region, tenantId, plan }: Placed, rules: Rules): Promise<string | undefined> {
  const { random = Math.random } = rules
  const cells = await listCandidates(sql, region, tenantId)
  const own = cells.filter(({ isOwn }) => isOwn)
  const withRoom = (own.length > 0 ? own : cells).filter((cell) => hasRoom(cell, plan, rules))
  const heard = withRoom.filter(({ isHeard }) => isHeard)
  // A cell that was not heard for a minute is better than none: it may be about to come back.
  const eligible = heard.length > 0 ? heard : withRoom
  const draw = () => eligible[Math.floor(random() * eligible.length)] as Candidate
  if (eligible.length === 0) return undefined
  const [one, other] = [draw(), draw()]
  return one.placed / one.capacity <= other.placed / other.capacity ? one.id : other.id
}

/** Free services leave a part of every shared cell to paying ones; without billing nothing is kept back. */
function hasRoom(
  { placed, capacity, isOwn }: { placed: number; capacity: number; isOwn: boolean },
  plan: PlanName,
  { isBilled }: Rules,
): boolean {
  const part = isBilled && !isOwn ? PLANS[plan].cell_part : 1
  return placed < Math.ceil(capacity * part)
}

/** The plan of its tenant, or that of its organization, covers fewer services than are as old as this one or older. */
async function isBeyond(
  sql: Sql,
  organizationId: string,
  serviceId: string,
  coverage: TenantCoverage | undefined,
): Promise<boolean> {
  if (!coverage) return false
  if (coverage.rank > PLANS[coverage.plan].services) return true
  const { plan, used } = await holdOrganizationCoverage(sql, organizationId)
  const { services } = PLANS[plan].organization
  // Counted last and seldom: there may be ten thousand.
  if (used <= services) return false
  return (await findRankInOrganization(sql, organizationId, serviceId, services)) > services
}

function entitlementOf(
  placed: Placed,
  coverage: TenantCoverage | undefined,
  isBilled: boolean,
  isBeyondPlan: boolean,
): Entitlement {
  const digestOf = (state: DesiredState, reason: StateReason | null) =>
    createHash('sha256')
      .update(JSON.stringify(bodyOf(placed, coverage, isBilled, state, reason)))
      .digest('base64url')
  if (!isBilled || !coverage) return { ...TENANT_ACCESS.full, isOver: false, digestOf }
  // Until the deletion is commanded nothing is served.
  if (coverage.access === 'delete') return { ...TENANT_ACCESS.none, isOver: true, digestOf }
  if (coverage.access === 'full' && isBeyondPlan)
    return { state: 'suspended', reason: 'plan_not_covered', isOver: false, digestOf }
  return { ...TENANT_ACCESS[coverage.access], isOver: false, digestOf }
}

interface InstanceBody {
  service_type: string
  plan: PlanName
  state: DesiredState
  state_reason: StateReason | null
  limits: InstanceLimits
  config: Record<string, unknown>
}

/** What is published, but for its generation. */
function bodyOf(
  { serviceType, plan, config }: Placed,
  coverage: TenantCoverage | undefined,
  isBilled: boolean,
  state: DesiredState,
  reason: StateReason | null,
): InstanceBody {
  const covered = isBilled && coverage ? lesser(plan, coverage.plan) : plan
  return {
    service_type: serviceType,
    plan,
    state,
    state_reason: reason,
    limits: limitsOf(covered),
    config: state === 'deleted' ? {} : config,
  }
}

function lesser(one: PlanName, other: PlanName): PlanName {
  return PLAN_NAMES.indexOf(one) <= PLAN_NAMES.indexOf(other) ? one : other
}

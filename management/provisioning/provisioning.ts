// Makes intent true. There is no queue and no lease here, because there is nothing outside the transaction: a cell pulls, so "tell the
// cell" is a row of its feed, in this very database. One look is one transaction: it happened whole or not at all, whoever is
// killed in it. What fences a worker that froze is the server, which ends a transaction that is idle for five seconds; what fences a
// cell is the generation. (docs/decisions/2026-11-15-provisioning-without-queue.md)

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
import { type DesiredState, type Life, LOST, type ObservedState, type Turn } from './service-state.ts'
import {
  findPlaced,
  findRankInOrganization,
  holdOrganizationStanding,
  holdStanding,
  type ObservedRow,
  type Placed,
  type Standing,
  saveLife,
} from './store.ts'

export interface Rules {
  /** Without a billing webhook there is nobody to say what is paid for, and everything is covered. */
  isBilled: boolean
  random?: () => number
}

interface Look {
  organizationId: string
  serviceId: string
  now?: Date
}

/** One look at one service. In a transaction of its own. */
export async function lookAt(sql: Sql, rules: Rules, one: Look): Promise<void> {
  await appendEvents(sql, await lookWithoutEvents(sql, rules, one), one.now ?? new Date())
}

/** The same as a part of a transaction, which appends the events when it has appended its own audit entries. */
export async function lookWithoutEvents(
  sql: Sql,
  rules: Rules,
  { organizationId, serviceId, now = new Date() }: Look,
): Promise<EventEntry[]> {
  await useOrganization(sql, organizationId)
  // The cell's row is locked before the service's, as everywhere: so it is chosen by a look without a lock, which may be outdated.
  const seen = await findPlaced(sql, organizationId, serviceId, { lock: false })
  if (!seen) {
    await dropDue(sql, serviceId)
    return []
  }
  const placement = needsPlace(seen.life) ? await choose(sql, seen, rules) : undefined
  const cellId = seen.life.cellId ?? placement
  const room = cellId === undefined ? undefined : await lockRoom(sql, cellId)
  const standing = await holdStanding(sql, organizationId, seen.tenantId, serviceId)
  const placed = await findPlaced(sql, organizationId, serviceId, { lock: true })
  if (!placed || placed.life.cellId !== seen.life.cellId) {
    await putDue(sql, organizationId, serviceId, now)
    return []
  }
  const around = {
    entitlement: entitlementOf(
      placed,
      standing,
      rules.isBilled,
      rules.isBilled && (await isBeyond(sql, organizationId, serviceId, standing)),
    ),
    placement: placement !== undefined && room && hasRoom(room, placed.plan, rules) ? placement : undefined,
    operationId: newId('op', now.getTime()),
  }
  const result = reconcile(placed.life, around, now)
  const events = await saveTurn(sql, organizationId, placed, result, now)
  await setDue(sql, organizationId, serviceId, result.dueAt)
  const told = result.publish ? result.life.cellId : null
  if (told !== null)
    await publishInstance(sql, told, {
      ...bodyOf(placed, standing, rules.isBilled, result.life.desiredState, result.life.stateReason),
      org: organizationId,
      ten: placed.tenantId,
      svc: serviceId,
      generation: result.life.generation,
    })
  if (result.life.wantedState === 'deleted' && placed.life.wantedState !== 'deleted')
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
 * What a cell says of one service, in a transaction of its own: a report may name a thousand, and nobody else of their organizations
 * should wait for all of them. A report that is cut off in the midst is told again, and what was taken is old news by then.
 */
export async function takeObserved(
  sql: Sql,
  { organizationId, cellId, svc, generation, state }: Observation,
  now: Date,
): Promise<'taken' | 'ahead' | 'lost'> {
  await useOrganization(sql, organizationId)
  const placed = await findPlaced(sql, organizationId, svc, { lock: true })
  if (!placed) return 'taken'
  if (isTooFarAhead(placed.life, generation)) {
    await quarantineAhead(sql, organizationId, cellId, placed, { svc, generation, state })
    return 'ahead'
  }
  const turn = observe(placed.life, { cellId, generation, state }, now)
  const isHere = turn.life.cellId === cellId
  if (!isHere && placed.life.cellId !== cellId) {
    if (state === 'deleted') await deleteQuarantined(sql, cellId, svc)
    else await quarantineStray(sql, cellId, { svc, generation, state })
    return 'taken'
  }
  // Taken back: nobody may take it for one that nobody owns any more.
  if (isHere && placed.life.cellId !== cellId) await deleteQuarantined(sql, cellId, svc)
  const events = await saveTurn(sql, organizationId, placed, turn, now)
  const isLost = turn.life.statusReason === LOST && placed.life.statusReason !== LOST
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

/** The service goes on as it is. Once in the audit of its organization, however often it is said. */
async function quarantineAhead(
  sql: Sql,
  organizationId: string,
  cellId: string,
  { life, tenantId, serviceType, plan }: Placed,
  { svc, generation, state }: ObservedRow,
): Promise<void> {
  const one = { svc, org: organizationId, ten: tenantId, service_type: serviceType, plan, state, generation }
  if (!(await saveQuarantined(sql, cellId, one))) return
  const detail = { tenant_id: tenantId, cell_id: cellId, generation, known_generation: life.generation }
  const entry = { actor: cellId, action: 'service.quarantine', subject: svc, detail }
  await appendAudit(sql, { ...entry, chain: organizationId })
}

/**
 * The life, its operations and when to look again. Answers what others must be told: events come after the audit, last in every
 * transaction, because each locks a head that all of the organization share.
 */
export async function saveTurn(
  sql: Sql,
  organizationId: string,
  { life: before, tenantId, region }: Placed,
  { life, superseded, dueAt, readyMs }: Turn,
  now: Date,
): Promise<EventEntry[]> {
  if (superseded) await saveOperation(sql, organizationId, life.id, superseded)
  if (life.operation && life.operation !== before.operation)
    await saveOperation(sql, organizationId, life.id, life.operation)
  if (life !== before) await saveLife(sql, organizationId, life, now)
  // What leaves the quota may let another of the organization come forward.
  if (!usesQuota(life) && usesQuota(before)) await putUncoveredDue(sql, organizationId, life.id, now)
  if (dueAt !== null) await putDue(sql, organizationId, life.id, dueAt)
  else if (before.deadlineAt) await dropDeadline(sql, life.id, before.deadlineAt)
  if (readyMs !== undefined) await addReadyTime(sql, region, now, readyMs)
  const event = (type: string, subject: string, data: Record<string, string | null>): EventEntry => ({
    organizationId,
    type,
    subject,
    data: { tenant_id: tenantId, ...data },
  })
  const ended = [superseded, hasJustEnded(before.operation, life.operation)].filter((one) => one !== undefined)
  return [
    ...(life.status === before.status
      ? []
      : [
          event('service.status_changed', life.id, { from: before.status, to: life.status, reason: life.statusReason }),
        ]),
    ...ended.map(({ id, kind, status }) => event('operation.finished', id, { service_id: life.id, kind, status })),
  ]
}

function usesQuota({ status }: Life): boolean {
  return status !== 'failed' && status !== 'deleting' && status !== 'deleted'
}

function hasJustEnded(before: Operation | null, after: Operation | null): Operation | undefined {
  return after && !isOpen(after) && (before?.id !== after.id || isOpen(before)) ? after : undefined
}

/** Its own cell where the tenant has one; else the emptier of two that chance names: without it every writer picks the same one. */
async function choose(sql: Sql, { region, tenantId, plan }: Placed, rules: Rules): Promise<string | undefined> {
  const { random = Math.random } = rules
  const cells = await listCandidates(sql, region, tenantId)
  const own = cells.filter(({ isOwn }) => isOwn)
  const withRoom = (own.length > 0 ? own : cells).filter((cell) => hasRoom(cell, plan, rules))
  const heard = withRoom.filter(({ isHeard }) => isHeard)
  // One that nobody has heard of for a minute is better than none: it may be about to come back.
  const eligible = heard.length > 0 ? heard : withRoom
  const draw = () => eligible[Math.floor(random() * eligible.length)] as Candidate
  if (eligible.length === 0) return undefined
  const [one, other] = [draw(), draw()]
  return one.placed / one.capacity <= other.placed / other.capacity ? one.id : other.id
}

/** Free services leave a part of every shared cell to those who pay. Without billing nobody does, and there is nothing to keep. */
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
  standing: Standing | undefined,
): Promise<boolean> {
  if (!standing) return false
  if (standing.rank > PLANS[standing.plan].services) return true
  const { plan, used } = await holdOrganizationStanding(sql, organizationId)
  const { services } = PLANS[plan].organization
  // Counted last and seldom: there may be ten thousand.
  if (used <= services) return false
  return (await findRankInOrganization(sql, organizationId, serviceId, services)) > services
}

function entitlementOf(
  placed: Placed,
  standing: Standing | undefined,
  isBilled: boolean,
  isBeyondPlan: boolean,
): Entitlement {
  const digestOf = (state: DesiredState, reason: StateReason | null) =>
    createHash('sha256')
      .update(JSON.stringify(bodyOf(placed, standing, isBilled, state, reason)))
      .digest('base64url')
  if (!isBilled || !standing) return { ...TENANT_ACCESS.full, isOver: false, digestOf }
  // Until the deletion is commanded nothing is served.
  if (standing.access === 'delete') return { ...TENANT_ACCESS.none, isOver: true, digestOf }
  if (standing.access === 'full' && isBeyondPlan)
    return { state: 'suspended', reason: 'plan_not_covered', isOver: false, digestOf }
  return { ...TENANT_ACCESS[standing.access], isOver: false, digestOf }
}

interface InstanceBody {
  service_type: string
  plan: PlanName
  state: DesiredState
  state_reason: StateReason | null
  limits: InstanceLimits
  config: Record<string, unknown>
}

/** What the cell is told, but for its number. */
function bodyOf(
  { serviceType, plan, config }: Placed,
  standing: Standing | undefined,
  isBilled: boolean,
  state: DesiredState,
  reason: StateReason | null,
): InstanceBody {
  const covered = isBilled && standing ? lesser(plan, standing.plan) : plan
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

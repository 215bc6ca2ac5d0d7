// Makes intent true. There is no queue and no lease here, because there is nothing outside the transaction: a cell pulls, so "tell the
// cell" is a row of its feed, in this very database. One look is one transaction: it happened whole or not at all, whoever is
// killed in it. What fences a worker that froze is the server, which ends a transaction that is idle for five seconds; what fences a
// cell is the generation. (docs/decisions/2026-11-15-provisioning-without-queue.md)

import { createHash } from 'node:crypto'
import type { InstanceLimits } from '@loci/contract/feed.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Report } from '@loci/contract/reports.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { useOrganization } from '../access/store.ts'
import { appendEvent } from '../events/store.ts'
import { publishInstance } from '../feed/store.ts'
import { isOpen, type Operation } from '../operations/operation.ts'
import { saveOperation } from '../operations/store.ts'
import { limitsOf, PLAN_NAMES, PLANS, type PlanName } from '../plans.ts'
import { type DesiredState, type Entitlement, needsPlace, observe, reconcile, type Turn } from './lifecycle.ts'
import {
  addReadyTime,
  type Candidate,
  deleteQuarantined,
  dropDeadline,
  dropDue,
  findPlaced,
  holdStanding,
  listCandidates,
  listObserved,
  lockRoom,
  type Placed,
  putDue,
  quarantineStray,
  type Standing,
  saveLife,
  setDue,
} from './store.ts'

export interface Rules {
  /** Without a billing webhook there is nobody to say what is paid for, and everything is covered. */
  isBilled: boolean
  random?: () => number
}

/** One look at one service. Answers the cell that has news, undefined when none has. In a transaction of its own. */
export async function lookAt(
  sql: Sql,
  rules: Rules,
  { organizationId, serviceId, now = new Date() }: { organizationId: string; serviceId: string; now?: Date },
): Promise<string | undefined> {
  await useOrganization(sql, organizationId)
  // The cell's row is locked before the service's, as everywhere: so it is chosen by a look without a lock, which may be outdated.
  const seen = await findPlaced(sql, organizationId, serviceId, { lock: false })
  if (!seen) {
    await dropDue(sql, serviceId)
    return undefined
  }
  const placement = needsPlace(seen.life) ? await choose(sql, seen, rules.random ?? Math.random) : undefined
  const cellId = seen.life.cellId ?? placement
  const room = cellId === undefined ? undefined : await lockRoom(sql, cellId)
  const standing = await holdStanding(sql, organizationId, seen.tenantId, serviceId)
  const placed = await findPlaced(sql, organizationId, serviceId, { lock: true })
  if (!placed || placed.life.cellId !== seen.life.cellId) {
    await putDue(sql, organizationId, serviceId, now)
    return undefined
  }
  const around = {
    entitlement: entitlementOf(placed, standing, rules.isBilled),
    placement: placement !== undefined && room && room.placed < room.capacity ? placement : undefined,
    operationId: newId('op', now.getTime()),
  }
  const result = reconcile(placed.life, around, now)
  await saveTurn(sql, organizationId, placed, result, now)
  await setDue(sql, organizationId, serviceId, result.dueAt)
  if (!result.publish || result.life.cellId === null) return undefined
  await publishInstance(sql, result.life.cellId, {
    ...bodyOf(placed, standing, rules.isBilled, result.life.desiredState, result.life.stateReason),
    org: organizationId,
    ten: placed.tenantId,
    svc: serviceId,
    generation: result.life.generation,
  })
  return result.life.cellId
}

/** What the cell says of services of one organization, which is in use. Answers those that somebody must look at again. */
export async function takeObserved(
  sql: Sql,
  {
    organizationId,
    cellId,
    observed,
    now,
  }: { organizationId: string; cellId: string; observed: Report['observed']; now: Date },
): Promise<string[]> {
  const told = new Map(observed.map((one) => [one.svc, one]))
  const again: string[] = []
  for (const placed of await listObserved(sql, organizationId, [...told.values()])) {
    const { generation, state } = told.get(placed.life.id) as Report['observed'][number]
    const turn = observe(placed.life, { cellId, generation, state }, now)
    if (placed.life.cellId !== cellId && turn.life.cellId !== cellId) {
      if (state === 'deleted') await deleteQuarantined(sql, cellId, placed.life.id)
      else await quarantineStray(sql, cellId, { svc: placed.life.id, generation, state })
      continue
    }
    await saveTurn(sql, organizationId, placed, turn, now)
    if (turn.dueAt !== null && turn.dueAt <= now) again.push(placed.life.id)
  }
  return again
}

/** The life, its operations, when to look again, and what others are told of it. */
export async function saveTurn(
  sql: Sql,
  organizationId: string,
  { life: before, tenantId, region }: Placed,
  { life, superseded, dueAt, readyMs }: Turn,
  now: Date,
): Promise<void> {
  if (superseded) await saveOperation(sql, organizationId, life.id, superseded)
  if (life.operation && life.operation !== before.operation)
    await saveOperation(sql, organizationId, life.id, life.operation)
  if (life !== before) await saveLife(sql, organizationId, life, now)
  if (dueAt !== null) await putDue(sql, organizationId, life.id, dueAt)
  else if (before.deadlineAt) await dropDeadline(sql, life.id, before.deadlineAt)
  if (readyMs !== undefined) await addReadyTime(sql, region, now, readyMs)
  const tell = (type: string, subject: string, data: Record<string, string | null>) =>
    appendEvent(sql, { organizationId, type, subject, data: { tenant_id: tenantId, ...data } }, now)
  if (life.status !== before.status)
    await tell('service.status_changed', life.id, { from: before.status, to: life.status, reason: life.statusReason })
  for (const over of [superseded, hasJustEnded(before.operation, life.operation)])
    if (over) await tell('operation.finished', over.id, { service_id: life.id, kind: over.kind, status: over.status })
}

function hasJustEnded(before: Operation | null, after: Operation | null): Operation | undefined {
  return after && !isOpen(after) && (before?.id !== after.id || isOpen(before)) ? after : undefined
}

/** Its own cell where the tenant has one; else the emptier of two that chance names: without it every writer picks the same one. */
async function choose(sql: Sql, { region, tenantId }: Placed, random: () => number): Promise<string | undefined> {
  const cells = await listCandidates(sql, region, tenantId)
  const own = cells.filter(({ isOwn }) => isOwn)
  const withRoom = (own.length > 0 ? own : cells).filter(({ placed, capacity }) => placed < capacity)
  const heard = withRoom.filter(({ isHeard }) => isHeard)
  // One that nobody has heard of for a minute is better than none: it may be about to come back.
  const eligible = heard.length > 0 ? heard : withRoom
  const draw = () => eligible[Math.floor(random() * eligible.length)] as Candidate
  if (eligible.length === 0) return undefined
  const [one, other] = [draw(), draw()]
  return one.placed / one.capacity <= other.placed / other.capacity ? one.id : other.id
}

function entitlementOf(placed: Placed, standing: Standing | undefined, isBilled: boolean): Entitlement {
  const digestOf = (state: DesiredState, reason: string | null) =>
    createHash('sha256')
      .update(JSON.stringify(bodyOf(placed, standing, isBilled, state, reason)))
      .digest('base64url')
  const suspended = (reason: string): Entitlement => ({ state: 'suspended', reason, isOver: false, digestOf })
  if (!isBilled || !standing) return { state: 'active', reason: null, isOver: false, digestOf }
  if (standing.gate === 'delete') return { state: 'suspended', reason: 'unpaid_off', isOver: true, digestOf }
  if (standing.gate === 'off') return suspended('unpaid_off')
  if (standing.gate === 'writes_refused') return suspended('unpaid')
  if (standing.rank > PLANS[standing.plan].services) return suspended('plan_not_covered')
  return { state: 'active', reason: null, isOver: false, digestOf }
}

interface InstanceBody {
  service_type: string
  plan: PlanName
  state: DesiredState
  state_reason: string | null
  limits: InstanceLimits
  config: Record<string, unknown>
}

/** What the cell is told, but for its number. */
function bodyOf(
  { serviceType, plan, config }: Placed,
  standing: Standing | undefined,
  isBilled: boolean,
  state: DesiredState,
  reason: string | null,
): InstanceBody {
  const covered = isBilled && standing ? lesser(plan, standing.plan) : plan
  return { service_type: serviceType, plan, state, state_reason: reason, limits: limitsOf(covered), config }
}

function lesser(one: PlanName, other: PlanName): PlanName {
  return PLAN_NAMES.indexOf(one) <= PLAN_NAMES.indexOf(other) ? one : other
}

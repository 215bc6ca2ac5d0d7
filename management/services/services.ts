// Services: what is asked for, and what a command changes. Everything here writes intent; provisioning makes it true.

import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { parseInput } from '@loci/chassis/input.ts'
import { idsFrom, isId, newId } from '@loci/contract/ids.ts'
import { SERVICE_TYPE_NAMES, type ServiceType, serviceTypeOf } from '@loci/contract/operations.ts'
import { type CreateServiceRequest, createServiceRequest, type PatchServiceRequest } from '@loci/contract/services.ts'
import { jsonbBytes } from '@loci/postgres/jsonb-size.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Caller } from '../access/caller.ts'
import { mayUseTenant, notYourTenant } from '../access/own.ts'
import { appendEvents } from '../acts/events/store.ts'
import { lockCell } from '../acts/locks/store.ts'
import { PLAN_NAMES, PLANS, type PlanName } from '../plans.ts'
import { putDue } from '../provisioning/due/store.ts'
import type { Operation } from '../provisioning/operations/operation.ts'
import { saveOperation } from '../provisioning/operations/store.ts'
import { findReadyMs } from '../provisioning/placement/store.ts'
import { type Rules, reconcileWithoutEvents, saveTransition } from '../provisioning/provisioning.ts'
import { command, newServiceState, type Verb } from '../provisioning/service-state.ts'
import { findPlaced, insertService, type NewService, type Placed, updateService } from '../provisioning/store.ts'
import { slugOf } from '../slugs.ts'
import { findService, lockOrganizationQuota, lockQuota, type Service, type TenantQuota } from './store.ts'

/** Before there is any measure of a placement. */
const READY_S_FIRST = 5
const READY_S_MAX = 600
const CONFIG_BYTES_MAX = 64 * 1024

export interface ServiceRules extends Rules {
  /** Empty = any. */
  regions: string[]
  /** Chosen by an operator; otherwise the reconciler finds one. */
  cell?: { id: string; tenantId: string | null }
}

/** A creation that nothing is wrong with, as far as the request alone can tell. */
export interface ServiceRequest extends CreateServiceRequest {
  service_type: ServiceType
}

/** What can be judged about the request without the store: the specification has it before the rate limit. */
export function requireServiceRequest(rules: ServiceRules, body: unknown): ServiceRequest {
  const request = parseInput(createServiceRequest, body, 'body')
  requireRegion(rules, request.region)
  requireSmall(request.config)
  return { ...request, service_type: requireType(request.service_type) }
}

export interface Actor {
  /** An operator's command acts for a whole organization, without a credential. */
  caller: Pick<Caller, 'id' | 'organizationId' | 'tenantIds'>
  requestId?: string | undefined
}

export interface Created {
  service: NewService
  operation: Operation
  estimatedReadyIn: number
}

/** The specification's creation, in one transaction with whatever else must commit with it. */
export async function createService(
  sql: Sql,
  rules: ServiceRules,
  { caller, requestId }: Actor,
  request: ServiceRequest,
  now: Date = new Date(),
): Promise<Created> {
  const { cell } = rules
  if (cell) await lockCell(sql, cell.id)
  const tenant = await requireTenant(sql, caller, request.tenant_id)
  if (cell && cell.tenantId !== null && cell.tenantId !== tenant.id)
    throw new ApiError('INVALID_STATE', 'The cell is reserved for another tenant: choose another cell.')
  requireCovered(tenant, request.plan, rules.isBilled)
  requireRoom(tenant, rules.isBilled)
  await requireRoomOfOrganization(sql, caller.organizationId, rules.isBilled, now)
  const state = newServiceState(newId('svc', now.getTime()), newId('op', now.getTime()), now)
  const operation = state.operation as Operation
  const service: NewService = {
    id: state.id,
    organizationId: caller.organizationId,
    tenantId: tenant.id,
    name: request.name,
    slug: request.slug ?? slugOf(request.name, 'service'),
    serviceType: request.service_type,
    plan: request.plan,
    region: request.region,
    cellId: cell?.id ?? null,
    config: request.config ?? {},
    operationId: operation.id,
    deadlineAt: state.deadlineAt as Date,
    createdAt: now,
  }
  await insertWithSlug(sql, service, request.slug !== undefined)
  await saveOperation(sql, service.organizationId, service.id, operation)
  await putDue(sql, service.organizationId, service.id, now)
  const { organizationId, id, tenantId } = service
  const facts = { plan: service.plan, service_type: service.serviceType }
  // Published at once where the cell is known, so that an operator's command has published it when it ends.
  const placed = cell ? await reconcileWithoutEvents(sql, rules, { organizationId, serviceId: id, now }) : []
  const readyMs = await findReadyMs(sql, service.region)
  await record(sql, { caller, requestId }, 'service.make', service, { ...facts, ...(cell && { cell_id: cell.id }) })
  const created = { organizationId, type: 'service.created', subject: id, data: { tenant_id: tenantId, ...facts } }
  await appendEvents(sql, [created, ...placed], now)
  const estimate = readyMs === undefined ? READY_S_FIRST : Math.ceil(readyMs / 1000)
  return { service, operation, estimatedReadyIn: Math.min(READY_S_MAX, Math.max(1, estimate)) }
}

/** Its cell keeps it, and gets it again with every full resync, together with all others'. */
function requireSmall(config: object | undefined): void {
  if (config === undefined) return
  const bytes = jsonbBytes(config)
  if (bytes > CONFIG_BYTES_MAX)
    throw new ApiError(
      'PAYLOAD_TOO_LARGE',
      `The config of a service has at most ${CONFIG_BYTES_MAX} bytes as it is stored, and this one would have ${bytes}: numbers are stored with all their digits.`,
    )
}

function requireRegion({ regions }: ServiceRules, region: string): void {
  if (regions.length === 0 || regions.includes(region)) return
  const known = regions.join(', ')
  throw new ApiError('VALIDATION_ERROR', `There is no region '${region}'. The regions are ${known}.`, {
    details: [{ field: 'body.region', problem: `must be one of ${known}` }],
  })
}

function requireType(name: string): ServiceType {
  const serviceType = serviceTypeOf(name)
  if (serviceType) return serviceType
  throw new ApiError(
    'SERVICE_TYPE_UNAVAILABLE',
    `There is no service type '${name.slice(0, 100)}'. The types are ${SERVICE_TYPE_NAMES.join(', ')}.`,
    { details: { service_types: SERVICE_TYPE_NAMES } },
  )
}

/** 403 whether it exists or not: a stranger must not learn which tenants there are. */
async function requireTenant(sql: Sql, caller: Actor['caller'], tenantId: string | undefined): Promise<TenantQuota> {
  const asked = tenantId ?? (caller.tenantIds?.length === 1 ? caller.tenantIds[0] : undefined)
  const isKnown = asked === undefined || isId('ten', asked)
  const tenant = isKnown ? await lockQuota(sql, caller.organizationId, asked) : undefined
  if (tenant && mayUseTenant(caller, tenant.id)) return tenant
  throw notYourTenant()
}

function coveredPlan(tenant: TenantQuota, isBilled: boolean): PlanName {
  return isBilled ? tenant.plan : 'enterprise'
}

function requireCovered(tenant: TenantQuota, plan: PlanName, isBilled: boolean): void {
  const covered = coveredPlan(tenant, isBilled)
  if (PLAN_NAMES.indexOf(plan) > PLAN_NAMES.indexOf(covered))
    throw new ApiError(
      'PLAN_NOT_COVERED',
      `The tenant's billing covers the plan ${covered}. Subscribe to ${plan} first, or ask for less.`,
    )
  if (isBilled && tenant.access !== 'full')
    throw new ApiError('PAYMENT_REQUIRED', 'The tenant is suspended for payment: pay first, then create services.')
}

function requireRoom(tenant: TenantQuota, isBilled: boolean): void {
  const covered = coveredPlan(tenant, isBilled)
  const { services } = PLANS[covered]
  if (tenant.used >= services)
    throw new ApiError(
      'QUOTA_EXCEEDED',
      `The tenant has all ${services} services of the plan ${covered}. Delete one, or change the plan.`,
      {
        details: { limit: services, used: tenant.used },
      },
    )
}

const DAY_MS = 86_400_000

/** Tenants are free, so an organization is limited too; and a deleted service leaves its record behind. */
async function requireRoomOfOrganization(
  sql: Sql,
  organizationId: string,
  isBilled: boolean,
  now: Date,
): Promise<void> {
  const limitsOf = (plan: PlanName) => PLANS[isBilled ? plan : 'enterprise'].organization
  const { plan, used, created } = await lockOrganizationQuota(sql, organizationId, {
    since: idsFrom('svc', now.getTime() - DAY_MS),
    createdMax: (known) => limitsOf(known).services_per_day,
  })
  const { services, services_per_day: perDay } = limitsOf(plan)
  if (used >= services)
    throw new ApiError(
      'QUOTA_EXCEEDED',
      `The organization has all ${services} services of the plan ${plan}, over all its tenants. Delete one, or change the plan.`,
      { details: { limit: services, used } },
    )
  if (created >= perDay)
    throw new ApiError(
      'QUOTA_EXCEEDED',
      `The organization has created ${perDay} services in the last 24 hours, the most the plan ${plan} allows; deleted ones count. Wait until the oldest is a day old, or change the plan.`,
      { details: { limit: perDay, used: created } },
    )
}

const SLUG_TRIES = 5

async function insertWithSlug(sql: Sql, service: NewService, isGiven: boolean): Promise<void> {
  for (let attempt = 1; !(await insertService(sql, service)); attempt += 1) {
    if (isGiven || attempt === SLUG_TRIES)
      throw new ApiError(
        'SLUG_TAKEN',
        `The organization has a service with the slug '${service.slug}' already: choose another.`,
      )
    service.slug = slugOf(service.name, 'service')
  }
}

/** 404 and not 403: a stranger must not learn which services exist. */
export async function requireService(sql: Sql, organizationId: string, id: string): Promise<Service> {
  const service = isId('svc', id) ? await findService(sql, organizationId, id) : undefined
  if (!service || service.status === 'deleted') throw noService()
  return service
}

/** One that the caller may see, deleted ones included. */
export async function requireVisible(sql: Sql, caller: Actor['caller'], id: string): Promise<Service> {
  const service = isId('svc', id) ? await findService(sql, caller.organizationId, id) : undefined
  if (!service || !mayUseTenant(caller, service.tenantId)) throw noService()
  return service
}

function noService(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such service. GET /api/v1/services lists yours.')
}

/** What it is under the locks of its tenant and of itself, not what it was when it was looked up. */
async function lockService(
  sql: Sql,
  caller: Actor['caller'],
  id: string,
): Promise<{ tenant: TenantQuota | undefined; placed: Placed; service: Service }> {
  const { tenantId } = await requireVisible(sql, caller, id)
  const tenant = await lockQuota(sql, caller.organizationId, tenantId)
  const placed = (await findPlaced(sql, caller.organizationId, id, { lock: true })) as Placed
  if (placed.state.status === 'deleted')
    throw new ApiError('INVALID_STATE', 'The service was deleted and cannot be restored. Create a new one.')
  return { tenant, placed, service: await requireVisible(sql, caller, id) }
}

/** The operation that the command has begun; of one that changes nothing, how that ended. */
export async function commandService(
  sql: Sql,
  rules: ServiceRules,
  actor: Actor,
  { id, verb }: { id: string; verb: Verb },
  now: Date = new Date(),
): Promise<{ operation: Operation; service: Service }> {
  const { caller } = actor
  const { tenant, placed, service } = await lockService(sql, caller, id)
  const { state } = placed
  const isRevival =
    state.status === 'failed' && state.wantedState !== 'deleted' && (verb === 'retry' || verb === 'resume')
  // What was failed uses the quota again.
  if (isRevival && tenant) {
    requireCovered(tenant, placed.plan, rules.isBilled)
    requireRoom(tenant, rules.isBilled)
    await requireRoomOfOrganization(sql, caller.organizationId, rules.isBilled, now)
  }
  const next = command(state, verb, newId('op', now.getTime()), now)
  const events = await saveTransition(sql, caller.organizationId, placed, next, now)
  await record(sql, actor, `service.${verb}`, service, {})
  await appendEvents(sql, events, now)
  // A command on what is being deleted is over at once, and the answer says so.
  const operation =
    next.state.operation === state.operation ? (next.superseded ?? state.operation) : next.state.operation
  return { operation: operation as Operation, service }
}

/** Undefined when nothing of it concerns the cell. */
export async function patchService(
  sql: Sql,
  rules: ServiceRules,
  actor: Actor,
  { id, change }: { id: string; change: PatchServiceRequest },
  now: Date = new Date(),
): Promise<{ operation: Operation | undefined; service: Service }> {
  const { caller } = actor
  requireSmall(change.config)
  const { tenant, placed, service: before } = await lockService(sql, caller, id)
  const after = {
    name: change.name ?? before.name,
    plan: change.plan ?? before.plan,
    config: change.config ?? before.config,
  }
  if (after.plan !== before.plan && tenant) requireCovered(tenant, after.plan, rules.isBilled)
  await updateService(sql, { organizationId: caller.organizationId, id }, after, now)
  const concernsCell = after.plan !== before.plan || JSON.stringify(after.config) !== JSON.stringify(before.config)
  const next = concernsCell ? command(placed.state, 'update', newId('op', now.getTime()), now) : undefined
  const events = next ? await saveTransition(sql, caller.organizationId, placed, next, now) : []
  await record(sql, actor, 'service.update', before, { plan: after.plan, name_changed: after.name !== before.name })
  const data = { tenant_id: before.tenantId, plan: after.plan }
  const updated = { organizationId: caller.organizationId, type: 'service.updated', subject: id, data }
  await appendEvents(sql, [...events, updated], now)
  const operation = next?.superseded?.kind === 'update' ? next.superseded : next?.state.operation
  return { operation: operation ?? undefined, service: await requireVisible(sql, caller, id) }
}

async function record(
  sql: Sql,
  { caller, requestId }: Actor,
  action: string,
  { id, organizationId, tenantId }: { id: string; organizationId: string; tenantId: string },
  detail: Record<string, string | number | boolean | null>,
): Promise<void> {
  const entry = { actor: caller.id, action, subject: id, requestId, detail: { tenant_id: tenantId, ...detail } }
  await appendAudit(sql, { ...entry, chain: organizationId })
}

/**
 * Credentials are published to a cell when they change, not when a service is placed there, so there are none before it
 * has a cell: one that was revoked before would stay valid for ever.
 */
export function requirePlaced({ cellId }: Service): void {
  if (cellId === null)
    throw new ApiError(
      'INVALID_STATE',
      'The service is not placed in a cell yet: wait until its status is active, then ask again.',
    )
}

/** Where clients reach the service; null while it has no cell. */
export function endpointOf({ id, endpoint }: Pick<Service, 'id' | 'endpoint'>): string | null {
  return endpoint?.replaceAll('{service_id}', id) ?? null
}

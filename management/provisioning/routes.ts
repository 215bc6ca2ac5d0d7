// What staff do with instances: list, adopt and delete those in quarantine, and move a service.

import { type Act, PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { isId, newId } from '@loci/contract/ids.ts'
import { adoptedResponse, quarantinedPath, quarantineList } from '@loci/contract/quarantine.ts'
import { moveServiceRequest, serviceOperation } from '@loci/contract/services.ts'
import { deleted, idPath } from '@loci/contract/wire.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { findOwner, useOrganization } from '../access/store.ts'
import { appendEvents } from '../acts/events/store.ts'
import { publishInstance } from '../acts/feed/store.ts'
import { holdOrganization, holdTenant } from '../acts/locks/store.ts'
import { limitsOf, type PlanName } from '../plans.ts'
import { adoptByStaff, type Unknown } from './adoption.ts'
import { operationJson } from './operations/json.ts'
import type { Operation } from './operations/operation.ts'
import { lockRoom } from './placement/store.ts'
import { type Rules, reconcileWithoutEvents, saveTransition } from './provisioning.ts'
import { deleteQuarantined, findQuarantined, listQuarantined } from './quarantine/store.ts'
import { command } from './service-state.ts'
import { findPlaced } from './store.ts'

interface ProvisioningOptions {
  caller: CallerAccess
  pool: Pool
  act: RunAct<Caller>
  rules: Rules
}

export function provisioningRoutes({ caller, pool, act, rules }: ProvisioningOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/quarantine',
        access: caller.staff('read'),
        tag: 'cells',
        summary: 'List instances that a cell holds and management does not know, oldest first.',
        answers: { 200: quarantineList },
        failureMessage: 'Failed to list quarantined instances',
      },
      async () => ({ instances: (await listQuarantined(pool)).map(quarantinedJson) }),
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/quarantine/{cell_id}/{service_id}',
        access: caller.staff('write'),
        tag: 'cells',
        summary: 'Have the cell erase an instance in quarantine.',
        details: 'This cannot be undone.',
        params: quarantinedPath,
        answers: { 200: deleted },
        errors: ['NOT_FOUND', 'INVALID_STATE'],
        failureMessage: 'Failed to delete a quarantined instance',
      },
      (call) => {
        const { cell_id, service_id } = call.params
        return act(call, async (sql, by) => {
          await erase(sql, cell_id, service_id, by)
          return { status: 200, body: { deleted: true } }
        })
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/quarantine/{cell_id}/{service_id}/adopt',
        access: caller.staff('write'),
        tag: 'cells',
        summary: 'Adopt an instance in quarantine as a service again.',
        details: 'As a service that its owner accepts with retry, or deletes.',
        params: quarantinedPath,
        answers: { 200: adoptedResponse },
        errors: ['NOT_FOUND', 'INVALID_STATE'],
        failureMessage: 'Failed to adopt a quarantined instance',
      },
      (call) => {
        const { cell_id, service_id } = call.params
        return act(call, async (sql, by) => {
          await adoptQuarantined(sql, cell_id, service_id, by)
          // The key is the caller's, whosever the service is.
          await useOrganization(sql, call.caller.organizationId)
          return { status: 200, body: { adopted: true } }
        })
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/services/{id}/move',
        access: caller.staff('write'),
        tag: 'cells',
        summary: 'Place a service that has failed in a cell of your choice.',
        details: 'One that holds data cannot be moved yet.',
        params: idPath,
        body: moveServiceRequest,
        answers: { 202: serviceOperation },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'QUOTA_EXCEEDED'],
        failureMessage: 'Failed to move service',
      },
      (call) => {
        const { caller, params, body } = call
        return act(call, async (sql, by) => {
          const operation = await move(sql, params.id, body.cell_id, by, rules)
          // The key is the caller's, whosever the service is.
          await useOrganization(sql, caller.organizationId)
          const location = { 'operation-location': `/api/v1/operations/${operation.id}` }
          return { status: 202, body: operationJson({ ...operation, serviceId: params.id }), headers: location }
        })
      },
    ),
  ]
}

async function adoptQuarantined(sql: Sql, cellId: string, serviceId: string, by: Act): Promise<void> {
  const found = isId('cell', cellId) ? await findQuarantined(sql, cellId, serviceId) : undefined
  if (!found) throw noSuchInstance()
  const { organizationId: org, tenantId: ten, serviceType: service_type, generation } = found
  const plan = found.plan as PlanName
  const state = found.state as Unknown['state']
  const instance: Unknown = { svc: serviceId, org, ten, service_type, plan, generation, state }
  const now = new Date()
  const events = await adoptByStaff(sql, cellId, instance, now)
  if (!events)
    throw new ApiError(
      'INVALID_STATE',
      'The instance cannot be adopted: its organization or tenant does not exist here, or the service is placed in another cell.',
    )
  const detail = { cell_id: cellId, organization_id: org, tenant_id: ten, generation }
  await appendAudit(sql, { ...by, chain: PLATFORM_CHAIN, action: 'quarantine.adopt', subject: serviceId, detail })
  await appendEvents(sql, events, now)
}

function noSuchInstance(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such instance in quarantine. GET /api/v1/quarantine lists them.')
}

async function erase(sql: Sql, cellId: string, serviceId: string, by: Act): Promise<void> {
  const room = isId('cell', cellId) ? await lockRoom(sql, cellId) : undefined
  if (room && (await findOwner(sql, serviceId))?.cellId === cellId)
    throw new ApiError(
      'INVALID_STATE',
      'This is a service placed in that cell, not an unknown instance: only its owner can delete it.',
    )
  const found = room && (await deleteQuarantined(sql, cellId, serviceId))
  if (!found) throw noSuchInstance()
  await publishInstance(sql, cellId, {
    org: found.organizationId,
    ten: found.tenantId,
    svc: serviceId,
    service_type: found.serviceType,
    plan: found.plan,
    state: 'deleted',
    state_reason: null,
    generation: found.generation + 1,
    limits: limitsOf(found.plan as PlanName),
    config: {},
  })
  const detail = { cell_id: cellId, organization_id: found.organizationId, tenant_id: found.tenantId }
  await appendAudit(sql, { ...by, chain: PLATFORM_CHAIN, action: 'quarantine.delete', subject: serviceId, detail })
}

async function move(
  sql: Sql,
  id: string,
  cellId: string,
  by: Act,
  rules: Rules,
  now: Date = new Date(),
): Promise<Operation> {
  const owner = isId('svc', id) ? await findOwner(sql, id) : undefined
  if (!owner) throw new ApiError('NOT_FOUND', 'There is no such service.')
  const room = isId('cell', cellId) ? await lockRoom(sql, cellId) : undefined
  if (!room) throw new ApiError('NOT_FOUND', 'There is no such cell. GET /api/v1/cells lists them.')
  if (room.tenantId !== null && room.tenantId !== owner.tenantId)
    throw new ApiError('INVALID_STATE', 'The cell is reserved for another tenant: choose another cell.')
  if (room.placed >= room.capacity) throw new ApiError('QUOTA_EXCEEDED', 'The cell is full: choose another one.')
  const { organizationId } = owner
  await useOrganization(sql, organizationId)
  await holdTenant(sql, organizationId, owner.tenantId)
  const placed = await findPlaced(sql, organizationId, id, { lock: true })
  // Locked before the due row: the reconciliation below asks for the organization's quota after it.
  await holdOrganization(sql, organizationId)
  // Its data would have to come along, by export and import. What has failed has none, once its cell has erased it.
  if (placed?.state.status !== 'failed' || placed.state.wantedState === 'deleted' || placed.state.cellId !== null)
    throw new ApiError(
      'INVALID_STATE',
      'Only a service that has failed and is in no cell can be placed elsewhere: one that holds data cannot be moved yet.',
    )
  const next = command(placed.state, 'retry', newId('op', now.getTime()), now)
  const moved = await saveTransition(sql, organizationId, placed, { ...next, state: { ...next.state, cellId } }, now)
  // In the same transaction: its place is taken before another can be moved into it.
  const events = await reconcileWithoutEvents(sql, rules, { organizationId, serviceId: id, now })
  const entry = { ...by, action: 'service.move', subject: id, detail: { cell_id: cellId } }
  await appendAudit(sql, { ...entry, chain: organizationId })
  await appendAudit(sql, { ...entry, chain: PLATFORM_CHAIN })
  await appendEvents(sql, [...moved, ...events], now)
  return next.state.operation as Operation
}

function quarantinedJson(one: Awaited<ReturnType<typeof listQuarantined>>[number]) {
  return {
    service_id: one.serviceId,
    cell_id: one.cellId,
    organization_id: one.organizationId,
    tenant_id: one.tenantId,
    service_type: one.serviceType,
    plan: one.plan,
    state: one.state,
    generation: one.generation,
    first_seen_at: one.firstSeenAt.toISOString(),
    last_seen_at: one.lastSeenAt.toISOString(),
  }
}

// Services and where they live. Until provisioning is built a service is placed by name of its cell.

import { ApiError } from '@loci/chassis/api-error.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { appendAudit } from '../audit/store.ts'
import { publish } from '../feed/store.ts'
import { limitsOf, PLANS, type PlanName } from '../plans.ts'
import { slugOf } from '../slugs.ts'
import { countPlaced, countServices, findService, insertService, type Service } from './store.ts'

const SERVICE_TYPES = ['memory', 'kv'] as const

export interface Placement {
  tenant: { id: string; organizationId: string; plan: PlanName }
  cell: { id: string; region: string; capacity: number; tenantId: string | null }
  plan: PlanName
  name: string
  serviceType: string
}

/** In a transaction that has the tenant's organization in use. */
export async function addInstance(
  sql: Sql,
  { tenant, cell, plan, name, serviceType }: Placement,
  actor: string,
): Promise<Service> {
  if (!(SERVICE_TYPES as readonly string[]).includes(serviceType))
    throw new ApiError('SERVICE_TYPE_UNAVAILABLE', `There are services of the types ${SERVICE_TYPES.join(' and ')}.`)
  if (name.trim() !== name || name.length < 1 || name.length > 100)
    throw new ApiError(
      'VALIDATION_ERROR',
      'The name of a service has 1 to 100 characters, none of them a blank at its ends.',
    )
  if (cell.tenantId !== null && cell.tenantId !== tenant.id)
    throw new ApiError('INVALID_STATE', 'This cell is kept for another tenant: choose another cell.')
  if ((await countServices(sql, tenant.organizationId, tenant.id)) >= PLANS[tenant.plan].services)
    throw new ApiError('QUOTA_EXCEEDED', `The tenant has all the services that the plan ${tenant.plan} allows.`)
  if ((await countPlaced(sql, cell.id)) >= cell.capacity)
    throw new ApiError('QUOTA_EXCEEDED', 'The cell is full: choose another cell.')
  const service: Service = {
    id: newId('svc'),
    organizationId: tenant.organizationId,
    tenantId: tenant.id,
    name,
    slug: slugOf(name, 'service'),
    serviceType,
    plan,
    region: cell.region,
    cellId: cell.id,
    config: {},
    // Until its cell says that it has it.
    status: 'provisioning',
    desiredState: 'active',
    stateReason: null,
    generation: 1,
  }
  await insertService(sql, service)
  await publishInstance(sql, service, cell.id)
  await appendAudit(sql, {
    chain: service.organizationId,
    actor,
    action: 'service.make',
    subject: service.id,
    detail: { tenant_id: tenant.id, cell_id: cell.id, plan, service_type: serviceType },
  })
  return service
}

/** 404 and not 403: a stranger must not learn which services exist. */
export async function requireService(sql: Sql, organizationId: string, id: string): Promise<Service> {
  const service = await findService(sql, organizationId, id)
  if (!service || service.status === 'deleted') throw new ApiError('NOT_FOUND', `There is no service ${id}.`)
  return service
}

async function publishInstance(sql: Sql, service: Service, cellId: string): Promise<void> {
  await publish(sql, cellId, {
    kind: 'instance',
    key: service.id,
    body: {
      org: service.organizationId,
      ten: service.tenantId,
      svc: service.id,
      service_type: service.serviceType,
      plan: service.plan,
      state: service.desiredState,
      state_reason: service.stateReason,
      generation: service.generation,
      limits: limitsOf(service.plan),
      config: service.config,
    },
  })
}

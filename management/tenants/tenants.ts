import type { Act } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { notYourTenant } from '../access/own.ts'
import { appendEvent } from '../acts/events/store.ts'
import { PLANS, type PlanName } from '../plans.ts'
import { slugOf } from '../slugs.ts'
import {
  closeTenant,
  countPresentServices,
  findTenant,
  insertTenant,
  listTenants,
  lockTenantCount,
  lockTenantRow,
  renameTenant,
  type Tenant,
  type TenantRow,
} from './store.ts'

/** What else follows from a new tenant, in its transaction: events about it may have been there before it. */
export type OnTenantMade = (sql: Sql, tenant: Tenant) => Promise<void>
/** And from one that is no more: its plan may have been the best of the organization. */
export type OnTenantClosed = (sql: Sql, tenant: Tenant) => Promise<void>

export interface NewTenant {
  organizationId: string
  name: string
  /** Made from the name unless it is given. */
  slug?: string | undefined
  /** Free until its billing says otherwise, unless an operator gives it one. */
  plan?: PlanName | undefined
}

/** In a transaction that has the organization in use, as are the two below. */
export async function makeTenant(
  sql: Sql,
  { organizationId, name, slug, plan = 'free' }: NewTenant,
  act: Act,
  onTenantMade: OnTenantMade,
): Promise<TenantRow> {
  const tenant: Tenant = {
    id: newId('ten'),
    organizationId,
    name,
    slug: slug ?? slugOf(name, 'tenant'),
    plan,
    status: 'active',
    isDefault: false,
  }
  if (!(await insertTenant(sql, tenant)))
    throw new ApiError(
      'SLUG_TAKEN',
      `Another tenant of the organization has the slug '${tenant.slug}': choose another.`,
    )
  const { id } = tenant
  await appendAudit(sql, {
    ...act,
    chain: organizationId,
    action: 'tenant.make',
    subject: id,
    detail: { plan },
  })
  await appendEvent(sql, { organizationId, type: 'tenant.created', subject: id, data: { tenant_id: id, plan } })
  // After the event, so that its own events come later; the locks it needs are held by now.
  await onTenantMade(sql, tenant)
  return (await findTenant(sql, organizationId, id)) as TenantRow
}

/** In the transaction that makes one, before it: two cannot take the last place of the organization. */
export async function requireTenantRoom(sql: Sql, organizationId: string, isBilled: boolean): Promise<void> {
  const { plan, tenants: used } = await lockTenantCount(sql, organizationId)
  const covered = isBilled ? plan : 'enterprise'
  const { tenants: limit } = PLANS[covered].organization
  if (used >= limit)
    throw new ApiError(
      'QUOTA_EXCEEDED',
      `The organization has all ${limit} tenants of the plan ${covered}. Delete one, or change the plan.`,
      { details: { limit, used } },
    )
}

export async function changeTenant(
  sql: Sql,
  { organizationId, id, name }: { organizationId: string; id: string; name: string },
  act: Act,
): Promise<TenantRow> {
  if (!(await lockTenantRow(sql, organizationId, id))) throw notYourTenant()
  await renameTenant(sql, organizationId, id, name)
  await appendAudit(sql, { ...act, chain: organizationId, action: 'tenant.change', subject: id, detail: {} })
  await appendEvent(sql, { organizationId, type: 'tenant.updated', subject: id, data: { tenant_id: id } })
  return (await findTenant(sql, organizationId, id)) as TenantRow
}

export async function deleteTenant(
  sql: Sql,
  { organizationId, id }: { organizationId: string; id: string },
  act: Act,
  onTenantClosed: OnTenantClosed,
): Promise<void> {
  const tenant = await lockTenantRow(sql, organizationId, id)
  if (!tenant) throw notYourTenant()
  if (tenant.isDefault) throw new ApiError('INVALID_STATE', 'The default tenant of an organization cannot be deleted.')
  // After the lock: a service that was being made has been counted by now, and none can be made any more.
  const services = await countPresentServices(sql, organizationId, id)
  if (services > 0)
    throw new ApiError(
      'INVALID_STATE',
      `The tenant still has services (${services}): delete them first, and wait until they are gone.`,
    )
  await closeTenant(sql, organizationId, id)
  // Before the audit: whatever it locks comes before the heads.
  await onTenantClosed(sql, tenant)
  await appendAudit(sql, { ...act, chain: organizationId, action: 'tenant.delete', subject: id, detail: {} })
  await appendEvent(sql, { organizationId, type: 'tenant.deleted', subject: id, data: { tenant_id: id } })
}

/** For an operator, who has a name or an id. In a transaction that has the organization in use. */
export async function findOneTenant(sql: Sql, organizationId: string, nameOrId: string): Promise<Tenant | undefined> {
  const [found, another] = await listTenants(sql, organizationId, nameOrId)
  if (another) throw new ApiError('INVALID_STATE', `Several tenants are called '${nameOrId}': give the id.`)
  return found
}

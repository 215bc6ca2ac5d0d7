import { ApiError } from '@loci/chassis/api-error.ts'
import { isId, newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { useOrganization } from '../access/store.ts'
import { appendAudit, PLATFORM_CHAIN } from '../audit/store.ts'
import type { PlanName } from '../plans.ts'
import { slugOf } from '../slugs.ts'
import {
  insertOrganization,
  insertTenant,
  listOrganizations,
  listTenants,
  type Organization,
  type Tenant,
} from './store.ts'

/** The one of that name or id; a name that nobody has yet makes a new one. */
export async function ensureOrganization(sql: Sql, nameOrId: string, actor: string): Promise<Organization> {
  const [found, another] = await listOrganizations(sql, nameOrId)
  if (another) throw ambiguous('organizations', nameOrId)
  if (found) return found
  requireName('organization', nameOrId, isId('org', nameOrId))
  const organization = { id: newId('org'), name: nameOrId }
  await insertOrganization(sql, organization)
  const entry = { actor, action: 'organization.make', subject: organization.id, detail: {} }
  await appendAudit(sql, { ...entry, chain: PLATFORM_CHAIN })
  return organization
}

/** Leaves the organization of the tenant in use. */
export async function ensureTenant(
  sql: Sql,
  given: { organizationId: string; nameOrId: string; plan: PlanName },
  actor: string,
): Promise<Tenant> {
  const { organizationId, nameOrId, plan } = given
  await useOrganization(sql, organizationId)
  const [found, another] = await listTenants(sql, organizationId, nameOrId)
  if (another) throw ambiguous('tenants', nameOrId)
  if (found) return found
  requireName('tenant', nameOrId, isId('ten', nameOrId))
  const id = newId('ten')
  const tenant = {
    id,
    organizationId,
    name: nameOrId,
    slug: slugOf(nameOrId, 'tenant'),
    plan,
    status: 'active' as const,
  }
  await insertTenant(sql, tenant)
  await appendAudit(sql, { chain: organizationId, actor, action: 'tenant.make', subject: id, detail: { plan } })
  return tenant
}

function requireName(what: string, name: string, isAnId: boolean): void {
  if (isAnId) throw new ApiError('NOT_FOUND', `There is no ${what} ${name}.`)
  if (name.trim() !== name || name.length < 1 || name.length > 100)
    throw new ApiError(
      'VALIDATION_ERROR',
      `The name of the ${what} must have 1 to 100 characters, none of them a blank at its ends.`,
    )
}

function ambiguous(what: string, name: string): ApiError {
  return new ApiError('INVALID_STATE', `Several ${what} are called '${name}': give the id.`)
}

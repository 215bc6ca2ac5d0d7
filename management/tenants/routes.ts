import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { page } from '@loci/chassis/page.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import {
  tenantChange,
  tenantList,
  tenantListQuery,
  tenantMake,
  tenantParams,
  tenant as tenantSchema,
} from '@loci/contract/tenants.ts'
import { deleted } from '@loci/contract/wire.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { requireWholeOrganization } from '../access/organization.ts'
import { notYourTenant, readForCaller, requireOwnTenant } from '../access/own.ts'
import { findTenant, listTenantPage, type TenantRow } from './store.ts'
import {
  changeTenant,
  deleteTenant,
  makeTenant,
  type OnTenantClosed,
  type OnTenantMade,
  requireTenantRoom,
} from './tenants.ts'

interface TenantOptions {
  caller: CallerAccess
  act: RunAct<Caller>
  pool: Pool
  /** Whether there is a billing webhook; without one every plan is covered. */
  isBilled: boolean
  onTenantMade: OnTenantMade
  onTenantClosed: OnTenantClosed
}

export function tenantRoutes({
  caller: access,
  act,
  pool,
  isBilled,
  onTenantMade,
  onTenantClosed,
}: TenantOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/tenants',
        access: access.scope('tenants:read', 'read'),
        tag: 'tenants',
        summary: 'List the tenants that the caller may use, newest first.',
        query: tenantListQuery,
        answers: { 200: tenantList },
      },
      async ({ caller, query }) => {
        const asked = { only: caller.tenantIds, before: query.cursor ?? null, limit: query.limit + 1 }
        const read = await readForCaller(pool, caller, (sql) => listTenantPage(sql, caller.organizationId, asked))
        const { rows, next } = page(read, query.limit, ({ id }) => id)
        return { tenants: rows.map(tenantJson), next_cursor: next }
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/tenants',
        access: access.scope('tenants:write', 'write'),
        tag: 'tenants',
        summary: 'Create a tenant.',
        details: 'Without a slug it gets one that is made from its name.',
        body: tenantMake,
        answers: { 201: tenantSchema },
        errors: ['SLUG_TAKEN', 'QUOTA_EXCEEDED'],
      },
      async (call) => {
        const { caller, body } = call
        requireWholeOrganization(caller)
        const { organizationId } = caller
        return act(call, async (sql, by) => {
          await requireTenantRoom(sql, organizationId, isBilled)
          const wanted = { organizationId, name: body.name, slug: body.slug }
          return { status: 201, body: tenantJson(await makeTenant(sql, wanted, by, onTenantMade)) }
        })
      },
    ),
    route(
      {
        method: 'GET',
        path: '/api/v1/tenants/{id}',
        access: access.scope('tenants:read', 'read'),
        tag: 'tenants',
        summary: 'Read a tenant.',
        params: tenantParams,
        answers: { 200: tenantSchema },
      },
      ({ caller, params }) =>
        readForCaller(pool, caller, async (sql) => {
          await requireOwnTenant(sql, caller, params.id)
          const found = await findTenant(sql, caller.organizationId, params.id)
          if (!found) throw notYourTenant()
          return tenantJson(found)
        }),
    ),
    route(
      {
        method: 'PATCH',
        path: '/api/v1/tenants/{id}',
        access: access.scope('tenants:write', 'write'),
        tag: 'tenants',
        summary: 'Rename a tenant.',
        details: 'Its slug stays.',
        params: tenantParams,
        body: tenantChange,
        answers: { 200: tenantSchema },
      },
      (call) =>
        act(call, async (sql, by) => {
          const { organizationId } = call.caller
          const { id } = call.params
          await requireOwnTenant(sql, call.caller, id)
          const changed = await changeTenant(sql, { organizationId, id, name: call.body.name }, by)
          return { status: 200, body: tenantJson(changed) }
        }),
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/tenants/{id}',
        access: access.scope('tenants:write', 'write'),
        tag: 'tenants',
        summary: 'Delete a tenant that has no services.',
        details: 'The default tenant stays.',
        params: tenantParams,
        answers: { 200: deleted },
        errors: ['INVALID_STATE'],
      },
      (call) =>
        act(call, async (sql, by) => {
          const { organizationId } = call.caller
          const { id } = call.params
          await requireOwnTenant(sql, call.caller, id)
          await deleteTenant(sql, { organizationId, id }, by, onTenantClosed)
          return { status: 200, body: { deleted: true } }
        }),
    ),
  ]
}

function tenantJson({ id, organizationId, name, slug, plan, status, isDefault, createdAt, updatedAt }: TenantRow) {
  return {
    id,
    organization_id: organizationId,
    name,
    slug,
    plan,
    status,
    is_default: isDefault,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  }
}

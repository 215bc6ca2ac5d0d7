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
import { transaction } from '@loci/postgres/transaction.ts'
import type { CallerAccess } from '../access/caller.ts'
import { requireWholeOrganization } from '../access/organization.ts'
import { notYourTenant, requireOwnTenant } from '../access/own.ts'
import { useOrganization } from '../access/store.ts'
import type { Idempotency } from '../acts/idempotency/idempotency.ts'
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
  idempotency: Idempotency
  pool: Pool
  /** Whether there is a billing webhook; without one every plan is covered. */
  isBilled: boolean
  onTenantMade: OnTenantMade
  onTenantClosed: OnTenantClosed
}

const REPEATED = ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_IN_PROGRESS'] as const

export function tenantRoutes({
  caller: access,
  idempotency,
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
        summary: 'The tenants that the caller may use, newest first.',
        query: tenantListQuery,
        answers: { 200: tenantList },
      },
      async ({ caller, query }) => {
        const tenants = await transaction(
          pool,
          async (sql) => {
            await useOrganization(sql, caller.organizationId)
            const page = { only: caller.tenantIds, before: query.cursor ?? null, limit: query.limit + 1 }
            return listTenantPage(sql, caller.organizationId, page)
          },
          { readOnly: true },
        )
        const page = tenants.slice(0, query.limit)
        const next = tenants.length > query.limit ? (page.at(-1) as TenantRow).id : null
        return { tenants: page.map(tenantJson), next_cursor: next }
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/tenants',
        access: access.scope('tenants:write', 'write'),
        tag: 'tenants',
        summary: 'Make a tenant. Without a slug it gets one that is made from its name.',
        body: tenantMake,
        answers: { 201: tenantSchema },
        errors: ['SLUG_TAKEN', 'QUOTA_EXCEEDED', ...REPEATED],
      },
      async ({ caller, body, headers, requestId }) => {
        requireWholeOrganization(caller)
        const { organizationId } = caller
        const repeat = { route: 'POST /api/v1/tenants', headers, request: body }
        return idempotency.once(caller, repeat, async (sql) => {
          await requireTenantRoom(sql, organizationId, isBilled)
          const wanted = { organizationId, name: body.name, slug: body.slug }
          const made = await makeTenant(sql, wanted, { actor: caller.id, requestId }, onTenantMade)
          return { status: 201, body: tenantJson(made) }
        })
      },
    ),
    route(
      {
        method: 'GET',
        path: '/api/v1/tenants/{id}',
        access: access.scope('tenants:read', 'read'),
        tag: 'tenants',
        summary: 'One tenant.',
        params: tenantParams,
        answers: { 200: tenantSchema },
      },
      async ({ caller, params }) =>
        transaction(
          pool,
          async (sql) => {
            await useOrganization(sql, caller.organizationId)
            await requireOwnTenant(sql, caller, params.id)
            const found = await findTenant(sql, caller.organizationId, params.id)
            if (!found) throw notYourTenant()
            return tenantJson(found)
          },
          { readOnly: true },
        ),
    ),
    route(
      {
        method: 'PATCH',
        path: '/api/v1/tenants/{id}',
        access: access.scope('tenants:write', 'write'),
        tag: 'tenants',
        summary: 'Rename a tenant. Its slug stays.',
        params: tenantParams,
        body: tenantChange,
        answers: { 200: tenantSchema },
        errors: [...REPEATED],
      },
      async ({ caller, params: { id }, body, headers, requestId }) => {
        const { organizationId } = caller
        const repeat = { route: `PATCH /api/v1/tenants/${id}`, headers, request: body }
        return idempotency.once(caller, repeat, async (sql) => {
          await requireOwnTenant(sql, caller, id)
          const act = { actor: caller.id, requestId }
          return {
            status: 200,
            body: tenantJson(await changeTenant(sql, { organizationId, id, name: body.name }, act)),
          }
        })
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/tenants/{id}',
        access: access.scope('tenants:write', 'write'),
        tag: 'tenants',
        summary: 'Delete a tenant that has no services; the default tenant stays.',
        params: tenantParams,
        answers: { 200: deleted },
        errors: ['INVALID_STATE', ...REPEATED],
      },
      async ({ caller, params: { id }, headers, requestId }) => {
        const { organizationId } = caller
        const repeat = { route: `DELETE /api/v1/tenants/${id}`, headers, request: null }
        return idempotency.once(caller, repeat, async (sql) => {
          await requireOwnTenant(sql, caller, id)
          await deleteTenant(sql, { organizationId, id }, { actor: caller.id, requestId }, onTenantClosed)
          return { status: 200, body: { deleted: true } }
        })
      },
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

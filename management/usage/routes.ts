import { page } from '@loci/chassis/page.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { isId } from '@loci/contract/ids.ts'
import {
  STEPS_BY_SERVICE_MAX,
  usageByServiceQuery,
  usageByServiceResponse,
  usageParams,
  usageQuery,
  usageResponse,
} from '@loci/contract/usage.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CallerAccess } from '../access/caller.ts'
import { readForCaller, requireOwnService, requireOwnTenant } from '../access/own.ts'
import { findService } from '../services/store.ts'
import { listDearest, listLivingServiceIds, listServiceIds, listUsage, listUsageByService } from './store.ts'
import { pointJson, rangeOf } from './usage.ts'

interface UsageOptions {
  caller: CallerAccess
  pool: Pool
}

export function usageRoutes({ caller: access, pool }: UsageOptions): Route[] {
  const shared = {
    method: 'GET',
    access: access.scope('usage:read', 'read'),
    tag: 'usage',
    params: usageParams,
    query: usageQuery,
    answers: { 200: usageResponse },
    failureMessage: 'Failed to read the usage',
  } as const
  return [
    route(
      {
        ...shared,
        path: '/api/v1/services/{id}/usage',
        summary: 'Read the usage of a service by minute, hour or day.',
        errors: ['NOT_FOUND'],
      },
      ({ caller, params: { id }, query }) =>
        readForCaller(pool, caller, async (sql) => {
          const { organizationId } = caller
          const found = isId('svc', id) ? await findService(sql, organizationId, id) : undefined
          const service = requireOwnService(caller, found)
          const { from, to, step, stepMs } = rangeOf(query)
          const serviceIds = [service.id]
          const usage = await listUsage(sql, { organizationId, serviceIds }, { from, to, stepMs })
          const points = usage.map(pointJson)
          return { usage: points, dearest: await listDearest(sql, { organizationId, serviceIds }), from, to, step }
        }),
    ),

    route(
      {
        ...shared,
        path: '/api/v1/tenants/{id}/usage',
        summary: 'Read the usage of all services of a tenant together, by minute, hour or day.',
      },
      ({ caller, params: { id }, query }) =>
        readForCaller(pool, caller, async (sql) => {
          const { organizationId } = caller
          await requireOwnTenant(sql, caller, id)
          const { from, to, step, stepMs } = rangeOf(query)
          const serviceIds = await listServiceIds(sql, organizationId, id)
          const usage = await listUsage(sql, { organizationId, serviceIds }, { from, to, stepMs })
          const points = usage.map(pointJson)
          return { usage: points, dearest: await listDearest(sql, { organizationId, serviceIds }), from, to, step }
        }),
    ),

    route(
      {
        method: 'GET',
        path: '/api/v1/usage',
        access: access.scope('usage:read', 'read'),
        tag: 'usage',
        summary: 'Read the usage of each service by minute, hour or day.',
        details: `At most ${STEPS_BY_SERVICE_MAX} steps of each.`,
        query: usageByServiceQuery,
        answers: { 200: usageByServiceResponse },
        failureMessage: 'Failed to read the usage',
      },
      ({ caller, query }) =>
        readForCaller(pool, caller, async (sql) => {
          const { organizationId, tenantIds } = caller
          const { from, to, step, stepMs } = rangeOf(query, { pointsMax: STEPS_BY_SERVICE_MAX })
          const asked = { tenantIds, before: query.cursor, limit: query.limit + 1 }
          const read = await listLivingServiceIds(sql, organizationId, asked)
          const { rows: serviceIds, next } = page(read, query.limit, (id) => id)
          const usage = await listUsageByService(sql, { organizationId, serviceIds }, { from, to, stepMs })
          const byService = Map.groupBy(usage, ({ serviceId }) => serviceId)
          const services = serviceIds.map((id) => ({
            service_id: id,
            usage: (byService.get(id) ?? []).map(({ serviceId: _, ...point }) => pointJson(point)),
          }))
          return { services, from, to, step, next_cursor: next }
        }),
    ),
  ]
}

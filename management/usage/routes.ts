import { type Route, route } from '@loci/chassis/route.ts'
import { isId } from '@loci/contract/ids.ts'
import { usageParams, usageQuery, usageResponse } from '@loci/contract/usage.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CallerAccess } from '../access/caller.ts'
import { readForCaller, requireOwnService, requireOwnTenant } from '../access/own.ts'
import { findService } from '../services/store.ts'
import { listDearest, listServiceIds, listUsage } from './store.ts'
import { rangeOf } from './usage.ts'

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
        summary: 'Read what a service was asked and holds, by minute, hour or day.',
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
          return { usage, dearest: await listDearest(sql, { organizationId, serviceIds }), from, to, step }
        }),
    ),

    route(
      {
        ...shared,
        path: '/api/v1/tenants/{id}/usage',
        summary: 'Read what all services of a tenant together were asked and hold, by minute, hour or day.',
      },
      ({ caller, params: { id }, query }) =>
        readForCaller(pool, caller, async (sql) => {
          const { organizationId } = caller
          await requireOwnTenant(sql, caller, id)
          const { from, to, step, stepMs } = rangeOf(query)
          const serviceIds = await listServiceIds(sql, organizationId, id)
          const usage = await listUsage(sql, { organizationId, serviceIds }, { from, to, stepMs })
          return { usage, dearest: await listDearest(sql, { organizationId, serviceIds }), from, to, step }
        }),
    ),
  ]
}

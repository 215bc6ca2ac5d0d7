// The report on the store. It answers also when the sub-service is switched off.

import { type Route, route } from '@loci/chassis/route.ts'
import { kvHealth } from '@loci/contract/kv.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CapabilityAccess } from '../../access/capability-access.ts'
import { createKvHealth } from './health.ts'

interface KvReportOptions {
  access: CapabilityAccess
  pool: Pool
}

export function kvReportRoutes({ access, pool }: KvReportOptions): Route[] {
  const healthOf = createKvHealth(pool)
  return [
    route(
      {
        method: 'GET',
        path: '/v1/kv/health',
        access: access.capability('system:read', { knownSuffices: true }),
        tag: 'kv',
        summary: 'Check the store by writing, committing and reading back a probe.',
        details:
          'The answer says how durable the store is and what it holds. A store that does not answer is `failed`.',
        refusesUnknownNames: true,
        answers: { 200: kvHealth },
      },
      ({ caller }) => healthOf(caller),
    ),
  ]
}

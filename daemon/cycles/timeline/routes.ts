// The timeline of a mind, for who wants to see what was held when: hours of cycles and of what came and left.

import { covers } from '@loci/capability/keyspaces.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { timeline, timelineQuery } from '@loci/contract/timeline.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller, CapabilityAccess } from '../../access/capability-access.ts'
import { unreadable } from '../../working-memory/store.ts'
import { placeOf, SHARED } from '../routes.ts'
import { readTimeline } from './timeline.ts'

interface TimelineOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
}

export function timelineRoutes({ access, pool, shares }: TimelineOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/cognitive/timeline',
        access: access.capability('cycles:read'),
        summary: 'Read what was in mind when: cycles and the stays of slots, newest first.',
        details:
          'Exact for what is kept: 30 days, on the plan free 7. A page has at most `limit` cycles and 1,000 slots that left, and ends earlier at 1 MiB of what they said or 2 MiB of decisions; `nextCursor` goes on. `content=true` needs `wm:read` too.',
        query: timelineQuery,
        answers: { 200: timeline },
        errors: ['DATA_DAMAGED', 'OPERATION_NOT_ALLOWED'],
      },
      async ({ caller, query, goOn }) => {
        const { since, until, content, cursor, limit } = query
        if (content === 'true') requireContent(caller)
        const [from, to] = [since, until].map((time) => (time === undefined ? null : Date.parse(time)))
        const ask = { since: from ?? null, until: to ?? null, cursor, limit, isContent: content === 'true', goOn }
        return shares.inTurn(caller.instance.id, () =>
          readTimeline(pool, placeOf(caller), ask).catch((error) => {
            throw isUnreadable(error) ? unreadable(error) : error
          }),
        )
      },
    ),
  ]
}

/** What a stay said is what a slot said. */
function requireContent({ requireOperation, ks, database }: Caller): void {
  requireOperation('wm:read')
  if (!covers(ks, 'working-memory', database))
    throw new ApiError('DATABASE_MISMATCH', `The credential does not cover working-memory/${database}.`)
}

// The timeline of a mind, for who wants to see what was held when: hours of cycles and of what came and left.

import { covers } from '@loci/capability/keyspaces.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { createTurn } from '@loci/chassis/turn.ts'
import { isId } from '@loci/contract/ids.ts'
import { recordTrace, timeline, timelineQuery } from '@loci/contract/timeline.ts'
import { idPath } from '@loci/contract/wire.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller, CapabilityAccess } from '../../access/capability-access.ts'
import type { InstanceKeys } from '../../databases/instance-keys.ts'
import { macsOf } from '../../databases/macs.ts'
import { noRecord, recordDamaged } from '../../memory/refusals.ts'
import { unreadable } from '../../working-memory/store.ts'
import { placeOf, SHARED } from '../routes.ts'
import { readTimeline } from './timeline.ts'
import { readTrace } from './trace/trace.ts'

interface TimelineOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
  keys: InstanceKeys
}

export function timelineRoutes({ access, pool, shares, keys }: TimelineOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/cognitive/timeline',
        access: access.capability('cycles:read'),
        summary: 'Read which slots were in working memory over time, newest first.',
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

    route(
      {
        tag: 'memory',
        subservice: 'memory',
        method: 'GET',
        path: '/v1/memory/records/{id}/trace',
        access: access.capability('memory:read'),
        summary: 'Read the history of a memory, with what it replaced and when it was in working memory.',
        details:
          'What it replaced, and when it was said, too. Decisions of the last 8 times that it was in mind. What was in mind is told to who may read cycles: `cycles:read`.',
        refusesUnknownNames: true,
        params: idPath,
        answers: { 200: recordTrace },
        errors: ['NOT_FOUND', 'DATA_DAMAGED'],
      },
      async ({ caller, params: { id }, goOn }) => {
        if (!isId('mem', id)) throw noRecord()
        const macs = macsOf(await keys.of(caller.instance.id))
        return shares.inTurn(caller.instance.id, async () => {
          const turn = createTurn()
          const rest = async () => {
            await turn()
            goOn()
          }
          const found = await readTrace(pool, placeOf(caller), { id, macs, rest, isMind: mayReadCycles(caller) }).catch(
            (error) => {
              throw isUnreadable(error) ? recordDamaged(id, error) : error
            },
          )
          if (!found) throw noRecord()
          if (found === 'damaged') throw recordDamaged(id)
          return found
        })
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

function mayReadCycles({ ops, ks, database }: Caller): boolean {
  return ops.has('cycles:read') && covers(ks, 'cognitive', database)
}

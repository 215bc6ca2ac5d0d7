import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, reply, route } from '@loci/chassis/route.ts'
import {
  databaseDeleted,
  databaseErasing,
  databaseList,
  databaseListQuery,
  databaseParams,
} from '@loci/contract/databases.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { CapabilityAccess } from '../../access/capability-access.ts'
import { instanceGone } from '../../access/served.ts'
import { isLedgered } from '../../databases/store.ts'
import { eraseWithin } from './erasing.ts'
import { beginErasure, listDatabases } from './store.ts'

interface DatabaseOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
}

const SHARED = { tag: 'databases' } as const
/** For so long whoever deletes one waits for the end. */
const WAIT_MS = 5_000

export function databaseRoutes({ access, pool, shares }: DatabaseOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/databases',
        access: access.operator('operate'),
        summary: 'List the databases of the service with what each holds.',
        query: databaseListQuery,
        answers: { 200: databaseList },
      },
      ({ caller, query: { cursor = '', limit } }) =>
        shares.inTurn(caller.instance.id, async () => {
          const found = await listDatabases(pool, caller.instance.id, { after: cursor, limit: limit + 1 })
          const page = found.slice(0, limit)
          return {
            databases: page.map(({ createdAt, ...one }) => ({ ...one, createdAt: createdAt.toISOString() })),
            nextCursor: found.length > limit ? (page.at(-1)?.name ?? null) : null,
          }
        }),
    ),
    route(
      {
        ...SHARED,
        method: 'DELETE',
        path: '/v1/databases/{name}',
        access: access.operator('operate'),
        summary: 'Erase a database with all that it holds.',
        details:
          'A person is forgotten whole. At once nothing of it is read. A cell that is restored from a backup erases it again before it serves, once management has its ledger row (`ledgered`). The next write to the name begins a new database.',
        // As of a clear: a `dryRun` that is dropped would be done in earnest, and nothing takes this back.
        refusesUnknownNames: true,
        params: databaseParams,
        answers: { 200: databaseDeleted, 202: databaseErasing },
        errors: ['NOT_FOUND'],
      },
      async ({ caller: { instance, actor }, params: { name }, requestId }) => {
        const place = { instanceId: instance.id, database: name }
        // A few of an instance at once: what an erasure costs is known when it is done.
        return shares.inTurn(instance.id, async () => {
          const { outcome, receipt } = await beginErasure(pool, place, { actor, requestId })
          if (outcome === 'gone') throw instanceGone()
          if (outcome === 'none') throw new ApiError('NOT_FOUND', `There is no database '${name}' in this service.`)
          // It has begun: that the rest could not be done now is no failure of the request.
          const isGone = await eraseWithin(pool, place, WAIT_MS).catch(() => false)
          const isAcknowledged = await isLedgered(pool, place, Buffer.alloc(0))
          const answer = { name, receipt, ledgered: isAcknowledged ? 'management' : 'cell' }
          return isGone ? { deleted: true, ...answer } : reply(202, { deleted: false, erasing: true, ...answer })
        })
      },
    ),
  ]
}

// What was: every version of a slot and every eviction with its why, for 30 days or those of the plan.

import { type Route, reply, route } from '@loci/chassis/route.ts'
import { keyParams } from '@loci/contract/kv.ts'
import { evictionList, slotHistory, slotHistoryQuery } from '@loci/contract/working-memory.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import { badCursor } from '../databases/cursors.ts'
import type { Why } from './document.ts'
import { asDamage, damagedOf, SHARED } from './routes.ts'
import { listEvictions, listVersions } from './store.ts'

const DAY_MS = 86_400_000

interface HistoryOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
}

export function slotHistoryRoutes({ access, pool, shares }: HistoryOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/working-memory/slots/{key}/history',
        access: access.capability('wm:read'),
        summary: 'Every version of a slot, newest first, also of one that has left.',
        params: keyParams,
        query: slotHistoryQuery,
        answers: { 200: slotHistory },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller, params: { key }, query }) => {
        const place = { instanceId: caller.instance.id, database: caller.database, key }
        const before = beforeOf(query.cursor)
        const rows = await shares.inTurn(caller.instance.id, () =>
          listVersions(pool, place, { before, limit: query.limit + 1 }).catch(asDamage),
        )
        const page = rows.slice(0, query.limit)
        const last = page.filter(({ intact }) => intact).at(-1)
        const rest = {
          nextCursor: rows.length > query.limit && last ? String(last.version) : null,
          ...damagedOf(page.filter(({ intact }) => !intact).map(() => key)),
        }
        const versions = page.filter(({ intact }) => intact).map(({ text }) => text)
        return reply(200, `{"versions":[${versions.join(',')}],${JSON.stringify(rest).slice(1)}`)
      },
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/working-memory/evictions',
        access: access.capability('wm:read'),
        summary: 'Slots that left, newest first, and why.',
        query: slotHistoryQuery,
        answers: { 200: evictionList },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller, query }) => {
        const place = { instanceId: caller.instance.id, database: caller.database }
        const before = beforeOf(query.cursor)
        const rows = await shares.inTurn(caller.instance.id, () =>
          listEvictions(pool, place, { before, limit: query.limit + 1 }).catch(asDamage),
        )
        const page = rows.slice(0, query.limit)
        const keptMs = (caller.instance.limits.history_days ?? 30) * DAY_MS
        return {
          evictions: page.flatMap(({ intact, seq, key, version, at, why }) => {
            if (!intact) return []
            const reason = JSON.parse(why) as Why
            const recoverableUntil = new Date(at.getTime() + keptMs).toISOString()
            return [{ seq, key, version, ...reason, evictedAt: at.toISOString(), recoverableUntil }]
          }),
          nextCursor: rows.length > query.limit ? String(page.at(-1)?.seq) : null,
          ...damagedOf(page.flatMap(({ intact, key }) => (intact ? [] : [key]))),
        }
      },
    ),
  ]
}

function beforeOf(cursor: string | undefined): number | null {
  if (cursor === undefined) return null
  if (!/^\d{1,15}$/.test(cursor)) throw badCursor()
  return Number(cursor)
}

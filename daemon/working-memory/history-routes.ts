// What was: every version of a slot and every eviction with its why, for 30 days or those of the plan.

import { type Route, reply, route } from '@loci/chassis/route.ts'
import { createTurn } from '@loci/chassis/turn.ts'
import { keyParams } from '@loci/contract/kv.ts'
import { evictionList, evictionListQuery, slotHistory, slotHistoryQuery } from '@loci/contract/working-memory.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import { badCursor } from '../databases/cursors.ts'
import type { Due } from '../databases/store.ts'
import type { Why } from './document.ts'
import { asDamage, damagedOf, SHARED } from './routes.ts'
import { type EvictionRow, listEvictions, listVersions, readVersions, type VersionRow } from './store.ts'

const DAY_MS = 86_400_000
/** With contents, as a page of records has. */
const PAGE_BYTES_MAX = 1024 * 1024
/** Read at once: a value has up to 16 KiB. */
const READ_MAX = 32

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
        summary: 'List every version of a slot, newest first, also of one that has left.',
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
        summary: 'List the slots that left, newest first, and why.',
        details: 'With `content=true` also what each said; such a page ends at a megabyte.',
        query: evictionListQuery,
        answers: { 200: evictionList },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller, query, goOn }) => {
        const place = { instanceId: caller.instance.id, database: caller.database }
        const before = beforeOf(query.cursor)
        const keptMs = (caller.instance.limits.history_days ?? 30) * DAY_MS
        return shares.inTurn(caller.instance.id, async () => {
          const rows = await listEvictions(pool, place, { before, limit: query.limit + 1 }).catch(asDamage)
          const asked = rows.slice(0, query.limit)
          const said = query.content === 'true' ? await readSaid(place, asked, goOn) : undefined
          const page = said ? asked.slice(0, said.length) : asked
          return {
            evictions: page.flatMap(({ intact, seq, key, version, at, why }, n) => {
              if (!intact) return []
              const reason = JSON.parse(why) as Why
              const recoverableUntil = new Date(at.getTime() + keptMs).toISOString()
              return [
                { seq, key, version, ...reason, evictedAt: at.toISOString(), recoverableUntil, ...said?.[n]?.shown },
              ]
            }),
            nextCursor: rows.length > page.length ? String(page.at(-1)?.seq) : null,
            ...damagedOf(page.flatMap(({ intact, key }, n) => (intact && !said?.[n]?.isDamaged ? [] : [key]))),
          }
        })
      },
    ),
  ]

  /** What each of the slots said, of as many as fit into a page. */
  async function readSaid(place: Due, evictions: EvictionRow[], goOn: () => void): Promise<Said[]> {
    const said: Said[] = []
    const turn = createTurn()
    for (let bytes = 0; said.length < evictions.length && bytes < PAGE_BYTES_MAX; ) {
      const part = evictions.slice(said.length, said.length + READ_MAX)
      const found = await readVersions(pool, place, part).catch(asDamage)
      const versions = new Map(found.map((row) => [row.version, row]))
      for (const { version } of part) {
        const row = versions.get(version)
        bytes += row?.text.length ?? 0
        said.push(saidOf(row))
      }
      await turn()
      goOn()
    }
    return said
  }
}

interface Said {
  shown: { value: unknown; recordId: string | null } | { redacted: true } | undefined
  isDamaged: boolean
}

/** Versions are erased with the value that they say; those of a week are dropped with it. */
function saidOf(row: VersionRow | undefined): Said {
  if (!row) return { shown: { redacted: true }, isDamaged: false }
  if (!row.intact) return { shown: undefined, isDamaged: true }
  const { value, recordId } = JSON.parse(row.text) as { value: unknown; recordId: string | null }
  return { shown: { value, recordId }, isDamaged: false }
}

function beforeOf(cursor: string | undefined): number | null {
  if (cursor === undefined) return null
  if (!/^\d{1,15}$/.test(cursor)) throw badCursor()
  return Number(cursor)
}

// The list of memories. Without a filter it is all of them, also those that were superseded, by their numbers in
// PostgreSQL. With one it is those that hold, by the index that recall has: a column and an index for each of what a
// list may be narrowed to would cost every write.

import { type Route, reply, route } from '@loci/chassis/route.ts'
import { type RecordListQuery, recordList, recordListQuery } from '@loci/contract/memory.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import { cursorOf, seqOf } from '../databases/cursors.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import type { Due } from '../databases/store.ts'
import { facetsOf } from './facets.ts'
import type { RecallIndex } from './index/recall-index.ts'
import type { Parts } from './parts/parts.ts'
import { filterOf, holds, isAsked, type Narrowing } from './recall.ts'
import { type RecordBody, recordText } from './records.ts'
import { damagedOf, SHARED } from './routes.ts'
import { countRecords, findNumbered, listRecords, PAGE_BYTES_MAX, type StoredRecord, unreadable } from './store.ts'
import type { Tails } from './tails.ts'
import { languageOf } from './upkeep/config.ts'

interface ListOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
  index: RecallIndex
  parts: Parts
  tails: Tails
  keys: InstanceKeys
}

/** Rows of a page, and the number behind which the next one begins; null at the end. */
interface ListPage {
  rows: StoredRecord[]
  next: number | null
  total: number
  totalIsAtLeast: boolean
}

/** Read at once: a body has up to 60 KB, and a page ends with its bytes. */
const READ_MAX = 32

export function listRoutes({ access, pool, shares, index, parts, tails, keys }: ListOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/memory/records',
        access: access.capability('memory:read'),
        summary: 'List memories, newest first or oldest first.',
        details: 'With a filter, those that hold. `total` says how many there are.',
        query: recordListQuery,
        answers: { 200: recordList },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller, query }) => {
        const after = query.cursor === undefined ? null : seqOf('r', query.cursor)
        const asked = narrowingOf(query)
        return shares.inTurn(caller.instance.id, async () => {
          const { rows, next, ...counted } = await (asked
            ? listSome(caller, query, asked, after)
            : listAll(caller, query, after)
          ).catch((error) => {
            throw isUnreadable(error) ? unreadable(error) : error
          })
          const texts = rows.flatMap((row) => (row.intact ? [recordText(row)] : []))
          const nextCursor = next === null ? null : cursorOf('r', next)
          // A list that is one page was counted by reading it.
          const isWhole = after === null && next === null
          const { total, totalIsAtLeast } = isWhole ? { total: rows.length, totalIsAtLeast: false } : counted
          const rest = { nextCursor, total, totalIsAtLeast, ...damagedOf(rows) }
          return reply(200, `{"records":[${texts.join(',')}],${JSON.stringify(rest).slice(1)}`)
        })
      },
    ),
  ]

  async function listAll(
    { instance, database }: Caller,
    { limit, order }: RecordListQuery,
    after: number | null,
  ): Promise<ListPage> {
    const rows = await listRecords(pool, instance.id, database, { after, limit, order })
    const last = rows.at(-1)?.seq
    if (last === undefined && after === null) return { rows, next: null, total: 0, totalIsAtLeast: false }
    const counted = { total: await countRecords(pool, instance.id, database), totalIsAtLeast: false }
    if (last === undefined) return { rows, next: null, ...counted }
    // A page that ended by its bytes has a next one if anything is behind it. A page may end with a damaged row: its
    // number is that of the index.
    const isMore =
      rows.length >= limit ||
      (await listRecords(pool, instance.id, database, { after: last, limit: 1, order })).length > 0
    return { rows, next: isMore ? last : null, ...counted }
  }

  async function listSome(
    { instance, database }: Caller,
    { limit, order }: RecordListQuery,
    asked: Narrowing,
    after: number | null,
  ): Promise<ListPage> {
    const place = { instanceId: instance.id, database }
    const page = { after, isDown: order === 'desc', limit: limit + 1 }
    const { seqs, total, isAtLeast, seq, unread } = await findSeqs(place, asked, page)
    // Of the tail: nobody can say whether they would have been listed, or where.
    const rows = after === null && unread.length > 0 ? await findNumbered(pool, instance.id, database, unread) : []
    let [read, bytes] = [0, 0]
    while (read < Math.min(seqs.length, limit) && bytes < PAGE_BYTES_MAX) {
      const wanted = seqs.slice(read, Math.min(read + READ_MAX, limit))
      for (const row of await findNumbered(pool, instance.id, database, wanted)) {
        if (row.intact && !(holds(row, seq) && isAsked(row, JSON.parse(row.body) as RecordBody, asked))) continue
        rows.push(row)
        bytes += row.intact ? Buffer.byteLength(row.body) : 0
      }
      read += wanted.length
    }
    const next = read < seqs.length ? (seqs[read - 1] ?? null) : null
    return { rows, next, total, totalIsAtLeast: isAtLeast }
  }

  async function findSeqs(
    place: Due,
    asked: Narrowing,
    page: { after: number | null; isDown: boolean; limit: number },
  ) {
    const { state, tail, damaged: unread } = await tails.read(pool, place, null)
    const language = languageOf(state)
    const segments = await parts.of(place, state, language)
    const none = { seqs: [], total: 0, isAtLeast: false }
    if (segments.length === 0 && tail.length === 0) return { ...none, seq: state.seq, unread }
    const filter = filterOf(asked, facetsOf(await keys.of(place.instanceId))) ?? {}
    const listed = await index.list({
      ...{ instanceId: place.instanceId, database: `${place.database}@${state.life}`, language, segments, tail },
      ...{ masked: state.changed, page: { filter, ...page } },
    })
    return { ...listed, seq: state.seq, unread }
  }
}

/** Undefined where nothing narrows the list. */
function narrowingOf({ tag, kind, actor, contextId, key, since, until }: RecordListQuery): Narrowing | undefined {
  const asked: Narrowing = {
    ...(tag === undefined ? {} : { tags: [tag] }),
    ...(kind === undefined ? {} : { kinds: [kind] }),
    ...(actor === undefined ? {} : { actors: [actor] }),
    ...(contextId === undefined ? {} : { contextIds: [contextId] }),
    ...(key === undefined ? {} : { keys: [key] }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  }
  return Object.keys(asked).length === 0 ? undefined : asked
}

// The feeds of the cells: one current row for each thing that a cell must know, numbered under the lock of the cell's
// own row, so that a number is given in the order of commits.

import type { FeedChange, FeedItem } from '@loci/contract/feed.ts'
import { DATABASE_LIFE } from '@loci/postgres/life.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { LOCKS, lockCells } from '../locks/store.ts'

/** To one cell. The cell's row stays locked to the end of the transaction. */
export async function publish(sql: Sql, cellId: string, change: FeedChange): Promise<void> {
  LOCKS.note(sql, 'cell', cellId)
  const { rowCount } = await sql.query({
    name: 'feed_publish',
    text: `with next as (update loci.cells set feed_seq = feed_seq + 1 where id = $1 returning feed_seq)
      insert into loci.feed_items (cell_id, kind, key, seq, body, bytes, changed_at)
      select $1, $2, $3, feed_seq, $4::jsonb, octet_length($4::jsonb::text), clock_timestamp() from next
      on conflict (cell_id, kind, key) do update set seq = excluded.seq, body = excluded.body, bytes = excluded.bytes,
        changed_at = excluded.changed_at`,
    values: [cellId, change.kind, change.key, JSON.stringify(change.body)],
  })
  if (rowCount !== 1) throw new Error(`there is no cell ${cellId} to publish to`)
  sql.afterCommit((wake) => wake('feed', cellId))
}

/** Removes items from a cell's feed that another item of the same transaction replaces. */
export async function withdraw(sql: Sql, cellId: string, kind: FeedChange['kind'], keys: string[]): Promise<void> {
  await sql.query({
    name: 'feed_withdraw',
    text: 'delete from loci.feed_items where cell_id = $1 and kind = $2 and key = any($3)',
    values: [cellId, kind, keys],
  })
}

type InstanceBody = Extract<FeedChange, { kind: 'instance' }>['body']

/** Publishes an instance and counts it: its place is taken when first published, and free when deleted. */
export async function publishInstance(sql: Sql, cellId: string, body: InstanceBody): Promise<void> {
  LOCKS.note(sql, 'cell', cellId)
  await sql.query({
    name: 'feed_count_placed',
    text: `update loci.cells set placed = placed + $3 - (
        select count(*)::int from loci.feed_items where cell_id = $1 and kind = 'instance' and key = $2 and body->>'state' <> 'deleted')
      where id = $1`,
    values: [cellId, body.svc, body.state === 'deleted' ? 0 : 1],
  })
  await publish(sql, cellId, { kind: 'instance', key: body.svc, body })
  if (body.state !== 'deleted') return
  await sql.query({
    name: 'feed_ask_deletion',
    text: `insert into loci.deletions as known (cell_id, service_id, database, at, asked_generation) values ($1, $2, '', clock_timestamp(), $3)
      on conflict (cell_id, service_id, database, value_mac, is_override) do update set asked_generation = greatest(known.asked_generation, excluded.asked_generation)`,
    values: [cellId, body.svc, body.generation],
  })
}

export async function publishToAll(sql: Sql, change: FeedChange): Promise<void> {
  for (const cellId of await lockCells(sql)) await publish(sql, cellId, change)
}

/**
 * Changes whenever the numbers of the feed may have gone back: with the life of the database, or by an operator's
 * command where PostgreSQL cannot notice (loci.feed_epoch).
 */
const EPOCH = `(select ${DATABASE_LIFE} || '.' || e.value from loci.feed_epoch e)`

export async function readEpoch(sql: Sql): Promise<string> {
  const { rows } = await sql.query<{ epoch: string }>({ name: 'feed_epoch', text: `select ${EPOCH} as epoch` })
  return rows[0]?.epoch as string
}

/** When this epoch replaced another one, so when changes may have been lost; null: there was no other. */
export async function noteEpoch(sql: Sql): Promise<Date | null> {
  await sql.query({
    name: 'feed_note_epoch',
    text: `update loci.feed_epoch set seen = now.epoch, changed_at = case when seen is null then changed_at else clock_timestamp() end
      from (select ${EPOCH} as epoch) as now where seen is distinct from now.epoch`,
  })
  const { rows } = await sql.query<{ at: Date | null }>({
    name: 'feed_epoch_changed',
    text: 'select changed_at as at from loci.feed_epoch',
  })
  return rows[0]?.at ?? null
}

export async function raiseEpoch(sql: Sql): Promise<void> {
  await sql.query({ text: 'update loci.feed_epoch set value = value + 1' })
}

export interface FeedPage {
  epoch: string
  full: boolean
  next: number
  /** How far keys and revocations are read; only for a cell that reads them in a lane of their own. */
  urgent?: number
  more: boolean
  /** The last number of the deletion ledger. */
  ledger: number
  items: FeedItem[]
}

export const PAGE_ITEMS_MAX = 500
/** Beyond it the rest comes with the next page: what an instance is configured with may be large. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024

interface PageRow {
  epoch: string
  full: boolean
  ledger: number
  end: number
  urgentFound: number
  urgent: FeedItem[] | null
  found: number
  items: FeedItem[] | null
}

/** Items of one lane in order of seq, up to the byte limit. Items of the previous release are measured here. */
const LANE = (kinds: string, after: string) => `(
    select count(*)::int as found, json_agg(json_build_object('seq', seq, 'kind', kind, 'key', key, 'body', body) order by seq)
      filter (where bytes_before < $5) as items
    from (
      select seq, kind, key, body, sum(size) over (order by seq) - size as bytes_before
      from (
        select seq, kind, key, body, coalesce(bytes, octet_length(body::text)) as size from loci.feed_items
        where cell_id = place.id and ${kinds} and seq > case when place.is_full then 0 else ${after} end order by seq limit $4
      ) as first
    ) as measured
  )`

const PLACE = `with place as (
    select id, feed_seq, deletion_seq, epoch, epoch is distinct from $3 or $2 > feed_seq as is_full
    from loci.cells, lateral (select ${EPOCH} as epoch) as now where id = $1
  )`

/**
 * One statement, so one snapshot: the end of the feed and the items up to it are of the same moment. With `urgent` keys
 * and revocations have a place of their own, which is never behind the other: what is left of them fills the page
 * before anything else is in it.
 */
export async function readFeed(
  sql: Sql,
  {
    cellId,
    after,
    urgent,
    epoch,
  }: { cellId: string; after: number; urgent?: number | undefined; epoch: string | undefined },
): Promise<FeedPage> {
  const values = [cellId, after, epoch ?? null, PAGE_ITEMS_MAX + 1, PAGE_BYTES_MAX]
  if (urgent === undefined) {
    const { rows } = await sql.query<PageRow>({
      name: 'feed_read',
      text: `${PLACE} select epoch, is_full as full, deletion_seq as ledger, feed_seq as end, page.found, page.items
        from place, lateral ${LANE('true', '$2')} as page`,
      values,
    })
    return pageOf(cellId, rows[0])
  }
  const { rows } = await sql.query<PageRow>({
    name: 'feed_read_lanes',
    text: `${PLACE} select epoch, is_full as full, deletion_seq as ledger, feed_seq as end, urgent.found as "urgentFound", urgent.items as urgent, page.found, page.items
      from place, lateral ${LANE(`kind in ('key', 'revocation')`, 'greatest($2, $6)')} as urgent,
        lateral ${LANE(`kind in ('instance', 'partner_credential')`, '$2')} as page`,
    values: [...values, urgent],
  })
  return pageOf(cellId, rows[0], { after, urgent })
}

function pageOf(cellId: string, row: PageRow | undefined, from?: { after: number; urgent: number }): FeedPage {
  if (!row) throw new Error(`cell ${cellId} has no feed`)
  const { epoch, full, ledger, end } = row
  const urgent = (row.urgent ?? []).slice(0, PAGE_ITEMS_MAX)
  const isUrgentLeft = from !== undefined && row.urgentFound > urgent.length
  const ordinary = isUrgentLeft ? [] : (row.items ?? []).slice(0, PAGE_ITEMS_MAX)
  const isLeft = isUrgentLeft || row.found > ordinary.length
  const next = isLeft ? (ordinary.at(-1)?.seq ?? (full ? 0 : (from?.after ?? 0))) : end
  return {
    epoch,
    full,
    next,
    ...(from ? { urgent: isUrgentLeft ? (urgent.at(-1) as FeedItem).seq : end } : {}),
    more: isLeft,
    ledger,
    items: [...urgent, ...ordinary],
  }
}

/**
 * An item that says deleted is needed no more: its cell has read it, and the ledger, which a restored cell reads,
 * has what was erased. Ten minutes later: the last usage of the instance may still be on its way.
 */
const CONFIRMED = `f.kind = 'instance' and f.body->>'state' = 'deleted' and c.id = f.cell_id
  and c.heard_epoch = ${EPOCH} and c.heard_seq >= f.seq
  and d.cell_id = f.cell_id and d.service_id = f.key and d.database = ''
  and d.generation >= (f.body->>'generation')::bigint and d.received_at < now() - interval '10 minutes'`
const HAS_REVOCATIONS = `exists (select from loci.revocations r where r.cell_id = '' and r.kind = 'jti' and r.svc = f.key)`

/** Not before its revocations by jti are folded: by this item they are found. */
export async function dropConfirmedDeletions(sql: Sql): Promise<void> {
  await sql.query({
    name: 'feed_drop_deleted',
    text: `delete from loci.feed_items f using loci.cells c, loci.deletions d where ${CONFIRMED} and not ${HAS_REVOCATIONS}`,
  })
}

/** Services that are erased, and still have revocations by jti. */
export async function listErasedWithRevocations(
  sql: Sql,
  limit: number,
): Promise<{ cellId: string; serviceId: string }[]> {
  const { rows } = await sql.query<{ cellId: string; serviceId: string }>({
    name: 'feed_erased_with_revocations',
    text: `select f.cell_id as "cellId", f.key as "serviceId" from loci.feed_items f, loci.cells c, loci.deletions d
      where ${CONFIRMED} and ${HAS_REVOCATIONS} order by f.cell_id, f.key limit $1`,
    values: [limit],
  })
  return rows
}

/** What a cell asks `after` is what it has applied. */
export async function noteHeard(sql: Sql, cellId: string, epoch: string, seq: number): Promise<void> {
  await sql.query({
    name: 'feed_note_heard',
    text: `update loci.cells set heard_at = now(), heard_epoch = $2, heard_seq = $3,
        heard_seq_at = case when heard_epoch = $2 and heard_seq = $3 then heard_seq_at else now() end
      where id = $1 and (heard_epoch is distinct from $2 or heard_seq <> $3 or heard_at < now() - interval '5 seconds')`,
    values: [cellId, epoch, seq],
  })
}

export async function listFeedEnds(sql: Sql, cellIds: string[]): Promise<Map<string, number>> {
  const { rows } = await sql.query<{ id: string; seq: number }>({
    name: 'feed_ends',
    text: 'select id, feed_seq as seq from loci.cells where id = any($1)',
    values: [cellIds],
  })
  return new Map(rows.map(({ id, seq }) => [id, seq]))
}

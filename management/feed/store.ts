// The feeds of the cells: one current row for each thing that a cell must know, numbered under the lock of the cell's own row, so
// that a number is given in the order of commits.

import type { FeedChange, FeedItem } from '@loci/contract/feed.ts'
import { DATABASE_LIFE } from '@loci/postgres/life.ts'
import type { Sql } from '@loci/postgres/pool.ts'

/** To one cell. The cell's row stays locked to the end of the transaction. */
export async function publish(sql: Sql, cellId: string, change: FeedChange): Promise<void> {
  const { rowCount } = await sql.query({
    name: 'feed_publish',
    text: `with next as (update loci.cells set feed_seq = feed_seq + 1 where id = $1 returning feed_seq)
      insert into loci.feed_items (cell_id, kind, key, seq, body, changed_at)
      select $1, $2, $3, feed_seq, $4, clock_timestamp() from next
      on conflict (cell_id, kind, key) do update set seq = excluded.seq, body = excluded.body, changed_at = excluded.changed_at`,
    values: [cellId, change.kind, change.key, JSON.stringify(change.body)],
  })
  if (rowCount !== 1) throw new Error(`there is no cell ${cellId} to publish to`)
}

/** Takes items out of the feed of a cell, where something else that is published in the same transaction says as much. */
export async function withdraw(sql: Sql, cellId: string, kind: FeedChange['kind'], keys: string[]): Promise<void> {
  await sql.query({
    name: 'feed_withdraw',
    text: 'delete from loci.feed_items where cell_id = $1 and kind = $2 and key = any($3)',
    values: [cellId, kind, keys],
  })
}

type InstanceBody = Extract<FeedChange, { kind: 'instance' }>['body']

/** An instance, and how many the cell holds: its place is taken with the first word of it and free with the word that it is deleted. */
export async function publishInstance(sql: Sql, cellId: string, body: InstanceBody): Promise<void> {
  await sql.query({
    name: 'feed_count_placed',
    text: `update loci.cells set placed = placed + $3 - (
        select count(*)::int from loci.feed_items where cell_id = $1 and kind = 'instance' and key = $2 and body->>'state' <> 'deleted')
      where id = $1`,
    values: [cellId, body.svc, body.state === 'deleted' ? 0 : 1],
  })
  await publish(sql, cellId, { kind: 'instance', key: body.svc, body })
}

// `no key`, here and wherever a cell is locked: rows that name the cell only ask that its id stays, and must not wait for us.
/**
 * Locks every cell there is, in one order, so that two who publish to all can not deadlock; and keeps new ones from appearing,
 * for a cell that is added at the same moment would be told by neither side.
 */
export async function lockCells(sql: Sql): Promise<string[]> {
  await sql.query({ name: 'feed_lock', text: 'select pg_advisory_xact_lock(7026300003)' })
  const { rows } = await sql.query<{ id: string }>({
    name: 'feed_lock_cells',
    text: 'select id from loci.cells order by id for no key update',
  })
  return rows.map(({ id }) => id)
}

export async function lockCell(sql: Sql, cellId: string): Promise<void> {
  await sql.query({
    name: 'feed_lock_cell',
    text: 'select from loci.cells where id = $1 for no key update',
    values: [cellId],
  })
}

export async function publishToAll(sql: Sql, change: FeedChange): Promise<void> {
  for (const cellId of await lockCells(sql)) await publish(sql, cellId, change)
}

/**
 * Changes whenever the numbers of the feed may have gone back: the life of the database, or the word of an operator for what
 * PostgreSQL can not tell (loci.feed_epoch).
 */
const EPOCH = `(select ${DATABASE_LIFE} || '.' || e.value from loci.feed_epoch e)`

export async function readEpoch(sql: Sql): Promise<string> {
  const { rows } = await sql.query<{ epoch: string }>({ name: 'feed_epoch', text: `select ${EPOCH} as epoch` })
  return rows[0]?.epoch as string
}

export async function raiseEpoch(sql: Sql): Promise<void> {
  await sql.query({ text: 'update loci.feed_epoch set value = value + 1' })
}

export interface FeedPage {
  epoch: string
  full: boolean
  next: number
  more: boolean
  items: FeedItem[]
}

export const PAGE_ITEMS_MAX = 500
/** Beyond it the rest comes with the next page: what an instance is configured with may be large. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024

/** One statement, so one snapshot: the end of the feed and the items up to it are of the same moment. */
export async function readFeed(
  sql: Sql,
  { cellId, after, epoch }: { cellId: string; after: number; epoch: string | undefined },
): Promise<FeedPage> {
  const { rows } = await sql.query<{
    epoch: string
    full: boolean
    end: number
    found: number
    items: FeedItem[] | null
  }>({
    name: 'feed_read',
    text: `with place as (
        select id, feed_seq, epoch, epoch is distinct from $3 or $2 > feed_seq as is_full
        from loci.cells, lateral (select ${EPOCH} as epoch) as now where id = $1
      )
      select epoch, is_full as full, feed_seq as end, page.found, page.items
      from place, lateral (
        select count(*)::int as found, json_agg(json_build_object('seq', seq, 'kind', kind, 'key', key, 'body', body) order by seq)
          filter (where bytes_before < $5) as items
        from (
          select seq, kind, key, body, sum(octet_length(body::text)) over (order by seq) - octet_length(body::text) as bytes_before
          from (
            select seq, kind, key, body from loci.feed_items
            where cell_id = place.id and seq > case when place.is_full then 0 else $2 end order by seq limit $4
          ) as first
        ) as measured
      ) as page`,
    values: [cellId, after, epoch ?? null, PAGE_ITEMS_MAX + 1, PAGE_BYTES_MAX],
  })
  const [row] = rows
  if (!row) throw new Error(`cell ${cellId} has no feed`)
  const items = (row.items ?? []).slice(0, PAGE_ITEMS_MAX)
  const more = row.found > items.length
  return {
    epoch: row.epoch,
    full: row.full,
    next: more ? (items.at(-1) as FeedItem).seq : row.end,
    more,
    items,
  }
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

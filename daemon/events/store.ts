// All SQL of events.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { eventHead } from '../databases/locks.ts'
import { withInstance } from '../databases/store.ts'
import { type EventRow, TAIL_EVENTS_MAX } from './events.ts'

export interface News {
  /** The number of the instance's last event. */
  head: number
  /** Those between; none where there are too many. */
  events: EventRow[]
}

/** Of each of the instances whose last event is another than the one given; null asks for the number alone. */
export async function readNews(sql: Sql, after: ReadonlyMap<string, number | null>): Promise<Map<string, News>> {
  const { rows } = await sql.query<EventRow & { instanceId: string; head: number; seq: number | null }>({
    name: 'events_new',
    text: `select instance_id as "instanceId", head, seq, at, type, database, domain, data from loci.new_events($1, $2, $3)`,
    values: [[...after.keys()], [...after.values()], TAIL_EVENTS_MAX],
  })
  const news = new Map<string, News>()
  for (const { instanceId, head, ...event } of rows) {
    const known = news.get(instanceId) ?? { head, events: [] }
    news.set(instanceId, known)
    if (event.seq !== null) known.events.push(event)
  }
  return news
}

export interface EventPage {
  events: EventRow[]
  /** How far has been read. */
  next: number
  more: boolean
  /** Events after `after` are no longer kept, or `after` is of another history: read from the oldest on. */
  truncated: boolean
}

const PAGE_MAX = 500

/** What comes after a position, from the table; undefined when the instance is gone. */
export function readEvents(pool: Pool, instanceId: string, after: number): Promise<EventPage | undefined> {
  return withInstance(pool, instanceId, async (sql) => {
    // One statement, one snapshot: the head and the events up to it are of the same moment.
    const { rows } = await sql.query<{ head: number; truncated: boolean; seq: number | null } & Omit<EventRow, 'seq'>>({
      name: 'events_read',
      text: `with ends as (
          select coalesce((select seq from loci.event_heads where instance_id = $1), 0) as head,
            (select seq from loci.events where instance_id = $1 order by seq limit 1) as oldest
        ), place as (
          select head, $2 > head or $2 < coalesce(oldest - 1, head) as is_truncated from ends
        )
        select p.head, p.is_truncated as truncated, e.seq, e.at, e.type, e.database, e.domain, e.data::text as data
        from place p left join lateral (
          select * from loci.events where instance_id = $1 and seq > case when p.is_truncated then 0 else $2 end
          order by seq limit $3
        ) e on true order by e.seq`,
      values: [instanceId, after, PAGE_MAX],
    })
    const { head, truncated } = rows[0] as (typeof rows)[number]
    const events = rows.flatMap(({ seq, at, type, database, domain, data }) =>
      seq === null ? [] : [{ seq, at, type, database, domain, data }],
    )
    const more = events.length === PAGE_MAX
    return { events, next: more ? (events.at(-1) as EventRow).seq : head, more, truncated }
  })
}

/**
 * Last in a transaction that has entered the instance, after every other lock: its event head stays locked until the
 * commit. A function that calls append_events itself is followed by wakeEvents().
 */
export async function appendEvents(sql: Sql, instanceId: string, events: object[]): Promise<void> {
  if (events.length === 0) return
  await sql.query({
    name: 'events_append',
    text: 'select loci.append_events($1, $2)',
    values: [instanceId, JSON.stringify(events)],
    locks: () => [eventHead(instanceId)],
  })
  wakeEvents(sql, instanceId)
}

/** The streams of this process read at once what was committed; those of others find it within 150 ms. */
export function wakeEvents(sql: Sql, instanceId: string): void {
  sql.afterCommit((wake) => wake('events', instanceId))
}

export async function keepEventPartitions(sql: Sql): Promise<void> {
  await sql.query({ text: 'select loci.keep_event_partitions()' })
}

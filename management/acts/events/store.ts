// Events of an organization, numbered under the lock of its head, so in the order of commits.

import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { LOCKS } from '../locks/store.ts'

export interface EventEntry {
  organizationId: string
  type: string
  /** The id that it is about. */
  subject: string
  /** Ids, states and plans, never content. */
  data: Record<string, string | number | boolean | null>
}

/** Last in its transaction, after the audit: the head of the organization stays locked until the commit. */
export async function appendEvent(sql: Sql, event: EventEntry, now: Date = new Date()): Promise<void> {
  LOCKS.note(sql, 'event head', event.organizationId)
  await sql.query({
    name: 'events_append',
    text: 'select loci.event_append($1, $2, $3, $4, $5, $6)',
    values: [
      event.organizationId,
      newId('evt', now.getTime()),
      now,
      event.type,
      event.subject,
      JSON.stringify(event.data),
    ],
  })
  sql.afterCommit((wake) => wake('events', event.organizationId))
}

export interface StoredEvent {
  id: string
  seq: number
  type: string
  at: string
  subject: string
  data: Record<string, unknown>
}

export interface EventPage {
  events: StoredEvent[]
  /** How far has been read. */
  next: number
  /** There are more already. */
  more: boolean
  /** Events after `after` are no longer kept, or `after` is of another history: read from the oldest on. */
  truncated: boolean
}

/**
 * Of the organization in use. One statement, so one snapshot: the head and the events up to it are of the same moment,
 * and the head may be given as the place to go on from although events of other tenants were left out.
 */
export async function readEvents(
  sql: Sql,
  of: { organizationId: string; tenantIds: readonly string[] | null },
  { after, limit }: { after: number; limit: number },
): Promise<EventPage> {
  const { rows } = await sql.query<{ end: number; truncated: boolean; events: StoredEvent[] | null }>({
    name: 'events_read',
    text: `with ends as (
        select coalesce((select seq from loci.event_heads where organization_id = $1), 0) as head,
          (select min(seq) from loci.events where organization_id = $1) as oldest
      ), place as (
        select head, $2 > head or $2 < coalesce(oldest - 1, head) as is_truncated from ends
      )
      select head as end, is_truncated as truncated, (
        select json_agg(page order by page.seq) from (
          select id, seq, type, at, subject, data from loci.events
          where organization_id = $1 and seq > case when place.is_truncated then 0 else $2 end
            and ($3::text[] is null or data->>'tenant_id' = any($3))
          order by seq limit $4
        ) as page
      ) as events from place`,
    values: [of.organizationId, after, of.tenantIds, limit + 1],
  })
  const { end, truncated, events: found } = rows[0] as (typeof rows)[number]
  const events = (found ?? []).slice(0, limit).map((event) => ({ ...event, at: new Date(event.at).toISOString() }))
  const more = (found ?? []).length > limit
  return { events, next: more ? (events.at(-1) as StoredEvent).seq : end, more, truncated }
}

export async function appendEvents(sql: Sql, events: EventEntry[], now: Date): Promise<void> {
  for (const event of events) await appendEvent(sql, event, now)
}

export async function listEventEnds(sql: Sql, organizationIds: string[]): Promise<Map<string, number>> {
  const { rows } = await sql.query<{ id: string; seq: number }>({
    name: 'events_ends',
    text: 'select organization_id as id, seq from loci.event_heads where organization_id = any($1)',
    values: [organizationIds],
  })
  // An organization without any event ends at 0.
  return new Map([...organizationIds.map((id) => [id, 0] as const), ...rows.map(({ id, seq }) => [id, seq] as const)])
}

export async function keepEventPartitions(sql: Sql): Promise<void> {
  await sql.query({ text: 'select loci.keep_event_partitions()' })
}

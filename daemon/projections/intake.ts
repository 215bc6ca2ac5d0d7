// What events say to a cycle: each is taken in as an observation, in the order in which they came.

import type { RecordWrite } from '@loci/contract/memory.ts'
import type { Projection } from '@loci/contract/projections.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Due } from '../databases/store.ts'
import type { Macs, Source } from '../memory/records.ts'
import { saidBy } from './projections.ts'
import { listPending, type PendingEvent } from './store.ts'

/** As JSON, which a slot holds at most. */
const CONTENT_BYTES_MAX = 16 * 1024

export interface EventObservation {
  seq: number
  /** Null: it says nothing, and is taken in without a trace. */
  write: RecordWrite | null
  source: Source
  /** Of what was read for it. */
  bytes: number
  /** HMAC in hex. Never the open context: what partners say is no turn of the agent's conversation. */
  context: string
}

/** The events that wait, the oldest first. */
export async function listEvents(sql: Sql, place: Due, macs: Macs, limit: number): Promise<EventObservation[]> {
  const pending = await listPending(sql, place.instanceId, place.database, limit)
  return pending.map((event) => observationOf(event, macs))
}

function observationOf({ seq, partner, id, body, ttlMs }: PendingEvent, macs: Macs): EventObservation {
  const sent = JSON.parse(body) as Projection
  const said = saidBy(sent)
  const content = said ?? sent.task_intent
  const kept = content && cut(content)
  const source: Source = { type: 'projection', ref: id, actor: null, trust: 'partner' }
  const context = macs.context(`partner ${partner} ${sent.run_id ?? ''}`)
  const bytes = body.length
  if (!kept) return { seq, write: null, source, bytes, context }
  const write: RecordWrite = {
    content: kept,
    kind: 'event',
    actor: sent.source_system ?? partner,
    ...(sent.run_id === undefined ? {} : { contextId: sent.run_id }),
    ...(sent.occurred_at === undefined ? {} : { occurredAt: sent.occurred_at }),
    ...(sent.evidence_refs === undefined ? {} : { evidenceRefs: sent.evidence_refs }),
    ...(ttlMs === null ? {} : { ttlMs }),
    metadata: {
      projectionId: id,
      sourceEventId: sent.source_event_id,
      ...(sent.task_class === undefined ? {} : { taskClass: sent.task_class }),
      ...(said === undefined || sent.task_intent === undefined ? {} : { taskIntent: sent.task_intent }),
      ...(sent.confidence === undefined ? {} : { confidence: sent.confidence }),
      ...(kept === content ? {} : { truncated: true }),
    },
  }
  return { seq, write, source, bytes, context }
}

/** A payload may be longer than what memory holds of it: then as many characters as fit. */
function cut(text: string): string {
  if (sizeOf(text) <= CONTENT_BYTES_MAX) return text
  const characters = [...text.slice(0, CONTENT_BYTES_MAX)]
  let [fits, beyond] = [0, characters.length]
  while (beyond - fits > 1) {
    const middle = (fits + beyond) >> 1
    if (sizeOf(characters.slice(0, middle).join('')) <= CONTENT_BYTES_MAX) fits = middle
    else beyond = middle
  }
  return characters.slice(0, fits).join('')
}

function sizeOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}

// What events say to a cycle: each is taken in as an observation, in the order in which they came.

import type { RecordWrite } from '@loci/contract/memory.ts'
import type { Projection } from '@loci/contract/projections.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Macs } from '../databases/macs.ts'
import type { Due } from '../databases/store.ts'
import type { Source } from '../memory/records.ts'
import { cut, metadataOf, saidBy } from './projections.ts'
import { listPending, type PendingEvent } from './store.ts'

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
    metadata: metadataOf(sent, id, said === undefined ? {} : { taskIntent: sent.task_intent }, kept !== content),
  }
  return { seq, write, source, bytes, context }
}

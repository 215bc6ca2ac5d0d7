// The rules of projections that need no database: what is stored of an envelope, which HMACs tell a repeat, and what a
// fact or a preference says as a memory record.

import { createHmac, createSecretKey, hkdfSync } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { newId } from '@loci/contract/ids.ts'
import type { RecordWrite } from '@loci/contract/memory.ts'
import type { Projection } from '@loci/contract/projections.ts'
import { bodyOf, macsOf as memoryMacsOf, momentOf } from '../memory/records.ts'

const SCOPE_BYTES_MAX = 4 * 1024
const PAYLOAD_BYTES_MAX = 256 * 1024
const MAC_BYTES = 16

/** By the credential and nothing else. */
export interface Teller {
  partner: string
  /** Id of the credential. */
  actor: string
}

/** A projection as it is stored. */
export interface NewProjection {
  id: string
  isGiven: boolean
  class: string
  key: string
  content: string
  taskClass: string | null
  body: string | null
  target: string | null
  ttlMs: number | null
  record: NewRecord | null
}

/** The record that a fact or a preference becomes. */
interface NewRecord {
  id: string
  context: string
  value: string
  body: string
  occurredAt: Date | null
}

/** 413 beyond a limit. */
export function newProjection(sent: Projection, teller: Teller, sealing: SealingKey): NewProjection {
  requireBytes('scope', sent.scope, SCOPE_BYTES_MAX)
  requireBytes('payload', sent.payload, PAYLOAD_BYTES_MAX)
  if (sent.supersedes !== undefined && sent.supersedes === sent.projection_id)
    throw new ApiError('VALIDATION_ERROR', 'A projection cannot supersede itself.')
  const mac = macOf(sealing)
  const { projection_id: given, ...content } = sent
  const id = given ?? newId('prj')
  const isRemembered = sent.projection_class === 'fact' || sent.projection_class === 'preference'
  return {
    id,
    isGiven: given !== undefined,
    class: sent.projection_class,
    key: mac(`key ${JSON.stringify([teller.partner, sent.projection_class, sent.source_event_id])}`),
    content: mac(`content ${canonical(content)}`),
    taskClass: sent.task_class ?? null,
    // What is in memory is nowhere else: erasing the record erases it.
    body: isRemembered || sent.projection_class === 'retraction' ? null : JSON.stringify(content),
    target: sent.supersedes ?? null,
    ttlMs: sent.ttl_ms ?? null,
    record: isRemembered ? recordOf(sent, id, teller, sealing) : null,
  }
}

function requireBytes(name: string, value: unknown, max: number): void {
  if (value !== undefined && Buffer.byteLength(JSON.stringify(value)) > max)
    throw new ApiError('PAYLOAD_TOO_LARGE', `The ${name} of a projection may have at most ${max} bytes as JSON.`)
}

/** Null where nothing is said. */
function recordOf(sent: Projection, id: string, teller: Teller, sealing: SealingKey): NewRecord | null {
  const content = saidBy(sent)
  if (content === undefined) return null
  const write: RecordWrite = {
    content,
    kind: sent.projection_class,
    actor: sent.source_system ?? teller.partner,
    ...(sent.run_id === undefined ? {} : { contextId: sent.run_id }),
    ...(sent.occurred_at === undefined ? {} : { occurredAt: sent.occurred_at }),
    ...(sent.evidence_refs === undefined ? {} : { evidenceRefs: sent.evidence_refs }),
    metadata: {
      projectionId: id,
      sourceEventId: sent.source_event_id,
      ...(sent.confidence === undefined ? {} : { confidence: sent.confidence }),
      ...(sent.scope === undefined ? {} : { scope: sent.scope }),
    },
  }
  const macs = memoryMacsOf(sealing)
  return {
    id: newId('mem'),
    // Never the open context: what partners say is no turn of the agent's conversation.
    context: macs.context(`partner ${teller.partner} ${sent.run_id ?? ''}`),
    value: macs.value(content),
    body: bodyOf(write, { type: 'projection', ref: id, actor: teller.actor, trust: 'partner' }),
    occurredAt: momentOf(sent.occurred_at) ?? null,
  }
}

/** The payload if it is a text; its `content` or `text` if it has one; else the payload as JSON. */
export function saidBy({ payload }: Projection): string | undefined {
  if (payload === undefined || payload === null) return undefined
  const { content, text } = payload as { content?: unknown; text?: unknown }
  const said = [payload, content, text].find((one) => typeof one === 'string') as string | undefined
  return (said ?? JSON.stringify(payload)) || undefined
}

/** The same text for equal JSON, whatever the order of the members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, one]) => one !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(',')}}`
}

const known = new WeakMap<SealingKey, (text: string) => string>()

/** Under a key derived from the instance's own, which outlives a rotation of sealing keys. */
function macOf(sealing: SealingKey): (text: string) => string {
  const found = known.get(sealing)
  if (found) return found
  // As an object that is made once: with the bytes of the key an HMAC took 19 µs, with this 3.
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', sealing.key, '', 'loci projections', 32)))
  const mac = (text: string) =>
    createHmac('sha256', key)
      .update(text)
      .digest('hex')
      .slice(0, 2 * MAC_BYTES)
  known.set(sealing, mac)
  return mac
}

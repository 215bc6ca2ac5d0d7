// The rules of projections that need no database: what is stored of an envelope, which HMACs tell a repeat, and what a
// fact or a preference says as a memory record.

import { createHmac, createSecretKey, hkdfSync } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { newId } from '@loci/contract/ids.ts'
import type { RecordWrite } from '@loci/contract/memory.ts'
import type { Projection } from '@loci/contract/projections.ts'
import { macsOf as memoryMacsOf } from '../databases/macs.ts'
import { bodyOf, METADATA_BYTES_MAX, momentOf } from '../memory/records.ts'

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
  /** Of the words in the body, HMACs by which memory knows them. */
  said: string | null
  intent: string | null
  target: string | null
  ttlMs: number | null
  record: NewRecord | null
}

/** The record that a fact or a preference becomes. */
export interface NewRecord {
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
  const macOfWords = (words: string | undefined) => (words ? memoryMacsOf(sealing).value(cut(words)) : null)
  const isRemembered = sent.projection_class === 'fact' || sent.projection_class === 'preference'
  const hasBody = !isRemembered && sent.projection_class !== 'retraction'
  return {
    id,
    isGiven: given !== undefined,
    class: sent.projection_class,
    key: mac(`key ${JSON.stringify([teller.partner, sent.projection_class, sent.source_event_id])}`),
    content: mac(`content ${canonical(content)}`),
    taskClass: sent.task_class ?? null,
    // What is in memory is nowhere else: erasing the record erases it.
    body: hasBody ? JSON.stringify(oneVoteOf(content)) : null,
    said: hasBody ? macOfWords(saidBy(sent)) : null,
    intent: hasBody ? macOfWords(sent.task_intent) : null,
    target: sent.supersedes ?? null,
    ttlMs: sent.ttl_ms ?? null,
    record: isRemembered ? recordOf(sent, id, teller, sealing) : null,
  }
}

/** The last outcome that an envelope tells of a tool is the one that counts: one envelope is one vote. */
function oneVoteOf(content: Omit<Projection, 'projection_id'>): object {
  const { projection_class, tools } = content
  if (projection_class !== 'tool_outcome' || tools === undefined) return content
  const lastOf = new Map(tools.map(({ tool_id }, at) => [tool_id, at]))
  return { ...content, tools: tools.filter(({ tool_id }, at) => lastOf.get(tool_id) === at) }
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
    metadata: metadataOf(sent, id, { scope: sent.scope, tools: sent.tools, taskIntent: sent.task_intent }),
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

const TRUNCATED_BYTES = Buffer.byteLength(',"truncated":true')

/**
 * What a record says of its projection beside the content, each as far as it fits: a record that cannot be stored would
 * stop every cycle of its database.
 */
export function metadataOf(sent: Projection, id: string, more: object, isCut = false): Record<string, unknown> {
  const metadata: Record<string, unknown> = { projectionId: id, sourceEventId: sent.source_event_id }
  const { task_class: taskClass, confidence } = sent
  let isWhole = !isCut
  for (const [name, value] of Object.entries({ taskClass, confidence, ...more, payload: besides(sent) })) {
    if (value === undefined) continue
    const size = Buffer.byteLength(JSON.stringify({ ...metadata, [name]: value }))
    if (size + TRUNCATED_BYTES <= METADATA_BYTES_MAX) metadata[name] = value
    else isWhole = false
  }
  return isWhole ? metadata : { ...metadata, truncated: true }
}

/** The members of the payload beside the one that is what it says; undefined: there are none. */
function besides({ payload }: Projection): object | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  const { content, text, ...others } = payload as { content?: unknown; text?: unknown }
  if (typeof content !== 'string' && typeof text !== 'string') return undefined
  const rest =
    typeof content === 'string' ? { ...(text === undefined ? {} : { text }), ...others } : { content, ...others }
  return Object.values(rest).some((one) => one !== undefined) ? rest : undefined
}

/** As JSON, which a slot holds at most. */
const CONTENT_BYTES_MAX = 16 * 1024

/** A payload may be longer than what memory holds of it: then as many characters as fit. */
export function cut(text: string): string {
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

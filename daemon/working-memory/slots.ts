// A slot as it is written, kept and sent: limits, the text of its fields, and JSON merge patch. Pure.

import { ApiError } from '@loci/chassis/api-error.ts'
import { type Explanation, type SlotPatch, type SlotWrite, slotWrite } from '@loci/contract/working-memory.ts'
import type { Judged } from './activation.ts'

export const VALUE_BYTES_MAX = 16 * 1024
/** Of all slots of a database together. */
export const SLOTS_BYTES_MAX = 256 * 1024

/** Set by the path that a write came by, never by its body. `cycle`: a cycle took it in, or brought it back to mind. */
export interface Source {
  type: 'api' | 'cycle'
  ref: string | null
  actor: string | null
  trust: 'holder' | 'delegated' | 'partner'
}

/** `presented`: how many of the slot's presentations stand with the record. */
interface HeldRecord {
  id: string
  actor: string | null
  occurredAt: number
  dueAt: number | null
  presented: number
}

/** Kept beside a slot's text, for the next write and the competition, so that texts need not be parsed. */
export interface Meta extends Judged {
  id: string
  pinned: boolean
  /** Somebody wrote it; of slots that are older than this field, those without a record. */
  isPut?: boolean
  sizeBytes: number
  createdAt: number
  accessCount: number
  lastAccessedAt: number | null
  /** The cycle that admitted it; of one that was put, the last cycle before that. */
  admittedCycle: number
  /** The record that it stands for; null: it was put, and no cycle has made one of it. */
  record: HeldRecord | null
}

/** Throws 413 beyond the limit of a value. The references and tags count into the size of the slot. */
export function sizeOf({ value, tags = [], evidenceRefs = [] }: SlotWrite): number {
  const bytes = Buffer.byteLength(JSON.stringify(value))
  if (bytes > VALUE_BYTES_MAX)
    throw new ApiError('PAYLOAD_TOO_LARGE', `The value of a slot may have at most ${VALUE_BYTES_MAX} bytes as JSON.`)
  const named = [tags, evidenceRefs].filter(({ length }) => length > 0)
  return bytes + named.reduce((sum, list) => sum + Buffer.byteLength(JSON.stringify(list)), 0)
}

/** What a slot says as a text: the value of one that was put can be any JSON. */
export function contentOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

interface SlotFields {
  key: string
  body: SlotWrite
  meta: Meta
  ttlMs: number | null
  expiresAt: number | null
  updatedAt: number
  source: Source
  explain: Explanation
}

/**
 * A slot's text behind its version, which only the commit knows: the database puts `{"version":…,"etag":…,"digest":…,`
 * in front of it (loci.slot_prefix), as prefixOf() does.
 */
export function restOf({ key, body, meta, ttlMs, expiresAt, updatedAt, source, explain }: SlotFields): string {
  const fields = {
    id: meta.id,
    key,
    kind: body.kind ?? 'note',
    value: body.value,
    recordId: meta.record?.id ?? null,
    activation: explain.score,
    salience: meta.hint,
    pinned: meta.pinned,
    ephemeral: body.ephemeral ?? false,
    ttlMs,
    expiresAt: expiresAt === null ? null : timeOf(expiresAt),
    createdAt: timeOf(meta.createdAt),
    updatedAt: timeOf(updatedAt),
    lastAccessedAt: meta.lastAccessedAt === null ? null : timeOf(meta.lastAccessedAt),
    accessCount: meta.accessCount,
    sizeBytes: meta.sizeBytes,
    source,
    explain,
    evidenceRefs: body.evidenceRefs ?? [],
    tags: body.tags ?? [],
  }
  return JSON.stringify(fields).slice(1)
}

/** The very text that loci.slot_prefix makes. */
export function prefixOf(version: number, digest: Buffer): string {
  return `{"version":${version},"etag":"\\"${version}\\"","digest":"${digest.toString('base64')}",`
}

/** What was put, from a slot's text. */
export function bodyOf(text: string): SlotWrite {
  const { value, kind, salience, pinned, ttlMs, tags, evidenceRefs, ephemeral } = JSON.parse(text) as SlotWrite
  return { value, kind, salience, pinned, ttlMs, tags, evidenceRefs, ephemeral }
}

/** RFC 7396 on the object that PUT takes. */
export function patched(body: SlotWrite, patch: SlotPatch): SlotWrite {
  const { success, data, error } = slotWrite.safeParse(mergePatch(body, patch))
  if (success) return data
  const [issue] = error.issues
  throw new ApiError('VALIDATION_ERROR', `The patched slot is not valid: ${issue?.path.join('.')} ${issue?.message}`)
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const merged = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else if (value !== undefined) merged.set(name, mergePatch(merged.get(name), value))
  }
  return Object.fromEntries(merged)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}

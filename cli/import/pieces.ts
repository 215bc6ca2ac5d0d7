// A draft as records that a service takes: what is longer than one may be is cut where a reader would pause, so that
// the parts one after the other are the text; what a record cannot hold is said.

import { type RecordWrite, recordWrite } from '@loci/contract/memory.ts'
import { isDeeperThan, METADATA_DEPTH_MAX } from './depth.ts'
import type { Draft } from './kind.ts'

const CONTENT_BYTES_MAX = 16 * 1024
const METADATA_BYTES_MAX = 16 * 1024
const LABEL_CHARS_MAX = 256
const KIND_CHARS_MAX = 64

export interface Pieces {
  records: RecordWrite[]
  noPlace: string[]
  /** In place of records. */
  why?: string
}

export function piecesOf({ record: given, noPlace }: Draft): Pieces {
  const lost = [...noPlace]
  const record = clean(given, lost)
  const { metadata: _, ...others } = record
  const metadata = fittingMetadata(record, lost)
  const fitting: Draft['record'] = metadata === undefined ? others : { ...others, metadata }
  for (const name of ['contextId', 'actor', 'kind'] as const) {
    const max = name === 'kind' ? KIND_CHARS_MAX : LABEL_CHARS_MAX
    const value = fitting[name]
    if (typeof value !== 'string' || value.length <= max) continue
    lost.push(`${name} of more than ${max} characters`)
    delete fitting[name]
  }
  const parts = partsOf(record.content)
  const records = parts.length === 1 ? [{ ...fitting, content: parts[0] as string }] : numbered(fitting, parts)
  const checked = records.map((one) => recordWrite.safeParse(one))
  const wrong = checked.find(({ success }) => !success)
  if (!wrong) return { records, noPlace: lost }
  const [issue] = wrong.error?.issues ?? []
  return { records: [], noPlace: [], why: `not valid: ${issue?.path.join('.')} ${issue?.message}` }
}

/** The first part has the id of the whole, so a text that grows is not stored twice. */
function numbered(record: RecordWrite & { sourceEventId: string }, parts: readonly string[]): RecordWrite[] {
  return parts.map((content, at) => ({
    ...record,
    content,
    ...(at === 0 ? {} : { sourceEventId: `${record.sourceEventId}#${at + 1}` }),
    ...(at > 0 && record.key !== undefined ? { key: `${record.key}#${at + 1}` } : {}),
    metadata: { ...record.metadata, part: { number: at + 1, of: parts.length } },
  }))
}

/** Room is left for the number of a part. */
function fittingMetadata({ metadata, sourceEventId }: Draft['record'], lost: string[]): RecordWrite['metadata'] {
  if (metadata === undefined) return undefined
  const fits = (value: unknown) =>
    !isDeeperThan(value, METADATA_DEPTH_MAX) && Buffer.byteLength(JSON.stringify(value)) <= METADATA_BYTES_MAX - 100
  if (fits(metadata)) return metadata
  const isDeep = isDeeperThan(metadata, METADATA_DEPTH_MAX)
  lost.push(isDeep ? `metadata nested deeper than ${METADATA_DEPTH_MAX} levels` : 'metadata beyond 16 KiB')
  // What the importer itself noted stands under the name of its kind.
  const [kind = ''] = sourceEventId.split(':')
  const own = metadata[kind]
  return own !== undefined && fits({ [kind]: own }) ? { [kind]: own } : undefined
}

/** No text of PostgreSQL has a NUL, and half of a character is none; both also stand in metadata and names. */
function clean(record: Draft['record'], lost: string[]): Draft['record'] {
  if (isClean(record)) return record
  lost.push('characters that no text may have (replaced by �)')
  return cleaned(record) as Draft['record']
}

function isClean(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, one]) => isClean(name) && isClean(one))
}

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', '\ufffd')
  if (Array.isArray(value)) return value.map(cleaned)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [cleaned(name), cleaned(one)]))
}

/** Where it is cut: the last of the best of these within the limit. */
const PAUSES = [/\n[^\S\n]*\n/g, /\n/g, /[.!?。！？]\s+|[。！？]/g, /\s/g]

export function partsOf(text: string): string[] {
  const parts: string[] = []
  for (let rest = text; rest !== ''; ) {
    const head = headWithin(rest)
    const end = head.length === rest.length ? head.length : pauseIn(head)
    parts.push(rest.slice(0, end))
    rest = rest.slice(end)
    // Blanks alone say nothing, and stand at the end of what they follow or nowhere.
    if (rest.trim() === '') rest = ''
  }
  return parts
}

/** As many whole characters as fit. */
function headWithin(text: string): string {
  if (text.length * 3 <= CONTENT_BYTES_MAX || Buffer.byteLength(text) <= CONTENT_BYTES_MAX) return text
  let [fits, over] = [0, Math.min(text.length, CONTENT_BYTES_MAX) + 1]
  while (over - fits > 1) {
    const middle = (fits + over) >> 1
    if (Buffer.byteLength(text.slice(0, middle)) <= CONTENT_BYTES_MAX) fits = middle
    else over = middle
  }
  const head = text.slice(0, fits)
  return head.isWellFormed() ? head : head.slice(0, -1)
}

function pauseIn(head: string): number {
  for (const pause of PAUSES) {
    const last = [...head.matchAll(pause)].at(-1)
    const end = last ? last.index + last[0].length : 0
    // A part of a few words helps nobody.
    if (end > head.length / 2) return end
  }
  return head.length
}

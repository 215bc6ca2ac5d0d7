// An event as it is sent, and the tail: the newest events of an instance, kept by each process for all of its streams,
// so that a thousand of them cost one query.
//
// `data` holds names (keys), ids, versions, counts and reason codes. Content never: an event outlives what it is about,
// and erasing a value does not look for it here.

import { covers } from '@loci/capability/keyspaces.ts'
import { entryOf } from '@loci/chassis/event-stream.ts'

export interface EventRow {
  seq: number
  at: Date
  type: string
  database: string
  domain: string
  /** JSON. */
  data: string
}

/** As it is sent. */
function textOfEvent({ seq, at, type, database, domain, data }: EventRow): string {
  const head = JSON.stringify({ seq, type, at, database, domain })
  return entryOf({ seq, type }, `${head.slice(0, -1)},"data":${data}}`)
}

/** Of the switches of the cell. Without an id: it is no event of the instance, and is not repeated. */
export function textOfNotice(type: string, at: Date, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, at, data })}\n\n`
}

/** The text of those events that the keyspaces cover. */
export function textFor(ks: readonly string[], events: readonly Shown[]): string {
  return events.map(({ domain, database, text }) => (covers(ks, domain, database) ? text : '')).join('')
}

export interface Shown {
  seq: number
  domain: string
  database: string
  text: string
}

export interface Tail {
  /** Everything after `start` and up to `end` is in `events`. */
  start: number
  end: number
  events: Shown[]
  /** Of the texts, in characters. */
  size: number
  /** What streams with the same keyspaces at the same position are sent; until the next event. */
  pages: Map<string, Buffer>
}

/** As many as are read at once: more than an instance of the largest plan writes between two polls. */
export const TAIL_EVENTS_MAX = 2_000
/** Of what is older than the last read: for streams that were not yet there again. */
const TAIL_SIZE_MAX = 64 * 1024

export function tailAt(seq: number): Tail {
  return { start: seq, end: seq, events: [], size: 0, pages: new Map() }
}

/** Up to `head`. One that is behind the tail is of a restored history; one too far ahead is not worth reading. */
export function extendTail(tail: Tail, head: number, rows: readonly EventRow[]): Tail {
  if (head < tail.end || head - tail.end > TAIL_EVENTS_MAX) return tailAt(head)
  let { start, size } = tail
  let dropped = 0
  while (size > TAIL_SIZE_MAX) {
    const { seq, text } = tail.events[dropped++] as Shown
    start = seq
    size -= text.length
  }
  const added = rows.map(shownOf)
  for (const { text } of added) size += text.length
  return { start, end: head, events: [...tail.events.slice(dropped), ...added], size, pages: new Map() }
}

export function shownOf(row: EventRow): Shown {
  return { seq: row.seq, domain: row.domain, database: row.database, text: textOfEvent(row) }
}

/** What comes after a position; undefined where the tail does not reach back to it. */
export function pageOf(tail: Tail, ks: readonly string[], after: number): Buffer | undefined {
  if (after < tail.start || after > tail.end) return undefined
  const key = `${after} ${ks.join(' ')}`
  const known = tail.pages.get(key)
  if (known) return known
  const page = Buffer.from(textFor(ks, tail.events.slice(indexAfter(tail.events, after))))
  tail.pages.set(key, page)
  return page
}

function indexAfter(events: readonly Shown[], after: number): number {
  let at = events.length
  while (at > 0 && (events[at - 1] as Shown).seq > after) at -= 1
  return at
}

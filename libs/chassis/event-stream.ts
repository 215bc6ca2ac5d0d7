// Server-sent events of something that is numbered. A stream is
//
//   open    pages are read and pushed as long as there are more, then it waits for news; a comment after 15 s without
//           any keeps it alive
//   ending  nothing more is pushed: its credential has changed, or the process drains. What was pushed may still be
//           read, for a second
//   closed  read to the end, or cut: the client left, the store failed, or what was pushed lay unread for too long
//
// Never: pushed to after ending, waiting for a client with more than the buffer's bytes unread, open without its
// credential having been checked in the last seconds. A client that was cut comes back with Last-Event-ID and misses
// nothing: a new stream begins with the number of its position, and a comment carries how far has been read, although
// the events up to there were not for this client.

import { Readable } from 'node:stream'
import { eventPosition } from '@loci/contract/events.ts'
import { resume } from '@loci/meter/meter.ts'
import { ApiError } from './api-error.ts'
import { parseInput } from './input.ts'
import type { Lifecycle } from './lifecycle.ts'
import { type Call, type Reply, reply } from './route.ts'

export interface StreamPage {
  /** What is sent (textOf), empty where there is nothing. Streams may share one buffer. */
  bytes: Buffer
  /** The position to read on from. */
  next: number
  /** There are more already. */
  more: boolean
}

/** How a client is told a position, and what it sends back. */
export interface StreamPositions {
  show(seq: number): string
  /** Undefined for what show() has not made: then it must be a plain number. Below 0: too old to be known. */
  read(text: string): number | undefined
}

export interface StreamOptions {
  after: number
  /** The client does not know its position yet. */
  isNew: boolean
  /** Default: plain numbers. */
  positions?: StreamPositions
  read(after: number): Promise<StreamPage>
  /** Resolves when there is news after `seq`, or when the time is over. */
  wait(seq: number, ms: number, signal: AbortSignal): Promise<void>
  /** Whether the credential still allows what it allowed when the stream was opened. */
  isAllowed(): Promise<boolean>
  /** Aborted when the client leaves. */
  signal: AbortSignal
  onError(error: unknown): void
  times?: Partial<typeof TIMES>
}

export interface EventStream {
  readable: Readable
  end(): void
}

export interface EventStreams {
  /** Answers with a new stream; throws RATE_LIMITED with `tooMany` when the owner has `max` open. */
  open(
    call: Pick<Call<unknown, unknown, unknown, unknown>, 'headers' | 'signal' | 'log' | 'requestId'>,
    options: Pick<StreamOptions, 'positions' | 'read' | 'wait' | 'isAllowed'> & {
      owner: string
      max: number
      tooMany: string
      /** Where a stream without Last-Event-ID begins. */
      readEnd(): Promise<number>
    },
  ): Promise<Reply>
  /** How many are open. */
  count(): number
}

const TIMES = {
  beatMs: 15_000,
  /** With a store that answers late it stays below the 5 s within which a stream ends. */
  recheckMs: 2_000,
  /** How long a full buffer may lie unread. */
  unreadMs: 10_000,
  endMs: 1_000,
}
const BUFFER_BYTES = 256 * 1024
const PLAIN: Pick<StreamPositions, 'show'> = { show: String }
/** What browsers wait before they reconnect. */
const RETRY_MS = 2_000
const CLOSED_EARLY =
  'an event stream was closed because PostgreSQL did not answer; the client reconnects and misses nothing. Many: look at PostgreSQL'

/** Every stream of a process, counted by owner. They end when it drains. */
export function createEventStreams(lifecycle: Lifecycle, times: StreamOptions['times'] = {}): EventStreams {
  const streams = new Map<string, Set<EventStream>>()
  lifecycle.onMove(({ to }) => {
    if (to === 'draining') for (const open of streams.values()) for (const stream of open) stream.end()
  })
  return {
    async open({ headers, signal, log, requestId }, { owner, max, tooMany, readEnd, ...options }) {
      const last = headers['last-event-id']
      const after =
        last === undefined
          ? await readEnd()
          : (options.positions?.read(String(last)) ?? Number(parseInput(eventPosition, last, 'headers.last-event-id')))
      const open = streams.get(owner) ?? new Set()
      if (open.size >= max) throw new ApiError('RATE_LIMITED', tooMany, { retryAfterMs: 10_000 })
      const onError = (error: unknown) => log.warn({ requestId, error }, CLOSED_EARLY)
      const opened = openStream({ ...options, after, isNew: last === undefined, signal, onError, times })
      streams.set(owner, open.add(opened))
      opened.readable.on('close', () => {
        open.delete(opened)
        if (open.size === 0 && streams.get(owner) === open) streams.delete(owner)
      })
      if (lifecycle.state === 'draining') opened.end()
      return reply(200, opened.readable, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    },
    count: () => [...streams.values()].reduce((sum, { size }) => sum + size, 0),
  }
}

export function openStream(options: StreamOptions): EventStream {
  const { beatMs, recheckMs, unreadMs, endMs } = { ...TIMES, ...options.times }
  const over = new AbortController()
  let wanted = () => {}
  const readable = new Readable({ highWaterMark: BUFFER_BYTES, read: () => wanted() })
  const rechecks = setInterval(() => void recheck(), recheckMs).unref()
  const cut = () => void readable.destroy()
  readable.on('close', () => {
    clearInterval(rechecks)
    options.signal.removeEventListener('abort', cut)
    over.abort()
  })
  options.signal.addEventListener('abort', cut)
  // The signal does not fire again for a client that left before there was a stream.
  if (options.signal.aborted) cut()
  else void follow().catch(fail)

  async function follow(): Promise<void> {
    let { after } = options
    const { show } = options.positions ?? PLAIN
    await push(`retry: ${RETRY_MS}\n${options.isNew ? `id: ${show(after)}\n` : ''}\n`)
    let pushedAt = performance.now()
    while (!over.signal.aborted) {
      const page = await options.read(after)
      after = page.next
      const isBeat = performance.now() - pushedAt >= beatMs
      if (page.bytes.length > 0 || isBeat) {
        await push(page.bytes.length > 0 ? page.bytes : `:\nid: ${show(after)}\n\n`)
        pushedAt = performance.now()
      }
      // At least a millisecond: a timer may fire a little early, and the beat is then not due yet.
      const leftMs = Math.max(1, beatMs - (performance.now() - pushedAt))
      if (!page.more) await options.wait(after, leftMs, over.signal)
      resume()
    }
  }

  async function push(chunk: Buffer | string): Promise<void> {
    if (over.signal.aborted || readable.push(chunk)) return
    await new Promise<void>((resolve) => {
      const late = setTimeout(cut, unreadMs)
      const goOn = () => {
        clearTimeout(late)
        resolve()
      }
      wanted = goOn
      over.signal.addEventListener('abort', goOn, { once: true })
    })
  }

  async function recheck(): Promise<void> {
    await options.isAllowed().then((isAllowed) => isAllowed || end(), fail)
  }

  /** The store does not answer, so whether the credential still holds is unknown. The client reconnects. */
  function fail(error: unknown): void {
    if (!over.signal.aborted) options.onError(error)
    cut()
  }

  function end(): void {
    if (over.signal.aborted) return
    over.abort()
    readable.push(null)
    setTimeout(cut, endMs).unref()
  }

  return { readable, end }
}

/** Events, each as JSON under its number and type. `truncated`: some before them are no longer kept. */
export function textOf(events: readonly { seq: number; type: string }[], truncated: boolean): string {
  return (
    (truncated ? truncatedText(events[0]?.seq ?? 1) : '') +
    events.map((event) => entryOf(event, JSON.stringify(event))).join('')
  )
}

/** The id takes a client that was ahead of us back to where we are. */
export function truncatedText(firstSeq: number, { show } = PLAIN): string {
  return `id: ${show(firstSeq - 1)}\nevent: truncated\ndata: {}\n\n`
}

/** `json` has no line breaks, so one `data:` line holds it. */
export function entryOf({ seq, type }: { seq: number; type: string }, json: string): string {
  return `id: ${seq}\nevent: ${type}\ndata: ${json}\n\n`
}

// Server-sent events as an async iterator. A connection that ends is opened again after the last event that was seen,
// so nothing is missed while the server keeps it (24 hours); where it does not, the first event is `truncated`.

import type { Client } from './client.ts'
import { LociError } from './error.ts'

export interface ServiceEvent {
  /** What to hand to `after` to go on behind this event; undefined for a notice, which has no place in the order. */
  id: string | undefined
  type: string
  /** 0 for a notice. */
  seq: number
  at: string | undefined
  database: string | undefined
  domain: string | undefined
  /** Of an event of an organization: the id that it is about. */
  subject: string | undefined
  data: { [field: string]: unknown }
}

export interface FollowOptions {
  /** The id of the last event that was seen; without it from now on. */
  after?: string | undefined
  signal?: AbortSignal | undefined
  /** Called when the stream stands, at first and after each break. */
  onOpen?: (() => void) | undefined
  /** Called when it does not stand any more, or not yet: with what refused it, undefined where the server ended it. */
  onBreak?: ((error: unknown) => void) | undefined
  /** Called with each position to go on from: also those of comments, which come where nothing happens. */
  onPosition?: ((id: string) => void) | undefined
}

/** The server writes at least a comment every 15 s. */
const SILENCE_MS = 45_000
const WAIT_MS_MIN = 200
const WAIT_MS_MAX = 10_000

type Opening = () => Promise<Pick<Client<never>, 'open'>>

export async function* follow(
  connect: Opening,
  path: string,
  { after, signal, onOpen, onBreak, onPosition }: FollowOptions,
): AsyncGenerator<ServiceEvent, void, undefined> {
  let last = after
  let failures = 0
  for (;;) {
    signal?.throwIfAborted()
    const cut = new AbortController()
    const until = signal ? AbortSignal.any([signal, cut.signal]) : cut.signal
    let retryAfterMs = 0
    let broken: unknown
    try {
      const client = await connect()
      const headers = last === undefined ? {} : { 'last-event-id': last }
      const response = await client.open(path, { headers, signal: until })
      onOpen?.()
      for await (const frame of frames(response, () => cut.abort())) {
        if (frame.id !== undefined) {
          last = frame.id
          onPosition?.(last)
        }
        failures = 0
        if (frame.data !== '') yield eventOf(frame)
      }
    } catch (error) {
      signal?.throwIfAborted()
      broken = error
      retryAfterMs = mayComeBack(error)
      failures += 1
    } finally {
      cut.abort()
    }
    onBreak?.(broken)
    const span = Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** Math.min(failures, 10))
    await sleep(retryAfterMs + span * (0.5 + Math.random() / 2), signal)
  }
}

/** How long to wait at least before the next try; throws what no further try can change. */
function mayComeBack(error: unknown): number {
  if (!(error instanceof LociError)) return 0
  const { status, retryAfterMs, code } = error
  const passes = status === 0 ? code !== 'INVALID_REQUEST' : [408, 421, 429, 500, 502, 503, 504].includes(status)
  if (!passes) throw error
  return retryAfterMs ?? 0
}

interface Frame {
  id: string | undefined
  event: string
  data: string
}

async function* frames(response: Response, onSilence: () => void): AsyncGenerator<Frame, void, undefined> {
  if (!response.body) return
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const timer = setTimeout(onSilence, SILENCE_MS)
      const { done, value } = await reader.read().finally(() => clearTimeout(timer))
      if (done) return
      text += decoder.decode(value, { stream: true })
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        yield frameOf(text.slice(0, end))
        text = text.slice(end + 2)
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function frameOf(text: string): Frame {
  const frame: Frame = { id: undefined, event: 'message', data: '' }
  for (const line of text.split('\n')) {
    const at = line.indexOf(':')
    const [field, value] = [line.slice(0, at), line.slice(at + 1).replace(/^ /, '')]
    if (field === 'id') frame.id = value
    else if (field === 'event') frame.event = value
    else if (field === 'data') frame.data += frame.data === '' ? value : `\n${value}`
  }
  return frame
}

function eventOf({ id, event, data }: Frame): ServiceEvent {
  const body = JSON.parse(data) as Partial<ServiceEvent>
  return {
    id,
    type: event,
    seq: body.seq ?? 0,
    at: body.at,
    database: body.database,
    domain: body.domain,
    subject: body.subject,
    data: body.data ?? {},
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

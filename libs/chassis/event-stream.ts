// Events as server-sent events. A stream is
//
//   open    pages are read and pushed as long as there are more, then it waits for news; a comment every 15 s keeps it alive
//   ending  nothing more is pushed: its credential says something else now, or the process drains. What was pushed may still be read,
//           for a second
//   closed  read to the end, or cut: the client left, the store failed, or what was pushed lay unread for too long
//
// Never: pushed to after ending, waiting for a client with more than the buffer's bytes unread, open without its credential having
// been looked at in the last seconds. A client that was cut comes back with Last-Event-ID and misses nothing.

import { Readable } from 'node:stream'

export interface StreamPage {
  events: readonly { seq: number; type: string }[]
  next: number
  more: boolean
  truncated: boolean
}

export interface StreamOptions {
  after: number
  read(after: number): Promise<StreamPage>
  /** Resolves when there is news after `seq`, or when the time is over. */
  wait(seq: number, ms: number, signal: AbortSignal): Promise<void>
  /** Whether the credential still says what it said. */
  isAllowed(): Promise<boolean>
  /** The client is gone. */
  signal: AbortSignal
  onError(error: unknown): void
  times?: Partial<typeof TIMES>
}

const TIMES = {
  beatMs: 15_000,
  /** With a store that answers late it stays below the 5 s within which a stream ends. */
  lookMs: 2_000,
  /** How long a full buffer may lie unread. */
  unreadMs: 10_000,
  endMs: 1_000,
}
const BUFFER_BYTES = 256 * 1024
/** What browsers wait before they come back. */
const RETRY_MS = 2_000

export interface EventStream {
  readable: Readable
  end(): void
}

export function openStream(options: StreamOptions): EventStream {
  const { beatMs, lookMs, unreadMs, endMs } = { ...TIMES, ...options.times }
  const over = new AbortController()
  let wanted = () => {}
  const readable = new Readable({ highWaterMark: BUFFER_BYTES, read: () => wanted() })
  const look = setInterval(() => void lookAgain(), lookMs).unref()
  const cut = () => void readable.destroy()
  readable.on('close', () => {
    clearInterval(look)
    options.signal.removeEventListener('abort', cut)
    over.abort()
  })
  options.signal.addEventListener('abort', cut)
  // Whoever left before there was a stream is not told of by the signal again.
  if (options.signal.aborted) cut()
  else void follow().catch(fail)

  async function follow(): Promise<void> {
    let { after } = options
    let text = `retry: ${RETRY_MS}\n\n`
    while (!over.signal.aborted) {
      const page = await options.read(after)
      text += textOf(page)
      after = page.next
      await push(text === '' ? ':\n\n' : text)
      text = ''
      if (!page.more) await options.wait(after, beatMs, over.signal)
    }
  }

  async function push(text: string): Promise<void> {
    if (over.signal.aborted || readable.push(text)) return
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

  async function lookAgain(): Promise<void> {
    await options.isAllowed().then((isAllowed) => isAllowed || end(), fail)
  }

  /** A store that does not answer can not say whether the credential still holds: the client comes back and is told. */
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

function textOf({ events, truncated }: StreamPage): string {
  // The id takes a client that was ahead of us back to where we are.
  const before = truncated ? `id: ${(events[0]?.seq ?? 1) - 1}\nevent: truncated\ndata: {}\n\n` : ''
  return before + events.map(entryOf).join('')
}

/** JSON has no line breaks of its own, so one `data:` line holds it. */
function entryOf(event: { seq: number; type: string }): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

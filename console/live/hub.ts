// Holds the streams of events for all tabs of a browser: that of the organization and that of the service in view, at
// most two however many tabs there are. It runs in a SharedWorker, else in the tab that leads (live.ts), and there is
// one of it at a time.
//
// Whose view counts: of the tabs that somebody looks at, the one that came to the front last. A tab of another service
// is told `elsewhere`, and asks from time to time. When nobody has looked for a minute the streams are closed; a
// position is kept for each, so that who comes back is told all that happened meanwhile, erasures above all.

import type { Client } from '@loci/sdk/client.ts'
import { LociError } from '@loci/sdk/error.ts'
import { type FollowOptions, follow, type ServiceEvent } from '@loci/sdk/events.ts'
import type { FromHub, FromTab, Happened, Kind, Refusal, StreamIs, StreamState, View } from './messages.ts'

export interface Hub {
  hear(message: FromTab): void
  close(): void
}

export interface HubOptions {
  say(message: FromHub): void
  /** Asks management as somebody of the organization. */
  connect(organization: string): Pick<Client<never>, 'open'>
  /** For tests: how long after the last look the streams are closed. */
  pauseMs?: number
  /** After a refusal. */
  againMs?: number
}

const PAUSE_MS = 60_000
const AGAIN_MS = 20_000
/** A tab says its view every half minute; browsers hold the timers of hidden ones back to one a minute. */
const FORGET_MS = 180_000
const SWEEP_MS = 15_000
/** Of services that were in view: where each goes on. */
const POSITIONS_MAX = 100

interface Tab extends View {
  heardAt: number
  frontAt: number
}

interface Stream {
  state: StreamState
  /** The highest event that was told. */
  known: number
  /** Until this one it tells again what was told before. */
  backUntil: number
  over: AbortController
  organization: string
}

interface Changed {
  isAnew?: boolean
  refusal?: Refusal | undefined
}

export function createHub({ say, connect, pauseMs = PAUSE_MS, againMs = AGAIN_MS }: HubOptions): Hub {
  const tabs = new Map<string, Tab>()
  const streams = new Map<Kind, Stream>()
  const positions = new Map<string, string>()
  let lookedAt = Date.now()
  let order = 0
  let pause: ReturnType<typeof setTimeout> | undefined
  const sweep = setInterval(() => {
    for (const [id, { heardAt }] of tabs) if (Date.now() - heardAt > FORGET_MS) tabs.delete(id)
    arrange()
  }, SWEEP_MS)
  say({ say: 'who' })

  function arrange(): void {
    const looking = [...tabs.values()].filter(({ isVisible }) => isVisible)
    clearTimeout(pause)
    if (looking.length === 0) {
      const leftMs = lookedAt + pauseMs - Date.now()
      if (leftMs > 0 && tabs.size > 0) {
        pause = setTimeout(arrange, leftMs)
        return
      }
      for (const kind of ['organization', 'service'] as const) end(kind, 'paused')
      return
    }
    lookedAt = Date.now()
    const byFront = looking.toSorted((one, other) => other.frontAt - one.frontAt)
    const first = byFront[0] as Tab
    const served = byFront.find(({ service }) => service !== null)
    keep('organization', first.organization, first.organization)
    if (served?.service) keep('service', served.service, served.organization)
    else end('service', 'elsewhere')
    for (const { service, organization } of tabs.values()) {
      if (organization !== first.organization) tell(stateOf('organization', organization, 'elsewhere'))
      if (service !== null && service !== served?.service) tell(stateOf('service', service, 'elsewhere'))
    }
  }

  function keep(kind: Kind, of: string, organization: string): void {
    const current = streams.get(kind)
    if (current?.state.of === of) return
    end(kind, 'elsewhere')
    begin(kind, of, organization, positions.get(of))
  }

  function begin(kind: Kind, of: string, organization: string, after: string | undefined, known = seqOf(after)): void {
    const state = stateOf(kind, of, 'opening', after)
    const stream: Stream = { state, known, backUntil: 0, over: new AbortController(), organization }
    streams.set(kind, stream)
    tell(state)
    void run(stream, after)
  }

  async function run(stream: Stream, from: string | undefined): Promise<void> {
    const { state, over, organization } = stream
    const path =
      state.kind === 'organization'
        ? '/api/v1/events'
        : `/api/v1/services/${encodeURIComponent(state.of)}/proxy/v1/events`
    const client = connect(organization)
    for (let after = from; !over.signal.aborted; after = positions.get(state.of)) {
      const options: FollowOptions = {
        after,
        signal: over.signal,
        onOpen: () => change(stream, 'open', { isAnew: positions.get(state.of) === undefined }),
        onBreak: (error) => {
          const refusal = refusalOf(error)
          if (!over.signal.aborted) change(stream, refusal ? 'refused' : 'lost', { refusal })
        },
        onPosition: (id) => {
          remember(state.of, id)
          const isFirst = state.position === undefined
          state.position = id
          if (stream.known === 0) stream.known = seqOf(id)
          if (isFirst) tell(state)
        },
      }
      try {
        for await (const event of follow(async () => client, path, options)) pass(stream, event)
      } catch (error) {
        if (over.signal.aborted) return
        change(stream, 'refused', { refusal: refusalOf(error) })
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, againMs)
          over.signal.addEventListener('abort', () => {
            clearTimeout(timer)
            resolve()
          })
        })
      }
    }
  }

  function pass(stream: Stream, { id, type, seq, at, database, domain, subject, data }: ServiceEvent): void {
    const { kind, of } = stream.state
    const event: Happened = { id, type, seq, at, database, domain, subject, data }
    const isGap = type === 'truncated' && stream.backUntil === 0
    // Numbers begin anew where a history was restored.
    if (isGap) stream.known = seqOf(id)
    if (seq >= stream.backUntil) stream.backUntil = 0
    stream.known = Math.max(stream.known, seq)
    say({ say: 'event', kind, of, event, isGap })
  }

  function change(stream: Stream, is: StreamIs, { isAnew = false, refusal }: Changed = {}): void {
    const { state } = stream
    if (state.is === 'refused' && is === 'lost') return
    if (state.is !== is) state.since = Date.now()
    state.is = is
    state.refusal = refusal
    tell(state, isAnew)
  }

  function end(kind: Kind, why: 'paused' | 'elsewhere'): void {
    const stream = streams.get(kind)
    if (!stream) return
    streams.delete(kind)
    stream.over.abort()
    tell(stateOf(kind, stream.state.of, why, stream.state.position))
  }

  function stateOf(kind: Kind, of: string, is: StreamIs, position?: string): StreamState {
    return { kind, of, is, since: Date.now(), position, refusal: undefined }
  }

  function tell(state: StreamState, isAnew = false): void {
    say({ say: 'stream', state: { ...state }, isAnew })
  }

  function remember(of: string, id: string): void {
    positions.delete(of)
    positions.set(of, id)
    const [oldest] = positions.keys()
    if (positions.size > POSITIONS_MAX && oldest !== undefined) positions.delete(oldest)
  }

  function goBack(of: string, from: number): void {
    const stream = streams.get('service')
    if (stream?.state.of !== of || seqOf(stream.state.position) === 0) return
    const { organization, known } = stream
    streams.delete('service')
    stream.over.abort()
    begin('service', of, organization, String(from), known)
    const again = streams.get('service')
    if (again) again.backUntil = known
  }

  return {
    hear(message) {
      if (message.say === 'gone') {
        tabs.delete(message.tab)
        return arrange()
      }
      if (message.say === 'back') return goBack(message.of, message.from)
      const { tab, view, isInFront } = message
      const before = tabs.get(tab)
      if (before?.isVisible) lookedAt = Date.now()
      order += 1
      tabs.set(tab, { ...view, heardAt: Date.now(), frontAt: isInFront || !before ? order : before.frontAt })
      arrange()
      // Of a service that the tab did not show until now it has kept nothing that was told.
      if (before?.service === view.service && before.organization === view.organization) return
      for (const { state } of streams.values()) tell(state)
    },
    close() {
      clearInterval(sweep)
      clearTimeout(pause)
      for (const { over } of streams.values()) over.abort()
    },
  }
}

/** 0 for a position that only the server can read. */
function seqOf(position: string | undefined): number {
  return position !== undefined && /^[0-9]{1,15}$/.test(position) ? Number(position) : 0
}

/** Undefined where nobody answered. */
function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof LociError) || error.status === 0) return undefined
  const { code, message, status, requestId } = error
  return { code, message, status, requestId }
}

// What a page hears of what changes, and what it does with it: answers in the cache grow old, and are asked for again
// where somebody looks at them. The streams are held by one worker for all tabs (hub.ts); without a worker by one tab,
// found by a lock; without either, and while there is no stream, the page asks from time to time.

import { useEffect, useSyncExternalStore } from 'react'
import { type Asked, againMs, dropUnseenWords, dropWords, queries } from '../api/cache.ts'
import { sessionEnded } from '../api/session.ts'
import { CHANNEL, type FromHub, type FromTab, type Happened, type Kind, type StreamState } from './messages.ts'
import { erases, isTouched, type Told } from './touched.ts'

/** Events that come together are one change for who looks. */
const TOGETHER_MS = 250
const SAY_MS = 30_000
export const POLL_MS = 10_000
/** So long without a stream is no matter: it ends with each capability, and goes on. */
export const LOST_MS = 3_000

interface Listener {
  event(event: Happened, isGap: boolean): void
}

export type LiveState = Readonly<Partial<Record<Kind, StreamState>>>

const tab = crypto.randomUUID()
const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(CHANNEL)
const begunAt = Date.now()
const listeners = new Set<() => void>()
const followers = new Set<Listener>()
/** The last event of each stream that was acted upon. */
const seen = new Map<string, number>()
let state: LiveState = {}
let view: { organization: string; service: string | null } | undefined
let pending: Told[] = []

/** What the frame shows is what is followed. */
export function useLive(organization: string, service: string | null): void {
  useEffect(() => {
    begin()
    // Of a service that is left nothing is told any more, no erasure either.
    if (view?.service && view.service !== service) dropUnseenWords(view.service)
    view = { organization, service }
    const { organization: one, service: other } = state
    put({
      ...(one?.of === organization ? { organization: one } : {}),
      ...(other && other.of === service ? { service: other } : {}),
    })
    sayView(true)
  }, [organization, service])
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(listen, () => state)
}

/** Whether what changes is told; asked by whoever else would ask again by himself. */
function isLive(kind: Kind): boolean {
  return state[kind]?.is === 'open'
}

/** For `refetchInterval`: not while changes are told. Of what could not be read nothing is told. */
export function unlessLive(kind: Kind, ms: number): (query: Asked) => number | false {
  return (query) => againMs(query) ?? (isLive(kind) ? false : ms)
}

/** Every event of the service in view, also those that are told again. */
export function followEvents(listener: Listener): () => void {
  followers.add(listener)
  return () => followers.delete(listener)
}

/** Asks for the events of a service again, from behind this one. */
export function goBack(of: string, from: number): void {
  say({ say: 'back', tab, of, from })
}

let hasBegun = false

function begin(): void {
  if (hasBegun) return
  hasBegun = true
  setInterval(poll, POLL_MS)
  if (!channel) return
  channel.onmessage = ({ data }: MessageEvent<FromHub | FromTab>) => {
    if (data.say === 'who') sayView(false)
    else if (data.say === 'stream') heardOf(data.state, data.isAnew)
    else if (data.say === 'event') heard(data.kind, data.of, data.event, data.isGap)
  }
  document.addEventListener('visibilitychange', () => sayView(!document.hidden))
  addEventListener('focus', () => sayView(true))
  addEventListener('pagehide', () => say({ say: 'gone', tab }))
  addEventListener('pageshow', ({ persisted }) => persisted && sayView(true))
  setInterval(() => sayView(false), SAY_MS)
  work()
}

function work(): void {
  try {
    const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), { type: 'module', name: CHANNEL })
    worker.addEventListener('error', lead, { once: true })
  } catch {
    lead()
  }
}

/** Where there are no workers: the tab with the lock holds the streams, and when it is closed the next one does. */
function lead(): void {
  if ('locks' in navigator) void import('./run.ts').then(({ runHub }) => runHub())
}

function sayView(isInFront: boolean): void {
  if (view) say({ say: 'view', tab, view: { ...view, isVisible: !document.hidden }, isInFront })
}

function say(message: FromTab): void {
  channel?.postMessage(message)
}

function heardOf(told: StreamState, isAnew: boolean): void {
  if (!view || told.of !== view[told.kind]) return
  if (told.refusal?.status === 401) sessionEnded()
  if (!seen.has(told.of) && told.position !== undefined) seen.set(told.of, Number(told.position) || 0)
  put({ ...state, [told.kind]: told })
  if (isAnew) readAgain(told.kind, told.of)
}

/** What was read before a stream began may be old or erased, and nobody tells: all is read again. */
function readAgain(kind: Kind, of: string): void {
  const begun: Told = { kind, of, type: 'begun', data: {} }
  if (kind === 'service') dropUnseenWords(of)
  touch(begun)
  // The answer of a request that was on its way is as old as the request.
  const asked = queries.getQueryCache().findAll({
    predicate: ({ queryKey, state: { data, fetchStatus } }) =>
      data === undefined && fetchStatus === 'fetching' && isTouched(queryKey, begun),
  })
  void Promise.allSettled(asked.map(({ promise }) => promise)).then(() => asked.length > 0 && touch(begun))
}

function heard(kind: Kind, of: string, event: Happened, isGap: boolean): void {
  if (!view || of !== view[kind]) return
  for (const follower of followers) if (kind === 'service') follower.event(event, isGap)
  const last = seen.get(of) ?? 0
  if (isGap) seen.set(of, Number(event.id) || 0)
  // Told again because somebody reads back. A notice has no number, and is never told again.
  else if (event.seq !== 0 ? event.seq <= last : event.type === 'truncated') return
  else if (event.seq > last) seen.set(of, event.seq)
  touch({ kind, of, type: event.type, database: event.database, data: event.data })
}

function touch(told: Told): void {
  if (told.kind === 'service' && erases(told)) {
    dropWords(told.of)
    const written = queries.getMutationCache()
    for (const one of written.getAll()) if (one.state.status !== 'pending') written.remove(one)
  }
  if (pending.length === 0) setTimeout(settle, TOGETHER_MS)
  pending.push(told)
}

function settle(): void {
  const all = pending
  pending = []
  void queries.invalidateQueries({
    predicate: ({ queryKey }) => all.some((told) => isTouched(queryKey, told)),
    // A page that nobody looks at asks when somebody does.
    refetchType: document.hidden ? 'none' : 'active',
  })
}

/** While there is no stream. */
function poll(): void {
  if (!view || document.hidden) return
  for (const kind of ['organization', 'service'] as const) {
    const of = view[kind]
    if (of === null || isLive(kind) || Date.now() - (state[kind]?.since ?? begunAt) < LOST_MS) continue
    if (kind === 'service') dropUnseenWords(of)
    for (const type of kind === 'service' ? POLLED : ['service.polled']) touch({ kind, of, type, data: {} })
  }
}

const POLLED = ['cycle.polled', 'slot.polled', 'memory.polled']

function put(next: LiveState): void {
  state = next
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

import { ApiError } from '@loci/chassis/api-error.ts'
import { createEventStreams, textOf } from '@loci/chassis/event-stream.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import { type Call, type Route, route } from '@loci/chassis/route.ts'
import type { Waiting } from '@loci/chassis/waiting.ts'
import { eventsQuery, eventsResponse } from '@loci/contract/events.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { readForCaller } from '../access/own.ts'
import { type EventPage, listEventEnds, readEvents } from '../acts/events/store.ts'
import { PLANS } from '../plans.ts'

interface EventOptions {
  caller: CallerAccess
  pool: Pool
  waiting: Waiting
  lifecycle: Lifecycle
  metrics: Metrics
}

const STREAM_PAGE_MAX = 500
/** All tabs of a browser can do with one. */
const SESSION_STREAMS_MAX = 8
/** The word of a gateway is about one request: it cannot be asked for again, so its streams are short. */
const GATEWAY_STREAM_MS = 60_000

export function eventRoutes({ caller: access, pool, waiting, lifecycle, metrics }: EventOptions): Route[] {
  const streams = createEventStreams(lifecycle)
  metrics.gauge('loci_event_streams', 'Event streams of organizations that are open.', streams.count)

  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/events',
        access: access.stream('events:read'),
        tag: 'events',
        deadline: 'stream',
        summary: 'Read or follow what happened in the organization.',
        details:
          'In the order of its commits, kept seven days. With `after` a page, else server-sent events (text/event-stream) from now on, or from `Last-Event-ID`. The plan bounds the streams of API keys and gateways; each session has eight.',
        query: eventsQuery,
        answers: { 200: eventsResponse },
        failureMessage: 'Failed to read the events',
      },
      async (call) => {
        const { after, limit, wait } = call.query
        return after === undefined ? stream(call) : pull(call, { after, limit, wait })
      },
    ),
  ]

  async function pull(
    { caller, headers, signal, yieldSlot }: EventCall,
    { after, limit, wait }: { after: number; limit: number; wait: number },
  ): Promise<object> {
    const page = await read(caller, after, limit)
    if (page.events.length > 0 || page.truncated || wait === 0) return bodyOf(page)
    yieldSlot()
    await waiting.wait(caller.organizationId, page.next, wait * 1_000, signal)
    if (!(await access.isStillValid(caller, headers)))
      throw new ApiError('UNAUTHENTICATED', 'The credential was deleted or changed while the request waited.')
    return bodyOf(await read(caller, page.next, limit))
  }

  async function stream(call: EventCall): Promise<object> {
    const { caller, headers } = call
    const { organizationId } = caller
    const openedAt = Date.now()
    return streams.open(call, {
      ...boundOf(caller),
      readEnd: async () => (await listEventEnds(pool, [organizationId])).get(organizationId) ?? 0,
      read: async (position) => {
        const { events, truncated, ...page } = await read(caller, position, STREAM_PAGE_MAX)
        return { ...page, bytes: Buffer.from(textOf(events, truncated)) }
      },
      wait: (seq, ms, over) => waiting.wait(organizationId, seq, ms, over),
      isAllowed: async () =>
        (caller.kind !== 'gateway' || Date.now() - openedAt < GATEWAY_STREAM_MS) &&
        access.isStillValid(caller, headers),
    })
  }

  function read(caller: Caller, after: number, limit: number): Promise<EventPage> {
    return readForCaller(pool, caller, (sql) => readEvents(sql, caller, { after, limit }))
  }
}

/** The plan counts what programs open. A person at the console must not take a stream from them, nor lack one. */
function boundOf({ sessionId, organizationId, plan }: Caller): { owner: string; max: number; tooMany: string } {
  const max = sessionId === undefined ? PLANS[plan].streams : SESSION_STREAMS_MAX
  const whose = sessionId === undefined ? `The plan ${plan}` : 'A session'
  return {
    owner: sessionId ?? organizationId,
    max,
    tooMany: `${whose} has ${max} streams of events at a time. Close one, or poll with ?after=.`,
  }
}

type EventCall = Call<Caller, unknown, unknown, unknown>

function bodyOf({ events, next, truncated }: EventPage): object {
  return { events, next, ...(truncated ? { truncated } : {}) }
}

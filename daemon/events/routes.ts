import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createEventStreams } from '@loci/chassis/event-stream.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import { type Call, type Route, route } from '@loci/chassis/route.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import { CONSOLE_HOLDER } from '@loci/contract/proxy.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import type { Follower, ReadPage } from './follower.ts'
import { positionsOf } from './positions.ts'

interface EventOptions {
  access: CapabilityAccess
  follower: Follower
  lifecycle: Lifecycle
  metrics: Metrics
  sealer: Sealer
  /** Whether the switch of the sub-service is on. */
  isEnabled(): boolean
}

/** With the poll of revocations, and a replica whose own is late, it stays below the 5 s within which a stream ends. */
const RECHECK_MS = 1_000
/** One for each process of management, and some that go back further. */
const CONSOLE_STREAMS_MAX = 32

export function eventRoutes({ access, follower, lifecycle, metrics, sealer, isEnabled }: EventOptions): Route[] {
  const streams = createEventStreams(lifecycle, { recheckMs: RECHECK_MS })
  metrics.gauge('loci_event_streams', 'Event streams that are open.', streams.count)

  return [
    route(
      {
        method: 'GET',
        path: '/v1/events',
        access: access.capability('events:read'),
        tag: 'events',
        subservice: 'events',
        deadline: 'stream',
        summary: 'Stream the events of the databases and domains that the capability covers.',
        details: 'Server-sent events from now on, or from `Last-Event-ID`; kept for 24 hours, in the order of commits.',
        requestHeaders: {
          'last-event-id':
            'The id of the last event that was seen. Where the events after it are no longer kept, the first is `truncated`: read the current state again.',
        },
        answers: {
          200: {
            contentType: 'text/event-stream',
            description:
              'Each event has an `id`, a type (`slot.*`, `cycle.*`, `memory.*`) and data `{seq, type, at, database, domain, data}`; `subservice.changed` has no id, and data `{type, at, data: {service, enabled}}`. `data` holds names, ids, versions and counts, no content. A comment comes after 15 s of silence; its id, and that of the beginning, is the position to go on from, sealed where the capability covers a part of the instance.',
          },
        },
        errors: ['STORE_UNAVAILABLE'],
      },
      async (call) => {
        const { instance, ks, rootHolder } = call.caller
        const isConsole = rootHolder === CONSOLE_HOLDER
        const max = isConsole ? CONSOLE_STREAMS_MAX : instance.limits.streams
        const isAllowed = async () => isEnabled() && (await access.isStillValid(call.headers, 'events:read'))
        if (!(await isAllowed()))
          throw new ApiError('CAPABILITY_EXPIRED', 'The capability has expired. Ask for a new one.')
        const positions = positionsOf(sealer, { instanceId: instance.id, ks })
        return streams.open(call, {
          owner: isConsole ? `${CONSOLE_HOLDER} of ${instance.id}` : instance.id,
          positions,
          max,
          tooMany: `${isConsole ? 'The console' : 'The plan'} has ${max} event streams of an instance at a time, on each replica. Close one.`,
          readEnd: () => follower.readEnd(instance.id),
          read: paidBy(call, follower.reader(instance.id, ks, positions)),
          wait: (seq, ms, over) => follower.wait(instance.id, seq, ms, over),
          isAllowed,
        })
      },
    ),
  ]
}

type Payer = Pick<Call<unknown, unknown, unknown, unknown>, 'goOn' | 'signal'>

/**
 * A replay is charged page by page, and waits while its instance is in debt: a day of events was read for the price of
 * one request, again and again. What is new comes from what all streams share, and is never held up.
 */
function paidBy(call: Payer, read: (after: number) => Promise<ReadPage>): (after: number) => Promise<ReadPage> {
  let isReplay = false
  return async (after) => {
    const debtMs = isReplay ? debtOf(call) : 0
    if (debtMs > 0) {
      // A second at a time: meanwhile the stream has its comments, and hears that its credential has ended. Not less:
      // to ask costs half a unit, and asked ten times a second it ate what a small rate brought in.
      await sleep(DEBT_MS, undefined, { signal: call.signal }).catch(() => undefined)
      return { bytes: NOTHING, next: after, more: true, replayed: 0 }
    }
    const page = await read(after)
    // Of what is new too: a stream that is open for a day would else be charged all of it when it ends.
    debtOf(call)
    isReplay = page.replayed > 0 && page.more
    return page
  }
}

const DEBT_MS = 1_000
const NOTHING = Buffer.alloc(0)

/** Charges, and answers after how many milliseconds the caller may go on. */
function debtOf(call: Payer): number {
  try {
    call.goOn()
    return 0
  } catch (error) {
    if (error instanceof ApiError && error.retryAfterMs !== undefined) return error.retryAfterMs
    throw error
  }
}

// The events of services for pages of the console: each process follows a service once, however many pages are open,
// and a page is told what came for as long as its session, and the role in it, go on. Every role reads the events of
// all databases (access/roles.ts), so one stream is right for all.

import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createEventStreams } from '@loci/chassis/event-stream.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import { type Call, Reply, reply } from '@loci/chassis/route.ts'
import { HEADER } from '@loci/contract/headers.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { endpointOf } from '../services/services.ts'
import type { Service } from '../services/store.ts'
import { ask, type Collected, unanswered, whole } from './ask.ts'
import type { ConsoleCapability, ProxyCapabilities } from './capabilities.ts'
import { answeredHeaders, isOfType, targetOf } from './proxy.ts'
import { createReader } from './reader.ts'
import { type Connect, createUpstream, type Upstream } from './upstream.ts'

export const EVENTS_PATH = '/v1/events'

export interface ConsoleStreams {
  /** A stream of the service's events, or what the daemon refuses it with. */
  follow(call: FollowCall): Promise<Reply>
}

type FollowCall = Call<Caller, { id: string; path: string }, unknown, unknown>

interface Followed {
  upstream: Upstream
  connect: Connect
  organizationId: string
  /** Pages that read from streams of their own for a while. */
  behind: number
}

const PAGES_MAX = 200
const BEHIND_MAX = 4
const SERVICES_MAX = 64
const TAIL_BYTES_MAX = 128 * 1024
/** Of all tails together. */
const TAILS_BYTES_MAX = 32 * 1024 * 1024

export function createConsoleStreams({
  capabilities,
  lifecycle,
  metrics,
  isStillValid,
  collected,
}: {
  capabilities: ProxyCapabilities
  lifecycle: Lifecycle
  metrics: Metrics
  isStillValid: CallerAccess['isStillValid']
  collected: Collected
}): ConsoleStreams {
  const followed = new Map<string, Followed>()
  const streams = createEventStreams(lifecycle)
  metrics.gauge('loci_console_streams', 'Event streams of pages of the console.', streams.count)
  lifecycle.onMove(({ to }) => {
    if (to === 'draining') for (const { upstream } of [...followed.values()]) upstream.end()
  })

  function followedOf(service: Service): Followed {
    const { id, organizationId } = service
    const known = followed.get(id)
    if (known) return known
    const others = [...followed.values()].filter((one) => one.organizationId === organizationId).length
    if (others >= SERVICES_MAX)
      throw new ApiError(
        'RATE_LIMITED',
        `Pages of your organization follow ${SERVICES_MAX} services at a time. Close some.`,
        { retryAfterMs: 10_000 },
      )
    const connect = connectorOf(service)
    const upstream = createUpstream({
      connect,
      tailBytesMax: () => Math.min(TAIL_BYTES_MAX, Math.floor(TAILS_BYTES_MAX / followed.size)),
      onOver: () => followed.delete(id),
    })
    const made = { upstream, connect, organizationId, behind: 0 }
    followed.set(id, made)
    return made
  }

  function connectorOf(of: Pick<Service, 'id' | 'organizationId'>): Connect {
    let held: ConsoleCapability | undefined
    const askOnce = async (lastId: string | undefined, signal: AbortSignal): Promise<IncomingMessage> => {
      const { service, capability } = await capabilities.ofConsole(of, held)
      held = capability
      return ask(targetOf(endpointOf(service) as string, EVENTS_PATH), {
        method: 'GET',
        body: undefined,
        headers: {
          accept: 'text/event-stream',
          ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
          [HEADER.capability]: capability.token,
          [HEADER.service]: of.id,
        },
        signal,
      })
    }
    return async (lastId, signal) => {
      const isMinted = held === undefined
      let answer = await askOnce(lastId, signal)
      if (answer.statusCode === 401 && !isMinted) {
        // Somebody revoked it, in the list of tokens or with everything of the organization.
        answer.destroy()
        held = undefined
        answer = await askOnce(lastId, signal)
      }
      if (answer.statusCode === 200 && isOfType(answer.headers, 'text/event-stream')) return answer
      if (answer.statusCode === 401 || !isOfType(answer.headers, 'application/json')) {
        answer.destroy()
        throw unanswered('The service does not tell its events; it may have just been made. Try again.')
      }
      const body = await whole(answer, 'GET', collected)
      return reply(answer.statusCode as number, body, answeredHeaders(answer.headers))
    }
  }

  return {
    async follow(call) {
      const { caller, params, headers, yieldSlot } = call
      const service = await capabilities.requireOwn(caller, params.id)
      yieldSlot()
      const last = headers['last-event-id']
      const lastId = last === undefined ? undefined : String(last)
      const of = followedOf(service)
      const { upstream, connect } = of
      const leave = upstream.join()
      try {
        const refusal = await upstream.open(lastId)
        if (refusal) return refusal
        const reader = await createReader(upstream, { lastId, connect, claim: () => claim(of) })
        if (reader instanceof Reply) return reader
        const opened = await streams.open(call, {
          owner: service.id,
          max: PAGES_MAX,
          tooMany: `${PAGES_MAX} pages follow this service already. Close one.`,
          positions: { show: reader.lastId, read: () => 0 },
          readEnd: async () => 0,
          read: reader.read,
          wait: (_, ms, signal) => reader.wait(ms, signal),
          isAllowed: async () => !reader.isOver && (await isStillValid(caller, headers)),
        })
        const stream = opened.body as Readable
        const onClose = () => {
          reader.close()
          leave()
        }
        if (stream.closed) onClose()
        else stream.once('close', onClose)
        return opened
      } catch (error) {
        leave()
        throw error
      }
    },
  }

  function claim(of: Followed): () => void {
    if (of.behind >= BEHIND_MAX)
      throw new ApiError('OVERLOADED', 'Other pages of this service are catching up. Try again in a moment.')
    of.behind += 1
    let isHeld = true
    return () => {
      if (isHeld) of.behind -= 1
      isHeld = false
    }
  }
}

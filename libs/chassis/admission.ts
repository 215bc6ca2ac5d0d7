// Whether a request is let in, and for whom: state of the process → slot of the limiter → access → share of the slots →
// switch of the sub-service. As in server.ts, nothing is awaited that is already there.

import { ApiError } from './api-error.ts'
import type { Exchange, ExchangeContext } from './exchange.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Limiter } from './limiter.ts'
import type { Arrival, Route } from './route.ts'

/** What the switches of sub-services need to see of each request of theirs. */
export interface SubserviceGate {
  /** Throws SUBSERVICE_DISABLED when the switch is off. */
  enter(subservice: string): void
  leave(subservice: string, failure: { code: string; requestId: string } | undefined): void
}

interface AdmissionOptions {
  lifecycle: Lifecycle
  limiter: Limiter
  subservices?: SubserviceGate
}

interface Admission {
  options: AdmissionOptions
  context: ExchangeContext
}

/**
 * Answers that slow clients have not read yet; a slot of the limiter does not wait for them, and the oldest are cut
 * beyond it.
 */
export const UNREAD_BYTES_MAX = 64 * 1024 * 1024

/** State of the process, then a slot, then access. Undefined when nothing had to be waited for. */
export function admit(
  { options, context }: Admission,
  exchange: Exchange,
  spec: Route['spec'],
): Promise<void> | undefined {
  const arrival = arrivalOf(exchange, spec)
  if (spec.deadline === 'probe') return authorize(options, exchange, spec, arrival)
  if (context.unread.bytes > 2 * UNREAD_BYTES_MAX)
    throw new ApiError('OVERLOADED', 'Too many answers wait to be read. Nothing was done; try again.')
  const refusal = spec.inEveryState ? undefined : options.lifecycle.refusal()
  if (refusal) throw refusal
  exchange.lane = options.limiter.lane(spec.access.lane)
  const name = spec.access.shareBefore?.(arrival)
  const waiting = exchange.lane.acquire(name)
  exchange.share = name
  if (waiting) return waiting.then(() => authorizeInSlot(options, exchange, spec, arrival))
  return authorizeInSlot(options, exchange, spec, arrival)
}

function arrivalOf(exchange: Exchange, spec: Route['spec']): Arrival {
  const { request, requestId } = exchange
  return {
    method: spec.method,
    target: request.url as string,
    headers: request.headers,
    peer: request.socket.remoteAddress ?? '',
    requestId,
    answer: exchange,
  }
}

function authorizeInSlot(
  options: AdmissionOptions,
  exchange: Exchange,
  spec: Route['spec'],
  arrival: Arrival,
): Promise<void> | undefined {
  takeSlot(exchange)
  return authorize(options, exchange, spec, arrival)
}

export function takeSlot(exchange: Exchange): void {
  exchange.holdsSlot = true
  // Under overload many give up while they wait: working for them would take the time of those who still listen.
  if (exchange.isClosed) throw new ApiError('OVERLOADED', 'The client left while its request waited.')
}

/** Access first, then the switch: who may not come in is not told what is switched off. */
function authorize(
  options: AdmissionOptions,
  exchange: Exchange,
  spec: Route['spec'],
  arrival: Arrival,
): Promise<void> | undefined {
  let caller: unknown
  try {
    caller = spec.access.authorize(arrival)
  } catch (error) {
    return refuseInTurn(exchange, error)
  }
  if (!(caller instanceof Promise)) return share(options, exchange, spec, caller)
  return caller.then(
    (known) => share(options, exchange, spec, known),
    (error) => refuseInTurn(exchange, error),
  )
}

/** Who is over its rate waits for that answer where many are; its slot is free meanwhile. */
function refuseInTurn(exchange: Exchange, error: unknown): Promise<void> {
  if (!(error instanceof ApiError && error.code === 'RATE_LIMITED' && exchange.holdsSlot)) throw error
  exchange.yieldSlot()
  return exchange.lane.refuse(error)
}

/** From here on it is known whose work the slot is for. Whoever has its share of the slots waits without one. */
function share(
  options: AdmissionOptions,
  exchange: Exchange,
  spec: Route['spec'],
  caller: unknown,
): Promise<void> | undefined {
  const name = exchange.holdsSlot ? spec.access.shareOf?.(caller) : undefined
  const waiting = exchange.share === undefined ? assign(exchange, name) : reassign(exchange, name)
  exchange.share = name
  if (!waiting) {
    enter(options, exchange, spec, caller)
    return undefined
  }
  exchange.holdsSlot = false
  return waiting.then(() => {
    takeSlot(exchange)
    enter(options, exchange, spec, caller)
  })
}

function assign({ lane }: Exchange, name: string | undefined): Promise<void> | undefined {
  return name === undefined ? undefined : lane.assign(name)
}

/**
 * Where it is not whom it was taken for, that slot goes to the next of those, and it takes one before whoever has had
 * none yet.
 */
function reassign(exchange: Exchange, name: string | undefined): Promise<void> | undefined {
  if (exchange.share === name) return undefined
  exchange.yieldSlot()
  const waiting = exchange.lane.resume(name)
  exchange.share = name
  if (!waiting) takeSlot(exchange)
  return waiting
}

function enter(options: AdmissionOptions, exchange: Exchange, spec: Route['spec'], caller: unknown): void {
  if (spec.subservice && options.subservices) {
    options.subservices.enter(spec.subservice)
    exchange.subservice = spec.subservice
  }
  exchange.caller = caller
}

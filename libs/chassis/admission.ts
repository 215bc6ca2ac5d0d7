// Whether a request is let in, and for whom: rate of the address on open routes → state of the process → slot of the
// limiter → access → share of the slots → switch of the sub-service. As in server.ts, nothing is awaited that is
// already there.

import { enter } from '@loci/meter/meter.ts'
import type { AddressRates } from './address-rates.ts'
import { ApiError } from './api-error.ts'
import type { Exchange, ExchangeContext } from './exchange.ts'
import type { Lifecycle } from './lifecycle.ts'
import { type Limiter, strangersAt } from './limiter.ts'
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
  addressRates?: AddressRates
  subservices?: SubserviceGate
}

interface Admission {
  options: AdmissionOptions
  context: ExchangeContext
}

/** State of the process, then a slot, then access. Undefined when nothing had to be waited for. */
export function admit(
  { options, context }: Admission,
  exchange: Exchange,
  spec: Route['spec'],
): Promise<void> | undefined {
  const arrival = arrivalOf(exchange, spec)
  const { units } = spec.access
  const refused = units && options.addressRates?.take(exchange.network, units)
  if (refused) throw refused
  if (spec.deadline === 'probe') return authorize(options, exchange, spec, arrival)
  context.unread.requireRead(exchange)
  const refusal = spec.inEveryState ? undefined : options.lifecycle.refusal()
  if (refusal) throw refusal
  exchange.lane = options.limiter.lane(spec.access.lane)
  const name = spec.access.shareBefore?.(arrival) ?? (units ? strangersAt(exchange.network) : undefined)
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
  enter(exchange.work)
  takeSlot(exchange)
  return authorize(options, exchange, spec, arrival)
}

export function takeSlot(exchange: Exchange): void {
  exchange.holdsSlot = true
  // Under overload many give up while they wait: working for them would take the time of those who still listen.
  if (exchange.isClosed) throw new ApiError('OVERLOADED', 'The client left while its request waited.')
}

/** Authorizes before it checks the switch, so that strangers cannot probe switches. */
function authorize(
  options: AdmissionOptions,
  exchange: Exchange,
  spec: Route['spec'],
  arrival: Arrival,
): Promise<void> | undefined {
  const caller = spec.access.authorize(arrival)
  if (!(caller instanceof Promise)) return share(options, exchange, spec, caller)
  return caller.then((known) => share(options, exchange, spec, known))
}

/**
 * From here on it is known whose work the slot is for; where access does not say, it stays as it was. Whoever has its
 * share of the slots waits without one.
 */
function share(
  options: AdmissionOptions,
  exchange: Exchange,
  spec: Route['spec'],
  caller: unknown,
): Promise<void> | undefined {
  exchange.admitted = caller
  const { shareOf } = spec.access
  const name = exchange.holdsSlot ? (shareOf ? shareOf(caller) : exchange.share) : undefined
  const waiting = exchange.share === undefined ? assign(exchange, name) : reassign(exchange, name)
  exchange.share = name
  if (!waiting) {
    letIn(options, exchange, spec, caller)
    return undefined
  }
  exchange.holdsSlot = false
  return waiting.then(() => {
    takeSlot(exchange)
    letIn(options, exchange, spec, caller)
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

function letIn(options: AdmissionOptions, exchange: Exchange, spec: Route['spec'], caller: unknown): void {
  if (spec.subservice && options.subservices) {
    options.subservices.enter(spec.subservice)
    exchange.subservice = spec.subservice
  }
  exchange.caller = caller
  exchange.bill.open(caller)
}

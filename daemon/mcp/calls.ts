// A call of a route from inside the process, with the credential that the request itself brought: the route's own
// access, rate, switch, schemas and handler, in the order of the server. Nothing that a tool is asked with reaches
// access: only headers do.

import type { SubserviceGate } from '@loci/chassis/admission.ts'
import { type ApiError, failureOf } from '@loci/chassis/api-error.ts'
import { inputOf } from '@loci/chassis/input.ts'
import { type Call, Reply, type Route } from '@loci/chassis/route.ts'
import type { Caller } from '../access/capability-access.ts'
import { withBearer } from '../access/misplaced.ts'
import type { RouteRequest } from './tools.ts'

export type McpCall = Call<Caller, unknown, unknown, unknown>

/** Throws an ApiError; `hasBegun` of it is decided as the server does. */
export async function callRoute(
  { spec, handle }: Route,
  { params = {}, query = {}, body }: RouteRequest,
  { outer, gate }: { outer: McpCall; gate: SubserviceGate },
): Promise<Record<string, unknown>> {
  let hasBegun = false
  let entered: string | undefined
  let failure: ApiError | undefined
  try {
    const { requestId, log, signal } = outer
    const headers = withoutConditions(withBearer(outer.headers))
    // The request's own access has counted its address already.
    const arrival = { method: spec.method, target: spec.path, headers, peer: '', requestId, answer: NO_ANSWER }
    const caller = await spec.access.authorize(arrival)
    // What it does is measured with the message: paid once.
    outer.noteTaken(spec.access.cost ?? 1)
    if (spec.subservice !== undefined) {
      gate.enter(spec.subservice)
      entered = spec.subservice
    }
    const sent = body === undefined ? undefined : JSON.parse(JSON.stringify(body))
    const input = inputOf(spec, params, `${spec.path}?${new URLSearchParams(query)}`, sent)
    hasBegun = true
    const answer = await handle({
      ...{
        caller,
        ...input,
        headers,
        bodyBytes: outer.bodyBytes,
        via: 'mcp' as const,
        requestId,
        log,
        signal,
        answer: NO_ANSWER,
      },
      route: `${spec.method} ${spec.path.replace(/\{(\w+)\}/g, (_, name) => params[name] ?? '')}`,
      goOn: () => outer.goOn(),
      noteTaken: (units) => outer.noteTaken(units),
      yieldSlot: () => outer.yieldSlot(),
    })
    return contentOf(answer)
  } catch (error) {
    failure = failureOf(error, spec, hasBegun)
    if (failure.status === 500)
      outer.log.error({ requestId: outer.requestId, error: failure.cause ?? error }, 'a tool call failed')
    throw failure
  } finally {
    if (entered !== undefined)
      gate.leave(
        entered,
        failure && failure.status >= 500 ? { code: failure.code, requestId: outer.requestId } : undefined,
      )
  }
}

const NO_ANSWER = { header() {}, append() {} }

/** Conditions and keys of repeats were sent with the message, not with the call inside of it. */
function withoutConditions(headers: McpCall['headers']): McpCall['headers'] {
  const { 'idempotency-key': _, 'if-match': __, 'if-none-match': ___, ...rest } = headers
  return rest
}

function contentOf(answer: unknown): Record<string, unknown> {
  const body = answer instanceof Reply ? answer.body : answer
  return (typeof body === 'string' ? JSON.parse(body) : body) as Record<string, unknown>
}

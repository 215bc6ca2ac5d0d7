// The console's way to a daemon. The browser has a session and never a capability; management asks for it with one.
// No transaction is open and no slot is held while the daemon is asked.

import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import { type Call, type Method, type Reply, type Route, reply, route } from '@loci/chassis/route.ts'
import { ERRORS } from '@loci/contract/errors.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { proxyBody, proxyParams, proxyQuery } from '@loci/contract/proxy.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { endpointOf } from '../services/services.ts'
import { ask, broken, unanswered, whole } from './ask.ts'
import type { ProxyCapabilities } from './capabilities.ts'
import { answeredHeaders, askedHeaders, isOfType, pathOf, targetOf } from './proxy.ts'
import { createConsoleStreams, EVENTS_PATH } from './streams.ts'

interface ProxyOptions {
  caller: CallerAccess
  capabilities: ProxyCapabilities
  lifecycle: Lifecycle
  metrics: Metrics
}

const METHODS: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
/** Statuses of a daemon that pass as they are. Its 401 is about our capability and does not. */
const PASSED = [
  ...new Set([200, 202, ...Object.values(ERRORS).map(({ status }) => status)].filter((status) => status !== 401)),
]
const AS_ANSWERED = { contentType: 'application/json', description: 'As the daemon answers.' }

type ProxyCall = Call<Caller, { id: string; path: string }, Record<string, string>, unknown>

export function proxyRoutes({ caller: access, capabilities, lifecycle, metrics }: ProxyOptions): Route[] {
  const collected = { bytes: 0 }
  const { isStillValid } = access
  const streams = createConsoleStreams({ capabilities, lifecycle, metrics, isStillValid, collected })
  return METHODS.map((method) =>
    route(
      {
        method,
        path: '/api/v1/services/{id}/proxy/{path...}',
        access: access.session(method === 'GET' ? 'read' : 'write'),
        tag: 'proxy',
        deadline: method === 'GET' ? 'stream' : 'normal',
        summary: `Pass a ${method} on to the service itself, for pages of the console.`,
        details:
          method === 'GET'
            ? 'What stands under /v1, by the role of who is signed in. `/v1/events` is one stream of the daemon for all pages of a service, which the limit of the plan does not count; it ends with the session.'
            : 'What stands under /v1, by the role of who is signed in.',
        params: proxyParams,
        query: proxyQuery,
        ...(method === 'GET' || method === 'DELETE' ? {} : { body: proxyBody, bodyRaw: true, bodyOptional: true }),
        answers: Object.fromEntries(PASSED.map((status) => [status, AS_ANSWERED])),
        errors: ['NOT_FOUND', 'INVALID_STATE', 'OVERLOADED', 'STORE_UNAVAILABLE'],
        failureMessage: 'Failed to ask the service',
      },
      (call) => pass(method, call as ProxyCall),
    ),
  )

  async function pass(method: Method, call: ProxyCall): Promise<Reply> {
    const { caller, params, query, headers, requestId, yieldSlot } = call
    const path = pathOf(params.path)
    if (method === 'GET' && path === EVENTS_PATH) return streams.follow(call)
    const { service, token } = await capabilities.of(caller, params.id, requestId)
    const body = Buffer.isBuffer(call.body) && call.body.length > 0 ? call.body : undefined
    yieldSlot()
    const askWith = (token: string) =>
      ask(targetOf(endpointOf(service) as string, path, query), {
        method,
        body,
        headers: { ...askedHeaders(headers), [HEADER.capability]: token, [HEADER.service]: service.id },
        signal: call.signal,
      })
    let answer = await askWith(token)
    if (answer.statusCode === 401) {
      // Somebody revoked it. A daemon that does not know who asks has done nothing, so this is no repeat.
      const other = await capabilities.of(caller, params.id, requestId, token)
      if (other.token !== token) {
        answer.destroy()
        answer = await askWith(other.token)
      }
    }
    const status = answer.statusCode as number
    // Of the capability, which is ours: to a page it would mean that its session is over.
    if (status === 401) {
      answer.destroy()
      throw unanswered('The service does not accept what management asks it with; it may have just been made.')
    }
    if (!isOfType(answer.headers, 'application/json')) {
      answer.destroy()
      // A load balancer's page may stand where the daemon's answer was, after its commit.
      throw broken(method, new Error(`an answer that is no JSON, with status ${status}`))
    }
    return reply(status, await whole(answer, method, collected), answeredHeaders(answer.headers))
  }
}

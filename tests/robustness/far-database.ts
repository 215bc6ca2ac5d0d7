// Requests to a daemon whose every round trip to its database takes long.

import type { LociProcess } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { FaultProxy } from './fault-proxy.ts'
import { plainClient } from './plain-client.ts'
import { ANSWER_MS_MAX, type Timed, told } from './timed-others.ts'

/** The deadline of a normal route: the reports ask the store several times, one after the other. */
const REPORT_MS_MAX = 12_000
/** There and back. */
const FAR_MS = 300

export async function farDatabase(
  report: Report,
  daemon: LociProcess,
  tenant: WorldTenant,
  proxy: FaultProxy,
  isShort: boolean,
): Promise<void> {
  proxy.delayMs = FAR_MS / 2
  const headers = { 'x-loci-capability': tenant.operator.token }
  const body = JSON.stringify({ operations: [{ op: 'put', key: 'far', value: 1 }] })
  const requests = [
    { method: 'PUT', path: '/v1/kv/entries/far', headers, body: '{"value":1}' },
    { method: 'GET', path: '/v1/kv/entries/far', headers },
    { method: 'GET', path: '/v1/kv/entries', headers },
    { method: 'POST', path: '/v1/kv/entries/batch', headers, body },
    { method: 'GET', path: '/v1/kv/health', headers },
    { method: 'GET', path: '/v1/kv/consistency', headers },
    { method: 'GET', path: '/v1/health/all' },
    { method: 'GET', path: '/health/ready' },
  ]
  const timed: (Timed & { name: string })[] = []
  const until = performance.now() + (isShort ? 4_000 : 15_000)
  await Promise.all(
    Array.from({ length: 24 }, async (_, number) => {
      const client = plainClient()
      for (let turn = number; performance.now() < until; turn += 1) {
        const request = requests[turn % requests.length] as (typeof requests)[number]
        const startedAt = performance.now()
        const outcome = await client.send(daemon.url, request)
        timed.push({ name: `${request.method} ${request.path}`, ms: performance.now() - startedAt, outcome })
      }
      client.close()
    }),
  )
  proxy.delayMs = 0
  const wrong = timed.filter(
    ({ name, ms, outcome }) =>
      ms > (isReport(name) ? REPORT_MS_MAX : ANSWER_MS_MAX) ||
      !/^(200|404 NOT_FOUND|503 (OVERLOADED|STORE_UNAVAILABLE))$/.test(told(outcome)),
  )
  for (const { name, ms, outcome } of wrong.slice(0, 5))
    report.note(`${name}: ${told(outcome)} after ${Math.round(ms)} ms`)
  const slowest = timed.toSorted((a, b) => b.ms - a.ms)[0]
  const good = timed.filter(({ outcome }) => told(outcome) === '200').length
  report.promise(
    `a database ${FAR_MS} ms away`,
    wrong.length === 0 && good > timed.length / 2,
    `${good} of ${timed.length} served, ${wrong.length} wrong or late, slowest ${Math.round(slowest?.ms ?? 0)} ms (${slowest?.name})`,
  )
}

function isReport(name: string): boolean {
  return /\/v1\/kv\/(health|consistency)$/.test(name)
}

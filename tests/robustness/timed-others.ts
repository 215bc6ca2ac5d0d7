// Requests of others while somebody is slow, with their times.

import type { LociProcess } from '../world/process.ts'
import type { WorldTenant } from '../world/tenants.ts'
import { type Outcome, plainClient } from './plain-client.ts'

export const ANSWER_MS_MAX = 3_500

export interface Timed {
  ms: number
  outcome: Outcome
}

/** Two clients of the same daemon that read and write a database, and what became of them. */
export function startOthers({ url }: LociProcess, { capability }: WorldTenant, database: string) {
  const timed: Timed[] = []
  let isOver = false
  const clients = ['PUT', 'GET'].map(async (method) => {
    const client = plainClient()
    const headers = { 'x-loci-capability': capability.token, 'x-loci-database': database }
    await client.send(url, { method: 'PUT', path: '/v1/kv/entries/other', headers, body: '{"value":1}' })
    while (!isOver) {
      const startedAt = performance.now()
      const body = method === 'PUT' ? { body: '{"value":1}' } : {}
      const outcome = await client.send(url, { method, path: '/v1/kv/entries/other', headers, ...body })
      timed.push({ ms: performance.now() - startedAt, outcome })
      await sleep(10)
    }
    client.close()
  })
  return {
    async stop() {
      isOver = true
      await Promise.all(clients)
      const failed = timed.filter(({ outcome }) => outcome.kind !== 'answer' || outcome.status !== 200)
      const worst = Math.round(Math.max(...timed.map(({ ms }) => ms)))
      return {
        timed,
        failed,
        isGood: failed.length === 0 && worst <= ANSWER_MS_MAX,
        figure: `${failed.length} failed of ${timed.length}${failed[0] ? ` (${told(failed[0].outcome)})` : ''}, slowest ${worst} ms`,
      }
    },
  }
}

export function told(outcome: Outcome): string {
  if (outcome.kind !== 'answer') return outcome.kind === 'silence' ? `no answer (${outcome.reason})` : outcome.kind
  return `${outcome.status} ${/"code":"(\w+)"/.exec(outcome.body)?.[1] ?? ''}`.trim()
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

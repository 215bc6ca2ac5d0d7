// Slots of a tenant under test.

import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import type { Explanation } from '@loci/contract/working-memory.ts'
import type { TestTenant } from './tenant.ts'

export const SLOT_RIGHTS = {
  ops: ['wm:read', 'wm:write', 'wm:delete', 'system:read'],
  ks: ['working-memory/*', 'kv/*'],
}

export interface TestSlot {
  id: string
  key: string
  value: unknown
  version: number
  etag: string
  expiresAt: string | null
  activation: number
  explain: Explanation
  digest: string
  source: { type: string; ref: string | null; actor: string | null; trust: string }
  evicted: { key: string; reasonCode: string; reason: string; displacedBy: string | null; explain: Explanation }[]
}

export interface TestSlots {
  call(line: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  put(key: string, body?: object, headers?: Record<string, string>): Promise<TestSlot>
  get(key: string): Promise<TestAnswer>
  list(): Promise<{ slots: TestSlot[]; count: number; capacity: number; asOfSeq: number; damaged?: object[] }>
  keys(): Promise<string[]>
  stats(): Promise<Record<string, number>>
  configure(config: object): Promise<void>
}

/** With every right on working memory, in one database. */
export function slotsOf(tenant: TestTenant, db: string): TestSlots {
  const token = tenant.mint(SLOT_RIGHTS)
  const operator = tenant.mint({ ops: ['operator'], ks: ['*/*'] })
  const call = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    tenant.call(line, body, { db, token, headers })
  const good = (answer: TestAnswer) => {
    if (answer.status !== 200) throw new Error(answer.text)
    return answer
  }
  const slots: TestSlots = {
    call,
    put: async (key, body = { value: key }, headers = {}) =>
      good(await call(`PUT ${slotPath(key)}`, body, headers)).json(),
    get: (key) => call(`GET ${slotPath(key)}`),
    list: async () => good(await call('GET /v1/working-memory/slots')).json(),
    keys: async () => (await slots.list()).slots.map(({ key }) => key),
    stats: async () => good(await call('GET /v1/working-memory/stats')).json(),
    async configure(config) {
      good(await tenant.call('PUT /v1/working-memory/config', config, { db, token: operator }))
    },
  }
  return slots
}

export const slotPath = (key: string) => `/v1/working-memory/slots/${encodeURIComponent(key)}`

export function sumOf({ parts }: Explanation): number {
  return parts.reduce((sum, { contribution }) => sum + contribution, 0)
}

// Memory of a tenant under test.

import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import type { NamedRecord } from '@loci/contract/memory.ts'
import type { Explanation } from '@loci/contract/working-memory.ts'
import type { TestTenant } from './tenant.ts'

export const MEMORY_RIGHTS = {
  ops: ['memory:read', 'memory:write', 'memory:delete', 'system:read'],
  ks: ['memory/*', 'kv/*'],
}

export interface TestRecord {
  id: string
  key: string | null
  content: string
  kind: string
  contextId: string | null
  actor: string | null
  occurredAt: string | null
  sourceEventId: string | null
  salience: number
  version: number
  createdAt: string
  validFrom: string
  validTo: string | null
  archivedAt: string | null
  expiresAt: string | null
  digest: string
  source: { type: string; ref: string | null; actor: string | null; trust: string }
}

interface TestRecordList {
  records: TestRecord[]
  nextCursor: string | null
  total: number
  totalIsAtLeast: boolean
  damaged?: object[]
}

export interface TestRecall {
  results: (Pick<TestRecord, 'id' | 'content' | 'contextId' | 'version' | 'validTo'> & {
    score: number
    relevance: number
    explain: (Explanation & { words: { word: string; covered: number; by: string | null }[] }) | null
    database?: string
  })[]
  abstained: boolean
  reason?: string
  nearest?: { id: string; relevance: number; content?: string }[]
  abstention?: { best: number; threshold: number | null }
  named?: NamedRecord[]
  nextCursor: string | null
  total: number
  incomplete: boolean
  asOfSeq: number
  damaged?: { ref: string | null; reason: string }[]
}

export interface TestMemory {
  call(line: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  store(body: string | object, headers?: Record<string, string>): Promise<TestRecord>
  /** In batches of 100. */
  storeAll(records: object[]): Promise<TestRecord[]>
  get(id: string): Promise<TestAnswer>
  list(query?: string): Promise<TestRecordList>
  recall(body: string | object): Promise<TestRecall>
  contents(body: string | object): Promise<string[]>
}

const AGAIN_MS = 60_000

/** With every right on memory, in one database. */
export function memoryOf(tenant: TestTenant, db: string): TestMemory {
  const token = tenant.mint(MEMORY_RIGHTS)
  const call = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    tenant.call(line, body, { db, token, headers })
  const good = (answer: TestAnswer) => {
    if (answer.status !== 200) throw new Error(answer.text)
    return answer
  }
  /** As a client does: a search that a busy machine did not finish in time is asked for again. */
  const recallAgain = async (body: object): Promise<TestAnswer> => {
    const endsAt = performance.now() + AGAIN_MS
    for (;;) {
      const answer = await call('POST /v1/memory/recall', body)
      if (answer.status !== 503 || performance.now() > endsAt) return answer
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  const memory: TestMemory = {
    call,
    store: async (body, headers = {}) =>
      good(await call('POST /v1/memory/records', typeof body === 'string' ? { content: body } : body, headers)).json(),
    async storeAll(records) {
      const stored: TestRecord[] = []
      for (let at = 0; at < records.length; at += 100) {
        const answer = good(await call('POST /v1/memory/records/batch', { records: records.slice(at, at + 100) }))
        stored.push(...answer.json<{ records: TestRecord[] }>().records)
      }
      return stored
    },
    get: (id) => call(`GET /v1/memory/records/${id}`),
    list: async (query = '') => good(await call(`GET /v1/memory/records${query}`)).json(),
    recall: async (body) => good(await recallAgain(typeof body === 'string' ? { query: body } : body)).json(),
    contents: async (body) => (await memory.recall(body)).results.map(({ content }) => content),
  }
  return memory
}

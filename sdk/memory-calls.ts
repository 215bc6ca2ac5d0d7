// Which routes are what by the GenAI conventions of OpenTelemetry for memory, and what their spans say of a call.

type Value = string | number | boolean

/** Of a request or an answer; what is not there was redacted, or is another route's. */
interface Memory {
  id?: string
  content?: string
  key?: string
  supersedes?: string
  relevance?: number
  metadata?: object | null
}

interface Given {
  path?: Record<string, string | number>
  body?: unknown
}

/** One call of the conventions; `read` are the memories of its answer. */
export interface MemoryCall {
  operation: string
  attributes: { [name: string]: Value }
  query: string | undefined
  sent: readonly Memory[] | undefined
  read(answer: unknown): readonly Memory[]
  found(answer: unknown): { [name: string]: Value | undefined }
}

type Route = (given: Given) => {
  operation: string
  id?: Value | undefined
  store?: Value | undefined
  query?: string | undefined
  /** How many it is to write or delete. */
  count?: number
  sent?: readonly Memory[]
  read?(answer: unknown): readonly Memory[]
}

const ROUTES: { readonly [name: string]: Route } = {
  'POST /v1/memory/recall': ({ body }) => ({
    operation: 'search_memory',
    query: (body as { query?: string } | undefined)?.query,
    read: (answer) => (answer as { results?: Memory[] } | undefined)?.results ?? [],
  }),
  'GET /v1/memory/records': () => ({ operation: 'search_memory', read: recordsOf }),
  'POST /v1/memory/records/read': () => ({ operation: 'search_memory', read: recordsOf }),
  'GET /v1/memory/records/{id}': ({ path }) => ({
    operation: 'search_memory',
    id: path?.id,
    read: (answer) => [(answer ?? {}) as Memory],
  }),
  'POST /v1/memory/records': ({ body }) => writing([(body ?? {}) as Memory]),
  'POST /v1/memory/records/batch': ({ body }) => writing(recordsOf(body)),
  'DELETE /v1/memory/records/{id}': ({ path }) => ({ operation: 'delete_memory', id: path?.id, count: 1 }),
  'DELETE /v1/databases/{name}': ({ path }) => ({ operation: 'delete_memory_store', store: path?.name }),
}

export function memoryCallOf(name: string, given: Given): MemoryCall | undefined {
  const route = ROUTES[name]?.(given)
  if (!route) return undefined
  const { operation, id, store, query, count, sent, read = () => [] } = route
  return {
    operation,
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': 'loci',
      ...(id === undefined ? {} : { 'gen_ai.memory.record.id': id }),
      ...(store === undefined ? {} : { 'gen_ai.memory.store.id': store }),
      ...(count === undefined ? {} : { 'gen_ai.memory.record.count': count }),
    },
    query,
    sent,
    read,
    found: (answer) => ({
      'gen_ai.memory.record.count': route.read ? read(answer).length : undefined,
      // One that was written has its id only now.
      'gen_ai.memory.record.id': sent?.length === 1 ? (answer as Memory | undefined)?.id : undefined,
    }),
  }
}

/** By the schema of the conventions, which is for text: attributes hold no objects. */
export function recordsText(memories: readonly Memory[]): string {
  const told = memories.flatMap(({ id, content, relevance, metadata }) =>
    content === undefined ? [] : [{ id, content, score: relevance, metadata: metadata ?? undefined }],
  )
  return JSON.stringify(told)
}

/** Who names a predecessor updates it; who names a key may, or may not. */
function writing(sent: readonly Memory[]): ReturnType<Route> {
  const isEach = (field: 'supersedes' | 'key') => sent.every((one) => one[field] !== undefined)
  const mayUpdate = sent.some(({ key, supersedes }) => key !== undefined || supersedes !== undefined)
  const operation = isEach('supersedes') ? 'update_memory' : mayUpdate ? 'upsert_memory' : 'create_memory'
  return { operation, count: sent.length, sent }
}

function recordsOf(body: unknown): readonly Memory[] {
  return (body as { records?: Memory[] } | undefined)?.records ?? []
}

// What the page of memory reads and writes.

import type { RecallRequest, RecordWrite } from '@loci/sdk/daemon.ts'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { factsKey, queries, wordsKey } from '../../api/cache.ts'
import type { ServiceInView } from '../../frame/service.tsx'
import type { MemorySearch } from '../../search.ts'
import { listQuery } from './parts.ts'

const PAGE = 50
/** A question is asked again when somebody asks it, not because she looked elsewhere for a moment. */
const ASKED_MS = 60_000

export function recallQuery({ at, daemon }: ServiceInView, request: RecallRequest | undefined) {
  return infiniteQueryOptions({
    queryKey: wordsKey(at, 'recall', request),
    enabled: request !== undefined,
    staleTime: ASKED_MS,
    refetchOnWindowFocus: false,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const body = { ...(request as RecallRequest), ...(cursor === undefined ? {} : { cursor }) }
      return (await daemon.call('POST /v1/memory/recall', { body, signal })).body
    },
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
}

/** The memory that somebody means by these words, however little they have in common. */
export function meantQuery({ at, daemon }: ServiceInView, words: string | undefined) {
  return queryOptions({
    queryKey: wordsKey(at, 'meant', words),
    enabled: words !== undefined,
    staleTime: ASKED_MS,
    refetchOnWindowFocus: false,
    queryFn: async ({ signal }) => {
      const body = { query: words as string, limit: 1, abstain: false, minRelevance: 0 }
      return (await daemon.call('POST /v1/memory/recall', { body, signal })).body.results[0]?.id ?? null
    },
  })
}

/** Where one memory stands for a question, also below the cut. */
export function namedQuery({ at, daemon }: ServiceInView, request: RecallRequest, id: string | undefined) {
  return queryOptions({
    queryKey: wordsKey(at, 'named', { ...request, id }),
    enabled: id !== undefined,
    staleTime: ASKED_MS,
    refetchOnWindowFocus: false,
    queryFn: async ({ signal }) => {
      const body = { ...request, limit: 1, recordIds: [id as string] }
      return (await daemon.call('POST /v1/memory/recall', { body, signal })).body.named?.[0] ?? null
    },
  })
}

export function recordsQuery({ at, daemon }: ServiceInView, search: MemorySearch, limit = PAGE) {
  const asked = { ...listQuery(search), limit }
  return infiniteQueryOptions({
    queryKey: wordsKey(at, 'records', asked),
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const query = { ...asked, ...(cursor === undefined ? {} : { cursor }) }
      return (await daemon.call('GET /v1/memory/records', { query, signal })).body
    },
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })
}

/** How many memories there are, superseded ones too. Nothing but the number is kept of the answer. */
export function countQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey(at, 'records'),
    retry: false,
    refetchInterval: false,
    queryFn: async ({ signal }) => {
      const { body } = await daemon.call('GET /v1/memory/records', { query: { limit: 1 }, signal })
      return body.total
    },
  })
}

/** `idempotencyKey`: made when the form opened, so that asking again cannot store it twice. */
export async function storeRecord({ daemon }: ServiceInView, body: RecordWrite, idempotencyKey: string) {
  return (await daemon.call('POST /v1/memory/records', { body, idempotencyKey })).body
}

/** Something was stored: what is shown of this database may lack it. */
export function memoryChanged({ at }: ServiceInView): void {
  void queries.invalidateQueries({ queryKey: wordsKey(at, 'recall').slice(0, 4) })
  void queries.invalidateQueries({ queryKey: factsKey(at, 'records') })
}

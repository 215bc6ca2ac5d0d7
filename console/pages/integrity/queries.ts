// What the integrity of a service reads: the chain, the store, and a walk over all rows, which goes on page by page.

import { queryOptions } from '@tanstack/react-query'
import type { Api } from '../../api/api.ts'
import { everyMs, factsKey, queries, wordsKey } from '../../api/cache.ts'
import { problemOf } from '../../api/problem.ts'
import type { ServiceInView } from '../../frame/service.tsx'
import { begunWalk, type Mode, type Walk, withPage } from './walk.ts'

const EVERY_MS = 15_000
/** Writing, reading and deleting a probe. */
const PROBE_MS = 60_000
export const LINKS = 48

export function chainQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey(at, 'cycle stats'),
    refetchInterval: everyMs(EVERY_MS),
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/cognitive/stats', { signal })).body,
  })
}

export function linksQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: wordsKey(at, 'cycles', 'links'),
    queryFn: async ({ signal }) => {
      const { body } = await daemon.call('GET /v1/cognitive/cycles', { query: { limit: LINKS }, signal })
      return body.cycles.map(({ seq, hash, prevHash, redacted }) => ({
        seq,
        hash,
        prevHash,
        ...(redacted ? { redacted } : {}),
      }))
    },
  })
}

export function storeQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey(at, 'health', 'store'),
    refetchInterval: everyMs(PROBE_MS),
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/kv/health', { signal })).body,
  })
}

/** The last walk of this page, of all databases. It is never begun by itself: it costs fifty requests a page. */
export function walkQuery({ service: { id } }: Pick<ServiceInView, 'service'>) {
  return queryOptions<Walk | null>({
    queryKey: walkKey(id),
    queryFn: () => queries.getQueryData<Walk>(walkKey(id)) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  })
}

const walkKey = (id: string) => factsKey({ id, database: '' }, 'walk')
/** Of what a page waits before it is asked for again. */
const BUSY_MS = 2_000

/** Page by page; a limit is waited for, everything else stops it, and what was found stands. */
export async function walkRows(
  api: Api,
  { service: { id } }: ServiceInView,
  mode: Mode,
  signal: AbortSignal,
): Promise<void> {
  const daemon = api.daemon(id)
  let walk = begunWalk(mode)
  let cursor: string | undefined
  const put = (next: Walk) => {
    walk = next
    queries.setQueryData(walkKey(id), next)
  }
  put(walk)
  while (walk.is === 'running') {
    try {
      const query = { mode, ...(cursor === undefined ? {} : { cursor }) }
      const { body } = await daemon.call('GET /v1/kv/consistency', {
        query,
        signal,
        attemptMs: 60_000,
        deadlineMs: 60_000,
      })
      cursor = body.coverage.nextCursor ?? undefined
      put(withPage(walk, body))
    } catch (error) {
      const { kind, retryAfterMs = BUSY_MS } = problemOf(error)
      if (signal.aborted || kind !== 'rate') {
        put({ ...walk, is: 'stopped' })
        throw error
      }
      await new Promise((resolve) => setTimeout(resolve, retryAfterMs))
    }
  }
}

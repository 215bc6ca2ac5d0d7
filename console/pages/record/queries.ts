// What the page of one memory reads, and its erasure.

import { queryOptions } from '@tanstack/react-query'
import { wordsKey } from '../../api/cache.ts'
import type { ServiceInView } from '../../frame/service.tsx'

export function recordQuery({ at, daemon }: ServiceInView, id: string) {
  return queryOptions({
    queryKey: wordsKey(at, 'record', id),
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/memory/records/{id}', { path: { id }, signal })).body,
  })
}

/** What holds now under the key of one that does not hold any more. */
export function holderQuery({ at, daemon }: ServiceInView, key: string | null) {
  return queryOptions({
    queryKey: wordsKey(at, 'holder', key),
    enabled: key !== null,
    queryFn: async ({ signal }) => {
      const query = { key: key as string, limit: 1 }
      return (await daemon.call('GET /v1/memory/records', { query, signal })).body.records[0] ?? null
    },
  })
}

export async function eraseRecord({ daemon }: ServiceInView, id: string) {
  return (await daemon.call('DELETE /v1/memory/records/{id}', { path: { id } })).body
}

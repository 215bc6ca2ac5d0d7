// What the page of advice reads.

import type { AdviceRequest } from '@loci/sdk/daemon.ts'
import { queryOptions } from '@tanstack/react-query'
import { factsKey, wordsKey } from '../../api/cache.ts'
import type { ServiceInView } from '../../frame/service.tsx'

/** No event tells of an outcome. */
const EVERY_MS = 30_000

export function rankQuery({ at, daemon }: ServiceInView, request: AdviceRequest | undefined) {
  return queryOptions({
    queryKey: wordsKey(at, 'rank', request),
    enabled: request !== undefined,
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) =>
      (await daemon.call('POST /v1/advice/rank', { body: request as AdviceRequest, repeatable: true, signal })).body,
  })
}

export function policiesQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey(at, 'policies'),
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) => {
      const { body } = await daemon.call('GET /v1/advice/policies', { signal })
      return Promise.all(
        body.policies.map(
          async ({ name }) => (await daemon.call('GET /v1/advice/policies/{name}', { path: { name }, signal })).body,
        ),
      )
    },
  })
}

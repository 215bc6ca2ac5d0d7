// Making a service: the command, and what becomes of it.

import type { CreateServiceRequest, Operation } from '@loci/sdk/management.ts'
import { queryOptions } from '@tanstack/react-query'
import type { Api } from '../../api/api.ts'
import { organizationKey } from '../../api/cache.ts'

const LOOK_MS = 400

/** With the same key any number of times: it is made once. */
export async function createService(api: Api, body: CreateServiceRequest, idempotencyKey: string) {
  const { body: made, headers } = await api.management.call('POST /api/v1/services', { body, idempotencyKey })
  return { ...made, operationId: headers.get('operation-location')?.split('/').at(-1) }
}

export function operationQuery(api: Api, id: string | undefined) {
  return queryOptions({
    queryKey: organizationKey(api, 'operation', id),
    enabled: id !== undefined,
    queryFn: async ({ signal }) =>
      (await api.management.call('GET /api/v1/operations/{id}', { path: { id: id as string }, signal })).body,
    refetchInterval: ({ state: { data } }) => (data && isOver(data) ? false : LOOK_MS),
  })
}

export function isOver({ status }: Pick<Operation, 'status'>): boolean {
  return status === 'succeeded' || status === 'failed' || status === 'superseded'
}

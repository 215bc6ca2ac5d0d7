// What the settings of a service read and write.

import type { SlotSettings } from '@loci/sdk/daemon.ts'
import { queryOptions } from '@tanstack/react-query'
import type { Api } from '../../api/api.ts'
import { everyMs, factsKey, organizationKey, queries } from '../../api/cache.ts'
import type { ServiceInView } from '../../frame/service.tsx'

/** Of what there are settings of a database. */
export type Of = 'working-memory' | 'cognitive'

export type Settings = SlotSettings

export function settingsQuery({ at, daemon }: ServiceInView, of: Of) {
  return queryOptions({
    queryKey: factsKey(at, of === 'working-memory' ? 'slot-settings' : 'cycle-settings'),
    refetchInterval: everyMs(30_000),
    queryFn: async ({ signal }): Promise<Settings> =>
      of === 'working-memory'
        ? (await daemon.call('GET /v1/working-memory/settings', { signal })).body
        : (await daemon.call('GET /v1/cognitive/settings', { signal })).body,
  })
}

/** Over the version that was read alone: what somebody else put meanwhile is not lost. */
export async function putSettings({ at, daemon }: ServiceInView, of: Of, body: object, version: number): Promise<void> {
  // No version is 0: then nothing was put yet, and there is none to name.
  const headers = version === 0 ? {} : { 'If-Match': `"${version}"` }
  const call = { body: body as { [field: string]: unknown }, headers }
  if (of === 'working-memory') await daemon.call('PUT /v1/working-memory/config', call)
  else await daemon.call('PUT /v1/cognitive/config', call)
  await queries.invalidateQueries({
    queryKey: factsKey(at, of === 'working-memory' ? 'slot-settings' : 'cycle-settings'),
  })
}

export function detailQuery(api: Api, { service: { id, status } }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey({ id, database: '' }, 'detail', status),
    queryFn: async ({ signal }) =>
      (await api.management.call('GET /api/v1/services/{id}', { path: { id }, signal })).body,
  })
}

export async function renameService(api: Api, id: string, name: string, idempotencyKey: string): Promise<void> {
  await api.management.call('PATCH /api/v1/services/{id}', { path: { id }, body: { name }, idempotencyKey })
  await Promise.all([
    queries.invalidateQueries({ queryKey: organizationKey(api, 'services') }),
    queries.invalidateQueries({ queryKey: factsKey({ id, database: '' }, 'detail') }),
  ])
}

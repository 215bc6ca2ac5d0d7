// What platform staff reads: cells, instances that nobody knows, billing events that nobody owns, the audit. Reading
// parked events and the audit of others is audited itself, so neither is asked for again by itself.

import type { AuditEventList, CellList, QuarantineList } from '@loci/sdk/management.ts'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Api } from './api.ts'
import { everyPage } from './every-page.ts'

export type Cell = CellList['cells'][number]
export type Quarantined = QuarantineList['instances'][number]
export type AuditEntry = AuditEventList['entries'][number]

/** Of the platform, whatever organization is in view. */
export const staffKey = (what: string, ...of: unknown[]) => ['staff', what, ...of] as const

const CELLS_MS = 5_000

export function cellsQuery({ management, me }: Api) {
  return queryOptions({
    queryKey: staffKey('cells'),
    enabled: me.isStaff,
    refetchInterval: CELLS_MS,
    queryFn: ({ signal }) =>
      everyPage(async (cursor) => {
        const { body } = await management.call('GET /api/v1/cells', { query: { limit: 200, cursor }, signal })
        return { items: body.cells, next: body.next_cursor }
      }),
  })
}

export function quarantineQuery({ management, me }: Api) {
  return queryOptions({
    queryKey: staffKey('quarantine'),
    enabled: me.isStaff,
    queryFn: async ({ signal }) => (await management.call('GET /api/v1/quarantine', { signal })).body.instances,
  })
}

export function parkedQuery({ management, me }: Api) {
  return queryOptions({
    queryKey: staffKey('parked'),
    enabled: me.isStaff,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      (await management.call('GET /api/v1/parked-events', { query: { limit: 200 }, signal })).body,
  })
}

const PAGE = 50

/** `of`: an organization, or `platform`. */
export function auditQuery({ management, me }: Api, of: string) {
  return infiniteQueryOptions({
    queryKey: staffKey('audit', of),
    enabled: me.isStaff,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const query = { limit: PAGE, cursor, organization_id: of }
      return (await management.call('GET /api/v1/audit-events', { query, signal })).body
    },
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  })
}

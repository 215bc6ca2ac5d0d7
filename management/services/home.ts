import { ApiError } from '@loci/chassis/api-error.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { lockCell } from '../acts/feed/store.ts'
import { findService, type Service } from './store.ts'

const TRIES_MAX = 3

/**
 * The service with the row of its cell locked, for who must tell that cell something: a service that moved between the look and the
 * lock would leave its new cell without the news. Before anything else of the transaction is locked, as every change of a feed.
 */
export async function lockHome(sql: Sql, organizationId: string, id: string): Promise<Service | undefined> {
  let service = await findService(sql, organizationId, id)
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    if (!service || service.cellId === null) return service
    const { cellId } = service
    await lockCell(sql, cellId)
    service = await findService(sql, organizationId, id)
    if (service?.cellId === cellId) return service
  }
  throw new ApiError('OVERLOADED', 'The service is being moved. Nothing was done; try again.')
}

/**
 * A cell is told of credentials when they change and not when a service comes to it, so there are none before it has a cell: one that
 * was taken back meanwhile would be good for ever.
 */
export function requirePlaced({ cellId }: Service): void {
  if (cellId === null)
    throw new ApiError(
      'INVALID_STATE',
      'The service has no place yet: wait until its status is active, then ask again.',
    )
}

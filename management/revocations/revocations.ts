// A revocation reaches a cell through its feed and stays there, whatever happens to this database, until it can hit nothing.

import type { FeedChange } from '@loci/contract/feed.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { lockCell, lockCells, publish } from '../feed/store.ts'
import { findRevocation, listEpochs, type Revocation, type RevocationName, upsertRevocation } from './store.ts'

/** Before anything else of the same transaction is locked: every change of a feed begins with the cell's row. */
export async function lockFeeds(sql: Sql, cellIds: string[] | 'all'): Promise<void> {
  if (cellIds === 'all') await lockCells(sql)
  else for (const cellId of cellIds.toSorted()) await lockCell(sql, cellId)
}

/** To the cell of the service, or to every cell when it is an organization's or a tenant's. */
export async function revoke(sql: Sql, revocation: Revocation, cellIds: string[] | 'all'): Promise<void> {
  const cells = cellIds === 'all' ? await lockCells(sql) : cellIds
  await upsertRevocation(sql, revocation)
  for (const cellId of cells) await publishRevocation(sql, cellId, revocation)
}

/** For a cell that is new. */
export async function publishEpochs(sql: Sql, cellId: string): Promise<void> {
  for (const epoch of await listEpochs(sql)) await publishRevocation(sql, cellId, epoch)
}

async function publishRevocation(sql: Sql, cellId: string, name: RevocationName): Promise<void> {
  const { notBefore, expiresAt } = await findRevocation(sql, cellId, name)
  const { kind, svc, value } = name
  const expires_at = expiresAt.toISOString()
  const change: FeedChange =
    kind === 'jti'
      ? { kind: 'revocation', key: `jti:${svc}:${value}`, body: { svc, jti: value, expires_at } }
      : {
          kind: 'revocation',
          key: `epoch:${kind}:${value}`,
          body: { kind, id: value, not_before: (notBefore as Date).toISOString(), expires_at },
        }
  await publish(sql, cellId, change)
}

// A revocation reaches a cell through its feed and stays there, whatever happens to this database, until it can hit
// nothing.

import type { FeedChange } from '@loci/contract/feed.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { listErasedWithRevocations, publish, withdraw } from '../../acts/feed/store.ts'
import { lockCell, lockCells } from '../../acts/locks/store.ts'
import { TOKEN_SECONDS_MAX } from '../../plans.ts'
import {
  type Folded,
  findRevocation,
  listEpochs,
  type Revocation,
  type RevocationName,
  takeOldest,
  upsertRevocation,
} from './store.ts'

/** Each replica of a cell keeps them in memory, and a full resync sends them all: 10,000 are about a megabyte. */
const BY_JTI_MAX = 10_000
/** In one round of upkeep, a minute. */
const ERASED_AT_ONCE_MAX = 1_000

/** When no token that is issued by now can be valid any more. */
export function latestEnd(now: Date): Date {
  return new Date(now.getTime() + TOKEN_SECONDS_MAX * 1_000)
}

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

/**
 * A service keeps a bounded number of revocations by jti. Beyond it the older half is removed, and the
 * caller puts an epoch in their place: it also ends other tokens of that age, and none that was issued since.
 */
export async function foldOldest(
  sql: Sql,
  serviceId: string,
  cellIds: string[],
  bounds = { max: BY_JTI_MAX, keep: BY_JTI_MAX / 2 },
): Promise<Folded | undefined> {
  const folded = await takeOldest(sql, serviceId, bounds)
  if (!folded) return undefined
  const keys = folded.jtis.map((jti) => keyOf({ kind: 'jti', svc: serviceId, value: jti }))
  for (const cellId of cellIds) await withdraw(sql, cellId, 'revocation', keys)
  return folded
}

/**
 * Of a service that is erased nothing is left that a token could open, so one epoch stands for all its revocations by
 * jti: they would be kept as long as any token may live, a year. Not none: should a restored control database name the
 * service again, what was revoked stays so.
 */
export async function foldErased(pool: Pool): Promise<void> {
  for (const { cellId, serviceId } of await listErasedWithRevocations(pool, ERASED_AT_ONCE_MAX))
    await transaction(pool, async (sql) => {
      await lockFeeds(sql, [cellId])
      const folded = await foldOldest(sql, serviceId, [cellId], { max: 0, keep: 0 })
      if (!folded) return
      const { notBefore, expiresAt } = folded
      const epoch: Revocation = {
        kind: 'svc',
        svc: '',
        value: serviceId,
        cellId: '',
        notBefore,
        expiresAt,
        auditId: null,
      }
      await revoke(sql, epoch, [cellId])
    })
}

/** For a cell that is new. */
export async function publishEpochs(sql: Sql, cellId: string): Promise<void> {
  for (const epoch of await listEpochs(sql)) await publishRevocation(sql, cellId, epoch)
}

export async function publishRevocation(sql: Sql, cellId: string, name: RevocationName): Promise<void> {
  const { notBefore, expiresAt, revokedAt, isWithdrawn } = await findRevocation(sql, cellId, name)
  const { kind, svc, value } = name
  const key = keyOf(name)
  const expires_at = expiresAt.toISOString()
  const withdrawn = isWithdrawn ? { withdrawn: true as const } : {}
  const not_before = (notBefore ?? new Date(0)).toISOString()
  const change: FeedChange =
    kind === 'jti'
      ? {
          kind: 'revocation',
          key,
          body: { svc, jti: value, expires_at, revoked_at: revokedAt.toISOString(), ...withdrawn },
        }
      : { kind: 'revocation', key, body: { kind, id: value, not_before, expires_at, ...withdrawn } }
  await publish(sql, cellId, change)
}

function keyOf({ kind, svc, value }: RevocationName): string {
  return kind === 'jti' ? `jti:${svc}:${value}` : `epoch:${kind}:${value}`
}

// The keys that sign capabilities.
//
//   next      published to cells and in the key set, signs nothing yet
//             → active when every cell has applied it, or after 30 s
//   active    signs; exactly one, once the first was made
//             → retiring at the moment the next one becomes active; its private half is destroyed
//   retiring  verifies what it has signed
//             → removed when the last token that it signed has ended, or at once by an operator whose key leaked
//   removed   verifies nothing
//
// Never: a token signed by a key that a reachable cell does not know; a token that outlives its key; a private key in
// clear anywhere but in the memory of this process.

import type { KeyObject } from 'node:crypto'
import { PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { newKeyPair, privateKeyOf } from '@loci/capability/jws.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import type { FeedChange } from '@loci/contract/feed.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { publish, publishToAll, readEpoch } from '../../acts/feed/store.ts'
import {
  activate,
  findActiveKey,
  insertKey,
  listDueChanges,
  listKeyRows,
  lockKeys,
  markRemoved,
  raiseSignedUntil,
  retireActive,
  type SigningKeyRow,
} from './store.ts'

/** The first key signs at once; a further one is published and takes over by keepKeys(). */
export async function rotateKeys(sql: Sql, sealer: Sealer, actor: string): Promise<SigningKeyRow> {
  await lockKeys(sql)
  const rows = await listKeyRows(sql)
  const next = rows.find(({ state }) => state === 'next')
  if (next)
    throw new ApiError(
      'INVALID_STATE',
      `The key ${next.kid} is about to take over: rotate again when it is active (at most 30 s).`,
    )
  const isFirst = !rows.some(({ state }) => state === 'active')
  const { privateJwk } = newKeyPair()
  // A name that says nothing and is never used twice: the start of the public key itself.
  const kid = `k_${privateJwk.x.slice(0, 16)}`
  const { sealed, sealedWith } = sealer.seal(privateJwk.d, kid)
  const row = await insertKey(sql, { kid, x: privateJwk.x, sealed, sealedWith, state: isFirst ? 'active' : 'next' })
  await publishToAll(sql, changeOf(row))
  await audit(sql, actor, 'key.make', row)
  return row
}

/** Runs what is due: makes the first key, activates a published one, removes one that is no longer needed. */
export async function keepKeys(pool: Pool, sealer: Sealer): Promise<void> {
  const { isEmpty, promote, remove } = await listDueChanges(pool, await readEpoch(pool))
  if (!isEmpty && promote === null && remove.length === 0) return
  await transaction(pool, async (sql) => {
    await lockKeys(sql)
    // Looked at again under the lock: another replica may have been here first.
    const due = await listDueChanges(sql, await readEpoch(sql))
    if (due.isEmpty) await rotateKeys(sql, sealer, 'management')
    if (due.promote !== null) await promoteKey(sql, due.promote)
    for (const kid of due.remove) {
      const row = await markRemoved(sql, kid)
      await publishToAll(sql, changeOf(row))
      await audit(sql, 'management', 'key.remove', row)
    }
  })
}

/** Removes a key at once: cells refuse what it signed. Returns until when that would have been valid. */
export async function removeKey(sql: Sql, kid: string, actor: string): Promise<SigningKeyRow> {
  await lockKeys(sql)
  const row = (await listKeyRows(sql)).find((one) => one.kid === kid)
  if (!row) throw new ApiError('NOT_FOUND', `There is no key ${kid}. List them with: management keys list`)
  if (row.state === 'active')
    throw new ApiError(
      'INVALID_STATE',
      `${kid} is the active signing key: rotate first (management keys rotate), then remove it once it is retiring, at most 30 s later.`,
    )
  if (row.state === 'next')
    throw new ApiError('INVALID_STATE', `${kid} is about to take over (at most 30 s) and has signed nothing yet.`)
  if (row.state === 'removed') throw new ApiError('INVALID_STATE', `${kid} is removed already.`)
  const removed = await markRemoved(sql, kid)
  await publishToAll(sql, changeOf(removed))
  await audit(sql, actor, 'key.remove', removed)
  return removed
}

async function promoteKey(sql: Sql, kid: string): Promise<void> {
  const retired = await retireActive(sql)
  const active = await activate(sql, kid)
  if (retired) await publishToAll(sql, changeOf(retired))
  await audit(sql, 'management', 'key.activate', active)
}

export interface SigningKey {
  kid: string
  privateKey: KeyObject
}

const HOUR_MS = 3_600_000
const TRIES_MAX = 3

/** The key that signs now, which from here on is kept until `expiresAt` at least. */
export async function requireSigningKey(sql: Sql, sealer: Sealer, expiresAt: Date): Promise<SigningKey> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const row = await findActiveKey(sql)
    if (!row) throw new ApiError('INVALID_STATE', 'There is no signing key yet. Make one with: management keys rotate')
    // Rounded up to the hour, so that the row is written rarely and tokens are not minted one after the other.
    const until = new Date(Math.ceil(expiresAt.getTime() / HOUR_MS) * HOUR_MS)
    if (row.signedUntil < expiresAt && !(await raiseSignedUntil(sql, row.kid, until))) continue
    const d = sealer.open(row.sealed, row.sealedWith, row.kid)
    return { kid: row.kid, privateKey: privateKeyOf({ kty: 'OKP', crv: 'Ed25519', x: row.x, d }) }
  }
  throw new ApiError('OVERLOADED', 'The signing key was changed meanwhile. Nothing was done; try again.')
}

/** Throws when the active key cannot be opened with the sealing keys that were given. */
export async function requireOpenable(sql: Sql, sealer: Sealer): Promise<void> {
  const row = await findActiveKey(sql)
  if (row) sealer.open(row.sealed, row.sealedWith, row.kid)
}

/** For a cell that is new. */
export async function publishKeys(sql: Sql, cellId: string): Promise<void> {
  for (const row of await listKeyRows(sql)) if (row.state !== 'removed') await publish(sql, cellId, changeOf(row))
}

function changeOf({ kid, x, state, retireAt }: SigningKeyRow): FeedChange {
  const published = state === 'next' ? 'active' : state
  return { kind: 'key', key: kid, body: { kid, x, state: published, retire_at: retireAt?.toISOString() ?? null } }
}

async function audit(sql: Sql, actor: string, action: string, { kid, state }: SigningKeyRow): Promise<void> {
  await appendAudit(sql, { chain: PLATFORM_CHAIN, actor, action, subject: kid, detail: { state } })
}

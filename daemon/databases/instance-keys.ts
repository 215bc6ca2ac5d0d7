// A random key for each instance: what fingerprints of requests and cursors of its callers are made with. It is kept
// sealed, so a change of LOCI_SEALING_KEYS seals it anew and changes nothing that was made with it; a key derived from
// the sealing key would go with that.
//
//   made      with the first need of it, sealed with the oldest of the sealing keys, which every replica of a rolling
//   change knows
//   resealed  with the newest, once the database has known that for ten minutes
//   erased    with its instance
//   read again by every replica after a minute, and at once in a database that was restored
//
// What can never happen: a start without a sealing key that something is sealed with (keyProblems).

import { randomBytes } from 'node:crypto'
import { createCache } from '@loci/chassis/cache.ts'
import type { Job } from '@loci/chassis/jobs.ts'
import { createSealer } from '@loci/chassis/sealing.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { instanceGone } from '../access/served.ts'
import { findKey, insertKey, listForeignSeals, listOldKeys, replaceSeals } from './store.ts'

export interface InstanceKeys {
  /**
   * The same object while it is known. Not from inside a transaction: it may need a connection of its own. Throws when
   * the instance is gone.
   */
  of(instanceId: string): Promise<SealingKey>
}

/** A recreated instance has another key: a replica that knows the old one drops it after this. */
const FRESH_MS = 60_000
const CACHE_BYTES_MAX = 4 * 1024 ** 2
const KEY_BYTES = 32
const RESEAL_MS = 60_000
const RESEALED_MAX = 500

/** `lifeOf` names the database that the replica reads: in a restored one an instance may have another key, or none. */
export function createInstanceKeys(pool: Pool, sealing: SealingKey[], lifeOf: () => string = () => ''): InstanceKeys {
  const opener = createSealer(sealing)
  const maker = createSealer(sealing.slice(-1))
  const cache = createCache<{ key: SealingKey; readAt: number; life: string }>(CACHE_BYTES_MAX)
  return {
    async of(instanceId) {
      const life = lifeOf()
      const known = cache.find(instanceId)
      if (known && known.life === life && performance.now() - known.readAt < FRESH_MS) return known.key
      let stored = await findKey(pool, instanceId)
      if (!stored) {
        const { sealed, sealedWith } = maker.seal(randomBytes(KEY_BYTES).toString('base64url'), instanceId)
        stored = await insertKey(pool, { instanceId, sealed, sealedWith })
      }
      if (!stored) throw instanceGone()
      const secret = opener.open(stored.sealed, stored.sealedWith, instanceId)
      const key = { id: 'instance', key: Buffer.from(secret, 'base64url') }
      cache.keep(instanceId, { key, readAt: performance.now(), life }, 2 * instanceId.length + 200)
      return key
    },
  }
}

/** Why this replica must not serve with its sealing keys. */
export async function keyProblems(sql: Sql, sealing: SealingKey[]): Promise<string[]> {
  const missing = await listForeignSeals(sql, idsOf(sealing))
  if (missing.length === 0) return []
  const names = missing.map(({ sealedWith, keys }) => `'${sealedWith}' (${keys})`).join(', ')
  return [
    `instance keys are sealed with ${names}, which LOCI_SEALING_KEYS does not have: add it behind the first. ` +
      'Ten minutes after the first start with a new key they are sealed with that one, and the old one can go',
  ]
}

export function instanceKeyJobs(sql: Sql, sealing: SealingKey[]): Job[] {
  return [{ name: 'instance keys', everyMs: RESEAL_MS, run: () => resealKeys(sql, sealing) }]
}

/** Reseals with the newest key. A key that this replica does not know is left to one that does. */
export async function resealKeys(sql: Sql, sealing: SealingKey[]): Promise<void> {
  const sealer = createSealer(sealing)
  for (;;) {
    const old = await listOldKeys(sql, idsOf(sealing), RESEALED_MAX)
    await replaceSeals(
      sql,
      old.map(({ instanceId, sealed, sealedWith }) => ({
        instanceId,
        before: sealed,
        ...sealer.seal(sealer.open(sealed, sealedWith, instanceId), instanceId),
      })),
    )
    if (old.length < RESEALED_MAX) return
  }
}

const idsOf = (sealing: SealingKey[]) => sealing.map(({ id }) => id)

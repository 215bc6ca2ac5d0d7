// What management reads and makes before it serves.

import { keepAuditPartitions } from '@loci/acts/audit/store.ts'
import type { Log } from '@loci/chassis/log.ts'
import { StartRefused } from '@loci/chassis/program.ts'
import { type Sealer, SealingKeyMissing } from '@loci/chassis/sealing.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { keepEach } from '@loci/postgres/watch.ts'
import { countApiKeysBeyond } from './access/store.ts'
import { keepEventPartitions } from './acts/events/store.ts'
import { noteEpoch } from './acts/feed/store.ts'
import { keepKeys, requireOpenable } from './tokens/keys/keys.ts'

const RECENT_MS = 60_000

interface WarmOptions {
  sql: Pool
  sealer: Sealer
  /** Ids of the sealing keys, from which those of API keys are derived. */
  peppers: string[]
  log: Log
}

/** Runs again when it fails. */
export async function warmUp({ sql, sealer, peppers, log }: WarmOptions): Promise<void> {
  // A process that cannot sign must not become ready: every token it is asked for would fail.
  await requireOpenable(sql, sealer).catch((error) => {
    throw error instanceof SealingKeyMissing ? new StartRefused([error.message]) : error
  })
  await keepAllPartitions(sql)
  await keepKeys(sql, sealer)
  const restoredAt = await noteEpoch(sql)
  const dead = await countApiKeysBeyond(sql, peppers)
  if (restoredAt && Date.now() - restoredAt.getTime() < RECENT_MS)
    log.warn(
      { component: 'feed' },
      'the epoch of the feed has changed: this database was restored or has failed over; every cell reads everything again',
    )
  if (dead > 0)
    log.warn(
      { count: dead },
      'API keys were made under a sealing key that is no longer in LOCI_SEALING_KEYS: they are refused with 401. Add that key again, or rotate them',
    )
}

/** Of now and of the time ahead, in every table that has some. */
export async function keepAllPartitions(sql: Pool): Promise<void> {
  await keepEach(sql, [keepEventPartitions, keepAuditPartitions])
}

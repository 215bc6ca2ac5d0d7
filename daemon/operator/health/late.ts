// Watches what is late while nothing fails: due work that no replica comes to, and erasures that management was not
// told of.

import type { Job } from '@loci/chassis/jobs.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { DUE_KINDS } from '../../databases/due.ts'
import { type Late, readLate } from './store.ts'

const EVERY_MS = 10_000

export function lateJobs(sql: Sql, { metrics, isJoined }: { metrics: Metrics; isJoined: boolean }): Job[] {
  let late: Late = { dueS: 0, unreportedS: 0 }
  metrics.gauge(
    'loci_due_late_seconds',
    'How long due work (cycles, expiry, index, erasures) of any database waits for a replica to begin it.',
    () => late.dueS,
  )
  // A cell of its own keeps its ledger and tells nobody.
  if (isJoined)
    metrics.gauge(
      'loci_ledger_unreported_seconds',
      'How long ago something was erased that management has not been told: a restore of this cell would bring it back.',
      () => late.unreportedS,
    )
  const run = async () => {
    late = await readLate(sql, DUE_KINDS)
  }
  return [{ name: 'late work', everyMs: EVERY_MS, failure: 'what is late was not read; retrying', run }]
}

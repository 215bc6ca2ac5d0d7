// The background jobs of the feed. Without the settings of management a replica pulls and reports nothing.

import { randomUUID } from 'node:crypto'
import type { Job } from '@loci/chassis/jobs.ts'
import { type LastUses, lastUsesJob } from '@loci/chassis/last-uses.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Activity } from '../access/activity.ts'
import type { Authority } from '../access/authority.ts'
import type { Rates } from '../access/rates.ts'
import { type ApplierOptions, applierJob } from './applier.ts'
import { authorityProblem } from './catch-up.ts'
import type { Join } from './join.ts'
import type { Management } from './management.ts'
import { forgetUses, saveUses } from './reports/store.ts'
import { forgetReplicas } from './usage/store.ts'
import { usageJobs } from './usage/usage.ts'

export interface FeedJobsOptions
  extends Pick<ApplierOptions, 'readTotals' | 'readSwitches' | 'takeSwitches' | 'onApplied' | 'replayErasures'> {
  pool: Pool
  log: Log
  lifecycle: Lifecycle
  metrics: Metrics
  authority: Authority
  rates: Rates
  activity: Activity
  uses: LastUses
  management: Management | undefined
  join: Join | undefined
}

const AGE_MS = 1_000
const HOUR_MS = 3_600_000

export function feedJobs(options: FeedJobsOptions): Job[] {
  const { pool, lifecycle, metrics, authority, management, join, rates, activity, uses } = options
  metrics.gauge(
    'loci_authority_age_seconds',
    'Since this replica last read revocations, keys and instances from its database.',
    () => authority.ageS(),
  )
  const replica = randomUUID()
  const reportAge = async () => lifecycle.report('authority', authorityProblem(authority))
  return [
    // A job of its own, not part of the poll: it reports that the poll fails.
    { name: 'authority', everyMs: AGE_MS, run: reportAge },
    ...(join ? [join.job] : []),
    ...(management ? [applierJob({ ...options, ...management, replica })] : []),
    ...usageJobs(pool, replica, rates, activity),
    lastUsesJob(uses, (taken) => saveUses(pool, taken)),
    { name: 'replicas', everyMs: HOUR_MS, run: () => forgetReplicas(pool) },
    { name: 'old last uses', everyMs: HOUR_MS, run: () => forgetUses(pool) },
  ]
}

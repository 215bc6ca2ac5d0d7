// Small jobs that keep tables short: partitions ahead of time, rows that have had their time. Each by itself, so that
// one that fails holds up none of the others.

import { keepAuditPartitions } from '@loci/acts/audit/store.ts'
import type { Job } from '@loci/chassis/jobs.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { forgetRates } from '../access/store.ts'
import { keepEventPartitions } from '../acts/events/store.ts'
import { dropConfirmedDeletions } from '../acts/feed/store.ts'
import { forgetCovered, forgetReportIds } from '../cells/reports/store.ts'
import { forgetReplicas } from '../cells/store.ts'
import { forgetReadyTimes } from '../provisioning/placement/store.ts'
import { pruneLogins } from '../sessions/cli-logins/store.ts'
import { foldErased } from '../tokens/revocations/revocations.ts'
import { deleteExpired } from '../tokens/revocations/store.ts'

const EVERY_MS = 60_000

const WORK: Record<string, (sql: Pool) => Promise<void>> = {
  'audit partitions': keepAuditPartitions,
  'event partitions': keepEventPartitions,
  'rate limits': forgetRates,
  'times of provisioning': forgetReadyTimes,
  'ids of reports': forgetReportIds,
  'replicas of cells': forgetReplicas,
  'revocations of erased services': foldErased,
  'deletions in feeds': dropConfirmedDeletions,
  'ledger of erased services': forgetCovered,
  revocations: deleteExpired,
  'sign-ins of command lines': pruneLogins,
}

export function maintenanceJobs(sql: Pool): Job[] {
  return Object.entries(WORK).map(([name, work]) => ({ name, everyMs: EVERY_MS, run: () => work(sql) }))
}

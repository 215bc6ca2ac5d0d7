import { keepAuditPartitions } from '@loci/acts/audit/store.ts'
import type { Job } from '@loci/chassis/jobs.ts'
import type { Sql } from '@loci/postgres/pool.ts'

export function auditJobs(sql: Sql): Job[] {
  return [{ name: 'audit partitions', everyMs: 3_600_000, run: () => keepAuditPartitions(sql) }]
}

import type { Job } from '@loci/chassis/jobs.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { keepEventPartitions } from './store.ts'

/** Partitions reach 24 hours ahead, so a day of failures costs nothing. */
export function eventJobs(sql: Sql): Job[] {
  return [{ name: 'event partitions', everyMs: 3_600_000, run: () => keepEventPartitions(sql) }]
}

import type { Job } from '@loci/chassis/jobs.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { keepSlotPartitions } from './store.ts'

export function slotJobs(sql: Sql): Job[] {
  return [{ name: 'slot partitions', everyMs: 3_600_000, run: () => keepSlotPartitions(sql) }]
}

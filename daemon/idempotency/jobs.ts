import type { Job } from '@loci/chassis/jobs.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { sweepAnswers } from './store.ts'

const SWEEP_MS = 10_000
const SWEEP_WORK_MS = 500
const SWEPT_MAX = 1_000

export function idempotencyJobs(sql: Sql): Job[] {
  return [
    {
      name: 'idempotency',
      everyMs: SWEEP_MS,
      failure: 'stored answers older than a day not deleted; retrying',
      run: () => sweepDue(sql, SWEEP_WORK_MS),
    },
  ]
}

async function sweepDue(sql: Sql, workMs: number): Promise<void> {
  const endsAt = performance.now() + workMs
  while ((await sweepAnswers(sql, SWEPT_MAX)) >= SWEPT_MAX && performance.now() < endsAt);
}

import type { Job } from '@loci/chassis/jobs.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { keepKeys } from './keys.ts'

export function keyJobs(pool: Pool, sealer: Sealer): Job[] {
  const failure = 'rotation of the signing keys failed; retrying'
  return [{ name: 'signing keys', everyMs: 1_000, failure, run: () => keepKeys(pool, sealer) }]
}

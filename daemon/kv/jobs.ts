import type { Job } from '@loci/chassis/jobs.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { expireSome } from './store.ts'

const EXPIRY_MS = 1_000
/** Of every EXPIRY_MS. A million entries that expire together are removed in about a minute, and half of the time is left to others. */
const EXPIRY_WORK_MS = 500
const EXPIRE_MAX = 500

export function kvJobs(sql: Sql): Job[] {
  return [{ name: 'expiry', everyMs: EXPIRY_MS, run: () => expireDue(sql, EXPIRY_WORK_MS) }]
}

/** Goes on while batches are full: each is a commit of its own, and between two of them others write. */
export async function expireDue(sql: Sql, workMs: number): Promise<void> {
  const endsAt = performance.now() + workMs
  while ((await expireSome(sql, EXPIRE_MAX)) >= EXPIRE_MAX && performance.now() < endsAt);
}

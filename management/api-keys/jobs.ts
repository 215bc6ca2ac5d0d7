import type { Job } from '@loci/chassis/jobs.ts'
import { type LastUse, type LastUses, lastUsesJob } from '@loci/chassis/last-uses.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { saveKeyUses } from './store.ts'

export function apiKeyJobs(pool: Pool, uses: LastUses): Job[] {
  return [lastUsesJob(uses, (taken) => saveAllKeyUses(pool, taken))]
}

/** A transaction for each organization: row-level security shows one at a time. */
async function saveAllKeyUses(pool: Pool, taken: LastUse[]): Promise<void> {
  for (const [organizationId, uses] of Map.groupBy(taken, ({ owner }) => owner))
    await transaction(pool, async (inside) => {
      await useOrganization(inside, organizationId)
      await saveKeyUses(inside, organizationId, uses)
    })
}

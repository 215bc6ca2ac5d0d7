// What changes without an event: a grace or a period ends, a notice is due, the tenant of a parked event was created or
// never will be. The time is handed in, so that a test can let days pass.

import type { Job } from '@loci/chassis/jobs.ts'
import type { Log } from '@loci/chassis/log.ts'
import { PLATFORM } from '@loci/contract/audit.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { applyParkedOf, findTenantOwner, settleByClock } from './billing.ts'
import {
  isTenantDue,
  listDueTenants,
  listParkedTenants,
  lockBilledTenant,
  markParkedDead,
  putTenantClock,
  readNow,
} from './store.ts'

type OnError = (error: unknown, tenantId?: string) => void

const CLOCK_MS = 5_000
const PARKED_MS = 60_000
const TENANTS_MAX = 50
/** Of one run: what is left is there at the next. */
const ROUNDS_MAX = 20
const PUT_OFF_MS = 60_000
const PARKED_TENANTS_MAX = 50
const PARKED_MS_MAX = 30 * 86_400_000

/** For the tenants of all organizations. By the clock of the database, which every process shares. */
export function billingJobs(pool: Pool, log: Log): Job[] {
  const failure = 'updating the billing state of tenants by the clock failed; retrying within a minute'
  const onError: OnError = (error, tenantId) =>
    log.error({ component: 'billing', ...(tenantId ? { reason: tenantId } : {}), error }, failure)
  return [
    {
      name: 'billing clock',
      everyMs: CLOCK_MS,
      failure,
      async run(signal) {
        await settleDueTenants(pool, await readNow(pool), onError, signal)
      },
    },
    {
      name: 'parked billing events',
      everyMs: PARKED_MS,
      failure,
      run: async (signal) => applyParkedEvents(pool, await readNow(pool), onError, signal),
    },
  ]
}

/**
 * The tenants that are due, each in a transaction of its own. Answers how many have changed. What fails goes to
 * `onError` and is put off, so that one bad tenant never holds up the others. A stop waits for one tenant, not for all.
 */
export async function settleDueTenants(
  pool: Pool,
  now: Date,
  onError: OnError,
  stopping?: AbortSignal,
): Promise<number> {
  let changed = 0
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const due = await listDueTenants(pool, now, TENANTS_MAX)
    for (const tenant of due) {
      if (stopping?.aborted) return changed
      try {
        if (await transaction(pool, (sql) => settleDueTenant(sql, tenant, now))) changed += 1
      } catch (error) {
        onError(error, tenant.id)
        await putTenantClock(pool, tenant, new Date(now.getTime() + PUT_OFF_MS))
      }
    }
    if (due.length < TENANTS_MAX) break
  }
  return changed
}

async function settleDueTenant(sql: Sql, due: { id: string; organizationId: string }, now: Date): Promise<boolean> {
  await useOrganization(sql, due.organizationId)
  // The holder of the lock writes a new time, or is this job in another process.
  const tenant = await lockBilledTenant(sql, due.organizationId, due.id, { skipLocked: true })
  if (!tenant || !(await isTenantDue(sql, due.id, now))) return false
  return settleByClock(sql, tenant, now)
}

/** Applies parked events of tenants that exist by now; what is still unclaimed after 30 days is dead. */
export async function applyParkedEvents(
  pool: Pool,
  now: Date,
  onError: OnError,
  stopping?: AbortSignal,
): Promise<void> {
  const waiting = await transaction(pool, async (sql) => {
    await useOrganization(sql, PLATFORM)
    return listParkedTenants(sql, PARKED_TENANTS_MAX)
  })
  for (const tenantId of waiting) {
    if (stopping?.aborted) return
    // One bad tenant must not keep the others waiting.
    await transaction(pool, async (sql) => {
      const owner = await findTenantOwner(sql, tenantId)
      if (owner) await applyParkedOf(sql, { id: tenantId, organizationId: owner.organizationId }, now)
    }).catch((error) => onError(error, tenantId))
  }
  await transaction(pool, async (sql) => {
    await useOrganization(sql, PLATFORM)
    await markParkedDead(sql, new Date(now.getTime() - PARKED_MS_MAX))
  }).catch((error) => onError(error))
}

// What management does beside answering requests. Each part has its own beat, and none may end the process: what fails is told and
// tried again at the next beat.

import { keepAuditPartitions } from '@loci/acts/audit/store.ts'
import { type LastUse, type LastUses, writeLastUses } from '@loci/chassis/last-uses.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Log } from '@loci/chassis/log.ts'
import { StartRefused } from '@loci/chassis/program.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { watchDatabase } from '@loci/postgres/watch.ts'
import { countApiKeysBeyond, forgetRates, useOrganization } from './access/store.ts'
import { keepEventPartitions } from './acts/events/store.ts'
import { dropConfirmedDeletions, noteEpoch } from './acts/feed/store.ts'
import { saveKeyUses } from './api-keys/store.ts'
import type { BillingClock } from './billing/clock.ts'
import { forgetReportIds } from './cells/reports/store.ts'
import { forgetSpeakers } from './cells/store.ts'
import { keepKeys, requireOpenable } from './keys/keys.ts'
import { type Sealer, SealingKeyMissing } from './keys/sealing.ts'
import { countOverdue } from './provisioning/due/store.ts'
import { forgetReadyTimes } from './provisioning/placement/store.ts'
import type { Reconciler } from './provisioning/reconciler.ts'
import type { Retention } from './retention/retention.ts'
import { deleteExpired } from './tokens/revocations/store.ts'

interface BackgroundOptions {
  sql: Pool
  sealer: Sealer
  /** Ids of the sealing keys, from which those of API keys are derived. */
  peppers: string[]
  lifecycle: Lifecycle
  log: Log
  reconciler: Reconciler
  billingClock: BillingClock
  retention: Retention
  /** Of API keys. */
  uses: LastUses
  /** Services that somebody should have looked at by now. */
  onOverdue(overdue: { count: number; oldestS: number }): void
}

const BEAT_MS = 1_000
const UPKEEP_MS = 60_000
const USES_MS = 5_000

/** Does everything once, then keeps it up; resolves with how to stop. */
export async function startBackground(options: BackgroundOptions): Promise<() => Promise<void>> {
  const { sql, sealer, peppers, lifecycle, log, reconciler, billingClock, uses } = options
  await refuseUnopenable(() => requireOpenable(sql, sealer))
  await keepAuditPartitions(sql)
  await keepEventPartitions(sql)
  await keepKeys(sql, sealer)
  const restoredAt = await noteEpoch(sql)
  if (restoredAt && Date.now() - restoredAt.getTime() < UPKEEP_MS)
    log.warn(
      { component: 'feed' },
      'the epoch of the feed has changed: this database was restored or has failed over; every cell reads everything again',
    )
  const dead = await countApiKeysBeyond(sql, peppers)
  if (dead > 0)
    log.warn(
      { count: dead },
      'API keys were made under a sealing key that LOCI_SEALING_KEYS no longer has: they open nothing',
    )
  const watch = watchDatabase({
    sql,
    everyMs: BEAT_MS,
    report: (problem) => lifecycle.report('postgres', problem),
    onError: (error) => log.warn({ error, component: 'postgres' }, 'the database does not answer'),

    // What goes wrong with a key is no trouble of the database, and must not be told as if it were.
    also: () => keepKeys(sql, sealer).catch((error) => log.error({ error }, 'keeping the signing keys failed')),
  })
  let keeping: Promise<void> | undefined
  const upkeep = setInterval(() => {
    keeping ??= keepHouse(options).finally(() => {
      keeping = undefined
    })
  }, UPKEEP_MS)
  let writing: Promise<void> | undefined
  const writeUses = (isLast = false) =>
    writeLastUses(uses, (taken) => saveAllKeyUses(sql, taken), { isLast }).catch((error) =>
      log.warn({ error, component: 'last use' }, 'the last uses of API keys were not written; they are tried again'),
    )
  const useTimer = setInterval(() => {
    writing ??= writeUses().finally(() => {
      writing = undefined
    })
  }, USES_MS)
  reconciler.start()
  billingClock.start()
  return async () => {
    watch.stop()
    clearInterval(upkeep)
    await billingClock.stop()
    await keeping
    clearInterval(useTimer)
    await writing
    await writeUses(true)
    await reconciler.stop()
  }
}

/** A transaction for each organization: row-level security shows one at a time. */
async function saveAllKeyUses(sql: Pool, taken: LastUse[]): Promise<void> {
  for (const [organizationId, uses] of Map.groupBy(taken, ({ owner }) => owner))
    await transaction(sql, async (inside) => {
      await useOrganization(inside, organizationId)
      await saveKeyUses(inside, organizationId, uses)
    })
}

/** One after the other, and what fails holds up nothing after it. Partitions first: without them no event can be written. */
async function keepHouse({ sql, log, billingClock, onOverdue, retention }: BackgroundOptions): Promise<void> {
  const chores: Record<string, () => Promise<void>> = {
    'partitions of the audit': () => keepAuditPartitions(sql),
    'partitions of the events': () => keepEventPartitions(sql),
    'what is overdue': async () => onOverdue(await countOverdue(sql)),
    'rate limits': () => forgetRates(sql),
    'times of provisioning': () => forgetReadyTimes(sql),
    'ids of reports': () => forgetReportIds(sql),
    'speakers of cells': () => forgetSpeakers(sql),
    'deletions in feeds': () => dropConfirmedDeletions(sql),
    revocations: () => deleteExpired(sql),
    'parked events': () => billingClock.applyParkedEvents(),
    'old rows': () => retention.turn(),
  }
  for (const [reason, chore] of Object.entries(chores))
    await chore().catch((error) => log.error({ error, reason }, 'upkeep failed and is tried again'))
}

/** A process that can not sign must not say that it is ready: every token it is asked for would fail. */
async function refuseUnopenable(open: () => Promise<void>): Promise<void> {
  try {
    await open()
  } catch (error) {
    throw error instanceof SealingKeyMissing ? new StartRefused([error.message]) : error
  }
}

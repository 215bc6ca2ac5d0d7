// The cell's side of the feed. Every replica runs this loop; the one with the lease pulls management's feed into the
// cell's Postgres and sends reports. No transaction is open while it waits for management, and no request waits for it:
// while management is down, the last known state stays in force.
//
//   without the lease: try to take it every second.
//   with it: pull (long poll) → apply under the fence → pull …; a lost fence means another replica took over: start
//   again. In parallel: reports to management (reports/) and the erasure of deleted instances (purge/); in a restored
//   database only after the ledger was replayed.
//   every ten minutes a full resync, and at once when the database has changed (a restore, a fail-over): until it is
//   done no replica serves. An error backs off up to 10 s and is logged when its reason changes, and every minute.

import { type Job, runJob } from '@loci/chassis/jobs.ts'
import type { Log } from '@loci/chassis/log.ts'
import { deletionsResponse, feedResponse, type SwitchCommand } from '@loci/contract/feed.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { callManagement, headlineOf, type Management, RefusedByManagement } from './management.ts'
import { createPurger } from './purge/purger.ts'
import { createReporter, type ReporterOptions } from './reports/reporter.ts'
import { applyPage, eraseByLedger, finishReplay, type Lease, leaveLease, saveReplayed, takeLease } from './store.ts'

export interface ApplierOptions extends Management {
  pool: Pool
  replica: string
  log: Log
  readTotals: ReporterOptions['readTotals']
  readSwitches: ReporterOptions['readSwitches']
  /** Carries out what staff asked of the switches; answers how many changed. */
  takeSwitches(commands: readonly SwitchCommand[]): Promise<number>
  /** Called after a page was applied, so that this replica reads it before its next poll. */
  onApplied(): Promise<void>
  /** Erases records and databases again that the ledger names; answers how many values and databases were found. */
  replayErasures(rows: LedgerValue[]): Promise<number>
}

/** A row of the deletion ledger about memory records or a whole database, with the database's number then. */
export interface LedgerValue {
  instanceId: string
  database: string
  /** Of the records' value; empty: the whole database. */
  valueMac: string
  isOverride: boolean
  seq: number
  at: string
}

const LEASE_ASK_MS = 1_000
const LEASE_MS = 10_000
const RENEW_MS = 3_000
const WAIT_S = 20
const RESYNC_MS = 600_000
const OUTBOUND_MS = 3_000

const BEHIND =
  'PostgreSQL of this cell was put back to an earlier moment: the deletion ledger of management has rows that it never sent. Nothing is served before they are erased again'
const INSTANCES_AGAIN =
  'expected after a restore: instances deleted before are marked deleted again and will be erased (count). Nothing to do'
const VALUES_AGAIN =
  'expected after a restore: records deleted before were found and erased again (count: different values, or whole databases). Nothing to do'

export function applierJob(options: ApplierOptions): Job {
  const { pool, replica } = options
  return {
    name: 'feed',
    atStart: true,
    everyMs: LEASE_ASK_MS,
    backoff: { ms: 250, msMax: 10_000 },
    failure: headlineOf,
    async run(signal) {
      const lease = await takeLease(pool, replica, LEASE_MS)
      if (!lease) return undefined
      await lead(options, lease, signal)
      return 'again'
    },
    last: () => leaveLease(pool, replica),
  }
}

/** Until the lease is lost or something fails. */
async function lead(options: ApplierOptions, lease: Lease, signal: AbortSignal): Promise<void> {
  const { pool, replica, log } = options
  const leading = new AbortController()
  const either = AbortSignal.any([signal, leading.signal])
  let isAfresh = lease.epoch === null
  const renewal: Job = {
    name: 'feed lease',
    everyMs: RENEW_MS,
    failure: 'lease of the feed not renewed; retrying',
    async run() {
      const renewed = await takeLease(pool, replica, LEASE_MS)
      // The database was replaced meanwhile, by a fail-over for example: everything must be read again.
      if (renewed?.fence !== lease.fence || (renewed.epoch === null && !isAfresh)) leading.abort()
    },
  }
  let resyncAt = performance.now() + RESYNC_MS
  let polling = new AbortController()
  const resyncNow = () => {
    resyncAt = 0
    polling.abort()
  }
  const reporter = createReporter({
    ...options,
    async onBehind() {
      log.warn({ component: 'feed' }, BEHIND)
      polling.abort()
      leading.abort()
      await options.onApplied()
    },
  })
  const purger = createPurger({
    pool,
    log,
    fence: lease.fence,
    async onPurged(outcome) {
      if (outcome === 'made again') resyncNow()
      reporter.wake()
      await options.onApplied()
    },
  })
  const beside = [runJob(renewal, log, either)]
  try {
    let { epoch, after } = lease
    // Never behind `after`: keys and revocations come first in every page.
    let urgent = after
    if (isAfresh) await replayLedger(options, lease, either)
    // Not before: a report adds rows to the ledger, behind those that are still to be replayed.
    for (const job of [reporter.job, purger.job]) beside.push(runJob(job, log, either))
    let isResync = false
    let wait = 0
    while (!either.aborted) {
      if (performance.now() >= resyncAt) {
        epoch = null
        urgent = 0
        resyncAt = performance.now() + RESYNC_MS
      }
      polling = new AbortController()
      const { signal: cut } = polling
      const page = await pull(options, { epoch, after, urgent, wait }, AbortSignal.any([either, cut])).catch(
        (error) => {
          if (!cut.aborted) throw error
        },
      )
      if (!page) continue
      const known = isAfresh && page.more ? null : page.epoch
      const isLastOfAll = (isResync || page.full) && !page.more
      // Before the page: else its position would be saved, and what failed here would wait for the next resync.
      if (page.switches && page.switches.length > 0) {
        await options.takeSwitches(page.switches)
        reporter.wake()
      }
      const applied = await applyPage(pool, { ...page, fence: lease.fence, epoch: known, isAfresh, isLastOfAll })
      if (!applied) return
      if (applied.isBehind) {
        log.warn({ component: 'feed' }, BEHIND)
        return await options.onApplied()
      }
      if (page.items.length > 0) await options.onApplied()
      reporter.markKnown(page.items.flatMap((item) => (item.kind === 'instance' ? [item.body.svc] : [])))
      if (applied.changed > 0) {
        reporter.wake()
        purger.wake()
      }
      if (applied.isAnyRevived) resyncNow()
      isResync ||= page.full
      if (isResync && !page.more) {
        reporter.startOver()
        isResync = false
        isAfresh = false
      }
      epoch = page.epoch
      after = page.next
      urgent = page.urgent ?? after
      wait = page.more ? 0 : WAIT_S
    }
  } finally {
    leading.abort()
    await Promise.all(beside)
  }
}

/**
 * After a restore, instances and records that the cell had erased are back, and its feed may no longer name them:
 * management kept the ledger. Runs before the restored database is accepted, so before any request is served. Begins
 * with the first row that management had not acknowledged at the time of the backup: what was erased before is erased
 * in it.
 */
async function replayLedger(options: ApplierOptions, lease: Lease, signal: AbortSignal): Promise<void> {
  const { pool, log } = options
  const { fence, lastEpoch } = lease
  // What this replica knows of the former database, such as keys of instances, is not to be used.
  await options.onApplied()
  let after = lastEpoch === null ? 0 : lease.ledgerAcked
  let isOtherEpoch = false
  for (let more = true; more && !signal.aborted; ) {
    const line = `GET /cell/v1/deletions?after=${after}`
    const answer = await callManagement(options, line, { signal, timeoutMs: OUTBOUND_MS }).catch((error) => {
      // The previous release of management has no ledger route; its feed still names what is deleted.
      if (error instanceof RefusedByManagement && error.status === 404) return undefined
      throw error
    })
    if (answer === undefined) return
    const page = deletionsResponse.parse(answer)
    if (page.epoch !== undefined && page.epoch !== lastEpoch && !isOtherEpoch) {
      isOtherEpoch = true
      after = 0
      continue
    }
    const erased = await eraseByLedger(pool, fence, page.deletions)
    if (erased > 0) log.warn({ component: 'feed', count: erased }, INSTANCES_AGAIN)
    const values = await options.replayErasures(page.deletions.flatMap(ledgerValueOf))
    if (values > 0) log.warn({ component: 'feed', count: values }, VALUES_AGAIN)
    after = page.next
    more = page.more
    // An interrupted replay goes on here. Numbers of another epoch mean nothing to the next try: it begins again.
    if (more && page.epoch === lastEpoch) await saveReplayed(pool, fence, after)
  }
  if (!signal.aborted)
    await finishReplay(pool, { fence, acked: after, isOtherEpoch: isOtherEpoch && lastEpoch !== null })
}

type LedgerRow = ReturnType<typeof deletionsResponse.parse>['deletions'][number]

function ledgerValueOf({ svc, database, value_mac, database_seq, override, at }: LedgerRow): LedgerValue[] {
  if (database === undefined || database_seq === undefined) return []
  return [
    { instanceId: svc, database, valueMac: value_mac ?? '', seq: database_seq, isOverride: override ?? false, at },
  ]
}

async function pull(
  options: ApplierOptions,
  { epoch, after, urgent, wait }: { epoch: string | null; after: number; urgent: number; wait: number },
  signal: AbortSignal,
) {
  const query = new URLSearchParams({
    after: String(epoch === null ? 0 : after),
    urgent: String(epoch === null ? 0 : urgent),
    wait: String(wait),
    ...(epoch === null ? {} : { epoch }),
  })
  const timeoutMs = wait * 1000 + OUTBOUND_MS
  return feedResponse.parse(await callManagement(options, `GET /cell/v1/feed?${query}`, { signal, timeoutMs }))
}

// The cell's side of the feed. Every replica runs this loop; the one with the lease pulls management's feed into the
// cell's Postgres and sends reports. No transaction is open while it waits for management, and no request waits for it:
// while management is down, the last known state stays in force.
//
//   without the lease: try to take it every second.
//   with it: pull (long poll) → apply under the fence → pull …; a lost fence means another replica took over: start
//   again. In parallel: reports to management (reports/) and the erasure of deleted instances (purge/).
//   every ten minutes a full resync, and at once when the database has changed (a restore, a fail-over): until it is
//   done no replica serves. An error backs off up to 10 s and is logged when its reason changes, and every minute.

import { type Job, runJob } from '@loci/chassis/jobs.ts'
import type { Log } from '@loci/chassis/log.ts'
import { deletionsResponse, feedResponse } from '@loci/contract/feed.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { callManagement, headlineOf, type Management, RefusedByManagement } from './management.ts'
import { createPurger } from './purge/purger.ts'
import { createReporter, type ReporterOptions } from './reports/reporter.ts'
import { applyPage, eraseByLedger, type Lease, leaveLease, takeLease } from './store.ts'

export interface ApplierOptions extends Management {
  pool: Pool
  replica: string
  log: Log
  readTotals: ReporterOptions['readTotals']
  /** Called after a page was applied, so that this replica reads it before its next poll. */
  onApplied(): Promise<void>
}

const LEASE_ASK_MS = 1_000
const LEASE_MS = 10_000
const RENEW_MS = 3_000
const WAIT_S = 20
const RESYNC_MS = 600_000
const OUTBOUND_MS = 3_000

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
  const reporter = createReporter(options)
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
  const beside = [renewal, reporter.job, purger.job].map((job) => runJob(job, log, either))
  try {
    let { epoch, after } = lease
    // Never behind `after`: keys and revocations come first in every page.
    let urgent = after
    if (isAfresh) await replayLedger(options, lease, either)
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
      const applied = await applyPage(pool, { ...page, fence: lease.fence, epoch: known, isAfresh, isLastOfAll })
      if (!applied) return
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
 * After a restore, instances that the cell had erased are back, and its feed may no longer name them: management kept
 * the ledger. Runs before the restored database is accepted, so before any request is served.
 */
async function replayLedger(options: ApplierOptions, { fence }: Lease, signal: AbortSignal): Promise<void> {
  for (let after = 0, more = true; more && !signal.aborted; ) {
    const line = `GET /cell/v1/deletions?after=${after}`
    const answer = await callManagement(options, line, { signal, timeoutMs: OUTBOUND_MS }).catch((error) => {
      // The previous release of management has no ledger route; its feed still names what is deleted.
      if (error instanceof RefusedByManagement && error.status === 404) return undefined
      throw error
    })
    if (answer === undefined) return
    const page = deletionsResponse.parse(answer)
    const erased = await eraseByLedger(options.pool, fence, page.deletions)
    if (erased > 0)
      options.log.warn(
        { component: 'feed', count: erased },
        'expected after a restore: instances deleted before are marked deleted again and will be erased (count). Nothing to do',
      )
    after = page.next
    more = page.more
  }
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

// How PostgreSQL is, beyond whether it answers. Each trouble has its own reason at the lifecycle, its own state in
// health/all and its own metric; docs/operations/postgresql.md has a row for each.
//
//   down       the beat got no answer; read_only: it got one that says so (serve.ts reports both as `postgres`)
//   refused    a new connection was refused by its role, password or pg_hba.conf in the last minute
//   full       a write, or the probe, found no space left; ends with a probe that finds some
//   slow       SLOW_MIN statements or more ran into their time limit in the last minute
//   snapshot   one snapshot was held for SNAPSHOT_S and SNAPSHOT_TRANSACTIONS: every row that is updated often grows
//   partition  a table has no partition for now or the next hour, although it was tried to make it
//
// A trouble degrades and never stops: reads, or the next request, may go well, and no other replica would do better.

import { STORE_TROUBLES, type StoreTrouble, storeTroubleOf } from '@loci/contract/store-trouble.ts'
import { createWakeup, type Job } from './jobs.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Metrics } from './metrics.ts'

type Part = 'down' | 'refused' | 'full' | 'partition' | 'slow' | 'snapshot'
export type StoreState = Part | 'read_only'

export interface StoreHealth {
  /** For every failure of a statement or a connection. */
  note(error: unknown): void
  /** The worst that is known; undefined while all is well. */
  worst(): { status: StoreState; detail: string } | undefined
  jobs: Job[]
}

interface StoreHealthOptions {
  lifecycle: Lifecycle
  metrics: Metrics
  /** Fails as a write would while the disk is full. */
  probeSpace(): Promise<void>
  readOldestSnapshot(): Promise<{ xmin: string; transactions: number } | undefined>
  listPartitionGaps(): Promise<string[]>
  keepPartitions(): Promise<void>
  nowMs?(): number
}

/** Fixed phrases: open routes show them, and what the driver says names addresses and roles. */
const PHRASES: Record<StoreTrouble, string> = {
  silent: 'does not answer',
  refused: 'refuses the login of this program: look at its role and password',
  full: 'no space left on its disk: reads go on, writes fail',
  slow: 'statements take longer than they may and are cancelled',
  read_only: 'read-only: writes fail, and from a standby nothing is read',
  partition: 'a table has no partition for now',
}

/** The name of each part at the lifecycle, worst first. */
const PARTS: Record<Part, string> = {
  down: 'postgres',
  refused: 'postgres login',
  full: 'postgres disk',
  partition: 'postgres partitions',
  slow: 'postgres statements',
  snapshot: 'postgres snapshot',
}

const RECENT_MS = 60_000
/** One statement that runs into its limit is that statement's affair. */
const SLOW_MIN = 3
const TICK_MS = 1_000
const PROBE_MS = 60_000
const SNAPSHOT_S = 60
/** Below it a held snapshot costs nothing that could be measured. */
const SNAPSHOT_TRANSACTIONS = 1_000
const SNAPSHOT_MS = 10_000
const PARTITIONS_MS = 60_000

/** What the beat reports of a database that failed to answer it. */
export function phraseOf(error: unknown): string {
  return PHRASES[storeTroubleOf(error) ?? 'silent']
}

export function createStoreHealth(options: StoreHealthOptions): StoreHealth {
  const { lifecycle, metrics, nowMs = () => performance.now() } = options
  const failures = metrics.counter(
    'loci_postgres_failures_total',
    'Statements and connections that failed, by what was wrong with PostgreSQL.',
    ['kind'],
  )
  for (const kind of STORE_TROUBLES) failures.inc({ kind }, 0)
  let refusedAt = Number.NEGATIVE_INFINITY
  let slowAt: number[] = []
  let isFull = false
  let probedAt = Number.NEGATIVE_INFINITY
  let gaps: string[] = []
  const partitionsWakeup = createWakeup()
  let snapshot = { xmin: '', since: 0, transactions: 0 }

  const heldS = () => (snapshot.transactions > 0 ? (nowMs() - snapshot.since) / 1000 : 0)
  metrics.gauge('loci_postgres_disk_full', '1 while PostgreSQL has no space left.', () => (isFull ? 1 : 0))
  metrics.gauge(
    'loci_postgres_oldest_snapshot_seconds',
    'For how long the same oldest snapshot has kept dead rows from being removed.',
    heldS,
  )
  metrics.gauge(
    'loci_postgres_oldest_snapshot_transactions',
    'Transactions since the oldest snapshot was taken.',
    () => snapshot.transactions,
  )
  metrics.gauge(
    'loci_postgres_partition_gaps',
    'Tables without a partition for now or the next hour.',
    () => gaps.length,
  )

  function report(part: Part, isBad: boolean, phrase: string): void {
    lifecycle.report(PARTS[part], isBad ? phrase : undefined)
  }

  function note(error: unknown): void {
    const trouble = storeTroubleOf(error)
    if (!trouble) return
    failures.inc({ kind: trouble })
    if (trouble === 'partition') partitionsWakeup.wake()
    if (trouble === 'refused') refusedAt = nowMs()
    if (trouble === 'slow') slowAt = [...slowAt.slice(1 - SLOW_MIN), nowMs()]
    if (trouble !== 'full' || isFull) return
    isFull = true
    report('full', true, PHRASES.full)
  }

  function tick(): void {
    const since = nowMs() - RECENT_MS
    if (gaps.length > 0) partitionsWakeup.wake()
    // The beat says it already.
    const isRefused = refusedAt > since && lifecycle.problem(PARTS.down) === undefined
    report('refused', isRefused, PHRASES.refused)
    report('slow', slowAt.length >= SLOW_MIN && (slowAt[0] as number) > since, PHRASES.slow)
  }

  async function probe(): Promise<void> {
    tick()
    if (!isFull && nowMs() - probedAt < PROBE_MS) return
    probedAt = nowMs()
    // What fails has been noted by the pool; that PostgreSQL does not answer is the beat's to tell.
    const hasRoom = await options.probeSpace().then(
      () => true,
      () => false,
    )
    if (!hasRoom || !isFull) return
    isFull = false
    report('full', false, PHRASES.full)
  }

  async function readSnapshot(): Promise<void> {
    const oldest = await options.readOldestSnapshot()
    const isSame = oldest !== undefined && oldest.xmin === snapshot.xmin
    snapshot = {
      xmin: oldest?.xmin ?? '',
      since: isSame ? snapshot.since : nowMs(),
      transactions: oldest?.transactions ?? 0,
    }
    const isHeld = heldS() >= SNAPSHOT_S && snapshot.transactions >= SNAPSHOT_TRANSACTIONS
    report('snapshot', isHeld, 'a snapshot is held for minutes, by a dump, a long transaction, a slot or a standby')
  }

  async function keepPartitions(): Promise<void> {
    gaps = await options.listPartitionGaps()
    if (gaps.length > 0) {
      await options.keepPartitions().catch((error) => {
        reportGaps()
        throw error
      })
      gaps = await options.listPartitionGaps()
    }
    reportGaps()
  }

  function reportGaps(): void {
    report('partition', gaps.length > 0, `no partition for now in ${gaps.join(', ')}: writes fail`)
  }

  return {
    note,
    worst() {
      for (const [status, part] of Object.entries(PARTS) as [Part, string][]) {
        const detail = lifecycle.problem(part)
        if (detail !== undefined) return { status: detail === PHRASES.read_only ? 'read_only' : status, detail }
      }
      return undefined
    },
    jobs: [
      { name: 'postgres', everyMs: TICK_MS, run: probe },
      { name: 'postgres', everyMs: SNAPSHOT_MS, run: readSnapshot, failure: 'age of the oldest snapshot not read' },
      {
        name: 'partitions',
        everyMs: PARTITIONS_MS,
        atStart: true,
        wakeup: partitionsWakeup,
        run: keepPartitions,
        failure: 'partitions not checked, or one that is missing could not be made; retrying',
      },
    ],
  }
}

// Reconciles services: at once after a commit of this process, and everything that is due, from any process. The second
// is the safety net: a process that is killed after its commit leaves the row in due_services.

import { createWakeup, type Job, type JobOutcome } from '@loci/chassis/jobs.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { claimDue, countOverdue } from './due/store.ts'
import { type Rules, reconcileService } from './provisioning.ts'

export interface Reconciler {
  jobs: Job[]
  /** After a commit: reconciles the service at once. Nobody waits for it, and it never throws. */
  reconcileSoon(organizationId: string, serviceId: string): void
  /** After a commit that made several due. */
  claimSoon(): void
}

const EVERY_MS = 500
const COUNT_MS = 60_000
const CLAIM_MAX = 20
/** When another process takes over what a killed one had claimed. */
const PUT_OFF_MS = 5_000
const AT_ONCE_MAX = 4
const QUEUE_MAX = 10_000

interface Due {
  organizationId: string
  serviceId: string
}

export function createReconciler({
  pool,
  rules,
  log,
  metrics,
}: {
  pool: Pool
  rules: Rules
  log: Log
  metrics: Metrics
}): Reconciler {
  // In the order of arrival, each once. What is beyond the bound is due all the same, and is claimed by the next run.
  const queue = new Map<string, { one: Due; looked: (() => void)[] }>()
  let running = 0
  let isStopped = false
  const wakeup = createWakeup()
  const idle: (() => void)[] = []

  async function tryOnce(one: Due): Promise<void> {
    try {
      await transaction(pool, (sql) => reconcileService(sql, rules, one))
    } catch (error) {
      // It is still due, and is looked at again.
      if (!isStopped)
        log.warn(
          { component: 'provisioning', service: one.serviceId, error },
          'reconciling a service failed; it is tried again',
        )
    }
  }

  function pump(): void {
    while (running < AT_ONCE_MAX) {
      const [next] = queue
      if (!next) break
      const [serviceId, { one, looked }] = next
      queue.delete(serviceId)
      running += 1
      void tryOnce(one).then(() => {
        running -= 1
        for (const resolve of looked) resolve()
        pump()
      })
    }
    if (running === 0) for (const resolve of idle.splice(0)) resolve()
  }

  /** Resolves when it was looked at, or when there was no room for it. */
  function enqueue(one: Due): Promise<void> {
    const known = queue.get(one.serviceId)
    if (!known && queue.size >= QUEUE_MAX) return Promise.resolve()
    const entry = known ?? { one, looked: [] }
    queue.set(one.serviceId, entry)
    return new Promise((resolve) => entry.looked.push(resolve))
  }

  const drained = () => (running === 0 ? Promise.resolve() : new Promise<void>((resolve) => idle.push(resolve)))

  async function reconcileDue(signal: AbortSignal): Promise<JobOutcome> {
    signal.addEventListener('abort', stop)
    const due = await claimDue(pool, { now: new Date(), max: CLAIM_MAX, putOffMs: PUT_OFF_MS })
    if (signal.aborted) return undefined
    // Only those: what is asked for meanwhile must not keep the next claim waiting.
    const looked = Promise.all(due.map(enqueue))
    pump()
    await looked
    return due.length === CLAIM_MAX ? 'again' : undefined
  }

  function stop(): void {
    isStopped = true
    for (const { looked } of queue.values()) for (const resolve of looked) resolve()
    queue.clear()
  }

  let overdue = { count: 0, oldestS: 0 }
  metrics.gauge(
    'loci_provisioning_overdue',
    'Services whose next provisioning step is late, those whose step fails again and again included.',
    () => overdue.count,
  )
  metrics.gauge('loci_provisioning_overdue_seconds', 'How long the oldest of them is overdue.', () => overdue.oldestS)

  return {
    jobs: [
      {
        name: 'provisioning',
        everyMs: EVERY_MS,
        wakeup,
        failure: 'claiming due services failed; retrying',
        run: reconcileDue,
        last: drained,
      },
      {
        name: 'overdue services',
        everyMs: COUNT_MS,
        async run() {
          overdue = await countOverdue(pool)
        },
      },
    ],
    reconcileSoon(organizationId, serviceId) {
      if (isStopped) return
      void enqueue({ organizationId, serviceId })
      pump()
    },
    claimSoon: wakeup.wake,
  }
}

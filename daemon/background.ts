// What a replica does beside answering requests. Each part has its own beat, and none may end the process: what fails is told and
// tried again at the next beat.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LastUses, writeLastUses } from '@loci/chassis/last-uses.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { watchDatabase } from '@loci/postgres/watch.ts'
import type { Authority } from './access/authority.ts'
import type { InstanceCounts, Rates } from './access/rates.ts'
import { keepAuditPartitions } from './audit/store.ts'
import { startApplier } from './feed/applier.ts'
import { startJoining } from './feed/join.ts'
import { forgetUses, saveUses } from './feed/reports/store.ts'
import { addUsage, exchangeRates, forgetReplicas } from './feed/store.ts'
import { sweepAnswers } from './idempotency/store.ts'
import { expireSome, listTotals } from './kv/store.ts'
import type { DaemonSettings } from './settings.ts'
import { listSwitches, revertDue } from './subservices/store.ts'
import type { Switches } from './subservices/switches.ts'

interface BackgroundOptions {
  sql: Pool
  /** For what every replica must hear in time, and for nothing that could keep it waiting. */
  beat: Pool
  settings: DaemonSettings
  lifecycle: Lifecycle
  log: Log
  switches: Switches
  authority: Authority
  rates: Rates
  uses: LastUses
  /** Reads what changed in the cell since the last time. */
  catchUp(): Promise<void>
  /** Ends the wait for a database that does not answer at the start. */
  signal: AbortSignal
}

/** A switch must reach every replica within a second, and two missed beats must still fit into it. */
const BEAT_MS = 300
const AGE_MS = 1_000
const RATES_MS = 1_000
const USAGE_MS = 5_000
const USES_MS = 5_000
/** Of the plan's rate: below it an instance can not be over its limit on any number of replicas that matters. */
const BUSY = 0.25
const SHARE_MIN = 0.05
const EXPIRY_MS = 1_000
const EXPIRE_MAX = 500
const ANSWERS_MS = 10_000
const ANSWERS_SWEPT_MAX = 1_000
/** Of every EXPIRY_MS. A million entries that expire together are removed in about a minute, and half of the time is left to others. */
const EXPIRY_WORK_MS = 500
const UPKEEP_MS = 3_600_000
const FEED_ALARM_S = 900
const RETRY_MS = 500
/** How long a start waits for management's first word. Without it the replica serves, and says `degraded`. */
const JOIN_MS = 1_000
const RESTORED =
  'the database of this cell was restored or has failed over; nothing is served before management has told everything again'

/** Reads everything once, then keeps it up to date; resolves with how to stop, or with undefined when it was stopped before. */
export async function startBackground({
  sql,
  beat,
  settings,
  lifecycle,
  log,
  switches,
  authority,
  rates,
  uses,
  catchUp,
  signal,
}: BackgroundOptions): Promise<(() => Promise<void>) | undefined> {
  const { managementUrl, cellId, cellKey } = settings
  const management = managementUrl && cellId && cellKey ? { managementUrl, cellId, cellKey } : undefined
  const leaving = new AbortController()
  const joining =
    management && startJoining({ ...management, lifecycle, log }, AbortSignal.any([signal, leaving.signal]))
  const isRead = await untilDone(signal, log, async () => {
    await keepAuditPartitions(sql)
    switches.accept(await listSwitches(sql))
    await catchUp()
  })
  if (!isRead) return undefined

  let isHeld = false
  const requireOwnLife = () => {
    const mustHold = management !== undefined && authority.isRestored
    if (mustHold && !isHeld) log.warn({ component: 'feed' }, RESTORED)
    if (mustHold && (lifecycle.state === 'ready' || lifecycle.state === 'degraded')) lifecycle.move('warming', RESTORED)
    if (!mustHold && isHeld && lifecycle.state === 'warming') lifecycle.move('ready', 'management has told everything')
    isHeld = mustHold
  }
  requireOwnLife()

  const watch = watchDatabase({
    sql: beat,
    everyMs: BEAT_MS,
    report: (problem) => lifecycle.report('postgres', problem),
    onError: (error) => log.warn({ error, component: 'postgres' }, 'the database does not answer'),
    also: async () => {
      switches.accept(await freshSwitches(beat, log))
      await catchUp()
      requireOwnLife()
      const ageS = authority.feedAgeS()
      lifecycle.report(
        'feed',
        ageS !== null && ageS > FEED_ALARM_S ? `management was last heard ${Math.round(ageS)} s ago` : undefined,
      )
    },
  })
  const replica = randomUUID()
  const usage = createUsage(sql, replica, rates)
  const timers = [
    every(AGE_MS, 'authority', log, async () => {
      const isOld = authority.isStale()
      lifecycle.report(
        'authority',
        isOld ? `not read for ${Math.round(authority.ageS())} s: each request asks` : undefined,
      )
    }),
    every(RATES_MS, 'rates', log, () => usage.second()),
    every(USAGE_MS, 'usage', log, () => usage.flush()),
    every(USES_MS, 'last use', log, () => writeLastUses(uses, (taken) => saveUses(sql, taken))),
    every(EXPIRY_MS, 'expiry', log, () => expireDue(sql, EXPIRY_WORK_MS)),
    every(ANSWERS_MS, 'keyed answers', log, () => sweepDue(sql, EXPIRY_WORK_MS)),
    every(UPKEEP_MS, 'upkeep', log, async () => {
      await keepAuditPartitions(sql)
      await forgetReplicas(sql)
      await forgetUses(sql)
    }),
  ]
  const applier =
    management &&
    startApplier({
      pool: sql,
      ...management,
      replica,
      log,
      readTotals: (instanceIds) => listTotals(sql, instanceIds),
      onApplied: catchUp,
    })
  await Promise.race([joining?.asked, sleep(JOIN_MS, undefined, { signal, ref: false }).catch(() => undefined)])

  return async () => {
    watch.stop()
    for (const stop of timers) stop()
    leaving.abort()
    await Promise.all([applier?.stop(), joining?.ended])
    await writeLastUses(uses, (taken) => saveUses(sql, taken), { isLast: true }).catch((error) =>
      log.warn({ error, component: 'last use' }, 'the last uses of credentials were not kept'),
    )
    await usage.flush().catch((error) => log.warn({ error, component: 'usage' }, 'the last counts were not kept'))
  }
}

/** A database that is away for a moment is no reason to end, also not now; false when the signal came first. */
async function untilDone(signal: AbortSignal, log: Log, work: () => Promise<void>): Promise<boolean> {
  for (let isTold = false; !signal.aborted; isTold = true) {
    try {
      await work()
      return !signal.aborted
    } catch (error) {
      if (!isTold && !signal.aborted)
        log.warn({ error, component: 'postgres' }, 'what the replica must know could not be read; it is tried again')
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined)
    }
  }
  return false
}

async function freshSwitches(sql: Pool, log: Log) {
  const rows = await listSwitches(sql)
  if (!rows.some(({ revertsInMs }) => revertsInMs !== null && revertsInMs <= 0)) return rows
  for (const { service, auditId } of await revertDue(sql))
    log.info({ subservice: service, ...(auditId ? { audit: auditId } : {}) }, 'switch reverted by itself')
  return listSwitches(sql)
}

/** Goes on while batches are full: each is a commit of its own, and between two of them others write. */
export async function expireDue(sql: Sql, workMs: number): Promise<void> {
  const endsAt = performance.now() + workMs
  while ((await expireSome(sql, EXPIRE_MAX)) >= EXPIRE_MAX && performance.now() < endsAt);
}

async function sweepDue(sql: Sql, workMs: number): Promise<void> {
  const endsAt = performance.now() + workMs
  while ((await sweepAnswers(sql, ANSWERS_SWEPT_MAX)) >= ANSWERS_SWEPT_MAX && performance.now() < endsAt);
}

/** What the rates have counted goes two ways: every second to the other replicas, every few seconds to the usage of the instance. */
export function createUsage(sql: Sql, replica: string, rates: Rates) {
  const pending = new Map<string, { requests: number; writes: number }>()
  /** What was sent and not confirmed. It is sent again as it was, under its number: it may have been taken. */
  let sent: { flush: number; counts: { instanceId: string; requests: number; writes: number }[] } | undefined
  let flushes = 0

  function collect(): [string, InstanceCounts][] {
    const seen = [...rates.drainCounts()]
    for (const [instanceId, { requests, writes }] of seen) {
      const sum = pending.get(instanceId) ?? { requests: 0, writes: 0 }
      pending.set(instanceId, { requests: sum.requests + requests, writes: sum.writes + writes })
    }
    return seen
  }

  return {
    async second(): Promise<void> {
      const busy = collect().filter(([, { requests, perSecond }]) => requests > perSecond * BUSY)
      const own = busy.map(([instanceId, { requests }]) => ({ instanceId, requests }))
      const others = own.length > 0 ? await exchangeRates(sql, replica, own) : new Map<string, number>()
      const share = ({ instanceId, requests }: { instanceId: string; requests: number }) =>
        Math.max(SHARE_MIN, requests / (requests + (others.get(instanceId) ?? 0)))
      rates.setShares(new Map(own.map((one) => [one.instanceId, share(one)])))
    },
    async flush(): Promise<void> {
      if (sent) await addUsage(sql, replica, sent.flush, sent.counts)
      sent = undefined
      collect()
      const counts = [...pending].map(([instanceId, sum]) => ({ instanceId, ...sum }))
      // Taken out first: what is counted while this is on its way belongs to the next time.
      pending.clear()
      if (counts.length === 0) return
      flushes += 1
      sent = { flush: flushes, counts }
      await addUsage(sql, replica, flushes, counts)
      sent = undefined
    },
  }
}

/** Never two at once, and never an end of the process. */
function every(ms: number, component: string, log: Log, work: () => Promise<void>): () => void {
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    work()
      .catch((error) => log.warn({ error, component }, 'background work failed; it is tried again'))
      .finally(() => (isRunning = false))
  }, ms)
  return () => clearInterval(timer)
}

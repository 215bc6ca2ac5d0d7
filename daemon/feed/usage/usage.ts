// Counts of the rates: every second to the other replicas, every few seconds to the usage of the instance.

import type { Job } from '@loci/chassis/jobs.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { type Activity, type ActivityCounts, addActivity, noActivity } from '../../access/activity.ts'
import type { InstanceCounts, Rates } from '../../access/rates.ts'
import { addUsage, exchangeRates, ROUTES_MAX, type UsageCounts } from './store.ts'

const RATES_MS = 1_000
const USAGE_MS = 5_000
/** Part of the plan's rate. Below it an instance cannot exceed its limit on four replicas or fewer. */
const BUSY = 0.25
const SHARE_MIN = 0.05
const RATES_FAILED = 'rates not shared with the other replicas; retrying. Meanwhile the last shares count'
const USAGE_FAILED = 'usage not saved; retrying. The counts are kept in memory'

export function usageJobs(sql: Sql, replica: string, rates: Rates, activity: Activity): Job[] {
  const usage = createUsage(sql, replica, rates, activity)
  return [
    { name: 'rates', everyMs: RATES_MS, failure: RATES_FAILED, run: usage.second },
    { name: 'usage', everyMs: USAGE_MS, failure: USAGE_FAILED, run: usage.flush, last: usage.flush },
  ]
}

type Pending = Pick<InstanceCounts, 'requests' | 'writes' | 'routes'> & ActivityCounts

export function createUsage(sql: Sql, replica: string, rates: Rates, activity: Pick<Activity, 'drain'>) {
  const pending = new Map<string, Pending>()
  /** Sent and not confirmed. Sent again unchanged, under the same number, because it may have been added. */
  let sent: { flush: number; counts: UsageCounts[] } | undefined
  let flushes = 0

  function pendingOf(instanceId: string): Pending {
    const known = pending.get(instanceId)
    if (known) return known
    const none: Pending = { requests: 0, writes: 0, routes: new Map(), ...noActivity() }
    pending.set(instanceId, none)
    return none
  }

  function collect(): [string, Pick<InstanceCounts, 'units' | 'perSecond'>][] {
    const { instances, organizations } = rates.drainCounts()
    for (const [instanceId, { requests, writes, routes }] of instances) {
      const sum = pendingOf(instanceId)
      for (const [route, units] of routes) sum.routes.set(route, (sum.routes.get(route) ?? 0) + units)
      sum.requests += requests
      sum.writes += writes
    }
    for (const [instanceId, counts] of activity.drain()) addActivity(pendingOf(instanceId), counts)
    return [...instances, ...organizations]
  }

  return {
    async second(): Promise<void> {
      const busy = collect().filter(([, { units, perSecond }]) => units > perSecond * BUSY)
      const own = busy.map(([instanceId, { units }]) => ({ instanceId, units: Math.ceil(units) }))
      const others = own.length > 0 ? await exchangeRates(sql, replica, own) : new Map<string, number>()
      const share = ({ instanceId, units }: { instanceId: string; units: number }) =>
        Math.max(SHARE_MIN, units / (units + (others.get(instanceId) ?? 0)))
      rates.setShares(new Map(own.map((one) => [one.instanceId, share(one)])))
    },
    async flush(): Promise<void> {
      if (sent) await addUsage(sql, replica, sent.flush, sent.counts)
      sent = undefined
      collect()
      const counts = [...pending].map(([instanceId, { routes, ...counted }]) => ({
        ...{ instanceId, ...counted },
        units: [...routes.values()].reduce((sum, units) => sum + units, 0),
        routes: dearestOf(routes),
      }))
      // Cleared first: what is counted during the write belongs to the next flush.
      pending.clear()
      if (counts.length === 0) return
      flushes += 1
      sent = { flush: flushes, counts }
      await addUsage(sql, replica, flushes, counts)
      sent = undefined
    },
  }
}

function dearestOf(routes: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...routes].sort((a, b) => b[1] - a[1]).slice(0, ROUTES_MAX))
}

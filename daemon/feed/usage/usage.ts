// Counts of the rates: every second to the other replicas, every few seconds to the usage of the instance.

import type { Job } from '@loci/chassis/jobs.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { InstanceCounts, Rates } from '../../access/rates.ts'
import { addUsage, exchangeRates } from './store.ts'

const RATES_MS = 1_000
const USAGE_MS = 5_000
/** Part of the plan's rate. Below it an instance cannot exceed its limit on four replicas or fewer. */
const BUSY = 0.25
const SHARE_MIN = 0.05
const RATES_FAILED = 'rates not shared with the other replicas; retrying. Meanwhile the last shares count'
const USAGE_FAILED = 'usage not saved; retrying. The counts are kept in memory'

export function usageJobs(sql: Sql, replica: string, rates: Rates): Job[] {
  const usage = createUsage(sql, replica, rates)
  return [
    { name: 'rates', everyMs: RATES_MS, failure: RATES_FAILED, run: usage.second },
    { name: 'usage', everyMs: USAGE_MS, failure: USAGE_FAILED, run: usage.flush, last: usage.flush },
  ]
}

export function createUsage(sql: Sql, replica: string, rates: Rates) {
  const pending = new Map<string, { requests: number; writes: number }>()
  /** Sent and not confirmed. Sent again unchanged, under the same number, because it may have been added. */
  let sent: { flush: number; counts: { instanceId: string; requests: number; writes: number }[] } | undefined
  let flushes = 0

  function collect(): [string, Pick<InstanceCounts, 'units' | 'perSecond'>][] {
    const { instances, organizations } = rates.drainCounts()
    for (const [instanceId, { requests, writes }] of instances) {
      const sum = pending.get(instanceId) ?? { requests: 0, writes: 0 }
      pending.set(instanceId, { requests: sum.requests + requests, writes: sum.writes + writes })
    }
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
      const counts = [...pending].map(([instanceId, sum]) => ({ instanceId, ...sum }))
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

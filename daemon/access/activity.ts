// What a replica counts of each instance beside its requests, for the usage that its owner reads: how its requests were
// answered and how long that took, its cycles, and the slots that left. One number per answer, no timer.

import { LATENCY_BOUNDS_MS } from '@loci/contract/usage.ts'

export interface ActivityCounts {
  /** Answers with 500 and above. */
  errors: number
  cycles: number
  /** Slots that left for want of room or below the bar of a focus. */
  evictions: number
  /** How many answers took as long as each of LATENCY_BOUNDS_MS and longer than the one before it. */
  latency: number[]
}

export interface Activity {
  /** `ms`: until the answer was out; undefined for one that waits by its nature, as a stream or a long poll. */
  answered(instanceId: string, status: number, ms: number | undefined): void
  /** `left`: why slots left in it, their reasonCodes. */
  cycled(instanceId: string, left: readonly string[]): void
  /** The same of a write. */
  evicted(instanceId: string, left: readonly string[]): void
  /** Since the last call. */
  drain(): Map<string, ActivityCounts>
}

/** Those of the event slot.evicted; what expired, was cleared or replaced did not lose its place to anything. */
const EVICTING = new Set(['outcompeted', 'below_threshold', 'over_limit'])

export function createActivity(): Activity {
  let counts = new Map<string, ActivityCounts>()

  function of(instanceId: string): ActivityCounts {
    const known = counts.get(instanceId)
    if (known) return known
    const none = noActivity()
    counts.set(instanceId, none)
    return none
  }

  return {
    answered(instanceId, status, ms) {
      const own = of(instanceId)
      if (status >= 500) own.errors += 1
      if (ms !== undefined) addLatency(own.latency, latencyBucketOf(ms), 1)
    },
    cycled(instanceId, left) {
      const own = of(instanceId)
      own.cycles += 1
      own.evictions += evictionsAmong(left)
    },
    evicted(instanceId, left) {
      const evictions = evictionsAmong(left)
      if (evictions > 0) of(instanceId).evictions += evictions
    },
    drain() {
      const seen = counts
      counts = new Map()
      return seen
    },
  }
}

function evictionsAmong(left: readonly string[]): number {
  return left.filter((code) => EVICTING.has(code)).length
}

export function noActivity(): ActivityCounts {
  return { errors: 0, cycles: 0, evictions: 0, latency: [] }
}

/** Into `sum`. */
export function addActivity(sum: ActivityCounts, more: ActivityCounts): void {
  sum.errors += more.errors
  sum.cycles += more.cycles
  sum.evictions += more.evictions
  more.latency.forEach((count, bucket) => {
    addLatency(sum.latency, bucket, count)
  })
}

/** What took longer than the last bound counts as the last one. */
function latencyBucketOf(ms: number): number {
  const bucket = LATENCY_BOUNDS_MS.findIndex((bound) => ms <= bound)
  return bucket === -1 ? LATENCY_BOUNDS_MS.length - 1 : bucket
}

/** The list has no holes, so that it is sent and stored as it is. */
function addLatency(latency: number[], bucket: number, count: number): void {
  while (latency.length <= bucket) latency.push(0)
  latency[bucket] = (latency[bucket] ?? 0) + count
}

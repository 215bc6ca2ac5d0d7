// Natural batching: while calls of an instance are on their way, what arrives for it collects and shares the next one.
// Nobody waits for a timer, and under load one call carries many. A batch holds one instance only: row-level security
// has one context per statement.
//
// What fails, fails by its kind:
//   a deadlock or a serialization failure: nothing took effect, so the same call is made again, a few times;
//   outcome unknown, store silent or too slow: everyone in the call fails, and everyone who has waited behind it that
//     long: a second try would take the whole deadline again;
//   a lock was not to be had: each group (database) once more by itself, side by side; the one that is locked fails
//     and has calls of its own for a while, so that the others go on without it;
//   anything else: one item is at fault. Each is tried alone, and only that one fails.

import { CommitUnknownError } from '@loci/contract/outcomes.ts'
import { current, type Work, workFor } from '@loci/meter/meter.ts'
import { isUnavailable, sqlState } from './errors.ts'
import { againAfterConflict } from './transaction.ts'

export interface Batches<Item, Result> {
  add(instanceId: string, item: Item): Promise<Result>
}

export interface BatchOptions<Item, Result> {
  /** Results in the order of the items. */
  run(instanceId: string, items: Item[]): Promise<Result[]>
  /** Calls of one instance on their way at once. */
  runningMax: number
  /** Of sizes in one call; an item that is larger goes alone. */
  batchMax: number
  /** 1 unless told otherwise. */
  sizeOf?(item: Item): number
  /** What locks together; all of it unless told otherwise. */
  groupOf?(item: Item): string
  /** Queues of one instance, each with its own calls; a group is always in the same one. 1 unless told otherwise. */
  lanes?: number
}

/** How long a group that was locked has calls of its own. */
const APART_MS = 5_000
const APART_MAX = 1_000
/**
 * A connection that breaks at once is no reason to give up on the next one; a silence has used up the time of those
 * behind.
 */
const SILENCE_MS = 1_000

interface Waiting<Item, Result> {
  item: Item
  /** Whose it is: a call is the work of the first that shares it, all of them being of one instance. */
  work: Work | undefined
  resolve(result: Result): void
  reject(error: unknown): void
}

interface Lane<Item, Result> {
  running: number
  queue: Waiting<Item, Result>[]
}

export function createBatches<Item, Result>({
  run,
  runningMax,
  batchMax,
  sizeOf = () => 1,
  groupOf = () => '',
  lanes: lanesMax = 1,
}: BatchOptions<Item, Result>): Batches<Item, Result> {
  /** Those that have a call on its way: one per instance, and one per group that is apart. */
  const lanes = new Map<string, Lane<Item, Result>>()
  /** Until when, by instance and group. */
  const apart = new Map<string, number>()

  async function work(name: string, instanceId: string, lane: Lane<Item, Result>): Promise<void> {
    // In the order of arrival, also for two writes of one key: with one call at a time they are done one after the
    // other.
    while (lane.queue.length > 0) await flush(instanceId, lane, lane.queue.splice(0, fitting(lane.queue)))
    lane.running -= 1
    if (lane.running === 0) lanes.delete(name)
  }

  /** How many of the queue fit into one call, at least one. */
  function fitting(queue: Waiting<Item, Result>[]): number {
    let size = 0
    const end = queue.findIndex(({ item }, at) => {
      size += sizeOf(item)
      return at > 0 && size > batchMax
    })
    return end < 0 ? queue.length : end
  }

  async function flush(instanceId: string, lane: Lane<Item, Result>, batch: Waiting<Item, Result>[]): Promise<void> {
    const startedAt = performance.now()
    try {
      const items = batch.map(({ item }) => item)
      const results = await workFor(batch[0]?.work, () => againAfterConflict(() => run(instanceId, items)))
      for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Result)
    } catch (error) {
      const failure = failureOf(error)
      const groups = Map.groupBy(batch, ({ item }) => groupOf(item))
      if (failure === 'locked' && groups.size > 1)
        await Promise.all([...groups.values()].map((group) => flush(instanceId, lane, group)))
      else if (failure === 'item' && batch.length > 1) for (const one of batch) await flush(instanceId, lane, [one])
      else {
        for (const { reject } of batch) reject(error)
        // Of those behind nothing was sent, so to them it is never unknown.
        const reason = failure === 'unknown' ? (error as Error).cause : error
        if (isUnavailable(reason) && performance.now() - startedAt >= SILENCE_MS)
          for (const { reject } of lane.queue.splice(0)) reject(reason)
        if (failure === 'locked') setApart(instanceId, lane, groups.keys().next().value as string, error)
      }
    }
  }

  function setApart(instanceId: string, lane: Lane<Item, Result>, group: string, error: unknown): void {
    if (apart.size >= APART_MAX) apart.clear()
    apart.set(`${instanceId}/${group}`, performance.now() + APART_MS)
    const isLocked = ({ item }: Waiting<Item, Result>) => groupOf(item) === group
    for (const { reject } of lane.queue.filter(isLocked)) reject(error)
    lane.queue = lane.queue.filter((one) => !isLocked(one))
  }

  function laneOf(instanceId: string, item: Item): string {
    const shared = lanesMax === 1 ? instanceId : `${instanceId}#${hashOf(groupOf(item)) % lanesMax}`
    if (apart.size === 0) return shared
    const own = `${instanceId}/${groupOf(item)}`
    if ((apart.get(own) ?? 0) > performance.now()) return own
    apart.delete(own)
    return shared
  }

  return {
    add(instanceId, item) {
      return new Promise((resolve, reject) => {
        const name = laneOf(instanceId, item)
        const lane = lanes.get(name) ?? { running: 0, queue: [] }
        lanes.set(name, lane)
        lane.queue.push({ item, work: current(), resolve, reject })
        if (lane.running >= runningMax) return
        lane.running += 1
        // After everything that is readable on other sockets by now has been read: what arrived together goes together.
        setImmediate(() => void work(name, instanceId, lane))
      })
    },
  }
}

function hashOf(text: string): number {
  let hash = 0
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) >>> 0
  return hash
}

function failureOf(error: unknown): 'unknown' | 'away' | 'slow' | 'locked' | 'item' {
  if (error instanceof CommitUnknownError) return 'unknown'
  if (isUnavailable(error)) return 'away'
  const state = sqlState(error)
  if (state === '57014') return 'slow'
  return state === '55P03' ? 'locked' : 'item'
}

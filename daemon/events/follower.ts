// Follows the events of the instances that have streams in this process. One query every 150 ms asks for all of them;
// what this process itself has written is read at once. Reads follow one another, so a tail only ever moves forward.

import { createCache } from '@loci/chassis/cache.ts'
import { type StreamPage, type StreamPositions, truncatedText } from '@loci/chassis/event-stream.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import { createWaiting, type Waiting } from '@loci/chassis/waiting.ts'
import { outside } from '@loci/meter/meter.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import { extendTail, pageOf, shownOf, type Tail, tailAt, textFor, textOfNotice } from './events.ts'
import { readEvents, readNews } from './store.ts'

export interface Follower extends Pick<Waiting, 'wait'> {
  /** Where a stream that is opened now begins. */
  readEnd(instanceId: string): Promise<number>
  /** A reader for one stream: what its keyspaces cover after a position, and notices, which every stream gets. */
  reader(instanceId: string, ks: readonly string[], positions: StreamPositions): (after: number) => Promise<ReadPage>
  /** After a commit of this process that appended events. */
  wake(instanceId: string): void
  /** Sends a notice to every stream of this process. */
  notify(type: string, at: Date, data: object): void
}

/** `replayed`: how many events were read from the table for it, and not from what all streams share. */
export type ReadPage = StreamPage & { replayed: number }

interface FollowerOptions {
  /** For the poll alone, so that it waits for no other query. */
  pool: Pool
  /** For streams that go back further than a tail. */
  shares: PoolShares
  lifecycle: Lifecycle
}

const POLL_MS = 150
/** Between two reads of what this process writes: each of them wakes every stream of the instance. */
const WAKE_MS = 20
/** Of the texts of all tails together, in characters. One that is dropped is begun anew by its next reader. */
const TAILS_SIZE_MAX = 16 * 1024 * 1024
/** What a tail without events counts as. */
const TAIL_SIZE_MIN = 1_024
const NOTICES_MAX = 100

export function createFollower({ pool, shares, lifecycle }: FollowerOptions): Follower {
  const tails = createCache<Tail>(TAILS_SIZE_MAX)
  const asked = new Set<string>()
  let reading: Promise<void> | undefined
  let next: Promise<void> | undefined
  const woken = new Set<string>()
  let wokenAt = Number.NEGATIVE_INFINITY
  let isTimed = false
  /** The last of them, and how many there were before. */
  const notices = { before: 0, texts: [] as string[] }

  const waiting = createWaiting({
    lifecycle,
    everyMs: POLL_MS,
    async readEnds(instanceIds) {
      await refresh(instanceIds)
      return new Map(instanceIds.flatMap((id) => (tails.has(id) ? [[id, tails.find(id)?.end as number]] : [])))
    },
  })

  /** Resolves when a read that began after the call is over. Calls that come while one is under way share the next. */
  function refresh(instanceIds: Iterable<string>): Promise<void> {
    for (const id of instanceIds) asked.add(id)
    // Shared by all who come meanwhile, so it is nobody's work.
    next ??= outside(readNext)
    return next
  }

  async function readNext(): Promise<void> {
    await reading?.catch(() => undefined)
    const ids = [...asked]
    asked.clear()
    next = undefined
    reading = readInto(ids)
    await reading
  }

  async function readInto(instanceIds: string[]): Promise<void> {
    const news = await readNews(pool, new Map(instanceIds.map((id) => [id, tails.find(id)?.end ?? null])))
    for (const [id, { head, events }] of news) {
      const known = tails.find(id)
      const tail = known ? extendTail(known, head, events) : tailAt(head)
      tails.keep(id, tail, TAIL_SIZE_MIN + tail.size)
    }
  }

  async function readWoken(): Promise<void> {
    isTimed = false
    wokenAt = performance.now()
    const ids = [...woken]
    woken.clear()
    // What cannot be read now is found by the poll.
    await refresh(ids).catch(() => undefined)
    for (const id of ids) waiting.wake(id)
  }

  async function read(
    instanceId: string,
    ks: readonly string[],
    positions: StreamPositions,
    after: number,
  ): Promise<ReadPage> {
    const tail = tails.find(instanceId)
    const bytes = tail && pageOf(tail, ks, after)
    if (tail && bytes) return { bytes, next: tail.end, more: false, replayed: 0 }
    const page = await readEvents(shares.of(instanceId), instanceId, after)
    if (!page) return { bytes: Buffer.alloc(0), next: Math.max(0, after), more: false, replayed: 0 }
    const notice = page.truncated ? truncatedText(page.events[0]?.seq ?? page.next + 1, positions) : ''
    return {
      bytes: Buffer.from(notice + textFor(ks, page.events.map(shownOf))),
      next: page.next,
      more: page.more,
      replayed: page.events.length,
    }
  }

  return {
    wait: waiting.wait,
    async readEnd(instanceId) {
      await refresh([instanceId])
      return tails.find(instanceId)?.end ?? 0
    },
    reader(instanceId, ks, positions) {
      let sent = notices.before + notices.texts.length
      return async (after) => {
        const page = await read(instanceId, ks, positions, after)
        const unsent = notices.texts.slice(Math.max(0, sent - notices.before))
        sent = notices.before + notices.texts.length
        return unsent.length === 0
          ? page
          : { ...page, bytes: Buffer.concat([Buffer.from(unsent.join('')), page.bytes]) }
      }
    },
    wake(instanceId) {
      if (!tails.has(instanceId)) return
      woken.add(instanceId)
      if (isTimed) return
      isTimed = true
      const ms = Math.max(0, wokenAt + WAKE_MS - performance.now())
      outside(() => setTimeout(() => void readWoken(), ms).unref())
    },
    notify(type, at, data) {
      notices.texts.push(textOfNotice(type, at, data))
      notices.before += notices.texts.splice(0, notices.texts.length - NOTICES_MAX).length
      waiting.wakeAll()
    },
  }
}

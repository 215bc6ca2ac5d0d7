// Memories by their ids: the words beside the names that decisions, slots and events have. Each is a query of its own,
// so what is known is not asked again; those that are wanted at once share requests.

import type { Record as MemoryRecord } from '@loci/sdk/daemon.ts'
import { type UseQueryResult, useQueries } from '@tanstack/react-query'
import { wordsKey } from './cache.ts'
import type { Place } from './cycles.ts'

/** As many as one request may name. */
const READ_MAX = 100

/** Missing: erased, or of another database. */
type Read = { is: 'there'; record: MemoryRecord } | { is: 'missing' } | { is: 'damaged' }

export interface Records {
  byId: ReadonlyMap<string, MemoryRecord>
  missing: ReadonlySet<string>
  damaged: ReadonlySet<string>
}

export function useRecords(place: Place, ids: readonly (string | null | undefined)[]): Records {
  const wanted = [...new Set(ids)].filter((id) => id?.startsWith('mem_')) as string[]
  return useQueries({
    queries: wanted.map((id) => ({
      queryKey: wordsKey(place.at, 'records', id),
      staleTime: 60_000,
      queryFn: () => readSoon(place, id),
    })),
    combine,
  })
}

function combine(results: UseQueryResult<readonly [string, Read]>[]): Records {
  const byId = new Map<string, MemoryRecord>()
  const [missing, damaged] = [new Set<string>(), new Set<string>()]
  for (const { data } of results) {
    if (!data) continue
    const [id, read] = data
    if (read.is === 'there') byId.set(id, read.record)
    else (read.is === 'missing' ? missing : damaged).add(id)
  }
  return { byId, missing, damaged }
}

interface Waiting {
  id: string
  resolve(read: readonly [string, Read]): void
  reject(error: unknown): void
}

/** By the client of a service and database: what is asked together goes together. */
const waiting = new WeakMap<Place['daemon'], Waiting[]>()

function readSoon({ daemon }: Place, id: string): Promise<readonly [string, Read]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly [string, Read]>()
  const list = waiting.get(daemon) ?? []
  list.push({ id, resolve, reject })
  if (list.length === 1) {
    waiting.set(daemon, list)
    setTimeout(() => {
      waiting.delete(daemon)
      for (let at = 0; at < list.length; at += READ_MAX) void readThem(daemon, list.slice(at, at + READ_MAX))
    })
  }
  return promise
}

async function readThem(daemon: Place['daemon'], asked: Waiting[]): Promise<void> {
  try {
    for (let left = asked; left.length > 0; ) {
      const ids = left.map(({ id }) => id)
      const { body } = await daemon.call('POST /v1/memory/records/read', { body: { ids } })
      const there = new Map(body.records.map((record) => [record.id, record]))
      const damaged = new Set(body.damaged?.map(({ ref }) => ref))
      // The answer ends at a megabyte, with what it did not read.
      const unread = new Set(body.left)
      const next = left.filter(({ id }) => unread.has(id))
      for (const { id, resolve } of left) {
        const record = there.get(id)
        if (record) resolve([id, { is: 'there', record }])
        else if (damaged.has(id)) resolve([id, { is: 'damaged' }])
        else if (!unread.has(id) || next.length === left.length) resolve([id, { is: 'missing' }])
      }
      left = next.length === left.length ? [] : next
    }
  } catch (error) {
    for (const { reject } of asked) reject(error)
  }
}

// Reads segments of one database, several in one call.

import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Due } from '../../databases/store.ts'
import { readSegments, type SegmentBody, type SegmentRow } from './store.ts'

/** Undefined when it is not there, or cannot be read. */
export type ReadSegment = (segment: Pick<SegmentRow, 'id' | 'items'>) => Promise<SegmentBody | undefined>

/** Of the segments that one call reads: 16,384 have about a megabyte. */
const READ_ITEMS_MAX = 16_384

/**
 * Segments that are asked for in one turn share calls. The first recall of a process would else open a connection for
 * each of them, and each of these would compile the function by itself.
 */
export function readingSegments(sql: Sql, { instanceId, database }: Due): ReadSegment {
  let asked: { id: number; items: number }[] = []
  let reading: Promise<Map<number, SegmentBody>> | undefined
  const read = async (ids: number[]): Promise<SegmentBody[]> => {
    try {
      return await readSegments(sql, instanceId, database, ids)
    } catch (error) {
      if (!isUnreadable(error)) throw error
      // Which of them cannot be read, the error does not say.
      return ids.length === 1 ? [] : (await Promise.all(ids.map((id) => read([id])))).flat()
    }
  }
  const readAll = async () => {
    // What is asked for in this turn comes before this goes on.
    await null
    const all = asked
    asked = []
    reading = undefined
    const rows = await Promise.all(groupsOf(all).map((group) => read(group.map(({ id }) => id))))
    return new Map(rows.flat().map((row) => [row.id, row]))
  }
  return async (segment) => {
    asked.push(segment)
    reading ??= readAll()
    return (await reading).get(segment.id)
  }
}

/** In their order, of at most READ_ITEMS_MAX items each; one that has more goes alone. */
function groupsOf<One extends { items: number }>(all: One[]): One[][] {
  const groups: One[][] = []
  let items = Number.POSITIVE_INFINITY
  for (const one of all) {
    items += one.items
    if (items > READ_ITEMS_MAX) {
      groups.push([])
      items = one.items
    }
    groups.at(-1)?.push(one)
  }
  return groups
}

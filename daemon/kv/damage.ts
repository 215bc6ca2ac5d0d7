// Reading a page of entries so that damage neither passes as truth nor hides what is healthy: a row that fails its
// digest is left out and named, and when something cannot be read at all, the page is read around it (kv_walk) and
// that is named.
//
// A page never ends at a damaged row: its key may be what rotted, and the next page would begin somewhere else.

import { ApiError } from '@loci/chassis/api-error.ts'
import { isUnreadable, sqlState } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { KnownDamage } from '../databases/known-damage.ts'
import { prefixEnd } from './entries.ts'
import { type DamagedRow, type EntryRow, findEntries, listEntries, PAGE_BYTES_MAX, walkEntries } from './store.ts'

export interface PageOfEntries {
  rows: (Omit<EntryRow, 'value'> & { value: string | null })[]
  damaged: { ref: string | null; reason: string }[]
  /** The key behind which the next page begins; null at the end. */
  nextAfter: string | null
}

export interface PageRequest {
  prefix: string
  after: string | null
  limit: number
  isBack: boolean
  /** Without values. */
  isBare: boolean
}

/** Rows read at most for one page when damaged ones take the place of healthy ones. */
const ROWS_MAX = 4_000
/** Must stay below the pool's statement timeout of 2 s, or a page is lost with all that was found. */
const WALK_MS = 1_000

export async function readPage(
  pool: Pool,
  damage: KnownDamage,
  instanceId: string,
  database: string,
  request: PageRequest,
): Promise<PageOfEntries> {
  try {
    return await readStraight(pool, instanceId, database, request)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    if (request.isBack) throw unreadableBackwards(error)
    return readAround(pool, damage, instanceId, database, request, error)
  }
}

async function readStraight(
  pool: Pool,
  instanceId: string,
  database: string,
  { prefix, after, limit, isBack, isBare }: PageRequest,
): Promise<PageOfEntries> {
  for (let size = limit + 1; ; size *= 2) {
    const read = await listEntries(pool, instanceId, database, {
      from: prefix,
      below: prefixEnd(prefix),
      after,
      limit: size,
      ...{ isBack, isBare },
    })
    const isCut = bytesOf(read) >= PAGE_BYTES_MAX
    const isEnd = read.length < size && !isCut
    const healthy = read.filter(isIntact)
    if (healthy.length <= limit && !isEnd && !isCut && size < ROWS_MAX) continue
    const last = healthy.length > limit || !isEnd ? healthy.slice(0, limit).at(-1) : undefined
    // Nothing but damage as far as we looked: its last key is all there is to go on from.
    const nextAfter = last?.key ?? (isEnd ? null : (read.at(-1)?.key ?? null))
    const page = last ? read.slice(0, read.indexOf(last) + 1) : read
    return {
      rows: page.filter(isIntact),
      damaged: page.filter((row) => !row.intact).map(({ key }) => ({ ref: key, reason: 'digest_mismatch' })),
      nextAfter,
    }
  }
}

async function readAround(
  pool: Pool,
  damage: KnownDamage,
  instanceId: string,
  database: string,
  request: PageRequest,
  cause: unknown,
): Promise<PageOfEntries> {
  const walked = await walkEntries(pool, damage, instanceId, database, { ...request, ms: WALK_MS })
  const stopped = walked.find(({ state }) => state === 'stopped')
  const isFull = !stopped && walked.length >= request.limit
  const lastOk = walked.findLastIndex(({ state }) => state === 'ok')
  // A store that gives nothing at all is out of order; an empty page would say that there is nothing.
  if (lastOk < 0 && sqlState(cause)?.startsWith('58'))
    throw new ApiError(
      'STORE_UNAVAILABLE',
      'PostgreSQL cannot read its files (I/O error). Try again; if it lasts, the operator must look at the disk.',
      { cause },
    )
  const page = isFull && lastOk >= 0 ? walked.slice(0, lastOk + 1) : walked
  const keys = page.flatMap(({ key, state, isExpired }) => (state === 'ok' && !isExpired && key !== null ? [key] : []))
  const found = keys.length === 0 ? [] : await findEntries(pool, instanceId, database, keys)
  return {
    rows: found.filter(isIntact).map((row) => (request.isBare ? { ...row, value: null } : row)),
    damaged: page.flatMap(({ key, state }) =>
      state === 'digest_mismatch' || state === 'page_unreadable' ? [{ ref: key, reason: state }] : [],
    ),
    nextAfter: stopped ? stopped.key : isFull ? (page.at(-1)?.key ?? null) : null,
  }
}

function bytesOf(rows: (EntryRow | DamagedRow)[]): number {
  return rows.reduce((sum, row) => sum + (row.intact ? Buffer.byteLength(row.value ?? '') : 0), 0)
}

function isIntact(row: EntryRow | DamagedRow): row is EntryRow {
  return row.intact
}

/** The walk around what cannot be read goes forwards. */
function unreadableBackwards(cause: unknown): ApiError {
  return new ApiError(
    'DATA_DAMAGED',
    'Something in this list cannot be read, and backwards it is not read around. List it with order=asc, which leaves that out and names it.',
    { cause },
  )
}

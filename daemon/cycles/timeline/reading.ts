// What a page reads in parts, between which others are served and it is charged what it has cost.

import type { Pool } from '@loci/postgres/pool.ts'
import type { Due } from '../../databases/store.ts'
import type { CycleRow } from '../rows.ts'
import type { Decision } from '../shapes.ts'
import { type End, type Mind, readLedgers, readSaid, type VersionFound, type VersionOf } from './store.ts'

/** Of what slots said, and of what cycles decided, of one page: what is beyond it is on the next. */
const SAID_BYTES_MAX = 2 ** 20
const LEDGER_BYTES_MAX = 2 * 2 ** 20
/** Read at once. */
const SAID_EACH = 64
const LEDGERS_EACH = 16

export interface Reading {
  pool: Pool
  place: Due
  mind: Mind
  /** Nothing from that moment on is shown. */
  until: number
  /** Between two parts. */
  rest(): Promise<void>
}

export interface EndFound {
  end: End
  found: VersionFound
}

/** As many as have SAID_BYTES_MAX. */
export async function readEnds({ pool, place, rest }: Reading, ends: readonly End[]): Promise<EndFound[]> {
  const read: EndFound[] = []
  for (let bytes = 0; read.length < ends.length && bytes < SAID_BYTES_MAX; await rest()) {
    const part = ends.slice(read.length, read.length + SAID_EACH)
    for (const [at, found] of (await readSaid(pool, place, part)).entries()) {
      bytes += found?.bytes ?? 0
      read.push({ end: part[at] as End, found })
    }
  }
  return read
}

/** All of them: no more than there is room for in a mind. */
export async function readVersions({ pool, place, rest }: Reading, wanted: VersionOf[]): Promise<VersionFound[]> {
  const found: VersionFound[] = []
  for (; found.length < wanted.length; await rest())
    found.push(...(await readSaid(pool, place, wanted.slice(found.length, found.length + SAID_EACH))))
  return found
}

/** A cycle of the page; `decisions` undefined: they are not kept, or lost. */
export interface CycleFound {
  row: CycleRow
  decisions: readonly Decision[] | undefined
  isLost: boolean
}

/** As many as have LEDGER_BYTES_MAX. */
export async function readDecisions({ pool, place, rest }: Reading, rows: readonly CycleRow[]): Promise<CycleFound[]> {
  const read: CycleFound[] = []
  for (let bytes = 0; read.length < rows.length && bytes < LEDGER_BYTES_MAX; await rest()) {
    const part = rows.slice(read.length, read.length + LEDGERS_EACH)
    for (const [at, ledger] of (await readLedgers(pool, place, part)).entries()) {
      const isThere = typeof ledger === 'object'
      bytes += isThere ? ledger.bytes : 0
      const decisions = isThere ? ledger.decisions : undefined
      read.push({ row: part[at] as CycleRow, decisions, isLost: ledger === 'lost' })
    }
  }
  return read
}

// What every feature that holds content of memory records does when some are erased, in the transaction of the erasure.
// The head of the database is locked then, and the context of row-level security is set.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Due } from './store.ts'

/** The records, and the value that all of them had. */
export interface Forgotten extends Due {
  ids: string[]
  storedAt: Date[]
  /** HMAC of the normalised value. */
  mac: Buffer | null
  /** Whether a text is that value, but for case, width and blanks. */
  isValue(text: string): boolean
  /**
   * When an erasure of a former life is replayed: the database's number and the time of it. What came later was said
   * again since, and stays.
   */
  until?: { seq: number; at: Date }
}

/** A line of the receipt. */
export interface Checked {
  place: string
  found: number
  erased: number
}

/** Erases what the feature holds of it. The events are appended by the caller, last. */
export type Forget = (sql: Sql, forgotten: Forgotten) => Promise<{ checked: Checked[]; events: object[] }>

/**
 * Erases what a feature holds of a value in transactions of its own until little is left, so that the transaction of
 * the erasure is short. Called before it; the record itself is still there, so a DELETE that fails is repeated. `count`
 * is told what each transaction erased.
 */
export type Thin = (pool: Pool, place: Due, mac: Buffer, count: (erased: Checked) => void) => Promise<void>

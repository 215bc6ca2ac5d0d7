// What a domain hands in so that its rows are verified: every row against its digest, the rows of a database against
// the sums in its head. The sums are the same for every domain: how many, how many bytes, and the digests combined by
// xor.

import type { Pool, Sql } from '@loci/postgres/pool.ts'

export interface Walker {
  /** As in keyspaces and issues. */
  domain: string
  /** What one row is called, and several. */
  noun: [one: string, many: string]
  /**
   * Of every database that has a head or rows of the domain, by name. Looking for rows without a head is work: only
   * `withStrays`.
   */
  listHeads(sql: Sql, instanceId: string, withStrays: boolean): Promise<Head[]>
  /** A bounded part of one database, in order of keys. */
  verifyChunk(
    sql: Sql,
    instanceId: string,
    database: string,
    chunk: { after: string | null; limit: number; ms: number },
  ): Promise<Chunk>
  /** Remembers what was found good, while the database is still the one that was read. */
  settle(pool: Pool, instanceId: string, settled: Settled): Promise<void>
  /** Remembers what was found damaged, where reads tell of that too. */
  quarantine?(pool: Pool, place: { instanceId: string; database: string }, found: Found[]): Promise<void>
}

/** A row of a chain that is damaged, or is not there. */
export interface Found {
  seq: number
  ref: string | null
  reason: string
}

export interface Head {
  /** null with `unreadable`. */
  name: string | null
  state: 'ok' | 'headless' | 'unreadable'
  /** Numbers as text where damage can make them larger than a number holds. */
  seq: string
  keys: string
  bytes: string
  a: string
  b: string
  /** The sums are unknown until the next full check. */
  unsettled: boolean
  verifiedSeq: string | null
}

export interface Chunk {
  rows: number
  bytes: number
  a: string
  b: string
  versionMax: string
  goOnAfter: string | null
  damagedKeys: (string | null)[]
  damagedStates: ('digest_mismatch' | 'page_unreadable')[]
  damagedA: string
  damagedB: string
  /** Refs of what is damaged and no row of the sums: history, configuration. */
  uncounted?: string[]
  /** What is wrong besides single rows and the sums of the head. */
  besides?: { type: string; ref: string; detail: string }[]
  /** Refs of rows whose value was deleted and must not be there. */
  forgotten?: string[]
  /** What `quarantine` is told. */
  found?: Found[]
  /** Links between rows that were looked at. */
  chain?: { checked: number; failed: number }
  /** Values that must not be there, and that the rows were compared with. */
  tombstones?: number
  /** Verified and in the sums above until they are swept; not counted to the owner. */
  expired: number
  expiredBytes: number
  expiredVisible: number
}

/** A chunk without a row. */
export const NOTHING = {
  ...{ rows: 0, bytes: 0, a: '0', b: '0', versionMax: '0', damagedKeys: [], damagedStates: [] },
  ...{ damagedA: '0', damagedB: '0', expired: 0, expiredBytes: 0, expiredVisible: 0 },
}

export interface Settled {
  database: string
  seq: string
  rows: number
  bytes: number
  a: string
  b: string
}

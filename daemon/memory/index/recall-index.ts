// What memory's store calls: search, build and merge, with the segments kept in the cache and the work in a worker
// thread where that is cheaper.

import type { Language, RecordText } from '../analysis/item.ts'
import type { Filter, Ranked, SearchOptions } from './search.ts'

export interface RecallRequest {
  instanceId: string
  database: string
  language: Language
  /** The database's segments, in the order of their seqs. `load` fetches the body of one that is not cached. */
  segments: readonly { id: string; load: () => Promise<Uint8Array> }[]
  /** Rows after the segments: those that count now. They are analysed once and remembered by seq. */
  tail: readonly RecordText[]
  /** Seqs of items in the segments that no longer count: superseded, archived or erased since. */
  masked: readonly number[]
  query: string
  options: Pick<SearchOptions, 'limit' | 'weights' | 'salience'> & { filter?: Filter }
  signal?: AbortSignal
}

export interface RecallIndex {
  /** The best items. Rejects with 503 when the queue is full or the worker died, never with a part of the answer. */
  search(request: RecallRequest): Promise<Ranked[]>
  /** The body of a segment of these rows. */
  build(records: readonly RecordText[], language: Language): Promise<Uint8Array>
  /** One segment of the given ones without the dropped seqs. */
  merge(bodies: readonly Uint8Array[], drop: readonly number[]): Promise<Uint8Array>
  /** A replaced or erased segment leaves the cache at once. */
  forget(instanceId: string, segmentIds: readonly string[]): void
  close(): Promise<void>
}

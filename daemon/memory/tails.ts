// The texts of the records that stand in no segment yet, as this replica has read them. A record's text never changes,
// and which of them hold is read with every recall: what is kept here saves reading a text again, and decides nothing.
// In a database that was restored, or made anew under its name, another record may have the number of one that is kept:
// the marks of those that hold are compared, and if they are others everything is read again.

import { createCache } from '@loci/chassis/cache.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import type { Due } from '../databases/store.ts'
import type { RecordText } from './analysis/item.ts'
import { recordTextsOf } from './upkeep/indexing.ts'
import { type IndexState, readIndex } from './upkeep/store.ts'

const CACHE_BYTES_MAX = 8 * 1024 ** 2
const TEXT_BYTES = 200

/** A record of the tail; one that is damaged has no text. */
interface Row {
  mark: bigint
  text?: RecordText
}

interface Known {
  life: string
  through: number
  rows: ReadonlyMap<number, Row>
}

export interface Tails {
  /** The index of a database at this moment, the texts of its tail that hold, and the numbers of the damaged ones. */
  read(sql: Sql, place: Due, asOf: Date | null): Promise<{ state: IndexState; tail: RecordText[]; damaged: number[] }>
  /** The same with what else `read` reads at that moment. */
  readWith<State extends IndexState>(
    place: Due,
    read: (ask: { have: number }) => Promise<State>,
  ): Promise<{ state: State; tail: RecordText[]; damaged: number[] }>
}

export function createTails(keys: InstanceKeys): Tails {
  const known = createCache<Known>(CACHE_BYTES_MAX)
  const tails: Tails = {
    read: (sql, place, asOf) =>
      tails.readWith(place, (ask) => readIndex(sql, place.instanceId, place.database, { ...ask, asOf })),
    async readWith({ instanceId, database }, read) {
      const name = `${instanceId}/${database}`
      const before = known.find(name)
      let state = await read({ have: before?.through ?? 0 })
      const isSame = before !== undefined && !state.isAround && isSameHistory(before, state)
      if (before && !isSame && !state.isAround) state = await read({ have: 0 })
      const fresh = new Map<number, Row>()
      for (const text of await recordTextsOf(keys, instanceId, state.texts))
        fresh.set(text.seq, { mark: text.mark as bigint, text })
      for (const { seq, mark } of state.damaged) fresh.set(seq, { mark })
      const rows = new Map<number, Row>()
      for (const seq of state.tail) {
        const row = fresh.get(seq) ?? (isSame ? before.rows.get(seq) : undefined)
        if (row) rows.set(seq, row)
      }
      if (state.isAround) known.drop(name)
      else known.keep(name, { life: state.life, through: state.seq, rows }, bytesOf(rows.values()))
      const damaged = [...rows].flatMap(([seq, { text }]) => (text ? [] : [seq]))
      return { state, tail: [...rows.values()].flatMap(({ text }) => text ?? []), damaged }
    },
  }
  return tails
}

function isSameHistory({ life, through, rows }: Known, state: IndexState): boolean {
  if (life !== state.life || through > state.seq) return false
  let mark = 0n
  for (const seq of state.tail) if (seq <= through) mark ^= rows.get(seq)?.mark ?? 0n
  return mark === state.tailMark
}

function bytesOf(rows: Iterable<Row>): number {
  let bytes = TEXT_BYTES
  for (const { text } of rows) bytes += 2 * ((text?.content.length ?? 0) + (text?.media?.length ?? 0)) + TEXT_BYTES
  return bytes
}

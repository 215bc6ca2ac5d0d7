// The texts of the records that stand in no segment yet, as this replica has read them. A record's text never changes,
// and which of them hold is read with every recall: what is kept here saves reading a text again, and decides nothing.

import { createCache } from '@loci/chassis/cache.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Due } from '../databases/store.ts'
import type { RecordText } from './analysis/item.ts'
import { recordTextOf } from './upkeep/indexing.ts'
import { type IndexState, readIndex } from './upkeep/store.ts'

const CACHE_BYTES_MAX = 8 * 1024 ** 2
const TEXT_BYTES = 200

export interface Tails {
  /** The index of a database at this moment, and the texts of its tail that hold. */
  read(sql: Sql, place: Due, asOf: Date | null): Promise<{ state: IndexState; tail: RecordText[] }>
}

export function createTails(): Tails {
  const known = createCache<{ life: string; through: number; texts: ReadonlyMap<number, RecordText> }>(CACHE_BYTES_MAX)
  return {
    async read(sql, { instanceId, database }, asOf) {
      const name = `${instanceId}/${database}`
      const before = known.find(name)
      let state = await readIndex(sql, instanceId, database, { have: before?.through ?? 0, asOf })
      const isSame = before?.life === state.life
      // Made anew under its name: what is known is of the former one.
      if (before && !isSame) state = await readIndex(sql, instanceId, database, { asOf })
      const fresh = new Map(state.texts.map((text) => [text.seq, recordTextOf(text)]))
      const texts = new Map<number, RecordText>()
      for (const seq of state.tail) {
        // One that is in neither does not fit its digest.
        const text = fresh.get(seq) ?? (isSame ? before?.texts.get(seq) : undefined)
        if (text) texts.set(seq, text)
      }
      known.keep(name, { life: state.life, through: state.seq, texts }, bytesOf(texts.values()))
      return { state, tail: [...texts.values()] }
    },
  }
}

function bytesOf(texts: Iterable<RecordText>): number {
  let bytes = TEXT_BYTES
  for (const { content, media } of texts) bytes += 2 * (content.length + (media?.length ?? 0)) + TEXT_BYTES
  return bytes
}

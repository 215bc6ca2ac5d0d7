// The parts of a database's index as a search takes them: stored segments, and what is built from the records where no
// stored one can be used. What was built is kept by what it was made of, so that a write elsewhere in the database does
// not make it anew; and the index is made due, so that it is stored soon.

import { createCache } from '@loci/chassis/cache.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { InstanceKeys } from '../../databases/instance-keys.ts'
import type { Due } from '../../databases/store.ts'
import type { Language } from '../analysis/item.ts'
import type { RecallIndex } from '../index/recall-index.ts'
import { formatOf } from '../upkeep/config.ts'
import { segmentBody } from '../upkeep/indexing.ts'
import { readingSegments } from '../upkeep/reading.ts'
import { isToBeEncoded, type Part, partsOf, segmentKey } from '../upkeep/segments.ts'
import type { IndexState } from '../upkeep/store.ts'
import { putVectorsDue } from '../vectors/store.ts'
import { putIndexDue, readMarks } from './store.ts'

export interface SearchPart {
  /** The same for the same content. */
  id: string
  load(): Promise<Uint8Array>
}

export interface Parts {
  of(place: Due, state: IndexState, language: Language): Promise<SearchPart[]>
}

/** A worker of another release may have taken it off the list without building what this one needs. */
const ASK_AGAIN_MS = 60_000
const ASKED_MAX = 20_000

export function createParts(pool: Pool, index: RecallIndex, keys: InstanceKeys, log: Pick<Log, 'warn'>): Parts {
  const asked = createCache<number>(ASKED_MAX)
  let isAsking = false
  let isFailing = false

  /** One at a time, beside the read: that goes on while nothing can be written, or while a writer holds the head. */
  async function request(place: Due, what: 'index' | 'vectors'): Promise<void> {
    const name = `${place.instanceId}/${place.database}/${what}`
    if (isAsking || performance.now() - (asked.find(name) ?? Number.NEGATIVE_INFINITY) < ASK_AGAIN_MS) return
    asked.keep(name, performance.now())
    isAsking = true
    try {
      await (what === 'index' ? putIndexDue : putVectorsDue)(pool, place)
      isFailing = false
    } catch (error) {
      if (!isFailing) log.warn({ error, component: 'memory' }, 'index not made due; recalls go on and ask again')
      isFailing = true
    } finally {
      isAsking = false
    }
  }

  return {
    async of(place, state, language) {
      const format = formatOf(language)
      const parts = partsOf(state, format)
      const unusable = parts.filter((part) => !part.isUsable)
      const marks = unusable.length === 0 ? [] : await readMarks(pool, place, unusable)
      if (unusable.some(({ isNewer }) => !isNewer)) void request(place, 'index')
      else if (index.encoder && parts.some((part) => isToBeEncoded(part, index.encoder))) void request(place, 'vectors')
      const markOf = (part: Part) => marks[unusable.indexOf(part as (typeof unusable)[number])] ?? state.seq
      const read = readingSegments(pool, place)
      return parts.map((part) => ({
        // What ended since the index was made is masked in it, as in a stored segment.
        id: part.isUsable
          ? segmentKey(part)
          : `${part.from}-${part.through}@${state.indexedAt}/${format}/${markOf(part)}`,
        load: () => segmentBody(pool, index, keys, place, part, language, read),
      }))
    },
  }
}

// Recall for a cycle: a search over what was read at its moment, and over what has just come in.

import type { Pool } from '@loci/postgres/pool.ts'
import type { Due } from '../databases/store.ts'
import type { RecordText } from '../memory/analysis/item.ts'
import { itemsOfSegment } from '../memory/index/format.ts'
import type { RecallIndex } from '../memory/index/recall-index.ts'
import { rowsOfWork } from '../memory/index/search.ts'
import { formatOf, languageOf } from '../memory/upkeep/config.ts'
import { segmentBody } from '../memory/upkeep/indexing.ts'
import { partsOf, segmentKey } from '../memory/upkeep/segments.ts'
import type { IndexState } from '../memory/upkeep/store.ts'
import type { RecallAnswer, RecallAsk } from './shapes.ts'

export async function recallFor(
  pool: Pool,
  index: RecallIndex,
  place: Due,
  { state, texts }: { state: IndexState; texts: readonly RecordText[] },
  { focus, words, fresh, options }: RecallAsk,
  count: (rows: number, bytes: number) => void,
): Promise<RecallAnswer> {
  const language = languageOf(state)
  return index.find({
    instanceId: place.instanceId,
    database: `${place.database}@${state.life}`,
    language,
    segments: partsOf(state, formatOf(language)).map((part) => ({
      // What is read from the records is of this moment alone, and of these records.
      id: part.isUsable ? segmentKey(part) : `${part.from}-${part.through}@${state.seq}/${state.sums}`,
      async load() {
        const body = await segmentBody(pool, index, place, part, language)
        count(part.isUsable ? 0 : itemsOfSegment(body), part.isUsable ? body.byteLength : 0)
        return body
      },
    })),
    tail: texts,
    masked: state.changed,
    query: focus,
    ...{ words, fresh, options },
    onWork: (work) => count(rowsOfWork(work), 0),
  })
}

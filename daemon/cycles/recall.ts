// Recall for a cycle: a search over what was read at its moment, and over what has just come in.

import type { Due } from '../databases/store.ts'
import type { RecordText } from '../memory/analysis/item.ts'
import type { RecallIndex } from '../memory/index/recall-index.ts'
import type { Parts } from '../memory/parts/parts.ts'
import { languageOf } from '../memory/upkeep/config.ts'
import type { IndexState } from '../memory/upkeep/store.ts'
import type { RecallAnswer, RecallAsk } from './shapes.ts'

export async function recallFor(
  { index, parts }: { index: RecallIndex; parts: Parts },
  place: Due,
  { state, texts }: { state: IndexState; texts: readonly RecordText[] },
  { focus, words, fresh, options }: RecallAsk,
): Promise<RecallAnswer> {
  const language = languageOf(state)
  return index.find({
    instanceId: place.instanceId,
    database: `${place.database}@${state.life}`,
    language,
    segments: await parts.of(place, state, language),
    tail: texts,
    masked: state.changed,
    query: focus,
    ...{ words, fresh, options },
  })
}

// Recall takes from the cognitive configuration of a database the language of its analyser and the weights of the
// parts. A value that is not usable leaves the layer below it in force.

import { analyserOf, LANGUAGES, type Language } from '../analysis/item.ts'
import { FORMAT } from '../index/format.ts'
import { PART_WEIGHTS, PARTS, type PartWeights, RECALL_BASE_WEIGHT } from '../weights.ts'

/** The service's own, below what was PUT: JSON texts. */
export interface Layers {
  service: string | null
  sent: string | null
}

const WEIGHT_MAX = 20

export function languageOf(layers: Layers): Language {
  return objectsOf(layers).reduce<Language>(
    (used, { language }) => (LANGUAGES.includes(language as Language) ? (language as Language) : used),
    'auto',
  )
}

/** Of layout, analyser and language: a segment of another number cannot be used. */
export function formatOf(language: Language): number {
  return FORMAT * 65_536 + analyserOf(language)
}

export function weightsOf(layers: Layers): PartWeights & { base: number } {
  const used = { ...PART_WEIGHTS, base: RECALL_BASE_WEIGHT }
  for (const { weights } of objectsOf(layers)) {
    if (typeof weights !== 'object' || weights === null) continue
    for (const part of [...PARTS, 'base'] as const) {
      // What a cycle weighs the base level with is `base`.
      const given = (weights as Record<string, unknown>)[part === 'base' ? 'recallBase' : part]
      if (typeof given === 'number' && given >= 0 && given <= WEIGHT_MAX) used[part] = given
    }
  }
  return used
}

function objectsOf({ service, sent }: Layers): Record<string, unknown>[] {
  return [service, sent].flatMap((text) => {
    const given = text === null ? null : (JSON.parse(text) as unknown)
    return typeof given === 'object' && given !== null ? [given as Record<string, unknown>] : []
  })
}

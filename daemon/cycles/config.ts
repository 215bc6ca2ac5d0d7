// The configuration of a database's cycles, by the rules of daemon/databases/config/rules.ts; the
// service's own is `config.cognitive`. A cycle reads working memory's configuration too.

import { isDeepStrictEqual } from 'node:util'
import { configRules, integer, type Known, number, oneOf, orNull } from '../databases/config/rules.ts'
import { LANGUAGES } from '../memory/analysis/item.ts'
import { PART_WEIGHTS, PARTS, RECALL_BASE_WEIGHT } from '../memory/weights.ts'
import { type Policy, RULES as SLOT_RULES } from '../working-memory/config.ts'
import type { CycleConfig } from './shapes.ts'

const DAY_MS = 86_400_000
const WEIGHT_MAX = 20
/** Of cycles; recall without one weighs the base level less, by a key of its own. */
const OWN_WEIGHTS = { base: 0.5, hint: 0.5 }

const weights = Object.fromEntries(
  Object.entries({ ...PART_WEIGHTS, ...OWN_WEIGHTS }).map(([part, weight]) => [
    `weights.${part}`,
    number(weight, 0, WEIGHT_MAX),
  ]),
)

export const RULES = configRules(
  {
    decay: number(0.5, 0.1, 1),
    baseRecent: integer(4, 1, 4),
    maxCueTerms: integer(16, 1, 64),
    maxDfShare: withoutEffect(1),
    noise: number(0, 0, 1),
    maxDurationMs: integer(5_000, 10, 10_000),
    maxEvents: integer(100, 0, 1_000),
    cycleHistory: integer(100_000, 10, 100_000),
    language: oneOf('auto', LANGUAGES),
    'schedule.intervalMs': { ...orNull(integer(0, 1_000, DAY_MS)), default: null },
    'pressure.pendingEvents': integer(32, 1, 10_000),
    'neighbours.back': withoutEffect([0.7, 0.5]),
    'neighbours.forward': withoutEffect([0.4, 0.2]),
    'retention.maxItems': withoutEffect(100_000),
    'retention.minAgeHours': withoutEffect(24),
    'retention.purgeAfterDays': withoutEffect(30),
    'dense.mode': withoutEffect('off'),
    ...weights,
    'weights.recallBase': number(RECALL_BASE_WEIGHT, 0, WEIGHT_MAX),
  },
  'cognitive',
)

/** Known, and nothing reads it: who asks for something else is told so. */
function withoutEffect(fallback: unknown): Known {
  return {
    default: fallback,
    problem: 'has no effect in this release',
    schema: { const: fallback },
    isUsable: (value) => isDeepStrictEqual(value, fallback),
  }
}

/** What the run itself goes by; the rest is the cycle's. */
export interface RunConfig {
  maxDurationMs: number
  maxEvents: number
  cycleHistory: number
  intervalMs: number | null
}

/** `slots`: the layers of working memory's configuration. */
export function cycleConfig(slots: unknown[], layers: unknown[]): { cycle: CycleConfig; run: RunConfig } {
  const held = (key: string) => SLOT_RULES.using(key, slots)
  const using = (key: string) => RULES.using(key, layers)
  const weigh = (part: string) => using(`weights.${part}`) as number
  return {
    cycle: {
      capacity: held('capacity') as number,
      policy: held('policy') as Policy,
      consolidateAfterCycles: held('consolidateAfterCycles') as number,
      relativeThreshold: held('relativeThreshold') as number | null,
      stickiness: held('stickiness') as number,
      stickinessHalfLifeCycles: held('stickinessHalfLifeCycles') as number,
      candidateFactor: held('candidateFactor') as number,
      slotTtlMs: held('slotTtlMs') as number | null,
      matchShare: held('matchShare') as number,
      spontaneousShare: held('spontaneousShare') as number,
      echo: { weight: held('echo.weight') as number, share: held('echo.share') as number },
      due: {
        weight: held('due.weight') as number,
        leadMs: held('due.leadMs') as number,
        graceMs: held('due.graceMs') as number,
      },
      focusTtlMs: held('focusTtlMs') as number,
      weights: {
        ...(Object.fromEntries(PARTS.map((part) => [part, weigh(part)])) as CycleConfig['weights']),
        base: weigh('base'),
        hint: weigh('hint'),
      },
      decay: using('decay') as number,
      baseRecent: using('baseRecent') as number,
      maxCueTerms: using('maxCueTerms') as number,
      noise: using('noise') as number,
    },
    run: {
      maxDurationMs: using('maxDurationMs') as number,
      maxEvents: using('maxEvents') as number,
      cycleHistory: using('cycleHistory') as number,
      intervalMs: using('schedule.intervalMs') as number | null,
    },
  }
}

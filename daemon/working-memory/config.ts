// The configuration of a database's working memory, by the rules of daemon/databases/config/rules.ts; the service's
// own is `config.working_memory`.

import { configRules, integer, number, oneOf, orNull } from '../databases/config/rules.ts'

/** What is in force. */
export interface SlotConfig {
  capacity: number
  policy: Policy
  pinnedMax: number
  /** For slots that are put without one. */
  slotTtlMs: number | null
  stickiness: number
  stickinessHalfLifeCycles: number
}

const POLICIES = ['activation', 'lru', 'fifo', 'reject'] as const
export type Policy = (typeof POLICIES)[number]

const CAPACITY_MAX = 256
const DAY_MS = 86_400_000

/** What only cycles read is known here too: its unusable values are named when they are put. */
export const RULES = configRules(
  {
    capacity: integer(25, 0, CAPACITY_MAX),
    policy: oneOf('activation', POLICIES),
    consolidateAfterCycles: integer(2, 1, 1_000),
    relativeThreshold: orNull(number(5, 0, 20)),
    stickiness: number(1, 0, 4),
    stickinessHalfLifeCycles: number(3, 1, 100),
    candidateFactor: number(4, 1, 20),
    pinnedMax: integer(8, 0, CAPACITY_MAX),
    slotTtlMs: { ...orNull(integer(1, 1, 3_650 * DAY_MS)), default: null },
    matchShare: number(0.25, 0, 1),
    spontaneousShare: number(0.25, 0, 1),
    'echo.weight': number(2, 0, 4),
    'echo.share': number(0.8, 0.5, 1),
    'due.weight': number(4, 0, 20),
    'due.leadMs': integer(3_600_000, 0, 30 * DAY_MS),
    'due.graceMs': integer(3_600_000, 0, 30 * DAY_MS),
    focusTtlMs: integer(1_800_000, 1, 30 * DAY_MS),
  },
  'working_memory',
)

/** `layers`: the service's, then what was put; whatever is no object is an empty one. */
export function resolveConfig(layers: unknown[]): SlotConfig {
  const using = (key: string) => RULES.using(key, layers)
  const capacity = using('capacity') as number
  return {
    capacity,
    policy: using('policy') as Policy,
    pinnedMax: Math.min(using('pinnedMax') as number, capacity),
    slotTtlMs: using('slotTtlMs') as number | null,
    stickiness: using('stickiness') as number,
    stickinessHalfLifeCycles: using('stickinessHalfLifeCycles') as number,
  }
}

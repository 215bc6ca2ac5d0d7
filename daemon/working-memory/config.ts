// The configuration of a database's working memory: the product's defaults, below what the service was created with
// (`config.working_memory`, it comes with the feed), below what an operator PUT. Any object is taken. A known key with
// an unusable value is kept as it was sent and shown, but the layer below it is used, and a warning says so.

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

export interface Warning {
  key: string
  problem: string
  using: unknown
}

type Json = { readonly [key: string]: unknown }

/** One of the known keys, a dot for each object it is in. */
interface Known {
  default: unknown
  problem: string
  isUsable(value: unknown): boolean
}

const CAPACITY_MAX = 256
const DAY_MS = 86_400_000

/** COGNITION 5.3. What only cycles read is known here too: its unusable values are named when they are put. */
const KNOWN: Readonly<Record<string, Known>> = {
  capacity: integer(25, 0, CAPACITY_MAX),
  policy: {
    default: 'activation',
    problem: `must be one of ${POLICIES.join(', ')}`,
    isUsable: (value) => POLICIES.includes(value as Policy),
  },
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
}

const DEFAULTS: Json = Object.entries(KNOWN).reduce<Json>(
  (all, [key, known]) => merge(all, nested(key.split('.'), known.default)),
  {},
)

/** `layers`: the service's, then what was put; whatever is no object is an empty one. */
export function resolveConfig(layers: unknown[]): { shown: Json; used: SlotConfig } {
  const objects = layers.filter(isObject)
  const using = (key: string) => usedOf(key, objects)
  const capacity = using('capacity') as number
  return {
    shown: objects.reduce(merge, DEFAULTS),
    used: {
      capacity,
      policy: using('policy') as Policy,
      pinnedMax: Math.min(using('pinnedMax') as number, capacity),
      slotTtlMs: using('slotTtlMs') as number | null,
      stickiness: using('stickiness') as number,
      stickinessHalfLifeCycles: using('stickinessHalfLifeCycles') as number,
    },
  }
}

/** Known keys of the topmost layer whose values are not usable, in the order of KNOWN. */
export function warningsOf(layers: unknown[]): Warning[] {
  const objects = layers.filter(isObject)
  const sent = objects.at(-1) ?? {}
  const groups = new Set(Object.keys(KNOWN).flatMap((key) => (key.includes('.') ? [key.split('.')[0] as string] : [])))
  const notObjects = [...groups].flatMap((group) =>
    group in sent && !isObject(sent[group])
      ? [{ key: group, problem: 'must be an object', using: groupUsed(group, objects) }]
      : [],
  )
  return Object.entries(KNOWN)
    .flatMap(([key, { isUsable, problem }]) => {
      const given = find(sent, key.split('.'))
      return given === undefined || isUsable(given) ? [] : [{ key, problem, using: usedOf(key, objects) }]
    })
    .concat(notObjects)
}

function usedOf(key: string, layers: Json[]): unknown {
  const { default: fallback, isUsable } = KNOWN[key] as Known
  return layers.reduce<unknown>((used, layer) => {
    const given = find(layer, key.split('.'))
    return given !== undefined && isUsable(given) ? given : used
  }, fallback)
}

function groupUsed(group: string, layers: Json[]): Json {
  const keys = Object.keys(KNOWN).filter((key) => key.startsWith(`${group}.`))
  return Object.fromEntries(keys.map((key) => [key.slice(group.length + 1), usedOf(key, layers)]))
}

/** Objects key by key, everything else as it is above. */
function merge(below: Json, above: Json): Json {
  const merged = new Map<string, unknown>(Object.entries(below))
  for (const [key, value] of Object.entries(above)) {
    const under = merged.get(key)
    merged.set(key, isObject(under) && isObject(value) ? merge(under, value) : value)
  }
  return Object.fromEntries(merged)
}

function find(layer: Json, [key, ...rest]: string[]): unknown {
  const value = Object.hasOwn(layer, key as string) ? layer[key as string] : undefined
  if (rest.length === 0) return value
  return isObject(value) ? find(value, rest) : undefined
}

function nested([key, ...rest]: string[], value: unknown): Json {
  return { [key as string]: rest.length === 0 ? value : nested(rest, value) }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function number(fallback: number, min: number, max: number): Known {
  return {
    default: fallback,
    problem: `must be a number from ${min} to ${max}`,
    isUsable: (value) => typeof value === 'number' && value >= min && value <= max,
  }
}

function integer(fallback: number, min: number, max: number): Known {
  return {
    default: fallback,
    problem: `must be a whole number from ${min} to ${max}`,
    isUsable: (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
  }
}

function orNull(known: Known): Known {
  return {
    ...known,
    problem: `${known.problem}, or null`,
    isUsable: (value) => value === null || known.isUsable(value),
  }
}

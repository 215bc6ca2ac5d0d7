// The rules that every configuration of a database follows: the product's defaults, below what the service was created
// with (it comes with the feed), below what an operator PUT. Any object is taken. A known key with an unusable value is
// kept as it was sent, but the layer below it is in force, and a warning says so. Pure.

export interface Warning {
  key: string
  problem: string
  using: unknown
}

export type Json = { readonly [key: string]: unknown }

/** One of the known keys, a dot for each object it is in. */
export interface Known {
  default: unknown
  problem: string
  /** What isUsable() takes, as JSON Schema. */
  schema: Json
  isUsable(value: unknown): boolean
}

export interface Setting {
  key: string
  value: unknown
  default: unknown
  /** In words. */
  range: string
  schema: Json
}

/** `layers`: the service's, then what was put; whatever is no object is an empty one. */
export interface ConfigRules {
  /** What was sent, merged over the layers below and the defaults: the answer to PUT. */
  kept(layers: unknown[]): Json
  /** The same with the value in force of every known key, and the warnings as a member: the answer to GET. */
  inForce(layers: unknown[]): Json & { warnings: Warning[] }
  /** Every known key in its order, with the value in force and what it may be. */
  settings(layers: unknown[]): Setting[]
  /** The value in force. */
  using(key: string, layers: unknown[]): unknown
  /** Known keys whose topmost value is not usable, in their order. */
  warningsOf(layers: unknown[]): Warning[]
}

/** `member`: the name of the service's layer in the configuration that the service was created with. */
export function configRules(known: Readonly<Record<string, Known>>, member: string): ConfigRules {
  const defaults = Object.entries(known).reduce<Json>(
    (all, [key, { default: fallback }]) => merge(all, nested(key.split('.'), fallback)),
    {},
  )
  const names = Object.keys(known)

  function usedOf(key: string, layers: Json[]): unknown {
    const { default: fallback, isUsable } = known[key] as Known
    return layers.reduce<unknown>((used, layer) => {
      const given = find(layer, key.split('.'))
      return given !== undefined && isUsable(given) ? given : used
    }, fallback)
  }

  function groupUsed(group: string, layers: Json[]): Json {
    const keys = names.filter((key) => key.startsWith(`${group}.`))
    return Object.fromEntries(keys.map((key) => [key.slice(group.length + 1), usedOf(key, layers)]))
  }

  const groups = [...new Set(names.flatMap((key) => (key.includes('.') ? [key.split('.')[0] as string] : [])))]

  const kept = (layers: unknown[]) => layers.filter(isObject).reduce(merge, defaults)

  function warningsOf(layers: unknown[]): Warning[] {
    const objects = layers.filter(isObject)
    const topmost = (path: string[]) =>
      objects.map((layer) => find(layer, path)).findLast((given) => given !== undefined)
    const unusable = Object.entries(known).flatMap(([key, { isUsable, problem }]) => {
      const given = topmost(key.split('.'))
      return given === undefined || isUsable(given) ? [] : [{ key, problem, using: usedOf(key, objects) }]
    })
    const notObjects = groups.flatMap((group) => {
      const given = topmost([group])
      return given === undefined || isObject(given)
        ? []
        : [{ key: group, problem: 'must be an object', using: groupUsed(group, objects) }]
    })
    // Only the service's can be none: what is put is refused.
    const none = objects.length < layers.length ? [{ key: member, problem: 'must be an object', using: {} }] : []
    return [...unusable, ...notObjects, ...none]
  }

  return {
    kept,
    inForce(layers) {
      const objects = layers.filter(isObject)
      const used = names.reduce((all, key) => merge(all, nested(key.split('.'), usedOf(key, objects))), kept(layers))
      // A key of this name that somebody put is kept, and not shown here.
      return { ...used, warnings: warningsOf(layers) }
    },
    settings(layers) {
      const objects = layers.filter(isObject)
      return Object.entries(known).map(([key, { default: fallback, problem, schema }]) => {
        const range = problem.replace(/^must be /, '')
        return { key, value: usedOf(key, objects), default: fallback, range, schema }
      })
    },
    using: (key, layers) => usedOf(key, layers.filter(isObject)),
    warningsOf,
  }
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

export function number(fallback: number, min: number, max: number): Known {
  return {
    default: fallback,
    problem: `must be a number from ${min} to ${max}`,
    schema: { type: 'number', minimum: min, maximum: max },
    isUsable: (value) => typeof value === 'number' && value >= min && value <= max,
  }
}

export function integer(fallback: number, min: number, max: number): Known {
  return {
    default: fallback,
    problem: `must be a whole number from ${min} to ${max}`,
    schema: { type: 'integer', minimum: min, maximum: max },
    isUsable: (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max,
  }
}

export function orNull(known: Known): Known {
  return {
    ...known,
    problem: `${known.problem}, or null`,
    schema: { ...known.schema, type: [known.schema.type, 'null'] },
    isUsable: (value) => value === null || known.isUsable(value),
  }
}

export function oneOf(fallback: string, names: readonly string[]): Known {
  return {
    default: fallback,
    problem: `must be one of ${names.join(', ')}`,
    schema: { type: 'string', enum: names },
    isUsable: (value) => names.includes(value as string),
  }
}

// The form of a configuration: what was typed for each key, what would change by it, and what is sent. Rules without
// React. What a key may be is said by the server; what it refuses is told at the key.

export interface Setting {
  key: string
  value: unknown
  default: unknown
  range: string
  schema: { [field: string]: unknown }
}

export type Field =
  | { as: 'choice'; choices: readonly string[] }
  | { as: 'number'; isWhole: boolean; mayBeNothing: boolean; min: number | undefined; max: number | undefined }
  | { as: 'switch' }
  | { as: 'json' }
  /** It has one value and cannot be another. */
  | { as: 'fixed' }

export function fieldOf({ schema }: Setting): Field {
  if ('const' in schema) return { as: 'fixed' }
  if (Array.isArray(schema.enum)) return { as: 'choice', choices: schema.enum.map(String) }
  const types = [schema.type].flat()
  if (types.includes('integer') || types.includes('number')) {
    const bound = (value: unknown) => (typeof value === 'number' ? value : undefined)
    return {
      as: 'number',
      isWhole: types.includes('integer'),
      mayBeNothing: types.includes('null'),
      ...{ min: bound(schema.minimum), max: bound(schema.maximum) },
    }
  }
  return types.includes('boolean') ? { as: 'switch' } : { as: 'json' }
}

/** As it stands in the field: nothing is an empty field. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** As people read it beside the field. */
export function shownOf(value: unknown): string {
  return value === null ? 'nothing' : textOf(value)
}

export type Read = { value: unknown } | { problem: string }

export function readField(field: Field, text: string): Read {
  const trimmed = text.trim()
  if (field.as === 'choice') return { value: trimmed }
  if (field.as === 'switch') return { value: trimmed === 'true' }
  if (field.as === 'number') {
    if (trimmed === '') return field.mayBeNothing ? { value: null } : { problem: 'It needs a number.' }
    const value = Number(trimmed.replace(',', '.'))
    if (!Number.isFinite(value)) return { problem: 'It is not a number.' }
    return field.isWhole && !Number.isInteger(value) ? { problem: 'It is not a whole number.' } : { value }
  }
  try {
    return { value: JSON.parse(trimmed) }
  } catch {
    return { problem: 'It is not JSON.' }
  }
}

export interface Change {
  key: string
  from: unknown
  to: unknown
  /** It goes back to what it is by itself. */
  isDefault: boolean
}

/** What was typed and differs from what is in force; the order is that of the settings. */
export function changesOf(
  settings: readonly Setting[],
  typed: ReadonlyMap<string, string>,
): { changes: Change[]; problems: Map<string, string> } {
  const changes: Change[] = []
  const problems = new Map<string, string>()
  for (const setting of settings) {
    const text = typed.get(setting.key)
    if (text === undefined) continue
    const read = readField(fieldOf(setting), text)
    if ('problem' in read) problems.set(setting.key, read.problem)
    else if (!isSame(read.value, setting.value))
      changes.push({
        key: setting.key,
        from: setting.value,
        to: read.value,
        isDefault: isSame(read.value, setting.default),
      })
  }
  return { changes, problems }
}

/**
 * The whole configuration with the changes in it, since it replaces what was put: keys of one's own, what differs from
 * the default, what is changed, and what the service itself says, which would else come through again.
 */
export function bodyOf(
  config: { [field: string]: unknown },
  settings: readonly Setting[],
  changes: readonly Change[],
  ofService: ReadonlySet<string> = new Set(),
): { [field: string]: unknown } {
  const changed = new Map(changes.map(({ key, to }) => [key, to]))
  const known = new Set(settings.map(({ key }) => key.split('.')[0]))
  const body: { [field: string]: unknown } = {}
  for (const [key, value] of Object.entries(config)) if (!known.has(key)) body[key] = value
  for (const { key, value, default: usual } of settings) {
    if (!changed.has(key) && isSame(value, usual) && !ofService.has(key)) continue
    put(body, key.split('.'), changed.has(key) ? changed.get(key) : value)
  }
  return body
}

/** Each key of an object with a dot for each object that it is in. */
export function keysIn(config: unknown, before = ''): string[] {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) return []
  return Object.entries(config).flatMap(([key, value]) => {
    const inner = keysIn(value, `${before}${key}.`)
    return inner.length > 0 ? inner : [`${before}${key}`]
  })
}

/** By what stands before the dot; those without one first. */
export function grouped<One extends { key: string }>(settings: readonly One[]): (readonly [string, readonly One[]])[] {
  const groups = Map.groupBy(settings, ({ key }) => (key.includes('.') ? (key.split('.')[0] as string) : ''))
  return [...groups].toSorted(([one], [other]) => Number(one !== '') - Number(other !== ''))
}

function put(body: { [field: string]: unknown }, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) body[first] = value
  else {
    const inner = (body[first] ?? {}) as { [field: string]: unknown }
    body[first] = inner
    put(inner, rest, value)
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

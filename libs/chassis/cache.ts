// A bounded map that keeps what is in use (second chance: an entry that was used since it was last examined stays). A
// flood of new keys evicts itself, not the entries that everybody works with; and a use costs no more than a look.

export interface Cache<Value> {
  /** Counts as a use. */
  find(key: string): Value | undefined
  /** Does not. */
  has(key: string): boolean
  /** `size` in the unit of the bound: 1 where entries are counted. One that is larger than the bound is not kept. */
  keep(key: string, value: Value, size?: number): void
  drop(key: string): void
  values(): Value[]
}

interface Entry<Value> {
  value: Value
  size: number
  isUsed: boolean
}

export function createCache<Value>(sizeMax: number): Cache<Value> {
  const entries = new Map<string, Entry<Value>>()
  let held = 0

  function drop(key: string): void {
    held -= entries.get(key)?.size ?? 0
    entries.delete(key)
  }

  /** Oldest first. A used entry moves to the end and must be used again to stay. */
  function evict(newest: string): void {
    for (const [key, entry] of entries) {
      if (held <= sizeMax) return
      if (key === newest) continue
      drop(key)
      if (!entry.isUsed) continue
      entries.set(key, { ...entry, isUsed: false })
      held += entry.size
    }
  }

  return {
    find(key) {
      const entry = entries.get(key)
      if (entry) entry.isUsed = true
      return entry?.value
    },
    has: (key) => entries.has(key),
    keep(key, value, size = 1) {
      if (size > sizeMax) {
        drop(key)
        return
      }
      const known = entries.get(key)
      held += size - (known?.size ?? 0)
      if (known) Object.assign(known, { value, size, isUsed: true })
      else entries.set(key, { value, size, isUsed: false })
      if (held > sizeMax) evict(key)
    },
    drop,
    values: () => [...entries.values()].map(({ value }) => value),
  }
}

// A bounded cache of verified credentials (second chance: an entry that was used since it was last examined stays). A
// flood of new credentials evicts itself, not the credentials in regular use.

export interface Cache<Value> {
  find(key: string): Value | undefined
  keep(key: string, value: Value, bytes: number): void
}

interface Entry<Value> {
  value: Value
  bytes: number
  isUsed: boolean
}

export function createCache<Value>(bytesMax: number): Cache<Value> {
  const entries = new Map<string, Entry<Value>>()
  let held = 0
  return {
    find(key) {
      const entry = entries.get(key)
      if (entry) entry.isUsed = true
      return entry?.value
    },
    keep(key, value, bytes) {
      held += bytes - (entries.get(key)?.bytes ?? 0)
      entries.set(key, { value, bytes, isUsed: false })
      // Oldest first. A used entry moves to the end and must be used again to stay.
      for (const [oldest, entry] of entries) {
        if (held <= bytesMax) return
        entries.delete(oldest)
        if (entry.isUsed && oldest !== key) entries.set(oldest, { ...entry, isUsed: false })
        else held -= entry.bytes
      }
    },
  }
}

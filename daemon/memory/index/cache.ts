// What is kept of databases that were recalled: least recently used first out, by bytes: those of the bodies of
// segments, of what is derived from them, and of the objects that hold both.

export interface ByteCache<Value> {
  /** The value, which is now the most recently used one. */
  get(key: string): Value | undefined
  /** Puts a value in, or says how large it has become. Older ones leave until all fit; one that cannot fit leaves. */
  set(key: string, value: Value, bytes: number): void
  delete(key: string): void
  entries(): IterableIterator<[string, Value]>
  readonly bytes: number
  readonly size: number
}

export function createByteCache<Value>(
  bytesMax: number,
  onLeave: (key: string, value: Value) => void,
): ByteCache<Value> {
  const entries = new Map<string, { value: Value; bytes: number }>()
  let total = 0

  function leave(key: string): void {
    const entry = entries.get(key)
    if (entry === undefined) return
    entries.delete(key)
    total -= entry.bytes
    onLeave(key, entry.value)
  }

  return {
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    set(key, value, bytes) {
      const known = entries.get(key)
      if (known !== undefined && known.value !== value) leave(key)
      else if (known !== undefined) {
        entries.delete(key)
        total -= known.bytes
      }
      entries.set(key, { value, bytes })
      total += bytes
      for (const oldest of entries.keys()) {
        if (total <= bytesMax) return
        leave(oldest)
      }
    },
    delete: leave,
    entries: () => [...entries].map(([key, { value }]): [string, Value] => [key, value])[Symbol.iterator](),
    get bytes() {
      return total
    },
    get size() {
      return entries.size
    },
  }
}

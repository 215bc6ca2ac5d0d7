// Which keys this replica has lately found on pages that cannot be read. Searching for them is work, and each failed
// read is a warning in the server's log; reading between known ones is neither. Only a help for the search: each key is
// tried again.

const KEPT_MS = 60_000
const DATABASES_MAX = 200
const KEYS_MAX = 2_000

const known = new Map<string, { keys: Set<string>; at: number }>()

/** In order of code points, behind `after` and with the prefix. */
export function knownUnreadable(instanceId: string, database: string, prefix: string, after: string | null): string[] {
  const place = `${instanceId}/${database}`
  const found = known.get(place)
  if (!found) return []
  if (performance.now() - found.at > KEPT_MS) {
    known.delete(place)
    return []
  }
  const keys = [...found.keys].filter((key) => key.startsWith(prefix) && (after === null || inOrder(after, key) < 0))
  return keys.sort(inOrder)
}

export function rememberUnreadable(instanceId: string, database: string, keys: string[]): void {
  if (keys.length === 0) return
  const place = `${instanceId}/${database}`
  const found = known.get(place) ?? { keys: new Set(), at: performance.now() }
  for (const key of keys) if (found.keys.size < KEYS_MAX) found.keys.add(key)
  if (!known.has(place) && known.size >= DATABASES_MAX) known.delete(known.keys().next().value as string)
  known.set(place, found)
}

/** As Postgres orders "C": by UTF-8 bytes, which is code point order. JavaScript compares UTF-16 units. */
function inOrder(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

// Which keys this replica has lately found on pages that cannot be read. Searching for them is work, and each failed
// read is a warning in the server's log; reading between known ones is neither. Only a help for the search: each key is
// tried again.

import { createCache } from '@loci/chassis/cache.ts'

const KEPT_MS = 60_000
const PLACES_MAX = 200
const KEYS_MAX = 2_000

export interface KnownDamage {
  /** In order of code points, behind `after` and with the prefix. `place`: table, instance and database. */
  find(place: string, prefix: string, after: string | null): string[]
  remember(place: string, keys: string[]): void
}

export function createKnownDamage(): KnownDamage {
  const known = createCache<{ keys: Set<string>; at: number }>(PLACES_MAX)
  return {
    find(place, prefix, after) {
      const found = known.find(place)
      if (!found) return []
      if (performance.now() - found.at > KEPT_MS) {
        known.drop(place)
        return []
      }
      return [...found.keys]
        .filter((key) => key.startsWith(prefix) && (after === null || inOrder(after, key) < 0))
        .sort(inOrder)
    },
    remember(place, keys) {
      if (keys.length === 0) return
      const found = known.find(place) ?? { keys: new Set(), at: performance.now() }
      for (const key of keys) if (found.keys.size < KEYS_MAX) found.keys.add(key)
      known.keep(place, found)
    },
  }
}

/**
 * As Postgres orders "C": by the bytes of UTF-8, which is the order of code points. JavaScript's own is that of UTF-16.
 */
function inOrder(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

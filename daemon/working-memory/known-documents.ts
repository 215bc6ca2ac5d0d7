// What this replica remembers of the documents that it has committed, so that the next write of one is planned without
// reading it: one round trip instead of two. Nothing here is believed: the commit compares content, configuration and
// clock with what was remembered (wm_write), and answers `moved` when anything is another. Then it is read again.

import { createCache } from '@loci/chassis/cache.ts'
import type { Snapshot } from './store.ts'

export interface KnownDocuments {
  find(instanceId: string, database: string): Snapshot | undefined
  keep(instanceId: string, database: string, snapshot: Snapshot): void
  /** It was another than remembered: somebody else writes it too, and for a while it is read at each write. */
  moved(instanceId: string, database: string): void
  /** The database's clock in milliseconds, by the time that passed here since it was last heard. */
  now(): number
  heard(now: number): void
}

/** Of all documents together, 1 for each document itself: some 20 MB. */
const SLOTS_MAX = 20_000
const SHARED_MS = 1_000
/** wm_write refuses a plan that is this far ahead of its clock. */
const CLOCK_SET_MS = 100

export function createKnownDocuments(): KnownDocuments {
  const known = createCache<Snapshot | { sharedUntil: number }>(SLOTS_MAX)
  let offset = 0
  return {
    find(instanceId, database) {
      const found = known.find(`${instanceId}/${database}`)
      return found && 'document' in found ? found : undefined
    },
    keep(instanceId, database, snapshot) {
      const key = `${instanceId}/${database}`
      const last = known.find(key)
      if (last && 'sharedUntil' in last && last.sharedUntil > performance.now()) return
      const { slots } = snapshot.document
      if (isWhole(snapshot)) known.keep(key, snapshot, 1 + slots.length)
      else known.drop(key)
    },
    moved(instanceId, database) {
      known.keep(`${instanceId}/${database}`, { sharedUntil: performance.now() + SHARED_MS })
    },
    now: () => Math.floor(performance.now() + offset),
    heard(now) {
      // Heard late by the way of the answer: the one that was on its way for the shortest is nearest, unless the clock
      // was set back.
      const latest = now - performance.now()
      if (latest > offset || offset - latest > CLOCK_SET_MS) offset = latest
    },
  }
}

/** A slot that is damaged is looked at again by each write. */
function isWhole({ digest, configIntact, document }: Snapshot): boolean {
  return digest.length === 32 && configIntact && document.slots.every(({ meta }) => meta !== undefined)
}

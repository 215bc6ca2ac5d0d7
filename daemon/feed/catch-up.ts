// How a replica reads what changed in the authority of its cell since the last time.

import type { Authority, AuthorityChanges } from '../access/authority.ts'

export const RESTORED =
  'the database of this cell was restored or has failed over; nothing is served before management has told everything again'
const FEED_ALARM_S = 900

/**
 * One reading after the other: an older one that ends later must not put back what a newer one has replaced. Callers
 * that come while one waits share it, so that a silent store does not make the beat wait in a queue.
 */
export function createCatchUp(
  authority: Authority,
  readChanges: (since: number) => Promise<AuthorityChanges>,
): () => Promise<void> {
  let reading: Promise<void> = Promise.resolve()
  let waiting: Promise<void> | undefined
  const read = async () => {
    waiting = undefined
    const readAt = performance.now()
    authority.accept(await readChanges(authority.changeSeq), readAt)
  }
  return () => {
    waiting ??= reading = reading.then(read, read)
    return waiting
  }
}

/** Why the feed counts as a problem of this replica, or undefined. */
export function feedProblem(authority: Authority): string | undefined {
  const ageS = authority.feedAgeS()
  return ageS !== null && ageS > FEED_ALARM_S ? `management was last heard ${Math.round(ageS)} s ago` : undefined
}

export function authorityProblem(authority: Authority): string | undefined {
  return authority.isStale() ? `not read for ${Math.round(authority.ageS())} s: each request asks` : undefined
}

// How a replica polls the changes of its cell's authority.

import type { Authority, AuthorityChanges } from '../access/authority.ts'

export const RESTORED =
  'PostgreSQL of this cell was restored or has failed over; nothing is served before a full resync from management'
const FEED_ALARM_S = 900

/**
 * One poll at a time: an older one that ends later must not overwrite a newer one. Callers that arrive while one waits
 * share it, so that polls do not queue up while the database does not answer.
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
  return ageS !== null && ageS > FEED_ALARM_S ? `last contact with management ${Math.round(ageS)} s ago` : undefined
}

export function authorityProblem(authority: Authority): string | undefined {
  return authority.isStale()
    ? `not read for ${Math.round(authority.ageS())} s; each request checks the database`
    : undefined
}

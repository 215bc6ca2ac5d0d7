// The signing keys of the provider. Fetched when the first token is checked, again when a token names a key that is not
// among them or the set is an hour old; never more than once a minute, whoever asks and however often. While the
// provider is away the last good set stays, a day at most. A key that is not there may be there in a minute: that it is
// missing says nothing about the token.

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'

export type KeySet = JWTVerifyGetKey

const FRESH_MS = 3_600_000
const STALE_MS_MAX = 86_400_000
const BETWEEN_MS = 60_000

interface KeySetOptions {
  fetch(): Promise<JSONWebKeySet>
  nowMs(): number
  /** The error to throw while a token cannot be checked. */
  unavailable(why: string): Error
}

export function createKeySet({ fetch, nowMs, unavailable }: KeySetOptions): KeySet {
  let known: { find: JWTVerifyGetKey; at: number } | undefined
  let fetching: Promise<void> | undefined
  /** The first fetch does not count: keys may be rotated in the first minute of a process too. */
  let refetchedAt = Number.NEGATIVE_INFINITY

  async function renew(): Promise<void> {
    if (known) refetchedAt = nowMs()
    const keys = await fetch()
    known = { find: read(keys), at: nowMs() }
  }

  function read(keys: JSONWebKeySet): JWTVerifyGetKey {
    try {
      return createLocalJWKSet(keys)
    } catch {
      throw unavailable('the answer is no key set')
    }
  }

  async function find(...asked: Parameters<JWTVerifyGetKey>) {
    if (!known) throw unavailable('it has not answered yet')
    return known.find(...asked)
  }

  async function mayRenew(): Promise<void> {
    if (!fetching && known && nowMs() - refetchedAt < BETWEEN_MS) return
    fetching ??= renew().finally(() => {
      fetching = undefined
    })
    await fetching
  }

  return async (header, token) => {
    const ageMs = () => (known ? nowMs() - known.at : Number.POSITIVE_INFINITY)
    if (ageMs() > STALE_MS_MAX) await mayRenew()
    else if (ageMs() > FRESH_MS) await mayRenew().catch(() => {})
    // Within a minute after a fetch that failed, nobody fetches.
    if (ageMs() > STALE_MS_MAX) throw unavailable('its keys are older than a day')
    try {
      return await find(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      await mayRenew()
      return find(header, token).catch((error) => {
        throw error instanceof errors.JWKSNoMatchingKey ? unavailable('it does not have the key of a new token') : error
      })
    }
  }
}

// One answer for everybody who asks within a moment. What an open route costs is decided by strangers; made this way it
// costs one answer a second, however many ask, and never a connection of the database for each.

import { ApiError } from './api-error.ts'

/** Callers that may wait for one computation. Probes come every few seconds from a few places; more is a flood. */
const WAITING_MAX = 256

/** Made anew when it is older than `ms`; whoever comes meanwhile waits for the same one. A failure is not kept. */
export function cachedFor<Value>(ms: number, make: () => Promise<Value>): () => Value | Promise<Value> {
  let known: { value: Value; at: number } | undefined
  let making: Promise<Value> | undefined
  let waiting = 0

  async function renew(): Promise<Value> {
    try {
      const value = await make()
      known = { value, at: performance.now() }
      return value
    } finally {
      making = undefined
      waiting = 0
    }
  }

  return () => {
    if (known && performance.now() - known.at < ms) return known.value
    if (waiting >= WAITING_MAX)
      throw new ApiError('OVERLOADED', 'Too many requests already wait for this answer. Nothing was done; try again.')
    waiting += 1
    making ??= renew()
    return making
  }
}

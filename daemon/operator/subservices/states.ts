// The state of each sub-service as health, probes and admin status show it.

import { cachedFor } from '@loci/chassis/cached.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Route } from '@loci/chassis/route.ts'
import { phraseOf, type StoreHealth } from '@loci/chassis/store-health.ts'
import { SUBSERVICE_NAMES } from '@loci/contract/subservices.ts'
import type { Switches } from './switches.ts'

/** One ping per interval, whatever the number of requests: the route is open. */
const PING_MS = 1_000

interface StatesOptions {
  switches: Switches
  lifecycle: Lifecycle
  routes(): Route[]
  ping(): Promise<{ latencyMs: number }>
  store: Pick<StoreHealth, 'worst'>
}

export function createStates({ switches, lifecycle, routes, ping, store }: StatesOptions) {
  /**
   * A sub-service without routes is `not_built`; one whose switch was never read, because PostgreSQL has been away
   * since the start, is `unknown`. kv is the store itself.
   */
  const of = (name: string): string => {
    if (!switches.isRead(name)) return 'unknown'
    if (!switches.isEnabled(name)) return 'disabled'
    if (lifecycle.problem('postgres') !== undefined) return 'down'
    return name === 'kv' || routes().some(({ spec }) => spec.subservice === name) ? 'running' : 'not_built'
  }
  const postgres = cachedFor(PING_MS, () =>
    ping().then(
      ({ latencyMs }) => ({ status: 'ok', latencyMs, ...store.worst() }),
      (error) => ({ status: 'down', ...store.worst(), latencyMs: 0, detail: phraseOf(error) }),
    ),
  )
  return {
    of,
    all: () => Object.fromEntries(SUBSERVICE_NAMES.map((name) => [name, of(name)])),
    checks: { postgres, ...Object.fromEntries(SUBSERVICE_NAMES.map((name) => [name, () => ({ status: of(name) })])) },
  }
}

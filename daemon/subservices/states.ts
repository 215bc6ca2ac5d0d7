// The state of each sub-service as health, probes and admin status show it.

import { cachedFor } from '@loci/chassis/cached.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Route } from '@loci/chassis/route.ts'
import { SUBSERVICE_NAMES } from './subservices.ts'
import type { Switches } from './switches.ts'

/** One ping per interval, whatever the number of requests: the route is open. */
const PING_MS = 1_000

interface StatesOptions {
  switches: Switches
  lifecycle: Lifecycle
  routes(): Route[]
  ping(): Promise<{ latencyMs: number }>
}

export function createStates({ switches, lifecycle, routes, ping }: StatesOptions) {
  /** A sub-service without routes is `not_built`. kv is the store itself. */
  const of = (name: string): string => {
    if (!switches.isEnabled(name)) return 'disabled'
    if (lifecycle.problem('postgres') !== undefined) return 'down'
    return name === 'kv' || routes().some(({ spec }) => spec.subservice === name) ? 'running' : 'not_built'
  }
  const postgres = cachedFor(PING_MS, () =>
    ping().then(
      ({ latencyMs }) => ({ status: 'ok', latencyMs }),
      () => ({ status: 'down', latencyMs: 0, detail: 'does not answer' }),
    ),
  )
  return {
    of,
    all: () => Object.fromEntries(SUBSERVICE_NAMES.map((name) => [name, of(name)])),
    checks: { postgres, ...Object.fromEntries(SUBSERVICE_NAMES.map((name) => [name, () => ({ status: of(name) })])) },
  }
}

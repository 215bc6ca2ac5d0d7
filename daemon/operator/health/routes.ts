import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { healthAllResponse, lifecycleStatus } from '@loci/contract/health.ts'

export interface Check {
  status: string
  latencyMs?: number
  detail?: string
}

interface HealthOptions {
  lifecycle: Lifecycle
  inFlight(): number
  /**
   * Checks by name, from app.ts. None may throw, and none may run a statement per request: the route is open.
   */
  checks: Record<string, () => Check | Promise<Check>>
}

export function healthRoutes({ lifecycle, inFlight, checks }: HealthOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/health/all',
        access: open,
        tag: 'health',
        deadline: 'probe',
        summary: 'Check every dependency and sub-service.',
        details: 'What is told was checked at most a second ago.',
        answers: { 200: healthAllResponse },
        errors: ['OVERLOADED'],
      },
      async () => {
        const startedAt = performance.now()
        const results = await Promise.all(
          Object.entries(checks).map(async ([name, check]) => [name, await check()] as const),
        )
        const isImpaired = results.some(([name, { status }]) =>
          name === 'postgres' ? status !== 'ok' : status === 'down',
        )
        return {
          status: statusOf(lifecycle, isImpaired),
          checks: Object.fromEntries(results),
          latencyMs: Math.round(performance.now() - startedAt),
          timestamp: new Date().toISOString(),
        }
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/lifecycle/status',
        access: open,
        tag: 'health',
        deadline: 'probe',
        summary: 'Read the state of the process, its reasons and past transitions.',
        answers: { 200: lifecycleStatus },
      },
      () => lifecycle.status(inFlight()),
    ),
  ]
}

function statusOf({ state }: Lifecycle, isImpaired: boolean): string {
  if (state === 'draining' || state === 'stopped') return 'draining'
  if (state !== 'ready' && state !== 'degraded') return 'starting'
  return isImpaired || state === 'degraded' ? 'degraded' : 'ok'
}

import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { conductorEndpoints, systemInfo } from '@loci/contract/health.ts'

interface ConductorOptions {
  systemRead: Access<unknown>
  version: string
  /** Digest of recall's tables. */
  meaning: string
  /** Every registered route, this one included. A function, because not all are known yet when this one is made. */
  routes(): Route[]
}

export function conductorRoutes({ systemRead, version, meaning, routes }: ConductorOptions): Route[] {
  const startedAt = performance.now()
  return [
    route(
      {
        method: 'GET',
        path: '/v1/system/info',
        access: systemRead,
        tag: 'system',
        summary: 'Read version and uptime of the daemon, and which tables recall uses.',
        answers: { 200: systemInfo },
      },
      () => {
        const uptime = Math.round(performance.now() - startedAt) / 1000
        return { version, uptime, build: 'release', product: 'loci', meaning }
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/conductor/endpoints',
        access: systemRead,
        tag: 'system',
        summary: 'List the path of every registered route.',
        answers: { 200: conductorEndpoints },
      },
      () => {
        const endpoints = [...new Set(routes().map(({ spec }) => spec.path))].sort()
        return { endpoints, total: endpoints.length }
      },
    ),
  ]
}

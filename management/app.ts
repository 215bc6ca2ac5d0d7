// Every feature of management and what it is handed, on one screen.

import { addressSet } from '@loci/chassis/addresses.ts'
import { documentOf } from '@loci/chassis/documents.ts'
import { createLifecycle } from '@loci/chassis/lifecycle.ts'
import { createLimiter } from '@loci/chassis/limiter.ts'
import type { Log } from '@loci/chassis/log.ts'
import { createMetrics } from '@loci/chassis/metrics.ts'
import { documentRoutes, probeRoutes } from '@loci/chassis/probes.ts'
import { StartRefused } from '@loci/chassis/program.ts'
import type { Route } from '@loci/chassis/route.ts'
import { createServer } from '@loci/chassis/server.ts'
import type { Required } from '@loci/chassis/settings.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { prepareDatabase } from '@loci/postgres/prepare.ts'
import { watchDatabase } from '@loci/postgres/watch.ts'
import { lifecycleRoutes } from './health/routes.ts'

export const MANAGEMENT_SETTINGS = [
  'listen',
  'publicUrl',
  'databaseUrl',
  'databaseCa',
  'databaseConnectionsMax',
  'trustedProxies',
  'requireHttps',
  'tlsCert',
  'tlsKey',
  'concurrencyMax',
  'queueMax',
  'queueMs',
  'drainGraceMs',
  'drainMs',
  'logLevel',
] as const

export type ManagementSettings = Required<(typeof MANAGEMENT_SETTINGS)[number]>

export const MIGRATIONS = new URL('migrations', import.meta.url).pathname

/** Tables without content of an organization; every other table has forced row-level security. */
const TABLES_WITHOUT_RLS = ['migrations']

const BEAT_MS = 1_000

export async function createManagement({
  settings,
  log,
  version,
  verifyAnswers = false,
}: {
  settings: ManagementSettings
  log: Log
  version: string
  verifyAnswers?: boolean
}) {
  const lifecycle = createLifecycle()
  const metrics = createMetrics({ version })
  const limiter = createLimiter({
    runningMax: settings.concurrencyMax,
    queueMax: settings.queueMax,
    queueMs: settings.queueMs,
  })
  const trustedProxies = addressSet(settings.trustedProxies)
  const database = {
    url: settings.databaseUrl,
    ...(settings.databaseCa ? { ca: settings.databaseCa } : {}),
    onError: (error: Error) => log.warn({ error, component: 'postgres' }, 'an idle connection failed'),
  }
  const background = openPool({ ...database, applicationName: 'loci-management-background', connectionsMax: 2 })

  const inFlight = () => server.inFlight()
  const parts = () => ({ postgres: lifecycle.state === 'degraded' ? 'down' : 'running' })
  const routes: Route[] = [
    ...probeRoutes({ lifecycle, metrics, prefixes: [''], parts }),
    ...lifecycleRoutes({ lifecycle, inFlight }),
    ...documentRoutes(() => managementDocument(routes, version)),
  ]

  const tls = settings.tlsCert && settings.tlsKey ? { tls: { cert: settings.tlsCert, key: settings.tlsKey } } : {}
  const server = await createServer({
    routes,
    letterCase: 'snake',
    lifecycle,
    limiter,
    log,
    metrics,
    trustedProxies,
    requireHttps: settings.requireHttps,
    verifyAnswers,
    ...tls,
  })

  metrics.gauge('loci_requests_in_flight', 'Requests that are being worked on or answered.', inFlight)
  metrics.gauge('loci_requests_waiting', 'Requests that wait for a slot of the limiter.', () => limiter.waiting)
  metrics.gauge('loci_ready', '1 while readiness answers 200.', () =>
    lifecycle.state === 'ready' || lifecycle.state === 'degraded' ? 1 : 0,
  )

  const stopping = new AbortController()
  let stopBackground = () => {}

  return {
    routes,
    servers: [server],
    lifecycle,
    /** Listens first, so that probes are answered while the rest comes up; resolves when requests are served. */
    async start(): Promise<{ url: string }> {
      const { url } = await server.listen(settings.listen)
      log.info({ url, version, pid: process.pid }, 'listening')
      lifecycle.move('migrating', 'waiting for the database and its schema')
      const prepared = await prepareDatabase({
        sql: background,
        migrations: MIGRATIONS,
        tablesWithoutRls: TABLES_WITHOUT_RLS,
        signal: stopping.signal,
        onWaiting: (reason) => log.warn({ reason }, 'waiting'),
      })
      if (prepared === 'stopped') return { url }
      if (prepared.refused) throw new StartRefused(prepared.refused)
      for (const warning of prepared.warnings) log.warn({ reason: warning }, 'database')
      lifecycle.move('warming', `schema ${prepared.schemaVersion} on PostgreSQL ${prepared.serverVersion}`)
      const watch = watchDatabase({
        sql: background,
        everyMs: BEAT_MS,
        report: (problem) => lifecycle.report('postgres', problem),
      })
      stopBackground = () => watch.stop()
      lifecycle.move('ready', 'everything is read')
      return { url }
    },
    async close(): Promise<void> {
      stopping.abort()
      stopBackground()
      await background.close()
    },
  }
}

export function managementDocument(routes: Route[], version: string): Record<string, unknown> {
  return documentOf(routes, {
    title: 'loci management',
    version,
    description:
      'The control plane: organizations, tenants, services, tokens, billing. Errors are listed in docs/api/errors.md.',
    letterCase: 'snake',
    securitySchemes: {},
  })
}

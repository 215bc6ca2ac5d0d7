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
import { cellAccess } from './access/cell.ts'
import { keepAuditPartitions } from './audit/store.ts'
import { findCellKeys } from './cells/store.ts'
import { feedRoutes } from './feed/routes.ts'
import { listFeedEnds } from './feed/store.ts'
import { createWaiting } from './feed/waiting.ts'
import { lifecycleRoutes } from './health/routes.ts'
import { keepKeys, requireOpenable } from './keys/keys.ts'
import { keyRoutes } from './keys/routes.ts'
import { createSealer, SealingKeyMissing } from './keys/sealing.ts'
import { reportRoutes } from './reports/routes.ts'
import { forgetReportIds } from './reports/store.ts'
import { deleteExpired } from './revocations/store.ts'
import { MIGRATIONS } from './schema.ts'

export const MANAGEMENT_SETTINGS = [
  'listen',
  'publicUrl',
  'databaseUrl',
  'databaseCa',
  'databaseConnectionsMax',
  'sealingKeys',
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

const BEAT_MS = 1_000
const UPKEEP_MS = 60_000

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
  const pool = openPool({
    ...database,
    applicationName: 'loci-management',
    connectionsMax: settings.databaseConnectionsMax,
  })
  // Probes, waiting polls and upkeep must not queue behind the requests that they watch over.
  const background = openPool({ ...database, applicationName: 'loci-management-background', connectionsMax: 2 })
  const sealer = createSealer(settings.sealingKeys)
  const waiting = createWaiting({ readEnds: (cellIds) => listFeedEnds(background, cellIds) })
  lifecycle.onMove(({ to }) => {
    if (to === 'draining') waiting.endAll()
  })
  const cell = cellAccess({ findCellKeys: (id) => findCellKeys(pool, id), publicUrl: settings.publicUrl })

  const inFlight = () => server.inFlight()
  const parts = () => ({ postgres: lifecycle.state === 'degraded' ? 'down' : 'running' })
  const routes: Route[] = [
    ...probeRoutes({ lifecycle, metrics, prefixes: [''], parts }),
    ...lifecycleRoutes({ lifecycle, inFlight }),
    ...keyRoutes({ pool }),
    ...feedRoutes({ cell, pool, waiting }),
    ...reportRoutes({ cell, pool, tell: (cellId) => waiting.tell(cellId) }),
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
  metrics.gauge(
    'loci_database_connections_waiting',
    'Requests that wait for a database connection.',
    () => pool.counts().waiting,
  )
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
        signal: stopping.signal,
        onWaiting: (reason) => log.warn({ reason }, 'waiting'),
      })
      if (prepared === 'stopped') return { url }
      if (prepared.refused) throw new StartRefused(prepared.refused)
      for (const warning of prepared.warnings) log.warn({ reason: warning }, 'database')
      lifecycle.move('warming', `schema ${prepared.schemaVersion} on PostgreSQL ${prepared.serverVersion}`)
      await refuseUnopenable(() => requireOpenable(background, sealer))
      await keepAuditPartitions(background)
      await keepKeys(background, sealer)
      const watch = watchDatabase({
        sql: background,
        everyMs: BEAT_MS,
        report: (problem) => lifecycle.report('postgres', problem),
        onError: (error) => log.warn({ error, component: 'postgres' }, 'the database does not answer'),

        // What goes wrong with a key is no trouble of the database, and must not be told as if it were.
        also: () =>
          keepKeys(background, sealer).catch((error) => log.error({ error }, 'keeping the signing keys failed')),
      })
      const upkeep = setInterval(() => void keepHouse(), UPKEEP_MS)
      stopBackground = () => {
        watch.stop()
        clearInterval(upkeep)
      }
      lifecycle.move('ready', 'everything is read')
      return { url }
    },
    async close(): Promise<void> {
      stopping.abort()
      stopBackground()
      waiting.endAll()
      await Promise.all([pool.close(), background.close()])
    },
  }

  async function keepHouse(): Promise<void> {
    try {
      await keepAuditPartitions(background)
      await forgetReportIds(background)
      await deleteExpired(background)
    } catch (error) {
      log.error({ error }, 'upkeep failed and is tried again')
    }
  }
}

/** A process that can not sign must not say that it is ready: every token it is asked for would fail. */
async function refuseUnopenable(open: () => Promise<void>): Promise<void> {
  try {
    await open()
  } catch (error) {
    throw error instanceof SealingKeyMissing ? new StartRefused([error.message]) : error
  }
}

export function managementDocument(routes: Route[], version: string): Record<string, unknown> {
  return documentOf(routes, {
    title: 'loci management',
    version,
    description:
      'The control plane: organizations, tenants, services, tokens, billing. Errors are listed in docs/api/errors.md.',
    letterCase: 'snake',
    securitySchemes: {
      cell: {
        type: 'http',
        scheme: 'bearer',
        description: 'A JWS of type loci-cell+jwt, signed with the key of a registered cell, for at most a minute.',
      },
    },
  })
}

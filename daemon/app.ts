// Every feature of the daemon and what it is handed, on one screen.

import { addressSet } from '@loci/chassis/addresses.ts'
import { documentOf } from '@loci/chassis/documents.ts'
import { createLifecycle } from '@loci/chassis/lifecycle.ts'
import { createLimiter } from '@loci/chassis/limiter.ts'
import type { Log } from '@loci/chassis/log.ts'
import { createMetrics } from '@loci/chassis/metrics.ts'
import { documentRoutes, probeRoutes } from '@loci/chassis/probes.ts'
import { StartRefused } from '@loci/chassis/program.ts'
import type { Route } from '@loci/chassis/route.ts'
import { createServer, type HttpServer } from '@loci/chassis/server.ts'
import type { Required } from '@loci/chassis/settings.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { prepareDatabase } from '@loci/postgres/prepare.ts'
import { pingDatabase, watchDatabase } from '@loci/postgres/watch.ts'
import { adminAccess } from './access/admin.ts'
import { capabilityAccess } from './access/capability.ts'
import { keepAuditPartitions } from './audit/store.ts'
import { conductorRoutes } from './conductor/routes.ts'
import { type Check, healthRoutes } from './health/routes.ts'
import { subserviceRoutes } from './subservices/routes.ts'
import { listSwitches, revertDue } from './subservices/store.ts'
import { SUBSERVICE_NAMES } from './subservices/subservices.ts'
import { createSwitches } from './subservices/switches.ts'

export const DAEMON_SETTINGS = [
  'listen',
  'adminListen',
  'databaseUrl',
  'databaseCa',
  'databaseConnectionsMax',
  'adminTokenDigests',
  'adminAllowlist',
  'trustedProxies',
  'requireHttps',
  'tlsCert',
  'tlsKey',
  'partnerName',
  'concurrencyMax',
  'queueMax',
  'queueMs',
  'drainGraceMs',
  'drainMs',
  'logLevel',
] as const

export type DaemonSettings = Required<(typeof DAEMON_SETTINGS)[number]>

export const MIGRATIONS = new URL('migrations', import.meta.url).pathname

/** Tables without tenant content, which workers scan across instances; every other table has forced row-level security. */
const TABLES_WITHOUT_RLS = ['migrations', 'subservices']

/** A switch must reach every replica within a second, and two missed beats must still fit into it. */
const BEAT_MS = 300
const PARTITIONS_MS = 3_600_000

export async function createDaemon({
  settings,
  log,
  version,
  verifyAnswers = false,
}: {
  settings: DaemonSettings
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
    applicationName: 'loci-daemon',
    connectionsMax: settings.databaseConnectionsMax,
  })
  // Probes, switches and upkeep must not queue behind the requests that they watch over.
  const background = openPool({ ...database, applicationName: 'loci-daemon-background', connectionsMax: 2 })
  const switches = createSwitches()

  const admin = adminAccess({
    tokenDigests: settings.adminTokenDigests,
    allowlist: addressSet(settings.adminAllowlist),
    trustedProxies,
  })
  const systemRead = capabilityAccess('system:read')

  const state = (name: string) =>
    subserviceState(name, routes, switches.isEnabled(name), lifecycle.state === 'degraded')
  const parts = () => Object.fromEntries(SUBSERVICE_NAMES.map((name) => [name, state(name)]))
  const postgres = (): Promise<Check> =>
    pingDatabase(background).then(
      ({ latencyMs }) => ({ status: 'ok', latencyMs }),
      () => ({ status: 'down', latencyMs: 0, detail: 'does not answer' }),
    )
  const inFlight = () => servers.reduce((sum, server) => sum + server.inFlight(), 0)

  const routes: Route[] = [
    ...probeRoutes({ lifecycle, metrics, prefixes: ['', '/v1'], parts }),
    ...healthRoutes({
      lifecycle,
      inFlight,
      checks: {
        postgres,
        ...Object.fromEntries(SUBSERVICE_NAMES.map((name) => [name, () => ({ status: state(name) })])),
      },
    }),
    ...conductorRoutes({ systemRead, version, routes: () => routes }),
    ...subserviceRoutes({ admin, pool: background, switches, state }),
    ...documentRoutes(() => daemonDocument(routes, version)),
  ]

  const shared = {
    letterCase: 'camel' as const,
    lifecycle,
    limiter,
    log,
    metrics,
    trustedProxies,
    requireHttps: settings.requireHttps,
    subservices: switches,
    verifyAnswers,
    ...tlsOf(settings),
  }
  const isAdmin = ({ spec }: Route) => spec.access.class === 'admin'
  const main = await createServer({
    ...shared,
    routes: settings.adminListen ? routes.filter((one) => !isAdmin(one)) : routes,
  })
  const adminServer = settings.adminListen
    ? await createServer({ ...shared, routes: routes.filter(isAdmin) })
    : undefined
  const servers: HttpServer[] = adminServer ? [main, adminServer] : [main]

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
    servers,
    lifecycle,
    /** Listens first, so that probes are answered while the rest comes up; resolves when requests are served. */
    async start(): Promise<{ url: string; adminUrl: string }> {
      const { url } = await main.listen(settings.listen)
      const adminUrl = adminServer && settings.adminListen ? (await adminServer.listen(settings.adminListen)).url : url
      log.info({ url, version, pid: process.pid }, 'listening')
      lifecycle.move('migrating', 'waiting for the database and its schema')
      const prepared = await prepareDatabase({
        sql: background,
        migrations: MIGRATIONS,
        tablesWithoutRls: TABLES_WITHOUT_RLS,
        signal: stopping.signal,
        onWaiting: (reason) => log.warn({ reason }, 'waiting'),
      })
      if (prepared === 'stopped') return { url, adminUrl }
      if (prepared.refused) throw new StartRefused(prepared.refused)
      for (const warning of prepared.warnings) log.warn({ reason: warning }, 'database')
      lifecycle.move('warming', `schema ${prepared.schemaVersion} on PostgreSQL ${prepared.serverVersion}`)
      await keepAuditPartitions(background)
      switches.accept(await listSwitches(background))
      const watch = watchDatabase({
        sql: background,
        everyMs: BEAT_MS,
        report: (problem) => lifecycle.report('postgres', problem),
        also: async () => switches.accept(await freshSwitches()),
      })
      const upkeep = setInterval(
        () => void keepAuditPartitions(background).catch((error) => log.error({ error }, 'audit partitions')),
        PARTITIONS_MS,
      )
      stopBackground = () => {
        watch.stop()
        clearInterval(upkeep)
      }
      lifecycle.move('ready', 'everything is read')
      return { url, adminUrl }
    },
    async close(): Promise<void> {
      stopping.abort()
      stopBackground()
      await Promise.all([pool.close(), background.close()])
    },
  }

  async function freshSwitches() {
    const rows = await listSwitches(background)
    if (!rows.some(({ revertsInMs }) => revertsInMs !== null && revertsInMs <= 0)) return rows
    for (const { service, auditId } of await revertDue(background))
      log.info({ subservice: service, ...(auditId ? { audit: auditId } : {}) }, 'switch reverted by itself')
    return listSwitches(background)
  }
}

/** A sub-service without a single route says so, rather than claim to run. kv is the store itself, which the beat asks. */
function subserviceState(name: string, routes: Route[], isEnabled: boolean, isStoreDown: boolean): string {
  if (!isEnabled) return 'disabled'
  if (isStoreDown) return 'down'
  return name === 'kv' || routes.some(({ spec }) => spec.subservice === name) ? 'running' : 'not_built'
}

function tlsOf({ tlsCert, tlsKey }: DaemonSettings) {
  return tlsCert && tlsKey ? { tls: { cert: tlsCert, key: tlsKey } } : {}
}

export function daemonDocument(routes: Route[], version: string): Record<string, unknown> {
  return documentOf(routes, {
    title: 'loci instance daemon',
    version,
    description: 'The data plane: memory and judgement of agents. Errors are listed in docs/api/errors.md.',
    letterCase: 'camel',
    securitySchemes: {
      capability: {
        type: 'apiKey',
        in: 'header',
        name: 'x-loci-capability',
        description: 'A sealed capability chain.',
      },
      adminToken: {
        type: 'apiKey',
        in: 'header',
        name: 'x-loci-admin-token',
        description: 'From an allowed address only.',
      },
    },
  })
}

// Every feature of the daemon and what it is handed, on one screen.

import { addressSet } from '@loci/chassis/addresses.ts'
import { cachedFor } from '@loci/chassis/cached.ts'
import { documentOf } from '@loci/chassis/documents.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { createLastUses } from '@loci/chassis/last-uses.ts'
import { createLifecycle } from '@loci/chassis/lifecycle.ts'
import { createLimiter } from '@loci/chassis/limiter.ts'
import type { Log } from '@loci/chassis/log.ts'
import { createMetrics } from '@loci/chassis/metrics.ts'
import { documentRoutes, probeRoutes } from '@loci/chassis/probes.ts'
import { StartRefused } from '@loci/chassis/program.ts'
import type { Route } from '@loci/chassis/route.ts'
import { createServer, type HttpServer } from '@loci/chassis/server.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { prepareDatabase } from '@loci/postgres/prepare.ts'
import { pingDatabase } from '@loci/postgres/watch.ts'
import { adminAccess } from './access/admin.ts'
import { createAuthority } from './access/authority.ts'
import { capabilityAccess } from './access/capability-access.ts'
import { legacyJwt } from './access/legacy-jwt.ts'
import { partnerAccess } from './access/partner.ts'
import { createRates } from './access/rates.ts'
import { servedBy } from './access/served.ts'
import { auditRoutes } from './audit/routes.ts'
import { startBackground } from './background.ts'
import { conductorRoutes } from './conductor/routes.ts'
import { findInstance, findPartnerCredential, readChanges, readCredentialStatus } from './feed/store.ts'
import { type Check, healthRoutes } from './health/routes.ts'
import { createInstanceActs } from './idempotency/idempotency.ts'
import { createBatches } from './kv/batches.ts'
import { createQuota } from './kv/quota.ts'
import { kvReportRoutes } from './kv/reports/routes.ts'
import { kvRoutes } from './kv/routes.ts'
import { commitEntries, findEach, readUsage } from './kv/store.ts'
import { revocationRoutes } from './revocations/routes.ts'
import { SCHEMA } from './schema.ts'
import type { DaemonSettings } from './settings.ts'
import { subserviceRoutes } from './subservices/routes.ts'
import { SUBSERVICE_NAMES, subserviceAt } from './subservices/subservices.ts'
import { createSwitches } from './subservices/switches.ts'

/** Everybody who asks within it gets the same answer: the route is open. */
const CHECK_MS = 1_000

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
  // Probes, the feed and upkeep must not queue behind the requests that they watch over.
  const background = openPool({ ...database, applicationName: 'loci-daemon-background', connectionsMax: 2 })
  // And nothing may stand between a revocation and this replica: the beat and POST /admin/revocations share these two with nobody.
  const beat = openPool({ ...database, applicationName: 'loci-daemon-authority', connectionsMax: 2 })
  const switches = createSwitches()

  const admin = adminAccess({
    tokenDigests: settings.adminTokenDigests,
    allowlist: addressSet(settings.adminAllowlist),
    trustedProxies,
  })
  const authority = createAuthority({
    loadInstance: (id) => findInstance(pool, id),
    loadPartnerCredential: (id) => findPartnerCredential(pool, id),
    loadCredentialStatus: (capability) => readCredentialStatus(pool, capability),
  })
  const rates = createRates()
  const failures = createFailures(settings.unauthenticatedPerMinute)
  const uses = createLastUses()
  const requireServed = servedBy(authority, settings.feedStaleS)
  const known = { authority, failures, rates, uses, trustedProxies, requireServed }
  const access = {
    ...capabilityAccess({ ...known, legacyJwt: legacyJwtOf(settings) }),
    partner: partnerAccess(known),
  }
  // One after the other: an older reading that ends later must not put back what a newer one has replaced. Who comes while one
  // waits shares it: when the store is silent, the beat must not stand at the end of a line.
  let reading: Promise<void> = Promise.resolve()
  let waiting: Promise<void> | undefined
  const catchUp = () => {
    const read = async () => {
      waiting = undefined
      const readAt = performance.now()
      authority.accept(await readChanges(beat, authority.changeSeq), readAt)
    }
    waiting ??= reading = reading.then(read, read)
    return waiting
  }

  const state = (name: string) =>
    subserviceState(name, routes, switches.isEnabled(name), lifecycle.problem('postgres') !== undefined)
  const parts = () => Object.fromEntries(SUBSERVICE_NAMES.map((name) => [name, state(name)]))
  const postgres = cachedFor(
    CHECK_MS,
    (): Promise<Check> =>
      pingDatabase(background).then(
        ({ latencyMs }) => ({ status: 'ok', latencyMs }),
        () => ({ status: 'down', latencyMs: 0, detail: 'does not answer' }),
      ),
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
    ...conductorRoutes({ systemRead: access.capability('system:read'), version, routes: () => routes }),
    ...subserviceRoutes({ admin, pool: background, switches, state }),
    ...auditRoutes({ admin, operator: access.operator('operate'), pool }),
    ...revocationRoutes({ admin, pool: beat, catchUp }),
    ...kvRoutes({
      access,
      pool,
      // One commit of an instance at a time, so that its writes keep their order and share what a commit costs.
      writes: createBatches({
        run: (instanceId, batch) => commitEntries(pool, instanceId, batch),
        runningMax: 1,
        batchMax: 64,
        groupOf: ({ write }) => write.database,
      }),
      reads: createBatches({
        run: (instanceId, wanted) => findEach(pool, instanceId, wanted),
        runningMax: 1,
        batchMax: 64,
        groupOf: ({ database }) => database,
      }),
      quota: createQuota(readUsage),
      act: createInstanceActs(pool, settings.sealingKeys),
    }),
    ...kvReportRoutes({ access, pool, sealing: settings.sealingKeys }),
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
    unbuilt: (path: string) => {
      const name = subserviceAt(path)
      return name && state(name) === 'not_built' ? `${name} is not built in ${version}` : undefined
    },
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
  metrics.gauge(
    'loci_authority_age_seconds',
    'Since this replica last read revocations, keys and instances from its database.',
    () => authority.ageS(),
  )
  metrics.gauge('loci_ready', '1 while readiness answers 200.', () =>
    lifecycle.state === 'ready' || lifecycle.state === 'degraded' ? 1 : 0,
  )

  const stopping = new AbortController()
  const isStopping = () => stopping.signal.aborted || lifecycle.state === 'draining' || lifecycle.state === 'stopped'
  let starting: ReturnType<typeof startBackground> = Promise.resolve(undefined)

  return {
    access,
    routes,
    servers,
    lifecycle,
    /** Listens first, so that probes are answered while the rest comes up; resolves when this replica has read what it must know. */
    async start(): Promise<{ url: string; adminUrl: string }> {
      const { url } = await main.listen(settings.listen)
      const adminUrl = adminServer && settings.adminListen ? (await adminServer.listen(settings.adminListen)).url : url
      log.info({ url, version, pid: process.pid }, 'listening')
      lifecycle.move('migrating', 'waiting for the database and its schema')
      const prepared = await prepareDatabase({
        sql: background,
        program: 'daemon',
        schema: SCHEMA,
        sealingKeys: settings.sealingKeys,
        signal: stopping.signal,
        onWaiting: (reason) => log.warn({ reason }, 'waiting'),
      })
      // Told to stop at any moment of the start: there is nothing to become, only an end to wait for.
      if (prepared === 'stopped' || isStopping()) return { url, adminUrl }
      if (prepared.refused) throw new StartRefused(prepared.refused)
      for (const warning of prepared.warnings) log.warn({ reason: warning }, 'database')
      // In the log and not in the reason, which the open status shows to strangers.
      log.info({ reason: `schema ${prepared.schemaVersion} on PostgreSQL ${prepared.serverVersion}` }, 'database ready')
      lifecycle.move('warming', 'the database has the schema of this release')
      starting = startBackground({
        sql: background,
        beat,
        settings,
        lifecycle,
        log,
        switches,
        authority,
        rates,
        uses,
        catchUp,
        signal: stopping.signal,
      })
      await starting
      // In a restored database nothing is: the beat moves on when management has told everything again.
      const isHeld = settings.managementUrl !== undefined && authority.isRestored
      if (!isStopping() && !isHeld) lifecycle.move('ready', 'everything is read')
      return { url, adminUrl }
    },
    async close(): Promise<void> {
      stopping.abort()
      const stopBackground = await starting
      await stopBackground?.()
      await Promise.all([pool.close(), background.close(), beat.close()])
    },
  }
}

/** A sub-service without a single route says so, rather than claim to run. kv is the store itself, which the beat asks. */
function subserviceState(name: string, routes: Route[], isEnabled: boolean, isStoreDown: boolean): string {
  if (!isEnabled) return 'disabled'
  if (isStoreDown) return 'down'
  return name === 'kv' || routes.some(({ spec }) => spec.subservice === name) ? 'running' : 'not_built'
}

function legacyJwtOf({
  legacyJwtPublicKey: publicKey,
  legacyJwtIssuer: issuer,
  legacyJwtAudience: audience,
}: DaemonSettings) {
  return publicKey && issuer && audience ? legacyJwt({ publicKey, issuer, audience }) : undefined
}

function tlsOf({ tlsCert, tlsKey }: DaemonSettings) {
  return tlsCert && tlsKey ? { tls: { cert: tlsCert, key: tlsKey } } : {}
}

export function daemonDocument(routes: Route[], version: string): Record<string, unknown> {
  return documentOf(routes, {
    title: 'loci instance daemon',
    version,
    description: 'The data plane: memory and judgement of agents. Errors are listed at the end of /docs.',
    letterCase: 'camel',
    securitySchemes: {
      capability: {
        type: 'apiKey',
        in: 'header',
        name: 'x-loci-capability',
        description: 'A capability. Management makes one: `POST /api/v1/tenants/{id}/tokens`.',
      },
      partner: { type: 'http', scheme: 'bearer', description: 'A partner credential.' },
      legacyJwt: {
        type: 'http',
        scheme: 'bearer',
        description: 'Where legacy JWT verification is configured, beside the capability.',
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

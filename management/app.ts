// Every feature of management and what it is handed, on one screen.

import { addressSet } from '@loci/chassis/addresses.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { createLastUses } from '@loci/chassis/last-uses.ts'
import { createLifecycle } from '@loci/chassis/lifecycle.ts'
import { createLimiter } from '@loci/chassis/limiter.ts'
import type { Log } from '@loci/chassis/log.ts'
import { createMetrics } from '@loci/chassis/metrics.ts'
import { documentRoutes, probeRoutes } from '@loci/chassis/probes.ts'
import { StartRefused } from '@loci/chassis/program.ts'
import type { Route } from '@loci/chassis/route.ts'
import { createServer } from '@loci/chassis/server.ts'
import { createWaiting } from '@loci/chassis/waiting.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { prepareDatabase } from '@loci/postgres/prepare.ts'
import { callerAccess } from './access/caller.ts'
import { cellAccess } from './access/cell.ts'
import { createRates } from './access/rates.ts'
import { findApiKey, findOrganizationPlan, lookAtRate, takeRate } from './access/store.ts'
import { webhookAccess } from './access/webhook.ts'
import { listEventEnds } from './acts/events/store.ts'
import { listFeedEnds } from './acts/feed/store.ts'
import { createCustomerActs } from './acts/idempotency/acts.ts'
import { apiKeyRoutes } from './api-keys/routes.ts'
import { auditRoutes } from './audit/routes.ts'
import { startBackground } from './background.ts'
import { applyParkedOf, saveOrganizationPlanOf } from './billing/billing.ts'
import { createBillingClock } from './billing/clock.ts'
import { billingRoutes } from './billing/routes.ts'
import { createAlarms } from './cells/alarms.ts'
import { feedRoutes } from './cells/feed/routes.ts'
import { reportRoutes } from './cells/reports/routes.ts'
import { cellRoutes } from './cells/routes.ts'
import { findCellKeys, listCellKeys } from './cells/store.ts'
import { managementDocument } from './document.ts'
import { eventRoutes } from './events/routes.ts'
import { lifecycleRoutes } from './health/routes.ts'
import { keyRoutes } from './keys/routes.ts'
import { createSealer } from './keys/sealing.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { partnerCredentialRoutes } from './partner-credentials/routes.ts'
import { createOperationEnds } from './provisioning/operations/end.ts'
import { operationRoutes } from './provisioning/operations/routes.ts'
import { createReconciler } from './provisioning/reconciler.ts'
import { provisioningRoutes } from './provisioning/routes.ts'
import { createRetention } from './retention/retention.ts'
import { SCHEMA } from './schema.ts'
import { serviceRoutes } from './services/routes.ts'
import type { ManagementSettings } from './settings.ts'
import { tenantRoutes } from './tenants/routes.ts'
import { tokenRoutes } from './tokens/routes.ts'
import { usageRoutes } from './usage/routes.ts'

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
  const background = openPool({ ...database, applicationName: 'loci-management-background', connectionsMax: 10 })
  const sealer = createSealer(settings.sealingKeys)
  const waiting = createWaiting({ lifecycle, readEnds: (cellIds) => listFeedEnds(background, cellIds) })
  const eventsWaiting = createWaiting({ lifecycle, readEnds: (ids) => listEventEnds(background, ids) })
  const rates = createRates({ take: (limit) => takeRate(pool, limit), look: (limit) => lookAtRate(pool, limit) })
  const uses = createLastUses()
  const failures = createFailures(settings.unauthenticatedPerMinute)
  const caller = callerAccess({
    findApiKey: (id) => findApiKey(pool, id),
    findOrganizationPlan: (id) => findOrganizationPlan(pool, id),
    sealingKeys: settings.sealingKeys,
    gateways: addressSet(settings.trustedGateways),
    gatewaySecrets: settings.gatewaySecrets,
    staffEmails: settings.staffEmails,
    isBilled: settings.billingWebhookSecrets.length > 0,
    rates,
    failures,
    uses,
    trustedProxies,
  })
  const { act, creations } = createCustomerActs(pool, settings.sealingKeys)
  const market = { isBilled: settings.billingWebhookSecrets.length > 0, regions: settings.regions }
  const tell = (cellId: string) => waiting.wake(cellId)
  const tellEvents = (organizationId: string) => eventsWaiting.wake(organizationId)
  const reconciler = createReconciler({ pool: background, rules: market, log, tell })
  const { look } = reconciler
  const ends = createOperationEnds(pool, eventsWaiting)
  const billingClock = createBillingClock({ pool: background, log, kick: reconciler.kick })
  const unordered = metrics.counter(
    'loci_billing_unordered_total',
    'Billing events that do not count, because others of their subscription have a sequence or a time and they have none.',
    [],
  )
  const cell = cellAccess({
    listCellKeys: () => listCellKeys(pool),
    findCellKeys: (id) => findCellKeys(pool, id),
    publicUrl: settings.publicUrl,
    trustedProxies,
    log,
    failures,
  })
  const alarmed = metrics.counter(
    'loci_cell_alarms_total',
    'What cells have said that an honest one does not say, by kind. Above zero: look at `alarm` of GET /api/v1/cells.',
    ['kind'],
  )
  const alarms = createAlarms({ pool, log, count: (kind) => alarmed.inc({ kind }) })

  const inFlight = () => server.inFlight()
  const parts = () => ({ postgres: lifecycle.state === 'degraded' ? 'down' : 'running' })
  const routes: Route[] = [
    ...probeRoutes({ lifecycle, metrics, prefixes: [''], parts }),
    ...lifecycleRoutes({ lifecycle, inFlight }),
    ...keyRoutes({ pool }),
    ...feedRoutes({ cell, pool, waiting, alarms }),
    ...reportRoutes({ cell, pool, tell, tellEvents, look, alarms }),
    ...serviceRoutes({ caller, rates, pool, market, act, creations, ends, look }),
    ...provisioningRoutes({ caller, pool, act, rules: market, tell, look }),
    ...operationRoutes({ caller, ends }),
    ...organizationRoutes({ caller, act, pool, publicUrl: settings.publicUrl }),
    ...tenantRoutes({
      caller,
      act,
      pool,
      isBilled: market.isBilled,
      onTenantMade: applyParkedOf,
      onTenantClosed: saveOrganizationPlanOf,
    }),
    ...billingRoutes({
      caller,
      webhook: webhookAccess(settings.billingWebhookSecrets),
      act,
      pool,
      signingSecrets: settings.billingSigningSecrets,
      provider: settings.billingProvider,
      isBilled: market.isBilled,
      kick: reconciler.kick,
      tellEvents,
      onUnordered: () => unordered.inc(),
    }),
    ...apiKeyRoutes({ caller, act, pool, sealingKeys: settings.sealingKeys }),
    ...auditRoutes({ caller, pool }),
    ...tokenRoutes({
      caller,
      pool,
      act,
      issuer: { sealer, publicUrl: settings.publicUrl },
      isBilled: market.isBilled,
      tell,
    }),
    ...partnerCredentialRoutes({ caller, pool, act, tell }),
    ...usageRoutes({ caller, pool }),
    ...cellRoutes({ caller, cell, pool, act, regions: settings.regions }),
    ...eventRoutes({ caller, pool, waiting: eventsWaiting, lifecycle }),
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
  let overdue = { count: 0, oldestS: 0 }
  metrics.gauge(
    'loci_provisioning_overdue',
    'Services whose next provisioning step is late, those whose step fails again and again included.',
    () => overdue.count,
  )
  metrics.gauge('loci_provisioning_overdue_seconds', 'How long the oldest of them is overdue.', () => overdue.oldestS)
  metrics.gauge('loci_ready', '1 while readiness answers 200.', () =>
    lifecycle.state === 'ready' || lifecycle.state === 'degraded' ? 1 : 0,
  )

  const stopping = new AbortController()
  let stopBackground = async () => {}

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
        program: 'management',
        schema: SCHEMA,
        sealingKeys: settings.sealingKeys,
        signal: stopping.signal,
        onWaiting: (reason) => log.warn({ reason }, 'waiting'),
      })
      if (prepared === 'stopped') return { url }
      if (prepared.refused) throw new StartRefused(prepared.refused)
      for (const warning of prepared.warnings) log.warn({ reason: warning }, 'database')
      // In the log and not in the reason, which the open status shows to strangers.
      log.info({ reason: `schema ${prepared.schemaVersion} on PostgreSQL ${prepared.serverVersion}` }, 'database ready')
      lifecycle.move('warming', 'the database has the schema of this release')
      stopBackground = await startBackground({
        sql: background,
        sealer,
        peppers: settings.sealingKeys.map(({ id }) => id),
        lifecycle,
        log,
        reconciler,
        billingClock,
        retention: createRetention(background, log),
        uses,
        onOverdue: (now) => {
          overdue = now
        },
      })
      lifecycle.move('ready', 'everything is read')
      return { url }
    },
    async close(): Promise<void> {
      stopping.abort()
      await stopBackground()
      waiting.endAll()
      eventsWaiting.endAll()
      await Promise.all([pool.close(), background.close()])
    },
  }
}

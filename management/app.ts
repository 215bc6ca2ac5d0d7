// Every feature of management and what it is handed, on one screen.

import { addressSet } from '@loci/chassis/addresses.ts'
import { ageJobs } from '@loci/chassis/ages.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { createLastUses } from '@loci/chassis/last-uses.ts'
import { overloaded } from '@loci/chassis/limiter.ts'
import { documentRoutes, probeRoutes } from '@loci/chassis/probes.ts'
import type { Route } from '@loci/chassis/route.ts'
import { createSealer } from '@loci/chassis/sealing.ts'
import { type AppOptions, createChassis, type Serving, serve } from '@loci/chassis/serve.ts'
import { createStoreHealth } from '@loci/chassis/store-health.ts'
import { createWaiting } from '@loci/chassis/waiting.ts'
import { poolOpener } from '@loci/postgres/pool.ts'
import { prepareDatabase } from '@loci/postgres/prepare.ts'
import { readKeyAge } from '@loci/postgres/sealing-checks.ts'
import { sharePool } from '@loci/postgres/shares.ts'
import { listPartitionGaps, probeSpace, readOldestSnapshot, readProblem, requirePrimary } from '@loci/postgres/watch.ts'
import { createAttempts } from './access/attempts.ts'
import { callerAccess } from './access/caller.ts'
import { cellAccess } from './access/cell.ts'
import { createRates } from './access/rates.ts'
import { sessionAccess } from './access/session.ts'
import { findApiKey, findOrganizationPlan, findSession, readRate, takeRate } from './access/store.ts'
import { webhookAccess } from './access/webhook.ts'
import { listEventEnds } from './acts/events/store.ts'
import { listFeedEnds } from './acts/feed/store.ts'
import { createCustomerActs } from './acts/idempotency/acts.ts'
import { apiKeyJobs } from './api-keys/jobs.ts'
import { apiKeyRoutes } from './api-keys/routes.ts'
import { auditRoutes } from './audit/routes.ts'
import { applyParkedOf, saveOrganizationPlanOf } from './billing/billing.ts'
import { billingJobs } from './billing/clock.ts'
import { billingRoutes } from './billing/routes.ts'
import { createAlarms } from './cells/alarms.ts'
import { feedRoutes } from './cells/feed/routes.ts'
import { reportRoutes } from './cells/reports/routes.ts'
import { cellRevocationRoutes } from './cells/revocations/routes.ts'
import { cellRoutes } from './cells/routes.ts'
import { findCellKeys, listCellKeys } from './cells/store.ts'
import { cellSwitchRoutes } from './cells/subservices/routes.ts'
import { consoleRoutes } from './console/routes.ts'
import { managementDocument } from './document.ts'
import { eventRoutes } from './events/routes.ts'
import { lifecycleRoutes } from './health/routes.ts'
import { createClientDocuments } from './oauth/documents.ts'
import { endAccessBeyond } from './oauth/grants.ts'
import { oauthRoutes } from './oauth/routes.ts'
import { createGrantUses } from './oauth/uses.ts'
import { makeFirstOrganization } from './organizations/organizations.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { createOperationEnds } from './provisioning/operations/end.ts'
import { operationRoutes } from './provisioning/operations/routes.ts'
import { planJobs } from './provisioning/plans/jobs.ts'
import { createReconciler } from './provisioning/reconciler.ts'
import { provisioningRoutes } from './provisioning/routes.ts'
import { createProxyCapabilities } from './proxy/capabilities.ts'
import { proxyRoutes } from './proxy/routes.ts'
import { maintenanceJobs } from './retention/maintenance.ts'
import { createRetention } from './retention/retention.ts'
import { SCHEMA } from './schema.ts'
import { serviceRoutes } from './services/routes.ts'
import { revokeIssued as revokeIssuedBy } from './sessions/cli-logins/issued.ts'
import { cliLoginRoutes } from './sessions/cli-logins/routes.ts'
import { sessionJobs } from './sessions/jobs.ts'
import { pageRoutes } from './sessions/pages/routes.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { createSignIn } from './sessions/sign-in.ts'
import type { RevokeIssued } from './sessions/sign-out.ts'
import type { ManagementSettings } from './settings.ts'
import { tenantRoutes } from './tenants/routes.ts'
import { keyJobs } from './tokens/keys/jobs.ts'
import { keyRoutes } from './tokens/keys/routes.ts'
import { partnerCredentialRoutes } from './tokens/partner-credentials/routes.ts'
import { tokenRoutes } from './tokens/routes.ts'
import { usageRoutes } from './usage/routes.ts'
import { keepAllPartitions, warmUp } from './warm.ts'

export interface ManagementOptions extends AppOptions<ManagementSettings> {
  /** Where the console is built to. Without it, or when nothing is there, its addresses say so. */
  consoleFolder?: string | undefined
}

export async function createManagement(options: ManagementOptions): Promise<Serving> {
  const { settings, log, version } = options
  const { sealingKeys, publicUrl, regions, staffEmails } = settings
  const chassis = createChassis(options)
  const { lifecycle, metrics, trustedProxies } = chassis
  const keepPartitions = () => keepAllPartitions(background)
  const store = createStoreHealth({
    ...{ lifecycle, metrics, keepPartitions },
    probeSpace: () => probeSpace(background),
    readOldestSnapshot: () => readOldestSnapshot(background),
    listPartitionGaps: () => listPartitionGaps(background),
  })
  const open = poolOpener(settings, {
    onError: (error) =>
      log.warn(
        { error, component: 'postgres' },
        'an idle connection failed and is replaced, or waking waiters after a commit failed; error says which',
      ),
    wake: (topic, ...ids) => wakes[topic]?.(...ids),
    onFailure: store.note,
    onPrimary: (now, before) =>
      log.warn(
        { component: 'postgres', from: before.name, to: now.name },
        `PostgreSQL has failed over: another server of LOCI_DATABASE_URL is its primary, on timeline ${now.timeline}`,
      ),
    keepPartitions,
  })
  const pool = open('loci-management', settings.databaseConnectionsMax, { verify: requirePrimary })
  const shares = sharePool(pool, {
    ...{ connectionsMax: settings.databaseConnectionsMax, statementMs: settings.databaseStatementMs },
    refusal: overloaded,
  })
  // Probes, waiting polls and maintenance must not queue behind the requests that they watch over.
  const background = open('loci-management-background', 10)
  const sealer = createSealer(sealingKeys)
  const waiting = createWaiting({ lifecycle, readEnds: (cellIds) => listFeedEnds(background, cellIds) })
  const eventsWaiting = createWaiting({ lifecycle, readEnds: (ids) => listEventEnds(background, ids) })
  const rates = createRates({ take: (limit) => takeRate(pool, limit), peek: (limit) => readRate(pool, limit) })
  const uses = createLastUses()
  const failures = createFailures(settings.unauthenticatedPerMinute)
  const isBilled = settings.billingWebhookSecrets.length > 0
  const capabilities = createProxyCapabilities(pool, { sealer, publicUrl })
  const onEnded = (id: string) => capabilities.end(id)
  const signIn = createSignIn(settings, { pool, sealer, log, metrics, onEnded })
  // Where nobody can sign in any more, what was opened before opens nothing.
  const session = sessionAccess({ publicUrl, findSession: async (digest) => signIn && findSession(pool, digest) })
  const caller = callerAccess({
    session,
    findApiKey: (id) => findApiKey(pool, id),
    findOrganizationPlan: (id) => findOrganizationPlan(pool, id),
    gateways: addressSet(settings.trustedGateways),
    gatewaySecrets: settings.gatewaySecrets,
    ...{ staffEmails, sealingKeys, isBilled, rates, failures, uses, trustedProxies },
  })
  const attempts = createAttempts({ failures, trustedProxies })
  const grantUses = createGrantUses({ pool, rates, take: (limit) => takeRate(pool, limit), isBilled })
  const { act, creations } = createCustomerActs(pool, shares, sealingKeys)
  const rules = { isBilled, regions }
  const reconciler = createReconciler({ pool: background, rules, log, metrics })
  // What a commit of this process wakes at once; other processes find it by polling.
  const wakes: Record<string, (...ids: string[]) => void> = {
    feed: waiting.wake,
    events: eventsWaiting.wake,
    service: reconciler.reconcileSoon,
    'due services': reconciler.claimSoon,
  }
  const ends = createOperationEnds(pool, eventsWaiting)
  const cell = cellAccess({
    listCellKeys: () => listCellKeys(pool),
    findCellKeys: (id) => findCellKeys(pool, id),
    ...{ publicUrl, trustedProxies, log, failures },
  })
  const alarms = createAlarms({ pool, log, metrics })
  const revokeIssued: RevokeIssued = (made, requestId) => revokeIssuedBy(pool, made, requestId)
  const billingOfTenants = { onTenantMade: applyParkedOf, onTenantClosed: saveOrganizationPlanOf }
  // Started means that it has answered once; before that nobody is told of parts.
  const parts = () => ({ postgres: store.worst()?.status ?? 'running' })

  const routes: Route[] = [
    ...probeRoutes({ lifecycle, metrics, prefixes: [''], parts }),
    ...lifecycleRoutes({ lifecycle, inFlight: chassis.inFlight }),
    ...keyRoutes({ pool }),
    ...feedRoutes({ cell, pool, waiting, alarms }),
    ...reportRoutes({ cell, pool, alarms }),
    ...serviceRoutes({ caller, rates, pool, rules, act, creations, ends }),
    ...provisioningRoutes({ caller, pool, act, rules }),
    ...operationRoutes({ caller, ends }),
    ...organizationRoutes({ caller, act, pool, publicUrl, endAccessBeyond }),
    ...tenantRoutes({ caller, act, pool, isBilled, ...billingOfTenants }),
    ...billingRoutes({
      ...{ caller, act, pool, isBilled, metrics, lifecycle },
      webhook: webhookAccess(settings.billingWebhookSecrets),
      signingSecrets: settings.billingSigningSecrets,
      provider: settings.billingProvider,
    }),
    ...apiKeyRoutes({ caller, act, pool, sealingKeys, publicUrl }),
    ...auditRoutes({ caller, pool }),
    ...tokenRoutes({ caller, pool, act, issuer: { sealer, publicUrl }, isBilled }),
    ...partnerCredentialRoutes({ caller, pool, act }),
    ...usageRoutes({ caller, pool }),
    ...cellRoutes({ caller, cell, pool, act, regions }),
    ...cellRevocationRoutes({ caller, pool, act }),
    ...cellSwitchRoutes({ caller, pool, act, publicUrl }),
    ...eventRoutes({ caller, pool, waiting: eventsWaiting, lifecycle, metrics }),
    ...cliLoginRoutes({
      ...{ caller, act, pool, sealingKeys, publicUrl, trustedProxies, attempts },
      take: (limit) => takeRate(pool, limit),
    }),
    ...proxyRoutes({ caller, capabilities, lifecycle, metrics }),
    ...oauthRoutes({
      ...{ caller, act, pool, isBilled, publicUrl, attempts, uses: grantUses, issuer: { sealer, publicUrl } },
    }),
    ...sessionRoutes({ access: session, revokeIssued, publicUrl, signIn, attempts, staffEmails }),
    ...pageRoutes({
      ...{ pool, sealer, publicUrl, signIn, attempts, revokeIssued },
      access: session,
      documents: createClientDocuments(),
      uses: grantUses,
      makeOrganization: (of) => makeFirstOrganization(pool, of),
    }),
    ...consoleRoutes({ folder: options.consoleFolder }),
    ...documentRoutes(() => managementDocument(routes, version, publicUrl)),
  ]

  return serve(chassis, {
    letterCase: 'snake',
    routes,
    pools: [pool, background],
    prepare: (waiting) =>
      prepareDatabase({ sql: background, program: 'management', schema: SCHEMA, sealingKeys, ...waiting }),
    warm: () => warmUp({ sql: background, sealer, peppers: sealingKeys.map(({ id }) => id), log }),
    beat: { everyMs: 1_000, ask: () => readProblem(background) },
    jobs: [
      ...store.jobs,
      ...ageJobs({ metrics, settings, readKeyAgeS: () => readKeyAge(background, sealingKeys) }),
      ...reconciler.jobs,
      ...planJobs(background),
      ...billingJobs(background, log),
      ...keyJobs(background, sealer),
      ...apiKeyJobs(background, uses),
      ...sessionJobs(background, signIn?.sessions, createProxyCapabilities(background, { sealer, publicUrl }).end),
      ...maintenanceJobs(background),
      createRetention(background, log).job,
    ],
  })
}

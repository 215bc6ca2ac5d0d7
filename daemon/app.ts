// Every feature of the daemon and what it is handed, on one screen.

import { keepAuditPartitions } from '@loci/acts/audit/store.ts'
import { addressSet } from '@loci/chassis/addresses.ts'
import { ageJobs } from '@loci/chassis/ages.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { createLastUses } from '@loci/chassis/last-uses.ts'
import { overloaded } from '@loci/chassis/limiter.ts'
import { documentRoutes, probeRoutes } from '@loci/chassis/probes.ts'
import type { Route } from '@loci/chassis/route.ts'
import { createSealer } from '@loci/chassis/sealing.ts'
import { type AppOptions, createChassis, serve } from '@loci/chassis/serve.ts'
import { createStoreHealth } from '@loci/chassis/store-health.ts'
import { onLate } from '@loci/meter/meter.ts'
import { poolOpener } from '@loci/postgres/pool.ts'
import { prepareDatabase } from '@loci/postgres/prepare.ts'
import { readKeyAge } from '@loci/postgres/sealing-checks.ts'
import { sharePool } from '@loci/postgres/shares.ts'
import {
  keepEach,
  listPartitionGaps,
  pingDatabase,
  probeSpace,
  readOldestSnapshot,
  readProblem,
  requirePrimary,
} from '@loci/postgres/watch.ts'
import { createActivity } from './access/activity.ts'
import { adminAccess } from './access/admin.ts'
import { createAuthority } from './access/authority.ts'
import { capabilityAccess } from './access/capability-access.ts'
import { legacyJwtOf } from './access/legacy-jwt.ts'
import { partnerAccess } from './access/partner.ts'
import { createRates, payingDue } from './access/rates.ts'
import { servedBy } from './access/served.ts'
import {
  findInstance,
  findPartnerCredential,
  readChanges,
  readCredentialStatus,
  requireOwnLife,
} from './access/store.ts'
import { savingAdvice } from './advice/jobs.ts'
import { expiringProjections } from './advice/leaving/expiry.ts'
import { adviceRoutes } from './advice/routes.ts'
import { createAdviceStates } from './advice/states.ts'
import { cycleConfigRoutes } from './cycles/config-routes.ts'
import { createCycleWalker } from './cycles/reports/store.ts'
import { cycleRoutes } from './cycles/routes.ts'
import { createCycles } from './cycles/run.ts'
import { timelineRoutes } from './cycles/timeline/routes.ts'
import { forgetInCycles } from './cycles/upkeep/erasure.ts'
import { dueCycles } from './cycles/upkeep/loop.ts'
import { followService, pruneCycles } from './cycles/upkeep/store.ts'
import { backingOff, dueJobs } from './databases/due.ts'
import { createInstanceKeys, instanceKeyJobs, keyProblems } from './databases/instance-keys.ts'
import { createKnownDamage } from './databases/known-damage.ts'
import { createQuota } from './databases/quota.ts'
import { consistencyRoutes } from './databases/reports/routes.ts'
import { listTotals } from './databases/store.ts'
import { daemonDocument } from './document.ts'
import { createFollower } from './events/follower.ts'
import { eventJobs } from './events/jobs.ts'
import { eventRoutes } from './events/routes.ts'
import { keepEventPartitions } from './events/store.ts'
import { authorityProblem, createCatchUp, feedProblem, RESTORED } from './feed/catch-up.ts'
import { feedJobs } from './feed/jobs.ts'
import { createJoin } from './feed/join.ts'
import { createInstanceActs } from './idempotency/acts.ts'
import { createInstanceClaims } from './idempotency/idempotency.ts'
import { idempotencyJobs } from './idempotency/jobs.ts'
import { kvReportRoutes } from './kv/reports/routes.ts'
import { createKvWalker } from './kv/reports/store.ts'
import { kvRoutes } from './kv/routes.ts'
import { expireEntries } from './kv/store.ts'
import { mcpRoutes } from './mcp/routes.ts'
import { createEncoder } from './memory/encoder/encoder.ts'
import { encoderCheck } from './memory/encoder/health.ts'
import { eraseRoutes } from './memory/erase-routes.ts'
import { createRecallIndex } from './memory/index/recall-index.ts'
import { listRoutes } from './memory/list-routes.ts'
import { MEANING_DIGEST } from './memory/meaning/digest.ts'
import { createParts } from './memory/parts/parts.ts'
import { readRoutes } from './memory/read-routes.ts'
import { recallRoutes } from './memory/recall-routes.ts'
import { replayingErasures } from './memory/replay/replay.ts'
import { createRecordWalker } from './memory/reports/store.ts'
import { recordRoutes } from './memory/routes.ts'
import { createTails } from './memory/tails.ts'
import { buildIndex, sweepingRecords } from './memory/upkeep/indexing.ts'
import { encodeSegments } from './memory/vectors/encoding.ts'
import { auditJobs } from './operator/audit/jobs.ts'
import { auditRoutes } from './operator/audit/routes.ts'
import { conductorRoutes } from './operator/conductor/routes.ts'
import { erasingDue, replayWhole } from './operator/databases/erasing.ts'
import { databaseRoutes } from './operator/databases/routes.ts'
import { readUsage } from './operator/databases/store.ts'
import { lateJobs } from './operator/health/late.ts'
import { healthRoutes } from './operator/health/routes.ts'
import { revocationRoutes } from './operator/revocations/routes.ts'
import { reportSwitches, takeCommands } from './operator/subservices/commands.ts'
import { subserviceRoutes } from './operator/subservices/routes.ts'
import { createStates } from './operator/subservices/states.ts'
import { listSwitches } from './operator/subservices/store.ts'
import { createSwitches, readSwitches } from './operator/subservices/switches.ts'
import { createIngest } from './projections/ingest.ts'
import { listEvents } from './projections/intake.ts'
import { outcomeRoutes } from './projections/outcome-routes.ts'
import { createProjectionWalker } from './projections/reports/store.ts'
import { projectionRoutes } from './projections/routes.ts'
import { forgetProjections } from './projections/upkeep/erasure.ts'
import { SCHEMA } from './schema.ts'
import { type DaemonSettings, managementOf } from './settings.ts'
import { slotClearRoutes } from './working-memory/clear-routes.ts'
import { slotConfigRoutes } from './working-memory/config-routes.ts'
import { slotHistoryRoutes } from './working-memory/history-routes.ts'
import { slotJobs } from './working-memory/jobs.ts'
import { createSlotWalker } from './working-memory/reports/store.ts'
import { slotRoutes } from './working-memory/routes.ts'
import { expireSlots, keepSlotPartitions } from './working-memory/store.ts'
import { forgetSlots, thinSlots } from './working-memory/upkeep/erasure.ts'

/** A switch must reach every replica within a second, and two missed beats must still fit into it. */
const BEAT_MS = 300

export interface DaemonOptions extends AppOptions<DaemonSettings> {
  /** Pays at the start for what the first requests would else wait for. */
  isWarmed?: boolean
}

export async function createDaemon(options: DaemonOptions) {
  const { settings, log, version } = options
  const { sealingKeys } = settings
  const chassis = createChassis(options)
  const { lifecycle, metrics, trustedProxies } = chassis
  const keepPartitions = () => keepEach(background, [keepEventPartitions, keepSlotPartitions, keepAuditPartitions])
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
    // What a commit of this process wakes at once; other replicas find it by polling.
    wake: (topic, ...ids) => topic === 'events' && ids.forEach(follower.wake),
    onFailure: store.note,
    onPrimary: (now, before) =>
      log.warn(
        { component: 'postgres', from: before.name, to: now.name },
        `PostgreSQL has failed over: another server of LOCI_DATABASE_URL is its primary, on timeline ${now.timeline}`,
      ),
    keepPartitions,
  })
  const management = managementOf(settings)
  const verify = { verify: management ? requireOwnLife : requirePrimary }
  const pool = open('loci-daemon', settings.databaseConnectionsMax, verify)
  const shares = sharePool(pool, {
    ...{ connectionsMax: settings.databaseConnectionsMax, statementMs: settings.databaseStatementMs },
    refusal: overloaded,
    // As slots are: by organization, or ten services of one would hold ten shares.
    shareOf: (instanceId) => authority.knownInstance(instanceId)?.organizationId ?? instanceId,
  })
  // Probes, the feed and maintenance must not queue behind the requests that they watch over.
  const background = open('loci-daemon-background', 2)
  // Nothing may stand between a revocation and this replica: the beat and POST /admin/revocations share these two with
  // nobody.
  const beat = open('loci-daemon-authority', 2)
  // The streams of a thousand clients wait for one query: it waits for nobody.
  const following = open('loci-daemon-events', 1, verify)
  // Connects after a restore alone: what was erased since the backup is erased again before anything is served.
  const replaying = open('loci-daemon-replay', 4)

  const follower = createFollower({ pool: following, shares, lifecycle })
  const switches = createSwitches(({ name: service, enabled, since }) =>
    follower.notify('subservice.changed', since, { service, enabled }),
  )
  const allowlist = addressSet(settings.adminAllowlist)
  const admin = adminAccess({ tokenDigests: settings.adminTokenDigests, allowlist, trustedProxies })
  const authority = createAuthority({
    loadInstance: (id) => findInstance(pool, id),
    loadPartnerCredential: (id) => findPartnerCredential(pool, id),
    loadCredentialStatus: (capability) => readCredentialStatus(pool, capability),
  })
  const catchUp = createCatchUp(authority, (since) => readChanges(beat, since))
  const rates = createRates()
  const activity = createActivity()
  const uses = createLastUses()
  const failures = createFailures(settings.unauthenticatedPerMinute)
  const requireServed = servedBy(authority, settings.feedStaleS)
  const known = { authority, failures, rates, activity, uses, trustedProxies, requireServed }
  const isStoreAway = () => store.worst()?.status === 'down'
  const access = {
    ...capabilityAccess({ ...known, legacyJwt: legacyJwtOf(settings), isStoreAway }),
    partner: partnerAccess(known),
  }
  const join = management && createJoin({ ...management, lifecycle, log })
  const ping = () => pingDatabase(background)
  const states = createStates({ switches, lifecycle, routes: () => routes, ping, store })
  const lifeOf = () => authority.life
  const isHeld = () => management !== undefined && authority.isRestored
  const keys = createInstanceKeys(pool, sealingKeys, lifeOf)
  const claims = createInstanceClaims(keys)
  const act = createInstanceActs(pool, shares, keys)
  const quota = createQuota(readUsage)
  const damage = createKnownDamage()
  const encoder = createEncoder({ folder: settings.encoder, log, metrics })
  const index = createRecallIndex({ bytesMax: settings.indexBytesMax, log, encoder })
  const advice = createAdviceStates()
  const ingest = createIngest({ pool, quota, keys })
  // Beside the start and no condition of it: a thread that cannot start fails large recalls and nothing else.
  if (options.isWarmed)
    void index.warm().catch((error) => log.warn({ error, component: 'memory' }, 'search thread not warmed up'))

  const sweepRecords = sweepingRecords(background, index)
  const eraseDue = erasingDue(background)
  const tails = createTails(keys)
  const parts = createParts(pool, index, keys, log)
  const cycles = createCycles({ pool, index, parts, tails, keys, quota, activity, listEvents })
  const runDueCycle = dueCycles({
    ...{ cycles, rates, quota, requireServed, findInstance: authority.findInstance },
    isEnabled: () => switches.isEnabled('cognitive'),
  })
  const pay = payingDue(rates, authority.knownInstance)
  onLate((instanceId, us) => pay('late', instanceId, us))
  const saveAdvice = savingAdvice({ states: advice, pool: background })
  const walkers = [
    ...[createKvWalker(damage), createSlotWalker(), createRecordWalker()],
    ...[createProjectionWalker(), createCycleWalker()],
  ]

  const forgets = [forgetSlots, forgetInCycles, forgetProjections]
  const replayErasures = replayingErasures({
    replayWhole: (place, row) => replayWhole(replaying, place, row),
    ...{ pool: replaying, index, keys: createInstanceKeys(replaying, sealingKeys, lifeOf), forgets },
  })

  const routes: Route[] = [
    ...probeRoutes({ lifecycle, metrics, prefixes: ['', '/v1'], parts: states.all }),
    ...healthRoutes({ lifecycle, inFlight: chassis.inFlight, checks: { ...states.checks, ...encoderCheck(encoder) } }),
    ...conductorRoutes({
      systemRead: access.capability('system:read', { knownSuffices: true }),
      version,
      meaning: MEANING_DIGEST,
      routes: () => routes,
    }),
    ...subserviceRoutes({ admin, pool: background, switches, state: states.of }),
    ...auditRoutes({ admin, operator: access.operator('operate'), pool }),
    ...revocationRoutes({ admin, pool: beat, catchUp }),
    ...databaseRoutes({ access, pool, shares }),
    ...kvRoutes({ access, pool, quota, damage, shares, claims }),
    ...slotRoutes({ access, pool, quota, keys, claims, activity }),
    ...slotHistoryRoutes({ access, pool, shares }),
    ...slotClearRoutes({ access, quota, keys, act, activity }),
    ...slotConfigRoutes({ access, pool, quota }),
    ...recordRoutes({ access, pool, index, quota, keys, claims }),
    ...readRoutes({ access, pool, shares }),
    ...listRoutes({ access, pool, shares, index, parts, tails, keys }),
    ...eraseRoutes({ access, pool, shares, index, keys, forgets, thins: [thinSlots] }),
    ...recallRoutes({ access, pool, shares, index, parts, tails, keys }),
    ...projectionRoutes({ access, ingest, partnerName: settings.partnerName }),
    ...outcomeRoutes({ access, ingest, act }),
    ...adviceRoutes({ access, pool, shares, quota, states: advice }),
    ...cycleRoutes({ access, pool, shares, claims, cycles }),
    ...timelineRoutes({ access, pool, shares, keys }),
    ...cycleConfigRoutes({ access, pool, quota }),
    ...kvReportRoutes({ access, pool }),
    ...eventRoutes({
      ...{ access, follower, lifecycle, metrics, sealer: createSealer(sealingKeys) },
      isEnabled: () => switches.isEnabled('events'),
    }),
    ...mcpRoutes({
      ...{ access, routes: () => routes, gate: switches, version },
      metadata: {
        authorizationServer: settings.authorizationServer ?? settings.managementUrl,
        ...{ isTls: settings.tlsCert !== undefined, trustedProxies },
      },
    }),
    ...consistencyRoutes({ access, pool, keys, walkers }),
    ...documentRoutes(() => daemonDocument(routes, version)),
  ]

  const database = { sql: background, schema: SCHEMA, sealingKeys, problems: keyProblems }
  const serving = await serve(chassis, {
    letterCase: 'camel',
    routes,
    subservices: switches,
    pools: [pool, background, beat, following, replaying],
    threads: [index, encoder],
    prepare: (waiting) => prepareDatabase({ program: 'daemon', ...database, ...waiting }),
    async warm(signal) {
      await Promise.all([keepPartitions(), encoder.start()])
      switches.accept(await listSwitches(background))
      await catchUp()
      await join?.ask(signal)
    },
    beat: {
      everyMs: BEAT_MS,
      ask: () => readProblem(beat),
      async also() {
        switches.accept(await readSwitches(beat, log))
        await catchUp()
        // Here too, not only by the job that finds it stale: or readiness would lag up to a second behind the poll.
        lifecycle.report('authority', authorityProblem(authority))
        lifecycle.report('feed', feedProblem(authority))
      },
    },
    // In a restored database nothing that was read counts, until management has sent everything again.
    hold: () => (isHeld() ? RESTORED : undefined),
    jobs: [
      ...dueJobs(
        background,
        {
          ...{ expiry: expireEntries, slots: expireSlots, history: pruneCycles, config: followService },
          projections: expiringProjections(saveAdvice),
          index: backingOff('index', (_, due) => buildIndex(background, index, keys, due)),
          records: (_, due) => sweepRecords(due),
          advice: backingOff('advice', saveAdvice),
          erase: backingOff('erase', (_, due) => eraseDue(due)),
        },
        { isHeld, pay },
      ),
      // Apart: it waits for the encoder, and nothing else is to wait for that.
      ...dueJobs(
        background,
        { vectors: backingOff('vectors', (_, due) => encodeSegments(background, index, keys, due)) },
        { name: 'due vectors', isHeld, pay, failure: 'records were not encoded; retrying. Recall goes by their words' },
      ),
      // Apart from work that takes seconds, as building an index does: a cycle is to run when it is due.
      ...dueJobs(
        background,
        { cycle: backingOff('cycle', runDueCycle) },
        {
          name: 'due cycles',
          pay,
          width: 8,
          isHeld,
          failure: 'a cycle that was due did not run; retrying',
        },
      ),
      ...store.jobs,
      ...lateJobs(background, { metrics, isJoined: management !== undefined }),
      ...ageJobs({ metrics, settings, readKeyAgeS: () => readKeyAge(background, sealingKeys) }),
      ...instanceKeyJobs(background, sealingKeys),
      ...idempotencyJobs(background),
      ...auditJobs(background),
      ...slotJobs(background),
      ...eventJobs(background),
      ...feedJobs({
        ...{ pool: background, log, lifecycle, metrics, authority, rates, activity, uses, management, join },
        readTotals: (instanceIds) => listTotals(background, instanceIds),
        readSwitches: () => reportSwitches(background),
        takeSwitches: (commands) => takeCommands(background, commands),
        onApplied: catchUp,
        replayErasures,
      }),
    ],
  })
  /** For the tests of access, which make routes of their own. */
  return { ...serving, access }
}

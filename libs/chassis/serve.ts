// From the first listener to the last answer, the same for every program: listen → prepare the database → warm up →
// ready → drain → close. A program hands in its routes, pools, what it must read before it serves, and its jobs.
//
//   listening   probes are answered; everything else is 503 STARTING
//   migrating   waits for a database with the schema of this release, as long as it takes
//   warming     `warm` reads what the process must know. A failure is retried, for a database that is away for a moment
//               is no reason to end; StartRefused ends the process
//   ready       jobs run; `hold` can take it back to warming. Free again, it warms up before it is ready: the database
//               is another one, perhaps of last week, without the partitions of today
//   stopping    at any moment of the above. Nothing new begins, what runs ends, then jobs, then pools
//
// Never: ready after a stop, a pool closed under a job that runs.

import { isExactlyMetered, meterTotals } from '@loci/meter/meter.ts'
import { type AddressRates, createAddressRates } from './address-rates.ts'
import { type AddressSet, addressSet } from './addresses.ts'
import type { Config } from './config.ts'
import { type Job, type RunningJobs, runJob, startJobs } from './jobs.ts'
import { createLifecycle, type Lifecycle } from './lifecycle.ts'
import { createLimiter, type Limiter } from './limiter.ts'
import { createLog, type Log, type LogLevel } from './log.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { EXIT, StartRefused } from './program.ts'
import type { Route } from './route.ts'
import { createServer, type HttpServer, type ServerOptions } from './server.ts'
import { serviceManagerOf, tellServiceManager } from './service-manager.ts'
import { phraseOf } from './store-health.ts'

export interface ServeSettings {
  listen: { host: string; port: number }
  /** A listener of its own for routes of access class `admin`. */
  adminListen?: { host: string; port: number } | undefined
  tlsCert: string | undefined
  tlsKey: string | undefined
  requireHttps: boolean
  trustedProxies: string[]
  concurrencyMax: number
  queueMax: number
  queueMs: number
}

export interface AppOptions<Settings> {
  settings: Settings
  log: Log
  version: string
  /** Holds every answer against its schema: tests and development. */
  verifyAnswers?: boolean
}

/** What features are given before there is a server. */
export interface Chassis extends AppOptions<ServeSettings> {
  lifecycle: Lifecycle
  metrics: Metrics
  limiter: Limiter
  addressRates: AddressRates
  trustedProxies: AddressSet
  servers: HttpServer[]
  inFlight(): number
}

export function createChassis(options: AppOptions<ServeSettings>): Chassis {
  const { settings, version } = options
  const servers: HttpServer[] = []
  const { concurrencyMax: runningMax, queueMax, queueMs } = settings
  return {
    ...options,
    lifecycle: createLifecycle(),
    metrics: createMetrics({ version }),
    limiter: createLimiter({ runningMax, queueMax, queueMs }),
    addressRates: createAddressRates(),
    trustedProxies: addressSet(settings.trustedProxies),
    servers,
    inFlight: () => servers.reduce((sum, server) => sum + server.inFlight(), 0),
  }
}

export interface App extends Pick<ServerOptions, 'letterCase' | 'routes' | 'subservices'> {
  /** Closed when the process ends. Requests wait for connections of the first. */
  pools: readonly [ServedPool, ...ServedPool[]]
  /** Closed before the pools: threads of the process. */
  threads?: readonly { close(): Promise<void> }[]
  /** Waits for the database; `refused` says why the process must not run on it. */
  prepare(options: { signal: AbortSignal; onWaiting(reason: string): void }): Promise<Prepared | 'stopped'>
  /** Reads what the process must know before it serves. Runs again when it fails. */
  warm(signal: AbortSignal): Promise<void>
  /** Asks the database how it is, as often as `everyMs`; `also` follows a good answer. */
  beat: { everyMs: number; ask(): Promise<string | undefined>; also?(): Promise<void> }
  /** Why nothing may be served although everything is read, asked after each beat. */
  hold?(): string | undefined
  jobs: Job[]
}

interface ServedPool {
  close(): Promise<void>
  counts(): { waiting: number }
}

type Prepared =
  | { refused: string[] }
  | { refused: undefined; warnings: string[]; schemaVersion: number; serverVersion: string }

export interface Serving {
  routes: Route[]
  servers: HttpServer[]
  lifecycle: Lifecycle
  /** Resolves when requests are served, or when a stop came first. */
  start(): Promise<{ url: string; adminUrl: string }>
  /** After the servers were closed. */
  close(): Promise<void>
}

const RETRY_MS = 500

export async function serve(chassis: Chassis, app: App): Promise<Serving> {
  const { settings, lifecycle, log, version, servers } = chassis
  const isAdmin = ({ spec }: Route) => settings.adminListen !== undefined && spec.access.class === 'admin'
  const listenOn = async (routes: Route[]) => {
    const server = await createServer({ ...chassis, ...app, ...listenerOf(settings), routes })
    servers.push(server)
    return server
  }
  const main = await listenOn(app.routes.filter((route) => !isAdmin(route)))
  const admin = settings.adminListen && (await listenOn(app.routes.filter(isAdmin)))
  addGauges(chassis, app)

  const stopping = new AbortController()
  const { signal } = stopping
  const isStopping = () => signal.aborted || lifecycle.state === 'draining' || lifecycle.state === 'stopped'
  let starting: Promise<unknown> = Promise.resolve()
  let jobs: RunningJobs | undefined
  let heldBy: string | undefined

  async function requireFree(): Promise<void> {
    const reason = app.hold?.()
    if (reason && !heldBy) log.warn({ component: 'lifecycle' }, reason)
    if (reason && (lifecycle.state === 'ready' || lifecycle.state === 'degraded')) lifecycle.move('warming', reason)
    if (!reason && heldBy && lifecycle.state === 'warming') {
      // A failure leaves it held, and the next beat tries again.
      await app.warm(signal)
      if (!isStopping() && !app.hold?.()) lifecycle.move('ready', 'everything is read again')
    }
    heldBy = app.hold?.()
  }

  async function becomeReady(): Promise<void> {
    lifecycle.move('migrating', 'waiting for the database and its schema')
    const prepared = await app.prepare({
      signal,
      onWaiting: (reason) => log.warn({ reason }, 'waiting for PostgreSQL'),
    })
    if (prepared === 'stopped' || isStopping()) return
    if (prepared.refused) throw new StartRefused(prepared.refused)
    for (const warning of prepared.warnings) log.warn({ reason: warning }, 'PostgreSQL warning')
    // In the log and not in the reason, which the open status shows to strangers.
    log.info({ reason: `schema ${prepared.schemaVersion} on PostgreSQL ${prepared.serverVersion}` }, 'database ready')
    lifecycle.move('warming', 'the database has the schema of this release')
    await warmUp(app, log, signal)
    if (isStopping()) return
    jobs = startJobs([beatJob(app, lifecycle, requireFree), ...app.jobs], log)
    await requireFree()
    if (!heldBy && !isStopping()) lifecycle.move('ready', 'everything is read')
  }

  return {
    routes: app.routes,
    servers,
    lifecycle,
    async start() {
      const { url } = await main.listen(settings.listen)
      const adminUrl = admin && settings.adminListen ? (await admin.listen(settings.adminListen)).url : url
      log.info({ url, version, pid: process.pid }, 'listening')
      const ready = becomeReady()
      starting = ready.catch(() => undefined)
      await ready
      return { url, adminUrl }
    },
    async close() {
      stopping.abort()
      await starting
      await jobs?.stop()
      await Promise.all((app.threads ?? []).map((thread) => thread.close()))
      await Promise.all(app.pools.map((pool) => pool.close()))
    },
  }
}

/** Until it has succeeded, or the signal came. */
async function warmUp({ warm }: App, log: Log, signal: AbortSignal): Promise<void> {
  let refused: StartRefused | undefined
  const run = async () => {
    await warm(signal).catch((error) => {
      if (!(error instanceof StartRefused)) throw error
      refused = error
    })
    return 'done' as const
  }
  const failure = 'startup load failed; retrying'
  await runJob({ name: 'postgres', everyMs: RETRY_MS, atStart: true, run, failure }, log, signal)
  if (refused) throw refused
}

/** What is reported is shown on open routes, so it is a fixed phrase: the driver's words name addresses and roles. */
function beatJob({ beat }: App, lifecycle: Lifecycle, onBeat: () => Promise<void>): Job {
  return {
    name: 'postgres',
    everyMs: beat.everyMs,
    failure: 'PostgreSQL does not answer as it should; retrying. error says why',
    async run() {
      try {
        const problem = await beat.ask()
        await beat.also?.()
        lifecycle.report('postgres', problem)
      } catch (error) {
        lifecycle.report('postgres', phraseOf(error))
        throw error
      }
      await onBeat()
    },
  }
}

function listenerOf({ tlsCert, tlsKey, requireHttps }: ServeSettings) {
  return { requireHttps, ...(tlsCert && tlsKey ? { tls: { cert: tlsCert, key: tlsKey } } : {}) }
}

function addGauges({ metrics, limiter, lifecycle, inFlight }: Chassis, { pools }: App): void {
  metrics.gauge('loci_requests_in_flight', 'Requests that are being worked on or answered.', inFlight)
  metrics.gauge('loci_slots_taken', 'Slots of the limiter that are taken.', () => limiter.running)
  metrics.gauge('loci_requests_waiting', 'Requests that wait for a slot of the limiter.', () => limiter.waiting)
  metrics.gauge(
    'loci_database_connections_waiting',
    'Requests that wait for a database connection.',
    () => pools[0].counts().waiting,
  )
  metrics.gauge('loci_metered_ratio', 'Part of the processor time since the start that was used for somebody.', () => {
    const { meteredUs, nobodyUs } = meterTotals()
    return meteredUs / Math.max(1, meteredUs + nobodyUs)
  })
  metrics.gauge(
    'loci_unmetered_seconds',
    'Processor time since the start that was used for nobody: jobs, probes, collections, what shares begin.',
    () => meterTotals().nobodyUs / 1e6,
  )
  metrics.gauge('loci_ready', '1 while readiness answers 200.', () =>
    lifecycle.state === 'ready' || lifecycle.state === 'degraded' ? 1 : 0,
  )
  metrics.gauge('loci_degraded', '1 while it serves and something that it needs is down.', () =>
    lifecycle.state === 'degraded' ? 1 : 0,
  )
}

export interface RunOptions<Settings> {
  program: string
  version: string
  config: Pick<Config, 'warnings'>
  settings: Settings & { logLevel: LogLevel; drainGraceMs: number; drainMs: number }
  /** The environment of the process; it says whether systemd waits for messages. */
  env: NodeJS.ProcessEnv
  create(options: AppOptions<Settings>): Promise<Serving>
  exit(code: number): void
}

/** The command `serve` of a program: resolves when it serves, and ends the process when it was told to stop. */
export async function runServer<Settings>(options: RunOptions<Settings>): Promise<undefined> {
  const { program, version, config, settings, env, create, exit } = options
  const log = createLog({ level: settings.logLevel, program })
  exitOnBug(log, exit)
  for (const warning of config.warnings) log.warn({ reason: warning }, 'configuration warning')
  if (!isExactlyMetered) log.warn({}, 'this kernel counts processor time by ticks: what work used is estimated')
  const serving = await create({ settings, log, version })
  serving.lifecycle.onMove(({ from, to, reason }) => log.info({ from: from ?? '', to, reason }, 'lifecycle'))
  const manager = serviceManagerOf(env)
  if (manager) tellServiceManager(manager, serving.lifecycle, log)
  drainOnSignal(serving, { ...settings, log, exit })
  await serving.start()
}

interface DrainOptions {
  log: Log
  drainGraceMs: number
  drainMs: number
  exit(code: number): void
}

/** From the first SIGTERM or SIGINT to the end; a second signal ends at once. */
function drainOnSignal(serving: Serving, { log, drainGraceMs, drainMs, exit }: DrainOptions): void {
  const { lifecycle, servers } = serving
  let draining = false
  const stop = async (signal: string) => {
    if (draining) {
      log.warn({ signal }, 'second signal while draining: ending at once, running requests are cut')
      log.flush()
      exit(EXIT.failed)
      return
    }
    draining = true
    const wasServing = lifecycle.state === 'ready' || lifecycle.state === 'degraded'
    lifecycle.beginDrain(signal, { graceMs: drainGraceMs, deadlineMs: drainGraceMs + drainMs })
    // Readiness says draining from here on, and requests are still served: a load balancer needs a check or two to
    // notice.
    if (wasServing) await new Promise((resolve) => setTimeout(resolve, drainGraceMs))
    const cut = (await Promise.all(servers.map((server) => server.close(drainMs)))).reduce((sum, one) => sum + one, 0)
    await serving
      .close()
      .catch((error) =>
        log.warn({ error }, 'stopping jobs, threads or connections failed; the process ends all the same'),
      )
    lifecycle.move('stopped', 'drained')
    log.info({ count: cut }, cut === 0 ? 'drained, nothing was cut' : 'drained, some requests were cut at the deadline')
    log.flush()
    exit(cut === 0 ? EXIT.ok : EXIT.failed)
  }
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
}

/** An uncaught error: the state of the process is unknown, so it logs and exits; the supervisor restarts it. */
function exitOnBug(log: Log, exit: (code: number) => void): void {
  const end = (error: unknown, kind: string) => {
    log.fatal({ error }, kind)
    exit(EXIT.bug)
  }
  process.on('uncaughtException', (error) => end(error, 'uncaught exception'))
  process.on('unhandledRejection', (error) => end(error, 'unhandled rejection'))
}

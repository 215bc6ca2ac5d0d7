// The one process of `loci up` that stays: it starts PostgreSQL, management and a daemon in this order, keeps them
// running, is the issuer that people sign in with, and ends everything in the other order.

import { cpSync, existsSync, lchownSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { createServer as createPort } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findPortHolder } from '@loci/chassis/port-holder.ts'
import { CommandFailure, failureOf } from '../failure.ts'
import type { Host } from '../host.ts'
import { shownSown, sow } from './demo.ts'
import { type Encoder, recallGoesBy } from './encoder.ts'
import { type DataDirectory, makeDirectories, readJson, readText, writeWhole } from './files.ts'
import {
  addOrFindCell,
  daemonSettings,
  findOrMakeService,
  makeOrFindOrganization,
  makeSecrets,
  managementSettings,
  ownCell,
  ownOrganization,
  prepareDatabases,
  requireOwnDatabases,
} from './first-start.ts'
import { startIssuer } from './issuer.ts'
import { type Keeper, keepRunning } from './keeper.ts'
import { keepLogsSmall } from './logs.ts'
import { embeddedUrl, makeCluster, preparePostgres, startPostgres } from './postgres.ts'
import { end, isAlive } from './processes.ts'
import { findPrograms, type ProgramName, startProgram } from './programs.ts'
import { addressesOf, claim, type PartName, type Running, type State, writeRunning } from './state.ts'
import { readVersion } from './store.ts'

const READY_MS = 120_000
const STOP_MS = 30_000
/** A wrong call and a wrong configuration: another start would end the same. */
const FINAL_CODES = [64, 78]

export interface UpOptions {
  host: Host
  data: DataDirectory
  port: number
  /** The address that is listened on; what is told and remembered is 127.0.0.1. */
  listen: string
  /** Undefined: the one of the data directory. */
  databaseUrl: string | undefined
  encoder: Encoder
  hasDemo: boolean
  /** Each step, when it is done. */
  onStep(line: string): void
}

export async function supervise(options: UpOptions): Promise<void> {
  const { host, data } = options
  makeDirectories(data)
  const running = claim(data)
  const stop: (() => Promise<void>)[] = []
  try {
    await endLeftovers(running)
    await start(options, running, stop)
    running.phase = 'ready'
    writeRunning(data, running)
    await untilStopped(host.signal)
  } catch (error) {
    if (!host.signal.aborted) {
      const { code, message, fields, exit } = failureOf(error)
      running.failure = { code, message, hint: fields.hint, exit }
      throw error
    }
  } finally {
    running.phase = 'stopping'
    writeRunning(data, running)
    for (const one of stop.toReversed()) await one()
    running.parts = {}
    running.phase = 'failed'
    // A failure stays to be read by who started this one in the background.
    if (running.failure) writeRunning(data, running)
    else rmSync(data.running, { force: true })
  }
}

/** What a supervisor left that was killed. Only what was written down, with its start. */
export async function endLeftovers({ parts }: Pick<Running, 'parts'>): Promise<PartName[]> {
  const ended: PartName[] = []
  for (const [name, signal] of [
    ['daemon', 'SIGTERM'],
    ['management', 'SIGTERM'],
    ['postgres', 'SIGINT'],
  ] as const) {
    const mark = parts[name]
    if (!mark || !isAlive(mark)) continue
    await end(mark, signal, STOP_MS)
    ended.push(name)
  }
  return ended
}

async function start(options: UpOptions, running: Running, stop: (() => Promise<void>)[]): Promise<void> {
  const { host, data, port, listen } = options
  const programs = findPrograms()
  const addresses = addressesOf(port)
  for (const url of Object.values(addresses)) await requireFreePort(Number(new URL(url).port), listen)
  const logs = keepLogsSmall(data)
  stop.push(async () => logs.stop())

  let since = performance.now()
  const step = (name: string, text: string) => {
    host.signal.throwIfAborted()
    const seconds = ((performance.now() - since) / 1_000).toFixed(1)
    const line = `${name.padEnd(16)} ${seconds === '0.0' ? text : `${text.padEnd(46)} ${seconds} s`}`
    since = performance.now()
    running.steps.push(line)
    writeRunning(data, running)
    options.onStep(line)
  }
  const keep = (name: PartName, begin: Parameters<typeof keepRunning>[0]['start']) => {
    const keeper = keepRunning({
      start: begin,
      finalCodes: FINAL_CODES,
      onStart(mark) {
        running.parts = { ...running.parts, [name]: mark }
        writeRunning(data, running)
      },
      onEnd(text) {
        running.restarts = { ...running.restarts, [name]: (running.restarts[name] ?? 0) + 1 }
        options.onStep(`${name.padEnd(16)} ${text}; it is started again`)
      },
    })
    return keeper
  }

  let known = readJson<State>(data.state)
  const remember = (state: State) => {
    known = state
    writeWhole(data.state, JSON.stringify(state, null, 2))
    return state
  }
  const adminUrl = await startDatabase(options, known, { keep, stop, step })
  if (!known && options.databaseUrl) await requireOwnDatabases(adminUrl)
  // Without a version until the databases are made: from here on what is on the server is of this directory.
  let state = known ?? remember({ version: '', port, database: options.databaseUrl ? 'own' : 'embedded' })
  makeSecrets(data, adminUrl)
  const shared = { host, data, programs }
  if (state.version !== host.version || programs.isCheckout) await prepareDatabases(data, adminUrl, shared)
  state = remember({ ...state, version: host.version, encoder: options.encoder.choice })

  // Before management, which finds it when somebody signs in; and it ends after it.
  const issuer = await startIssuer({
    data,
    port: Number(new URL(addresses.issuer).port),
    listen,
    redirectUri: `${addresses.management}/signed-in`,
    version: host.version,
  })
  stop.push(async () => void (await issuer.close(0)))
  const management = { ...shared, settings: managementSettings(data, port, listen) }
  const hasKey = state.organizationId !== undefined && readText(data.secret('api-key')) !== undefined
  const [cellId, organizationId] = await Promise.all([
    state.cellId ?? addOrFindCell(management, ...ownCell(data, port)),
    hasKey ? state.organizationId : makeOrFindOrganization(management, ownOrganization(data)),
    untilServing(
      'management',
      addresses.management,
      keep('management', () => startProgram('management', management, issuer.descriptor())),
      { stop, options },
    ),
  ])
  state = remember({ ...state, cellId, organizationId: organizationId as string })
  step('management', addresses.management)
  step('sign-in', `${addresses.management}/sign-in  (loci up code)`)

  const daemon = { ...shared, settings: daemonSettings(data, state, { listen, encoder: options.encoder.folder }) }
  const begin = () => startProgram('daemon', daemon)
  await untilServing('daemon', addresses.daemon, keep('daemon', begin), { stop, options })
  step('daemon', addresses.daemon)
  if (!state.serviceId) {
    const apiKey = readText(data.secret('api-key')) as string
    remember({ ...state, ...(await findOrMakeService(addresses.management, apiKey)) })
    step('service', '"default", active, plan enterprise')
  }
  if (options.hasDemo) step('sample', shownSown(await sow(data)))
  step('recall', await recallGoesBy(addresses.daemon, options.encoder.folder))
}

interface Starting {
  keep(name: PartName, begin: Parameters<typeof keepRunning>[0]['start']): Keeper
  stop: (() => Promise<void>)[]
  step(name: string, text: string): void
}

/** Answers with the address of the server for its administrator. */
async function startDatabase(
  { host, data, databaseUrl }: UpOptions,
  state: State | undefined,
  { keep, stop, step }: Starting,
): Promise<string> {
  if (databaseUrl) {
    const version = await readVersion(databaseUrl).catch((error: Error) => {
      throw new CommandFailure('unavailable', 'LOCI-DATABASE', `PostgreSQL does not answer: ${error.message}`, {
        hint: 'Look at the address that --database-url-file names.',
      })
    })
    step(`PostgreSQL ${Number.parseInt(version, 10)}`, 'a server of your own')
    return databaseUrl
  }
  const postgres = preparePostgres(host, data)
  if (state && state.version !== '' && state.version !== host.version) copyCluster(data, state.version)
  const made = await makeCluster(postgres, data)
  const keeper = keep('postgres', () => startPostgres(postgres, data))
  stop.push(() => keeper.stop('SIGINT', STOP_MS))
  const url = embeddedUrl(data)
  await until(
    () =>
      readVersion(url).then(
        () => true,
        () => false,
      ),
    () => keeper.hopeless && `PostgreSQL does not start: ${lastLines(data, 'postgres')}`,
    host.signal,
  )
  keeper.hasServed()
  step(`PostgreSQL ${postgres.version}`, `socket in the data directory, ${made}`)
  return url
}

async function untilServing(
  program: ProgramName,
  url: string,
  keeper: Keeper,
  { stop, options: { data, host } }: { stop: (() => Promise<void>)[]; options: UpOptions },
): Promise<void> {
  stop.push(() => keeper.stop('SIGTERM', STOP_MS))
  const isReady = () =>
    fetch(`${url}/health/ready`).then(
      ({ status }) => status === 200,
      () => false,
    )
  await until(isReady, () => keeper.hopeless && `${program} does not start: ${lastLines(data, program)}`, host.signal)
  keeper.hasServed()
}

async function until(
  isSo: () => Promise<boolean>,
  hopeless: () => string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const endsAt = performance.now() + READY_MS
  while (!(await isSo())) {
    signal.throwIfAborted()
    const why = hopeless() ?? (performance.now() > endsAt ? 'It was not ready within two minutes.' : undefined)
    if (why) throw new CommandFailure('unavailable', 'LOCI-START', why, { hint: 'loci logs shows more.' })
    await sleep(50)
  }
}

function untilStopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    // Nothing else may keep this process: all its work is done by others.
    const stay = setInterval(() => {}, 60_000)
    signal.addEventListener('abort', () => {
      clearInterval(stay)
      resolve()
    })
  })
}

async function requireFreePort(port: number, listen: string): Promise<void> {
  const taken = await new Promise<boolean>((resolve) => {
    const probe = createPort()
    probe.once('error', () => resolve(true))
    probe.listen({ host: listen, port }, () => probe.close(() => resolve(false)))
  })
  if (!taken) return
  const holder = findPortHolder(port)
  const who = holder ? `by pid ${holder.pid} (${holder.command})` : 'by a process of another user'
  throw new CommandFailure('unavailable', 'LOCI-PORT', `${listen}:${port} is in use ${who}.`, {
    hint: 'End that one, or use other ports and a data directory of their own: loci up --port 4500 --data <directory>',
  })
}

/** Before a newer version changes the schema: what was there can be put back by hand. */
function copyCluster(data: DataDirectory, version: string): void {
  const copy = join(data.path, 'copies', `postgres-${version}`)
  if (!existsSync(data.cluster) || existsSync(copy)) return
  const making = `${copy}.new`
  rmSync(making, { recursive: true, force: true })
  cpSync(data.cluster, making, { recursive: true, preserveTimestamps: true })
  // Under root the server is another user, who must be able to use what is put back.
  const { uid, gid } = statSync(data.cluster)
  const files = readdirSync(making, { recursive: true, encoding: 'utf8' }).map((name) => join(making, name))
  for (const file of [making, ...files]) lchownSync(file, uid, gid)
  renameSync(making, copy)
}

function lastLines(data: DataDirectory, name: string): string {
  return (readText(join(data.logs, `${name}.log`)) ?? '').split('\n').slice(-3).join('\n')
}

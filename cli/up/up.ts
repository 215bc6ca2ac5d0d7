// The commands that start and stop the local stack, and the code to sign in with.

import { spawn } from 'node:child_process'
import { existsSync, openSync, readdirSync, rmSync } from 'node:fs'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import type { Host } from '../host.ts'
import { keepProfile } from '../profiles/profiles.ts'
import type { Call, Result } from '../tree/command.ts'
import { shownSown, sow } from './demo.ts'
import { chosenEncoder, type Encoder } from './encoder.ts'
import { type DataDirectory, dataDirectoryOf, makeDirectories, readJson, readText, writeWhole } from './files.ts'
import { newSignInCode } from './issuer.ts'
import { end, isAlive } from './processes.ts'
import { addressesOf, DEFAULT_PORT, findSupervisor, PARTS, type Running, readRunning, type State } from './state.ts'
import { endLeftovers, supervise } from './supervisor.ts'

const FIRST_LINES = [
  'loci memory store "Ada prefers replies in Dutch" --user ada',
  'loci memory recall "which language for Ada?" --user ada --why',
]
const SAMPLE_LINES = [
  'loci memory recall "which refund needs no approval?" --why',
  'loci wm list        loci wm evictions        loci cycles list',
  'loci advice rank "is a rear wheel there?" --class stock',
]
/** Above what each of the parts is given to end. */
const DOWN_MS = 120_000

export async function up(call: Call): Promise<Result> {
  const { host } = call
  const data = dataOf(call)
  // Until it stood in the log once: a start that was cut off before that did not show it.
  const isKeyDue = call.has('print-key-once') && !readJson<State>(data.state)?.keyShown
  const isKeyShown = call.has('print-key') || isKeyDue
  const now = findSupervisor(data)
  if (now && !call.has('supervised')) {
    if (call.has('fresh')) throw new CommandFailure('conflict', 'LOCI-RUNNING', 'It runs. Stop it first: loci down')
    portOf(call, readJson<State>(data.state))
    const state = await untilReady(data, now.supervisor.pid)
    if (call.text('seed') === 'demo') call.say(`sample  ${shownSown(await sow(data))}`)
    return shown(host, data, state, { isKeyShown, first: `loci is already running, pid ${now.supervisor.pid}` })
  }
  if (call.isJson && !call.has('detach')) throw usage('loci up goes on for as long as it runs: --json needs -d.')
  if (call.has('fresh')) await removeAll(call, data)
  const options = chosen(call, data)
  if (call.has('detach')) return upInBackground(call, data, { isKeyShown, databaseUrl: options.databaseUrl })

  const isChild = call.has('supervised')
  let isTold = false
  const tell = () => {
    if (isTold || readRunning(data)?.phase !== 'ready') return
    isTold = true
    const { lines = [] } = shown(host, data, readState(data), { isKeyShown, first: undefined })
    if (isChild) return
    host.out(`${[...lines, '', '  Ctrl-C stops it. loci up -d runs it in the background.'].join('\n')}\n`)
    if (isKeyDue) writeWhole(data.state, JSON.stringify({ ...readState(data), keyShown: true }, null, 2))
  }
  const watching = setInterval(tell, 50)
  if (!isChild) host.out(`loci ${host.version} · local stack\n\n`)
  try {
    const onStep = (line: string) =>
      isChild ? host.out(`${new Date().toISOString()} ${line}\n`) : host.out(`  ${line}\n`)
    if (!isChild)
      onStep(`${'data directory'.padEnd(16)} ${data.path}  (${existsSync(data.state) ? 'kept' : 'created'})`)
    await supervise({ host, data, ...options, onStep })
  } finally {
    clearInterval(watching)
  }
  return { data: { stopped: true }, lines: isChild ? [] : ['', '  stopped'] }
}

/** The child of its own session outlives this process and its terminal; what it says stands in logs/up.log. */
async function upInBackground(
  call: Call,
  data: DataDirectory,
  { isKeyShown, databaseUrl }: { isKeyShown: boolean; databaseUrl: string | undefined },
): Promise<Result> {
  const { host } = call
  makeDirectories(data)
  const isNew = !existsSync(data.state)
  const before = readRunning(data)?.since
  const log = openSync(join(data.logs, 'up.log'), 'a', 0o600)
  const child = spawn(host.node, [host.script, ...wordsOfChild(call, data, databaseUrl), '--supervised'], {
    cwd: host.cwd,
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...host.env, NODE_COMPILE_CACHE: join(data.path, 'compiled') },
  })
  let ended: number | null | undefined
  child.once('exit', (code) => {
    ended = code
  })
  call.say(`${'data directory'.padEnd(16)} ${data.path}  (${isNew ? 'created' : 'kept'})`)
  let told = 0
  for (;;) {
    const running = readRunning(data)
    const isOurs = running !== undefined && running.since !== before
    if (isOurs) for (const line of running.steps.slice(told)) call.say(line)
    if (isOurs) told = running.steps.length
    if (isOurs && running.phase === 'ready') break
    if (ended !== undefined) throw startFailure(data, running, before, ended)
    host.signal.throwIfAborted()
    await sleep(50)
  }
  child.unref()
  return shown(host, data, readState(data), { isKeyShown, first: undefined })
}

/**
 * The same choices again. It stays, and its arguments can be read by everybody: the address of a database, which was
 * kept by now, is named by its file. That one is there also when what it was read from was a pipe.
 */
function wordsOfChild({ has, text }: Call, data: DataDirectory, databaseUrl: string | undefined): string[] {
  const values = ['port', 'listen', 'data', 'seed', 'encoder'].flatMap((name) => {
    const given = text(name)
    return given === undefined ? [] : [`--${name}`, given]
  })
  const isWithout = has('no-encoder') ? ['--no-encoder'] : []
  const database = databaseUrl === undefined ? [] : ['--database-url-file', data.secret('database-url')]
  return ['up', ...values, ...isWithout, ...database]
}

function startFailure(
  data: DataDirectory,
  running: Running | undefined,
  before: string | undefined,
  code: number | null,
): CommandFailure {
  const { failure } = running && running.since !== before ? running : { failure: undefined }
  if (!failure)
    return new CommandFailure('unavailable', 'LOCI-START', `It ended while it started (${code}).`, {
      hint: `Look at ${join(data.logs, 'up.log')}`,
    })
  const name = (Object.keys(EXIT) as (keyof typeof EXIT)[]).find((one) => EXIT[one] === failure.exit) ?? 'unexpected'
  return new CommandFailure(name, failure.code, failure.message, { hint: failure.hint })
}

async function untilReady(data: DataDirectory, pid: number): Promise<State> {
  for (;;) {
    const running = findSupervisor(data)
    if (!running)
      throw new CommandFailure('unavailable', 'LOCI-START', `The one that was starting, pid ${pid}, has ended.`, {
        hint: 'loci logs up shows why.',
      })
    if (running.phase === 'ready') return readState(data)
    await sleep(50)
  }
}

function readState(data: DataDirectory): State {
  const state = readJson<State>(data.state)
  if (!state?.serviceId)
    throw new CommandFailure('config', 'LOCI-DATA', `${data.state} is not whole: a first start was not finished.`, {
      hint: 'loci up',
    })
  return state
}

/** What was chosen at the first start stays: what is remembered never changes silently. */
function chosen(
  call: Call,
  data: DataDirectory,
): {
  port: number
  listen: string
  databaseUrl: string | undefined
  encoder: Encoder
  hasDemo: boolean
} {
  const listen = call.text('listen') ?? '127.0.0.1'
  if (!isIP(listen)) throw usage('--listen is an address of this machine, such as 0.0.0.0.')
  const state = readJson<State>(data.state)
  const hasDemo = call.text('seed') === 'demo'
  return {
    port: portOf(call, state),
    listen,
    databaseUrl: databaseOf(call, data, state),
    encoder: chosenEncoder(call, data, state),
    hasDemo,
  }
}

function portOf(call: Call, state: State | undefined): number {
  const given = call.text('port')
  if (given !== undefined && !/^\d{2,5}$/.test(given)) throw usage('--port is a number from 1024 to 65500.')
  const port = Number(given ?? state?.port ?? DEFAULT_PORT)
  if (port < 1_024 || port > 65_500) throw usage('--port is a number from 1024 to 65500.')
  if (state && state.port !== port)
    throw new CommandFailure(
      'config',
      'LOCI-REMEMBERED',
      `This data directory was made with --port ${state.port}: its services are known by that address.`,
      {
        hint: `Leave --port out, or use another directory: loci up --port ${port} --data <directory>`,
      },
    )
  return port
}

function databaseOf(call: Call, data: DataDirectory, state: State | undefined): string | undefined {
  const file = call.text('database-url-file')
  const plain = call.text('database-url')
  if (file !== undefined && plain !== undefined) throw usage('--database-url-file or --database-url, not both.')
  const given = file === undefined ? plain : readText(resolve(call.host.cwd, file))
  if (file !== undefined && !given) throw usage(`${file} is not there, or is empty.`)
  if (given !== undefined && !/^postgres(ql)?:\/\//.test(given))
    throw usage('The address of a database begins with postgres://')
  const kept = readText(data.secret('database-url'))
  const isOther =
    (state?.database === 'own' && given !== undefined && kept !== undefined && given !== kept) ||
    (state?.database === 'embedded' && given !== undefined)
  if (isOther)
    throw new CommandFailure(
      'config',
      'LOCI-REMEMBERED',
      `The data of this directory is ${state?.database === 'own' ? 'on another server' : 'in its own PostgreSQL'}.`,
      {
        hint: 'Leave the option out, or use another directory: loci up --data <directory>. A new password of the same server: write its address into secrets/database-url of the data directory.',
      },
    )
  if (given === undefined) return state?.database === 'own' ? kept : undefined
  makeDirectories(data)
  // Until something was made on a server, the one that was meant last counts: the first may have been mistyped.
  if (kept !== given) writeWhole(data.secret('database-url'), `${given}\n`)
  return given
}

function shown(
  host: Host,
  data: DataDirectory,
  state: State,
  { isKeyShown, first }: { isKeyShown: boolean; first: string | undefined },
): Result {
  const { management, daemon } = addressesOf(state.port)
  const apiKey = readText(data.secret('api-key')) as string
  const name = state.port === DEFAULT_PORT ? 'dev' : `dev-${state.port}`
  const before = keepProfile(host, name, { url: management, service: state.serviceId as string }, apiKey)
  const told = {
    running: true,
    pid: findSupervisor(data)?.supervisor.pid ?? null,
    data_directory: data.path,
    profile: name,
    management,
    daemon,
    docs: `${management}/docs`,
    mcp: `${daemon}/mcp`,
    sign_in: `${management}/sign-in`,
    service_id: state.serviceId,
    ...(state.demo?.sown ? { sample: state.demo.sown } : {}),
    ...(isKeyShown ? { api_key: apiKey } : {}),
  }
  const isSown = state.demo?.sown !== undefined
  const lines = [
    ...(first ? [first] : []),
    '',
    `  Data      ${data.path}`,
    `  API docs  ${told.docs}`,
    `  MCP       ${told.mcp}`,
    `  Sign in   ${told.sign_in}  with the code of: loci up code`,
    ...(isKeyShown ? [`  API key   ${apiKey}`] : []),
    '',
    `  Profile "${name}" is active${before ? ` (before: "${before}"; loci profiles use ${before})` : ''}. Try:`,
    ...(isSown ? SAMPLE_LINES : FIRST_LINES).map((line) => `    ${line}`),
  ]
  return { data: told, lines }
}

async function removeAll(call: Call, data: DataDirectory): Promise<void> {
  if (!existsSync(data.path)) return
  const known = new Set([
    'postgres',
    'postgres-new',
    'programs',
    'socket',
    'logs',
    'secrets',
    'state.json',
    'running.json',
    'compiled',
    'copies',
  ])
  const foreign = readdirSync(data.path).filter((name) => !known.has(name) && !name.startsWith('running.json'))
  if (foreign.length > 0)
    throw new CommandFailure(
      'config',
      'LOCI-DATA',
      `${data.path} holds what is not of loci up: ${foreign.slice(0, 3).join(', ')}. Nothing was removed.`,
    )
  if (readJson<State>(data.state)?.database === 'own')
    throw new CommandFailure(
      'config',
      'LOCI-DATA',
      'The data is on a server of your own: drop loci_control and loci_cell there, then remove the data directory.',
    )
  if (!call.has('yes')) {
    if (!call.host.canAsk) throw usage('--fresh erases all data of this loci: say --yes too.')
    const answer = await call.host.ask(`Erase everything in ${data.path}? Type yes: `)
    if (answer.trim() !== 'yes') throw new CommandFailure('conflict', 'NOT_CONFIRMED', 'Nothing was erased.')
  }
  const running = readRunning(data)
  if (running) await endLeftovers(running)
  for (const name of readdirSync(data.path)) rmSync(join(data.path, name), { recursive: true, force: true })
}

export async function down(call: Call): Promise<Result> {
  const data = dataOf(call)
  const running = readRunning(data)
  if (!running) return { data: { running: false, stopped: [] }, lines: [`nothing runs in ${data.path}`] }
  const stopped: string[] = []
  if (isAlive(running.supervisor)) {
    const wasKilled = await end(running.supervisor, 'SIGTERM', DOWN_MS)
    stopped.push('supervisor', ...PARTS.filter((name) => running.parts[name]))
    if (wasKilled) call.say('it did not end in time and was killed')
  }
  stopped.push(...(await endLeftovers(readRunning(data) ?? { parts: {} })))
  if (!findSupervisor(data)) rmSync(data.running, { force: true })
  return {
    data: { running: false, stopped: [...new Set(stopped)], data_directory: data.path },
    lines: [stopped.length > 0 ? `stopped; the data stays in ${data.path}` : `nothing runs in ${data.path}`],
  }
}

export async function signInCode(call: Call): Promise<Result> {
  const data = dataOf(call)
  const state = readJson<State>(data.state)
  if (!state || !findSupervisor(data))
    throw new CommandFailure('unavailable', 'LOCI-RUNNING', `Nothing runs in ${data.path}.`, { hint: 'loci up' })
  const { code, expiresAt } = newSignInCode(data)
  const url = `${addressesOf(state.port).management}/sign-in`
  return {
    data: { code, url, expires_at: expiresAt.toISOString() },
    lines: [code, `good once, for ten minutes, at ${url}`],
  }
}

function dataOf(call: Call): DataDirectory {
  return dataDirectoryOf(call.host, call.text('data'))
}

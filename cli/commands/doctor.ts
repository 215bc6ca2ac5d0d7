// Twelve checks, each with one line of cause and one of what to do.

import { lookup } from 'node:dns/promises'
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { findPortHolder } from '@loci/chassis/port-holder.ts'
import { connectManagement } from '@loci/sdk/client.ts'
import { Loci } from '@loci/sdk/loci.ts'
import { meantBy } from '../profiles/connection.ts'
import { filesOf, readKeys, readProfiles } from '../profiles/profiles.ts'
import type { Call, Result } from '../tree/command.ts'
import { dataDirectoryOf, readJson } from '../up/files.ts'
import { addressesOf, DEFAULT_PORT, findSupervisor, type State } from '../up/state.ts'
import { type Check, type Finding, fail, findings, ok, warn } from './findings.ts'
import { counted } from './shown.ts'

const NODE_MIN = 24
const SKEW_MS_MAX = 30_000
const FREE_BYTES_MIN = 500_000_000
const ASK_MS = 5_000

export async function doctor(call: Call): Promise<Result> {
  const checks: readonly Check[] = [
    ['node', () => node(process.versions.node)],
    ['config', () => config(call)],
    ['credentials', () => credentials(call)],
    ['server', () => server(urlOf(call))],
    ['clock', () => clock(urlOf(call))],
    ['key', () => key(call)],
    ['version', () => version(call)],
    ['daemon', () => daemon(call)],
    ['consistency', () => consistency(call)],
    ['data directory', () => dataDirectory(call)],
    ['ports', () => ports(call)],
    ['proxy', () => proxy(call, urlOf(call))],
  ]
  return findings(checks, (error: Error & { fields?: { hint?: string } }) =>
    fail(error.message, error.fields?.hint ?? 'loci up, or loci login'),
  )
}

function urlOf(call: Call): string | undefined {
  return meantBy(call).url.value
}

function node(have: string): Finding {
  if (Number.parseInt(have, 10) >= NODE_MIN) return ok(`Node ${have}`)
  return fail(`Node ${have} is too old`, `install Node ${NODE_MIN} or newer`)
}

function config({ host }: Call): Finding {
  const { active, profiles } = readProfiles(host)
  const { config: file } = filesOf(host)
  if (profiles.size === 0) return warn(`no profile in ${file}`, 'loci up, or loci login --url https://…')
  if (active !== undefined && !profiles.has(active))
    return fail(`the active profile '${active}' is not in ${file}`, 'loci profiles use <profile>')
  return ok(`${counted(profiles.size, 'profile')}, active ${active ?? 'none'}`)
}

function credentials({ host }: Call): Finding {
  return ok(`${counted(readKeys(host).size, 'key')}, for you alone`)
}

/** Each on the way there by itself: the name, the port, the answer. */
async function server(url: string | undefined): Promise<Finding> {
  if (url === undefined) return fail('no server is known', 'loci up, or loci login --url https://…')
  const { hostname, port, protocol } = new URL(url)
  const bare = hostname.replace(/^\[|\]$/g, '')
  const address = await lookup(bare).catch(() => undefined)
  if (!address) return fail(`the name ${bare} is not known to DNS`, 'look at the url of the profile: loci config show')
  const to = Number(port || (protocol === 'https:' ? 443 : 80))
  const isOpen = await new Promise<boolean>((resolve) => {
    const socket = connectTcp({ host: address.address, port: to, timeout: ASK_MS })
    const end = (found: boolean) => {
      socket.destroy()
      resolve(found)
    }
    socket
      .once('connect', () => end(true))
      .once('error', () => end(false))
      .once('timeout', () => end(false))
  })
  if (!isOpen) return fail(`nothing listens on ${address.address}:${to}`, 'start it: loci up')
  const answer = await ask(`${url}/health/ready`)
  if (typeof answer === 'string')
    return fail(`${url} takes connections and does not answer: ${answer}`, 'loci logs management')
  if (answer.status !== 200) return fail(`${url} is not ready (${answer.status})`, 'loci status, loci logs management')
  return ok(`${url} is ready`)
}

async function ask(url: string): Promise<Response | string> {
  return fetch(url, { signal: AbortSignal.timeout(ASK_MS) }).catch((error: Error) => {
    const { code } = (error.cause ?? {}) as { code?: string }
    return code ?? error.name
  })
}

async function clock(url: string | undefined): Promise<Finding> {
  const answer = url === undefined ? 'no server is known' : await ask(`${url}/health/live`)
  if (typeof answer === 'string') return warn(`not compared: ${answer}`, 'see the check of the server')
  const skewMs = Date.now() - Date.parse(answer.headers.get('date') ?? '')
  if (Number.isNaN(skewMs)) return warn('the server tells no time', 'nothing: a proxy took it away')
  const shown = `${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the server`
  if (Math.abs(skewMs) > SKEW_MS_MAX) return fail(`the clock is ${shown}: tokens are refused`, 'set the clock, by NTP')
  return ok('the clocks agree')
}

async function key(call: Call): Promise<Finding> {
  const { url, apiKey, profile } = meantBy(call)
  if (apiKey.value === undefined) return fail(`there is no key for ${url.value ?? 'any server'}`, 'loci login')
  const management = connectManagement({ url: url.value as string, apiKey: apiKey.value, attemptsMax: 1 })
  try {
    const { body } = await management.call('GET /api/v1/api-keys')
    const own = body.api_keys.find(
      ({ expires_at }) => expires_at !== null && Date.parse(expires_at) < Date.now() + 7 * 86_400_000,
    )
    if (own) return warn(`the key '${own.name}' ends ${own.expires_at}`, `loci keys rotate ${own.id}`)
    return ok(`the key of ${profile.value ?? apiKey.source} is accepted`)
  } catch (error) {
    const { status, message } = error as { status?: number; message: string }
    if (status === 403) return ok('the key is accepted, without the right to see keys')
    if (status === 401)
      return fail('the key is not accepted: it ended, was revoked, or is of another server', 'loci login')
    return warn(`not asked: ${message}`, 'see the check of the server')
  }
}

async function version(call: Call): Promise<Finding> {
  const url = urlOf(call)
  const answer = url === undefined ? 'no server is known' : await ask(`${url}/openapi.json`)
  if (typeof answer === 'string') return warn(`not compared: ${answer}`, 'see the check of the server')
  const { info } = (await answer.json()) as { info?: { version?: string } }
  const [theirs = '?', ours = '?'] = [info?.version, call.host.version]
  if (theirs.split('.')[0] !== ours.split('.')[0])
    return warn(`the server is ${theirs}, this is ${ours}`, 'install the same version')
  return ok(`server ${theirs}, command line ${ours}`)
}

async function service(call: Call) {
  const { url, apiKey, service: which } = meantBy(call)
  const loci = new Loci({
    url: url.value,
    token: apiKey.value ?? 'loci_sk_none',
    service: which.value,
    attemptsMax: 1,
    attemptMs: ASK_MS,
  })
  return loci.service()
}

async function daemon(call: Call): Promise<Finding> {
  const one = await service(call)
  const info = await one.known()
  if (!info.endpoint) return fail(`the service ${info.slug} is ${info.status}`, `loci services wait ${info.slug}`)
  const answer = await ask(`${info.endpoint}/v1/health/all`)
  if (typeof answer === 'string')
    return fail(`${info.endpoint} does not answer: ${answer}`, 'loci status, loci logs daemon')
  const { status, checks } = (await answer.json()) as {
    status: string
    checks: Record<string, { status: string; detail?: string }>
  }
  const ill = Object.entries(checks).filter(
    ([, { status: how }]) => !['ok', 'running', 'off', 'enabled', 'ready', 'up', 'healthy'].includes(how),
  )
  if (status !== 'ok')
    return fail(
      `${info.endpoint} is ${status}: ${ill.map(([name, { status: how }]) => `${name} ${how}`).join(', ')}`,
      'loci admin services status; loci logs daemon',
    )
  return ok(`${info.slug} at ${info.endpoint}, ${Object.keys(checks).length} parts`)
}

async function consistency(call: Call): Promise<Finding> {
  const { body } = await (await (await service(call)).daemon()).call('GET /v1/kv/consistency')
  if (body.status === 'inconsistent')
    return fail(
      `${counted(body.summary.issues, 'entry is', 'entries are')} damaged`,
      'docs/operations: restore them from a backup',
    )
  return ok(`${body.status}, ${counted(body.summary.rows, 'entry', 'entries')}`)
}

function dataDirectory(call: Call): Finding {
  const data = dataDirectoryOf(call.host, call.text('data'))
  if (!existsSync(data.path)) return ok(`${data.path} is not there: nothing local`)
  try {
    accessSync(data.path, constants.W_OK)
  } catch {
    return fail(
      `${data.path} cannot be written`,
      `let it belong to you: chown -R ${call.host.uid ?? 'you'} ${data.path}`,
    )
  }
  const { bavail, bsize } = statfsSync(data.path)
  const free = `${Math.round((bavail * bsize) / 1_000_000)} MB free in ${data.path}`
  return bavail * bsize < FREE_BYTES_MIN ? fail(free, 'free some space: at 0 nothing is stored any more') : ok(free)
}

function ports(call: Call): Finding {
  const data = dataDirectoryOf(call.host, call.text('data'))
  const port = readJson<State>(data.state)?.port ?? DEFAULT_PORT
  if (findSupervisor(data)) return ok(`loci up has ${port}, ${port + 10} and ${port + 20}`)
  for (const url of Object.values(addressesOf(port))) {
    const at = Number(new URL(url).port)
    const holder = findPortHolder(at)
    if (holder)
      return fail(
        `${at} is taken by pid ${holder.pid} (${holder.command})`,
        'end that one, or loci up --port 4500 --data <directory>',
      )
  }
  return ok(`${port}, ${port + 10} and ${port + 20} are free`)
}

function proxy({ host }: Call, url: string | undefined): Finding {
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'].filter(
    (name) => host.env[name],
  )
  const spared = (host.env.NO_PROXY ?? host.env.no_proxy ?? '').split(',').map((one) => one.trim())
  const isLoopback = url !== undefined && /^https?:\/\/(?:127\.|localhost|\[::1\])/.test(url)
  if (names.length === 0 || !isLoopback)
    return ok(names.length === 0 ? 'no proxy is set' : `${names[0]} is set, and the server is elsewhere`)
  const isSpared = spared.some((one) => one === '*' || one === 'localhost' || one.startsWith('127.'))
  if (isSpared) return ok('loopback is spared by NO_PROXY')
  return fail(`${names[0]} is set and would capture loopback`, 'export NO_PROXY=127.0.0.1,localhost')
}

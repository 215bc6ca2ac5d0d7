// Reads the configuration of a program: flags > LOCI_* > file > default. All problems are told in one message, and a
// program with a problem does not start (exit 78): there is no mode in which a broken or weak setting merely warns.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { SETTING_NAMES } from '@loci/contract/setting-names.ts'
import { isLoopback } from './addresses.ts'
import type { Registry, ServerSettings, Setting, SettingsTable, ValuesOf } from './settings.ts'

type Source = 'flag' | 'environment' | 'environment file' | 'configuration file' | 'default' | 'not set'

export interface Config<Table extends SettingsTable = SettingsTable> {
  values: Partial<ValuesOf<Table>>
  problems: string[]
  warnings: string[]
  shown: { env: string; value: string; source: Source }[]
  /** What is left of the command line: the command and its own arguments. */
  rest: string[]
  mode: 'run' | 'print' | 'check' | 'help'
}

type Environment = Record<string, string | undefined>

const CONFIG_FILE_ENV = 'LOCI_CONFIG'
const MASK = '••••••'

/** `needs` are settings without a default that only this command requires. */
export function loadConfig<Table extends SettingsTable>({
  settings,
  together,
  onlyWith = {},
  warningsOf,
  argv,
  env,
  needs = [],
}: Omit<Registry<Table>, 'program'> & {
  argv: string[]
  env: Environment
  needs?: (keyof Table)[]
}): Config<Table> {
  const problems: string[] = []
  const { flags, rest, mode, configPath } = readFlags(settings, argv, problems)
  const file = readConfigFile(configPath ?? env[CONFIG_FILE_ENV], problems)
  rejectUnknown(env, file, problems)

  const values: Record<string, unknown> = {}
  const given = new Set<string>()
  const shown: Config['shown'] = []
  for (const [name, setting] of Object.entries(settings)) {
    const found = find(setting, flags, env, file, problems)
    shown.push({
      env: setting.env,
      // An empty secret masked would look like one that is there.
      value: found.text === undefined || found.text === '' ? '' : setting.secret ? MASK : oneLine(found.text),
      source: found.source,
    })
    if (found.text !== undefined || found.failed) given.add(setting.env)
    if (found.text === undefined) {
      const missing = needs.includes(name) || (!setting.optional && found.source === 'not set')
      if (missing && !found.failed) problems.push(`${setting.env} is required: ${setting.doc}`)
      continue
    }
    try {
      values[name] = setting.parse(found.text)
    } catch (error) {
      problems.push(`${setting.env} ${(error as Error).message}`)
    }
  }
  const known = values as Partial<ValuesOf<Table>>
  const config = { values: known, problems, warnings: warningsOf?.(known) ?? [], shown, rest, mode }
  checkGroups([['LOCI_TLS_CERT', 'LOCI_TLS_KEY'], ...(together ?? [])], given, problems)
  for (const [env, other] of Object.entries(onlyWith))
    if (given.has(env) && !given.has(other)) problems.push(`${env} means nothing without ${other}, which is missing`)
  checkListeners(values as ListenerValues, config)
  return config
}

/** After `problems` was found empty: what a server is handed, typed. */
export function requireSettings<Table extends SettingsTable>(
  { problems, values }: Config<Table>,
  settings: Table,
): ServerSettings<Table> {
  if (problems.length > 0) throw new Error('the configuration has problems; report them before using it')
  const served = Object.keys(settings).filter((name) => settings[name]?.forCommand === undefined)
  return Object.fromEntries(served.map((name) => [name, values[name]])) as ServerSettings<Table>
}

export function configReport(config: Pick<Config, 'shown'>): string {
  const width = Math.max(...config.shown.map(({ env }) => env.length))
  return config.shown
    .map(({ env, value, source }) => `${env.padEnd(width)}  ${value === '' ? '-' : value}  (${source})`)
    .join('\n')
}

function readFlags(settings: SettingsTable, argv: string[], problems: string[]) {
  const flags = new Map<string, string>()
  const rest: string[] = []
  let mode: Config['mode'] = 'run'
  let configPath: string | undefined
  for (let i = 0; i < argv.length; i += 1) {
    const argument = argv[i] as string
    const [name, inline] = argument.split(/=(.*)/s) as [string, string?]
    const setting = Object.values(settings).find((one) => flagOf(one) === name)
    if (name === '--print-config') mode = 'print'
    else if (name === '--check-config') mode = 'check'
    else if (name === '--help' || name === '-h') mode = 'help'
    else if (name === '--config') {
      configPath = inline ?? argv[++i]
      if (!configPath) problems.push('--config needs the name of a file')
    } else if (setting?.secret) {
      problems.push(`${name} would show a secret in the list of processes: use ${setting.env}_FILE`)
      // Its value must not be taken for a command, which would be repeated in the refusal.
      if (inline === undefined) i += 1
    } else if (setting) flags.set(setting.env, inline ?? argv[++i] ?? '')
    else rest.push(argument)
  }
  return { flags, rest, mode, configPath }
}

function readConfigFile(path: string | undefined, problems: string[]): Map<string, string> {
  if (path === undefined) return new Map()
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed))
      throw new Error('it is not a JSON object')
    return new Map(
      Object.entries(parsed).map(([key, value]) => [key, Array.isArray(value) ? value.join(',') : String(value)]),
    )
  } catch (error) {
    problems.push(`the configuration file ${path} cannot be read: ${(error as Error).message}`)
    return new Map()
  }
}

function rejectUnknown(env: Environment, file: Map<string, string>, problems: string[]): void {
  const known = new Set<string>([CONFIG_FILE_ENV, ...SETTING_NAMES])
  for (const name of Object.keys(env)) {
    if (!name.startsWith('LOCI_') || isKubernetesLink(name)) continue
    if (known.has(name) || (name.endsWith('_FILE') && known.has(name.slice(0, -5)))) continue
    problems.push(`${name} is not a setting${suggestion(name, [...known])}`)
  }
  const keys = SETTING_NAMES.map((env) => fileKeyOf({ env }))
  for (const key of file.keys())
    if (!keys.includes(key))
      problems.push(`the configuration file has '${key}', which is not a setting${suggestion(key, keys)}`)
}

/** Kubernetes adds these to every pod beside a Service called loci or loci-…: `LOCI_PORT=tcp://10.0.0.1:80`. */
export function isKubernetesLink(name: string): boolean {
  return /^LOCI(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\d+_[A-Z]+(_(PROTO|PORT|ADDR))?)?)$/.test(
    name,
  )
}

interface Found {
  text?: string
  source: Source
  failed?: boolean
}

function find(
  setting: Setting<unknown>,
  flags: Map<string, string>,
  env: Environment,
  file: Map<string, string>,
  problems: string[],
): Found {
  const flag = flags.get(setting.env)
  if (flag !== undefined) return { text: flag, source: 'flag' }
  const direct = env[setting.env]
  const path = env[`${setting.env}_FILE`]
  if (direct !== undefined && path !== undefined) {
    problems.push(`${setting.env} and ${setting.env}_FILE are both given: keep one`)
    return { source: 'not set', failed: true }
  }
  if (direct !== undefined) return { text: direct, source: 'environment' }
  if (path !== undefined) {
    try {
      return { text: readFileSync(path, 'utf8').trim(), source: 'environment file' }
    } catch (error) {
      problems.push(`${setting.env}_FILE cannot be read: ${(error as Error).message}`)
      return { source: 'not set', failed: true }
    }
  }
  const fromFile = file.get(fileKeyOf(setting))
  if (fromFile !== undefined) return { text: fromFile, source: 'configuration file' }
  const { fallback } = setting
  return fallback === undefined ? { source: 'not set' } : { text: fallback, source: 'default' }
}

/** `given` are those that somebody set, well or not. */
function checkGroups(groups: readonly (readonly string[])[], given: ReadonlySet<string>, problems: string[]): void {
  for (const group of groups) {
    const missing = group.filter((env) => !given.has(env))
    if (missing.length === 0 || missing.length === group.length) continue
    const verb = missing.length === 1 ? 'is' : 'are'
    problems.push(`${group.join(', ')} go together: ${missing.join(' and ')} ${verb} missing`)
  }
}

/** What the chassis itself needs to be right together. */
interface ListenerValues {
  tlsCert?: string
  tlsKey?: string
  databaseCa?: string
  requireHttps?: boolean
  trustedProxies?: string[]
  listen?: { host: string }
  adminListen?: { host: string }
}

function checkListeners(values: ListenerValues, { problems, shown }: Pick<Config, 'problems' | 'shown'>): void {
  if (values.tlsCert && values.tlsKey) {
    try {
      createSecureContext({ cert: values.tlsCert, key: values.tlsKey })
    } catch (error) {
      problems.push(`LOCI_TLS_CERT and LOCI_TLS_KEY cannot be used together: ${(error as Error).message}`)
    }
  }
  if (values.databaseCa) {
    try {
      new X509Certificate(values.databaseCa)
    } catch (error) {
      problems.push(`LOCI_DATABASE_CA is no certificate: ${(error as Error).message}`)
    }
  }
  if (values.requireHttps && !values.tlsCert && values.trustedProxies?.length === 0) {
    problems.push(
      'LOCI_REQUIRE_HTTPS would refuse every request: give LOCI_TLS_CERT and LOCI_TLS_KEY, or name your proxy in LOCI_TRUSTED_PROXIES',
    )
  }
  const isSaid = shown.some(({ env, source }) => env === 'LOCI_REQUIRE_HTTPS' && source !== 'default')
  const isDecided = values.tlsCert !== undefined || isSaid || values.trustedProxies?.length !== 0
  for (const [env, address] of [
    ['LOCI_LISTEN', values.listen],
    ['LOCI_ADMIN_LISTEN', values.adminListen],
  ] as const) {
    if (isDecided || !address || isLoopback(address.host)) continue
    problems.push(
      `${env} would serve plain http on ${address.host}, where credentials can be read on their way: give LOCI_TLS_CERT and ` +
        'LOCI_TLS_KEY, name the proxy that ends TLS in LOCI_TRUSTED_PROXIES, or say LOCI_REQUIRE_HTTPS=false if the network is yours alone',
    )
  }
}

export function flagOf(setting: { env: string }): string {
  return `--${setting.env.slice('LOCI_'.length).toLowerCase().replaceAll('_', '-')}`
}

function fileKeyOf(setting: { env: string }): string {
  return setting.env.slice('LOCI_'.length).toLowerCase()
}

function oneLine(text: string): string {
  const first = text.split('\n', 1)[0] as string
  return first.length < text.length ? `${first} …` : first
}

function suggestion(name: string, known: string[]): string {
  // LOCI_ADMIN_TOKEN is half of LOCI_ADMIN_TOKEN_DIGESTS, however near LOCI_ADMIN_LISTEN may be.
  const whole = known.find((one) => name.length > 'LOCI_'.length && one.startsWith(`${name}_`))
  if (whole) return `; did you mean ${whole}?`
  const near = known.map((one) => ({ one, distance: distance(name, one) })).sort((a, b) => a.distance - b.distance)[0]
  return near && near.distance <= Math.max(3, name.length / 4)
    ? `; did you mean ${near.one}?`
    : '; --help lists them all'
}

/** Levenshtein. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      next.push(
        Math.min(
          (row[j] as number) + 1,
          (next[j - 1] as number) + 1,
          (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      )
    }
    row = next
  }
  return row[b.length] as number
}

// What the command line has written down: which loci is meant, and its key. Node alone.
//
//   ~/.config/loci/config.toml        active = "dev"
//                                     [profiles.dev]
//                                     url = "http://127.0.0.1:4400"
//                                     service = "default"
//   ~/.config/loci/credentials.toml   [profiles.dev]          of nobody else's reading
//                                     api_key = "loci_sk_…"

import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { LociError } from './error.ts'

export interface Profile {
  name: string
  url?: string | undefined
  service?: string | undefined
  organization?: string | undefined
  apiKey?: string | undefined
  token?: string | undefined
}

type Environment = Readonly<{ [name: string]: string | undefined }>

export function configDirectory(env: Environment, platform: string = process.platform): string {
  if (env.LOCI_CONFIG_DIR) return env.LOCI_CONFIG_DIR
  if (env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, 'loci')
  if (platform === 'win32' && env.APPDATA) return join(env.APPDATA, 'loci')
  return join(env.HOME ?? homedir(), '.config', 'loci')
}

/** The profile of that name, or the active one. Undefined where none was written. */
export function readProfile(env: Environment, name: string | undefined = env.LOCI_PROFILE): Profile | undefined {
  const directory = configDirectory(env)
  const config = readTables(join(directory, 'config.toml'))
  const active = name ?? config.get('')?.get('active')
  if (active === undefined) return undefined
  const shown = config.get(`profiles.${active}`)
  if (!shown) {
    if (name === undefined) return undefined
    throw invalid(`There is no profile '${name}' in ${join(directory, 'config.toml')}.`)
  }
  const file = join(directory, 'credentials.toml')
  const secret = readTables(file, requirePrivate).get(`profiles.${active}`)
  return {
    name: active,
    url: shown.get('url'),
    service: shown.get('service'),
    organization: shown.get('organization'),
    apiKey: secret?.get('api_key'),
    token: secret?.get('token'),
  }
}

export function requirePrivate(file: string): void {
  if (process.platform === 'win32') return
  const mode = statSync(file).mode & 0o777
  if (mode & 0o077)
    throw invalid(`${file} can be read by others (mode ${mode.toString(8)}), so it is not used. Run: chmod 600 ${file}`)
}

/** The part of TOML that is written there: tables, and text in double quotes. Anything else is left aside. */
export function readTables(file: string, check?: (file: string) => void): Map<string, Map<string, string>> {
  const tables = new Map<string, Map<string, string>>()
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return tables
    throw invalid(`${file} cannot be read (${(error as { code?: string }).code}).`)
  }
  check?.(file)
  let table = new Map<string, string>()
  tables.set('', table)
  for (const line of text.split(/\r?\n/)) {
    const head = /^\s*\[\s*([^\]]+?)\s*\]\s*(?:#.*)?$/.exec(line)
    if (head) {
      table = new Map()
      tables.set((head[1] as string).replaceAll('"', ''), table)
      continue
    }
    const entry = /^\s*([\w-]+)\s*=\s*("(?:[^"\\]|\\.)*")\s*(?:#.*)?$/.exec(line)
    if (entry) table.set(entry[1] as string, JSON.parse(entry[2] as string))
  }
  return tables
}

function invalid(message: string): LociError {
  return new LociError('INVALID_REQUEST', message, { status: 0 })
}

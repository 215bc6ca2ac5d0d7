// The profiles of the command line: where each leads, and apart from that, for their owner alone, what opens it. The
// SDK reads the same files.

import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CapabilityStore, KeptCapability } from '@loci/sdk/capabilities.ts'
import { LociError } from '@loci/sdk/error.ts'
import { configDirectory, readTables, requirePrivate } from '@loci/sdk/profile.ts'
import { CommandFailure, usage } from '../failure.ts'
import type { Host } from '../host.ts'
import { replaceFile } from '../replace-file.ts'

export interface Profile {
  url: string
  service?: string | undefined
  organization?: string | undefined
}

const PRIVATE = 0o600

interface Profiles {
  active: string | undefined
  profiles: Map<string, Profile>
}

interface Files {
  directory: string
  config: string
  credentials: string
  /** Minted ones, each good for an hour. */
  capabilities: string
}

export function filesOf(host: Host): Files {
  const directory = configDirectory({ ...host.env, HOME: host.home }, host.platform)
  const at = (name: string) => join(directory, name)
  return {
    directory,
    config: at('config.toml'),
    credentials: at('credentials.toml'),
    capabilities: at('capabilities.json'),
  }
}

/** A file that cannot be used is a wrong configuration, and says how to mend it. */
function tablesOf(file: string, check?: (file: string) => void): Map<string, Map<string, string>> {
  try {
    return readTables(file, check)
  } catch (error) {
    if (error instanceof LociError) throw new CommandFailure('config', 'BAD_CONFIG', error.message)
    throw new CommandFailure('config', 'BAD_CONFIG', `${file} cannot be read: ${(error as Error).message}`)
  }
}

export function readProfiles(host: Host): Profiles {
  const tables = tablesOf(filesOf(host).config)
  const profiles = new Map<string, Profile>()
  for (const [name, table] of tables) {
    const [, profile] = /^profiles\.(.+)$/.exec(name) ?? []
    const url = table.get('url')
    if (profile !== undefined && url !== undefined)
      profiles.set(profile, { url, service: table.get('service'), organization: table.get('organization') })
  }
  return { active: tables.get('')?.get('active'), profiles }
}

/** API keys by the name of their profile. */
export function readKeys(host: Host): Map<string, string> {
  const keys = new Map<string, string>()
  for (const [name, table] of tablesOf(filesOf(host).credentials, requirePrivate)) {
    const [, profile] = /^profiles\.(.+)$/.exec(name) ?? []
    const key = table.get('api_key')
    if (profile !== undefined && key !== undefined) keys.set(profile, key)
  }
  return keys
}

export function writeProfiles(host: Host, { active, profiles }: Profiles): void {
  const tables = [...profiles].map(([name, profile]) => tableText(name, { ...profile }))
  write(
    host,
    filesOf(host).config,
    [active === undefined ? '' : `active = ${JSON.stringify(active)}\n`, ...tables],
    0o644,
  )
}

export function writeKeys(host: Host, keys: ReadonlyMap<string, string>): void {
  const tables = [...keys].map(([name, key]) => tableText(name, { api_key: key }))
  write(host, filesOf(host).credentials, tables, PRIVATE)
}

export function requireProfileName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(name)) return name
  throw usage('The name of a profile has letters, digits, - and _, at most 40.')
}

/** Adds or replaces a profile and makes it the active one; answers which was before, if another. */
export function keepProfile(host: Host, name: string, profile: Profile, apiKey: string): string | undefined {
  const { active, profiles } = readProfiles(host)
  writeKeys(host, readKeys(host).set(name, apiKey))
  writeProfiles(host, { active: name, profiles: profiles.set(name, profile) })
  return active === name ? undefined : active
}

function tableText(name: string, fields: Readonly<Record<string, string | undefined>>): string {
  const lines = Object.entries(fields).flatMap(([field, value]) =>
    value === undefined ? [] : [`${field} = ${JSON.stringify(value)}`],
  )
  return `[profiles.${name}]\n${lines.join('\n')}\n`
}

function write(host: Host, file: string, parts: readonly string[], mode: number): void {
  mkdirSync(filesOf(host).directory, { recursive: true, mode: 0o700 })
  // A secret is never written to what others may read; what is no secret stays as closed as somebody made it.
  if (mode === PRIVATE && existsSync(file)) chmodSync(file, PRIVATE)
  replaceFile(file, parts.filter((part) => part !== '').join('\n'), mode)
}

/** Between two commands, so that each need not ask for a capability. */
export function keptCapabilities(host: Host, url: string): CapabilityStore {
  const { capabilities: file } = filesOf(host)
  const read = (): Record<string, KeptCapability> => {
    try {
      requirePrivate(file)
      return JSON.parse(readFileSync(file, 'utf8'))
    } catch {
      return {} // They can be minted again.
    }
  }
  const keyOf = (serviceId: string) => `${url} ${serviceId}`
  return {
    load: (serviceId) => read()[keyOf(serviceId)],
    save(serviceId, kept) {
      const all = Object.entries(read()).filter(([, { endsAt }]) => endsAt > Date.now())
      const others = all.filter(([name]) => name !== keyOf(serviceId))
      const own = kept ? [[keyOf(serviceId), kept] as const] : []
      write(host, file, [JSON.stringify(Object.fromEntries([...others, ...own]))], PRIVATE)
    },
  }
}

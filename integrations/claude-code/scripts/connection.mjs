// Which loci, and with what: the environment over the folder over the profile of the command line, as the command
// line itself has it. The plugin has no credential of its own.

import { randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ask } from './exchange.mjs'
import { keptAt, replaceFile } from './kept.mjs'

const TTL_SECONDS = 3_600
const SERVICES_MAX = 100

/** Undefined where nobody has said which loci is meant, or nothing opens it. */
export function meantBy(env, directory) {
  const folder = configFolder(env)
  const config = tablesIn(join(folder, 'config.toml'))
  const name = env.LOCI_PROFILE || config.get('')?.active
  const profile = name ? config.get(`profiles.${name}`) : undefined
  if (env.LOCI_PROFILE && !profile) return undefined
  const url = (env.LOCI_URL || profile?.url)?.replace(/\/+$/, '')
  // The key of a profile goes to the address of that profile alone.
  const isOwn = profile !== undefined && profile.url?.replace(/\/+$/, '') === url
  const credentials = join(folder, 'credentials.toml')
  const stored = isOwn && isPrivate(credentials) ? tablesIn(credentials).get(`profiles.${name}`)?.api_key : undefined
  const credential = env.LOCI_API_KEY || env.LOCI_TOKEN || stored
  if (!url || !credential) return undefined
  const service = env.LOCI_SERVICE || serviceOf(directory) || (isOwn ? profile.service : undefined)
  return { url, credential, service, organization: isOwn ? profile.organization : undefined, folder }
}

/** `{ endpoint, token }`: a capability is used as it is, for an API key one is minted and kept for the next hook. */
export async function reach(env, meant, ms) {
  const { url, credential } = meant
  if (!credential.startsWith('loci_sk_')) return { endpoint: url, token: credential, renew() {} }
  const until = performance.now() + ms
  const left = () => Math.max(1, until - performance.now())
  const places = keptAt(env, 'services')
  const named = `${url} ${meant.service ?? ''}`
  const known = places.read()
  const place = known[named] ?? (await find(meant, left()))
  if (!known[named]) places.write({ ...known, [named]: place })
  const capabilities = capabilitiesIn(meant, place.id)
  const token = capabilities.read() ?? (await mint(meant, place, left(), capabilities))
  // What was refused is asked for anew next time; and so is where the service is.
  const renew = () => {
    capabilities.write(undefined)
    const { [named]: _, ...others } = places.read()
    places.write(others)
  }
  return { endpoint: place.endpoint, token, renew }
}

async function find(meant, ms) {
  const query = `limit=${SERVICES_MAX}`
  const { status, body } = await ask('GET', `${meant.url}/api/v1/services?${query}`, { headers: headersOf(meant), ms })
  if (status !== 200) throw new Error(`management answers ${status} when it is asked for services`)
  const { service } = meant
  const all = body?.services ?? []
  const found =
    service === undefined
      ? all
      : (all.filter(({ slug, id }) => slug === service || id === service)[0] ??
        all.filter(({ name }) => name === service))
  const [only, ...more] = [found].flat()
  if (!only?.endpoint || more.length > 0) throw new Error(`${more.length > 0 ? 'several services' : 'no service'} fit`)
  return { id: only.id, tenantId: only.tenant_id, endpoint: only.endpoint.replace(/\/+$/, '') }
}

async function mint(meant, { id, tenantId }, ms, capabilities) {
  const { status, body } = await ask('POST', `${meant.url}/api/v1/tenants/${encodeURIComponent(tenantId)}/tokens`, {
    headers: { ...headersOf(meant), 'idempotency-key': randomUUID() },
    body: { service_id: id, databases: ['*'], ttl_seconds: TTL_SECONDS, name: 'claude-code' },
    ms,
  })
  if (!body?.token) throw new Error(`management answers ${status} when it is asked for a capability`)
  const now = Date.now()
  const lifeMs = body.expires_in * 1_000
  capabilities.write({ token: body.token, endsAt: now + lifeMs, renewAt: now + lifeMs - Math.max(30_000, lifeMs / 10) })
  return body.token
}

function headersOf({ credential, organization }) {
  return { 'x-api-key': credential, 'x-loci-organization': organization }
}

/** The command line's own file, in its form: one hook, or one command, mints for all of an hour. */
function capabilitiesIn({ url, folder }, id) {
  const file = join(folder, 'capabilities.json')
  const named = `${url} ${id}`
  const all = () => {
    try {
      return isPrivate(file) ? (JSON.parse(readFileSync(file, 'utf8')) ?? {}) : {}
    } catch {
      return {}
    }
  }
  return {
    read() {
      const held = all()[named]
      return held && Date.now() < held.renewAt ? held.token : undefined
    },
    write(kept) {
      const others = Object.entries(all()).filter(([name, { endsAt }]) => name !== named && endsAt > Date.now())
      replaceFile(file, JSON.stringify(Object.fromEntries([...others, ...(kept ? [[named, kept]] : [])])), 0o600)
    },
  }
}

function configFolder(env) {
  if (env.LOCI_CONFIG_DIR) return env.LOCI_CONFIG_DIR
  if (env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, 'loci')
  if (process.platform === 'win32' && env.APPDATA) return join(env.APPDATA, 'loci')
  return join(env.HOME || homedir(), '.config', 'loci')
}

/** A secret that others may read is not used. */
function isPrivate(file) {
  const { mode = 0o077 } = statSync(file, { throwIfNoEntry: false }) ?? {}
  return process.platform === 'win32' || (mode & 0o077) === 0
}

/** What `loci use` wrote. */
function serviceOf(directory) {
  try {
    const { service } = JSON.parse(readFileSync(join(directory, '.loci', 'context.json'), 'utf8'))
    return typeof service === 'string' ? service : undefined
  } catch {
    return undefined
  }
}

/** The part of TOML that the command line writes: tables, and text in double quotes. */
function tablesIn(file) {
  let table = {}
  const tables = new Map([['', table]])
  try {
    for (const line of readFileSync(file, 'utf8').split(/\r?\n/)) {
      const [, head] = /^\s*\[\s*([^\]]+?)\s*\]\s*(?:#.*)?$/.exec(line) ?? []
      const [, name, value] = /^\s*([\w-]+)\s*=\s*("(?:[^"\\]|\\.)*")\s*(?:#.*)?$/.exec(line) ?? []
      if (name) table[name] = JSON.parse(value)
      if (!head) continue
      table = {}
      tables.set(head.replaceAll('"', ''), table)
    }
  } catch {
    return tables
  }
  return tables
}

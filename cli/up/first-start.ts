// What a loci needs before it is of use, made at its first start and found again at every other one. Each part looks
// for what is there before it makes something, so a start that was cut off goes on where it was.

import { createHash, randomBytes } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { newKeyPair, type PrivateJwk } from '@loci/capability/jws.ts'
import { connectManagement } from '@loci/sdk/client.ts'
import { CommandFailure } from '../failure.ts'
import { type DataDirectory, keepSecret, readText, writeWhole } from './files.ts'
import { CLIENT_ID, PERSON } from './issuer.ts'
import { type CommandStart, runCommand, type Settings, type Start } from './programs.ts'
import { addressesOf, type State } from './state.ts'
import { findDatabases, loginUrl, prepareDatabase } from './store.ts'

const DATABASES = { management: 'loci_control', daemon: 'loci_cell' } as const
const PROGRAMS = ['management', 'daemon'] as const
const REGION = 'us-east-1'
const CELL_NAME = 'dev'
const READY_S = 25

function random(): string {
  return randomBytes(24).toString('base64url')
}

/** All that is secret, each in a file of its own. Addresses of databases are written anew: the folder may move. */
export function makeSecrets(data: DataDirectory, adminUrl: string): void {
  for (const program of PROGRAMS) {
    keepSecret(data, `${program}-sealing-keys`, () => `up:${randomBytes(32).toString('base64')}`)
    const passwords = passwordsOf(data, program)
    for (const as of ['app', 'owner'] as const) {
      const url = loginUrl(adminUrl, { database: DATABASES[program], program, passwords, as })
      const file = data.secret(`${program}-${as}-url`)
      if (readText(file) !== url) writeWhole(file, `${url}\n`)
    }
  }
  const adminToken = keepSecret(data, 'admin-token', () => `loci_adm_${randomBytes(32).toString('base64url')}`)
  keepSecret(data, 'admin-digests', () => createHash('sha256').update(adminToken).digest('hex'))
  keepSecret(data, 'cell-key', () => JSON.stringify(newKeyPair().privateJwk))
}

function passwordsOf(data: DataDirectory, program: (typeof PROGRAMS)[number]) {
  return {
    app: keepSecret(data, `${program}-app-password`, random),
    owner: keepSecret(data, `${program}-owner-password`, random),
  }
}

/** Off loopback the programs want it said that the network is one's own. */
function listening(url: string, listen: string): Settings {
  const { port } = new URL(url)
  const at = isIPv6(listen) ? `[${listen}]:${port}` : `${listen}:${port}`
  return { LOCI_LISTEN: at, ...(listen === '127.0.0.1' ? {} : { LOCI_REQUIRE_HTTPS: 'false' }) }
}

export function managementSettings(data: DataDirectory, port: number, listen: string): Settings {
  const { management, issuer } = addressesOf(port)
  return {
    ...listening(management, listen),
    LOCI_PUBLIC_URL: management,
    LOCI_DATABASE_URL_FILE: data.secret('management-app-url'),
    LOCI_SEALING_KEYS_FILE: data.secret('management-sealing-keys'),
    LOCI_OIDC_ISSUER: issuer,
    LOCI_OIDC_CLIENT_ID: CLIENT_ID,
    LOCI_OIDC_CLIENT_SECRET_FILE: data.secret('oidc-client-secret'),
    LOCI_OIDC_AUDIENCE: issuer,
    LOCI_OIDC_REDIRECT_URIS: `${management}/signed-in`,
    LOCI_DRAIN_GRACE_MS: '0',
    LOCI_DRAIN_MS: '3000',
  }
}

export function daemonSettings(
  data: DataDirectory,
  { port, cellId }: State,
  { encoder, listen }: { encoder: string | undefined; listen: string },
): Settings {
  const { management, daemon } = addressesOf(port)
  return {
    ...listening(daemon, listen),
    LOCI_DATABASE_URL_FILE: data.secret('daemon-app-url'),
    LOCI_SEALING_KEYS_FILE: data.secret('daemon-sealing-keys'),
    LOCI_ADMIN_TOKEN_DIGESTS_FILE: data.secret('admin-digests'),
    LOCI_MANAGEMENT_URL: management,
    LOCI_CELL_ID: cellId as string,
    LOCI_CELL_KEY_FILE: data.secret('cell-key'),
    LOCI_DRAIN_GRACE_MS: '0',
    LOCI_DRAIN_MS: '3000',
    ...(encoder ? { LOCI_ENCODER: encoder } : {}),
  }
}

/** On a server of somebody's own nothing is taken over that is there already. */
export async function requireOwnDatabases(adminUrl: string): Promise<void> {
  const known = await findDatabases(adminUrl, Object.values(DATABASES))
  if (known.length > 0)
    throw new CommandFailure('conflict', 'LOCI-DATABASE', `There is ${known.join(' and ')} on that server already.`, {
      hint: 'loci up makes its own databases and takes over none. Use the data directory that made them, or another server.',
    })
}

export async function prepareDatabases(
  data: DataDirectory,
  adminUrl: string,
  start: Omit<Start, 'settings'>,
): Promise<void> {
  // One after the other: both make the roles of the one server.
  for (const program of PROGRAMS)
    await prepareDatabase(adminUrl, { database: DATABASES[program], program, passwords: passwordsOf(data, program) })
  await Promise.all(
    PROGRAMS.map((program) =>
      runCommand(program, ['migrate'], {
        ...start,
        settings: { LOCI_DATABASE_OWNER_URL_FILE: data.secret(`${program}-owner-url`) },
      }),
    ),
  )
}

export interface CellPlace {
  name: string
  region: string
  capacity: string
  endpoint: string
}

/** The one cell of loci up. */
export function ownCell(data: DataDirectory, port: number): [place: CellPlace, publicKey: string] {
  const { x } = JSON.parse(readText(data.secret('cell-key')) as string) as PrivateJwk
  return [{ name: CELL_NAME, region: REGION, capacity: '1000', endpoint: addressesOf(port).daemon }, x]
}

/** Adding is tried first, because at a first start there is none; each of these commands is a process. */
export async function addOrFindCell(start: CommandStart, cell: CellPlace, publicKey: string): Promise<string> {
  const { name: called, region, capacity, endpoint } = cell
  const place = ['--name', called, '--region', region, '--capacity', capacity, '--endpoint', endpoint]
  try {
    return JSON.parse(await runCommand('management', ['cells', 'add', ...place, '--public-key', publicKey], start))
      .cell_id
  } catch (error) {
    const { cells } = JSON.parse(await runCommand('management', ['cells', 'list'], start)) as {
      cells: { cell_id: string; name: string; public_keys: string[] }[]
    }
    const known = cells.find(({ name }) => name === called)
    if (!known) throw error
    if (!known.public_keys.includes(publicKey))
      throw new CommandFailure('conflict', 'LOCI-CELL', `The cell ${called} is known by another key.`, {
        hint: 'Bring its cell-key back, or tell management the new one: loci-management cells keys',
      })
    return known.cell_id
  }
}

export interface FirstOrganization {
  email: string
  name: string
  keyName: string
  /** Where its API key is kept. */
  key: { read(): string | undefined; keep(text: string): void }
}

/** The one organization of loci up. */
export function ownOrganization(data: DataDirectory): FirstOrganization {
  const file = data.secret('api-key')
  const key = { read: () => readText(file), keep: (text: string) => writeWhole(file, `${text}\n`) }
  return { email: PERSON.email, name: 'dev', keyName: 'loci up', key }
}

/** The key is shown once: where it was lost before it was kept, another one is made. */
export async function makeOrFindOrganization(
  start: CommandStart,
  { email, name, keyName, key }: FirstOrganization,
): Promise<string> {
  const keep = (printed: string) => {
    const { organization_id, api_key } = JSON.parse(printed) as { organization_id: string; api_key: string }
    key.keep(api_key)
    return organization_id
  }
  try {
    return keep(await runCommand('management', ['bootstrap', '--owner-email', email, '--organization', name], start))
  } catch (error) {
    const { organizations } = JSON.parse(await runCommand('management', ['organizations', 'list'], start)) as {
      organizations: { organization_id: string }[]
    }
    // Newest first, and ours is the oldest.
    const id = organizations.at(-1)?.organization_id
    if (id === undefined) throw error
    const whose = ['--org', id, '--email', email, '--name', keyName]
    if (key.read() === undefined) keep(await runCommand('management', ['api-keys', 'mint', ...whose], start))
    return id
  }
}

/** The first service, active. */
export async function findOrMakeService(url: string, apiKey: string): Promise<{ serviceId: string; tenantId: string }> {
  const management = connectManagement({ url, apiKey })
  const { body: list } = await management.call('GET /api/v1/services', { query: { limit: 1 } })
  const known = list.services[0]
  if (known) return { serviceId: known.id, tenantId: known.tenant_id }
  const { body: made } = await management.call('POST /api/v1/services', {
    body: { service_type: 'memory', name: 'default', slug: 'default', plan: 'enterprise', region: REGION },
    idempotencyKey: 'loci-up-first-service',
  })
  const path = { id: made.service_id }
  const { body: begun } = await management.call('GET /api/v1/services/{id}', { path })
  if (begun.operation_id)
    await management.call('GET /api/v1/operations/{id}', {
      path: { id: begun.operation_id },
      query: { wait: READY_S },
      attemptMs: (READY_S + 5) * 1_000,
      deadlineMs: 60_000,
    })
  const { body: service } = await management.call('GET /api/v1/services/{id}', { path })
  if (service.status !== 'active')
    throw new CommandFailure(
      'timedOut',
      'LOCI-START',
      `The first service is ${service.status}: ${service.status_reason}`,
    )
  return { serviceId: service.id, tenantId: service.tenant_id }
}

// Keycloak on loopback as the provider of a world: another program than ours, in another language, with its own idea of
// tokens and sessions. In memory; nothing of it is left but the unpacked distribution, in the cache that .ci/node uses.

import { execFileSync, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestPerson } from '@loci/management/testing/identity-provider.ts'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import type { SignInProvider, StartProvider } from './sign-in-provider.ts'

const VERSION = '26.7.3'
/** SHA-256 of the distribution: what a repository answers is not yet what we mean. */
const DIGEST = '27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f'
const JAVA_MIN = 17
const START_MS_MAX = 300_000
const AUDIENCE = 'https://api.loci.test'
const REALM = 'loci'

const REFRESHES = ['REFRESH_TOKEN', 'REFRESH_TOKEN_ERROR']

type Admin = { username: string; password: string }
type Description = Omit<SignInProvider, 'stop' | 'refreshCalls'>

/** Why there is no Keycloak on this machine; undefined when there can be one. */
export function whyNoKeycloak(): string | undefined {
  const major = Number(/version "(\d+)/.exec(run('java', ['-version']))?.[1] ?? 0)
  if (major < JAVA_MIN) return `no Java ${JAVA_MIN} or newer (openjdk-${JAVA_MIN}-jre-headless)`
  if (existsSync(home())) return undefined
  const missing = ['mvn', 'unzip'].filter((program) => run(program, ['-v']) === '')
  return missing.length === 0 ? undefined : `no ${missing.join(' and no ')} to bring its distribution with`
}

/** 21 s on two idle cores; twice that the first time. Refresh tokens are good once, and one that is reused ends all. */
export const startKeycloak: StartProvider = async ({ people, redirectUri }) => {
  bring()
  const [port, managementPort] = [await freePort(), await freePort()]
  const origin = `http://127.0.0.1:${port}`
  const admin = { username: 'admin', password: randomBytes(16).toString('hex') }
  const child = spawn(join(home(), 'bin/kc.sh'), [...startArguments(origin, port, managementPort)], {
    env: {
      PATH: process.env.PATH ?? '',
      HOME: process.env.HOME ?? '',
      KC_BOOTSTRAP_ADMIN_USERNAME: admin.username,
      KC_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
      JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
      JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => lines.push(text))
  let hasEnded = false
  const exited = new Promise<void>((resolve) =>
    child.once('exit', () => {
      hasEnded = true
      resolve()
    }),
  )
  const stop = async () => {
    child.kill('SIGTERM')
    await exited
  }
  try {
    const until = Date.now() + START_MS_MAX
    while (!(await isThere(`${origin}/realms/master`))) {
      if (hasEnded || Date.now() > until) throw new Error(`Keycloak did not start:\n${lines.join('').slice(-2_000)}`)
      await sleep(500)
    }
    const provider = describe(origin, redirectUri, people)
    await makeRealm(origin, admin, realmOf(provider, people))
    return { ...provider, stop, refreshCalls: () => countRefreshes(origin, admin) }
  } catch (error) {
    await stop()
    throw error
  }
}

function startArguments(origin: string, port: number, managementPort: number): string[] {
  return [
    ...['start-dev', '--http-host=127.0.0.1', `--http-port=${port}`, `--hostname=${origin}`],
    ...[`--http-management-port=${managementPort}`, '--db=dev-mem', '--cache=local'],
  ]
}

function describe(origin: string, redirectUri: string, people: TestPerson[]): Description {
  const issuer = `${origin}/realms/${REALM}`
  const clientOf = (id: string) => ({ id, secret: randomBytes(32).toString('base64url'), redirectUri })
  const passwords = new Map(people.map(({ sub }) => [sub, passwordOf(sub)]))
  return {
    name: `Keycloak ${VERSION}`,
    issuer,
    authorizeUrl: `${issuer}/protocol/openid-connect/auth`,
    client: clientOf('loci'),
    otherClient: clientOf('elsewhere'),
    audience: AUDIENCE,
    // Its refresh tokens need no offline_access, which would make them outlive the person's session there.
    scopes: 'openid profile email',
    parameters: {},
    form: (sub) => ({ username: sub, password: passwords.get(sub) ?? '' }),
    own: undefined,
  }
}

/** Known to nobody else and to nothing that is kept: the realm lives as long as this process. */
const salt = randomBytes(16)
function passwordOf(sub: string): string {
  return createHash('sha256').update(salt).update(sub).digest('base64url')
}

function realmOf({ client, otherClient }: Description, people: TestPerson[]): object {
  return {
    realm: REALM,
    enabled: true,
    sslRequired: 'none',
    accessTokenLifespan: 300,
    revokeRefreshToken: true,
    refreshTokenMaxReuse: 0,
    eventsEnabled: true,
    enabledEventTypes: REFRESHES,
    clients: [clientOf(client, AUDIENCE), clientOf(otherClient, 'https://elsewhere.test')],
    users: people.map(({ sub, email, email_verified, name }) => ({
      username: sub,
      enabled: true,
      email,
      emailVerified: email_verified,
      firstName: name.split(' ')[0],
      lastName: name.split(' ')[1],
      requiredActions: [],
      credentials: [{ type: 'password', value: passwordOf(sub), temporary: false }],
    })),
  }
}

function clientOf({ id, secret, redirectUri }: SignInProvider['client'], audience: string): object {
  return {
    clientId: id,
    secret,
    publicClient: false,
    standardFlowEnabled: true,
    implicitFlowEnabled: false,
    directAccessGrantsEnabled: false,
    redirectUris: [redirectUri],
    attributes: { 'pkce.code.challenge.method': 'S256', 'use.refresh.tokens': 'true' },
    protocolMappers: [
      {
        name: 'audience',
        protocol: 'openid-connect',
        protocolMapper: 'oidc-audience-mapper',
        config: { 'included.custom.audience': audience, 'access.token.claim': 'true', 'id.token.claim': 'false' },
      },
    ],
  }
}

async function makeRealm(origin: string, admin: Admin, realm: object): Promise<void> {
  const answer = await fetch(`${origin}/admin/realms`, {
    method: 'POST',
    headers: { ...(await authorization(origin, admin)), 'content-type': 'application/json' },
    body: JSON.stringify(realm),
  })
  if (answer.status !== 201) throw new Error(`Keycloak made no realm: ${answer.status} ${await answer.text()}`)
}

async function countRefreshes(origin: string, admin: Admin): Promise<number> {
  const query = new URLSearchParams({ max: '100000' })
  for (const type of REFRESHES) query.append('type', type)
  const headers = await authorization(origin, admin)
  const answer = await fetch(`${origin}/admin/realms/${REALM}/events?${query}`, { headers })
  if (answer.status !== 200) throw new Error(`Keycloak told no events: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as unknown[]).length
}

async function authorization(origin: string, admin: Admin): Promise<{ authorization: string }> {
  const body = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...admin })
  const answer = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, { method: 'POST', body })
  const { access_token: token } = (await answer.json()) as Record<string, string>
  return { authorization: `Bearer ${token}` }
}

function isThere(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ status }) => status === 200,
    () => false,
  )
}

function cache(): string {
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'loci')
}

function home(): string {
  return join(cache(), `keycloak-${VERSION}`)
}

/** Unpacked beside its place and renamed: two that run at once do not meet. */
function bring(): void {
  if (existsSync(home())) return
  const name = `keycloak-quarkus-dist-${VERSION}.zip`
  const zip = join(homedir(), '.m2/repository/org/keycloak/keycloak-quarkus-dist', VERSION, name)
  const artifact = `org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`
  if (!existsSync(zip))
    execFileSync('mvn', ['-q', '-B', 'dependency:get', '-Dtransitive=false', `-Dartifact=${artifact}`], {
      cwd: tmpdir(),
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  const digest = createHash('sha256').update(readFileSync(zip)).digest('hex')
  if (digest !== DIGEST) throw new Error(`${name} has the digest ${digest}, not the one of tests/world/keycloak.ts`)
  mkdirSync(cache(), { recursive: true })
  const scratch = mkdtempSync(join(cache(), 'keycloak-'))
  try {
    execFileSync('unzip', ['-q', zip, '-d', scratch])
    if (!existsSync(home())) renameSync(join(scratch, `keycloak-${VERSION}`), home())
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** What a program says of itself, on either stream; empty when it is not there. */
function run(program: string, args: string[]): string {
  try {
    return execFileSync('sh', ['-c', `exec ${[program, ...args].join(' ')} 2>&1`], { encoding: 'utf8' })
  } catch {
    return ''
  }
}

// One request for each row of the two matrices, with a credential that is good, and things to ask for that are there or
// well-formed: what is answered while everything is alive is no failure, and nothing that others need is lost by it.

import { randomUUID } from 'node:crypto'
import { newKeyPair } from '@loci/capability/jws.ts'
import type { MatrixRow } from '@loci/chassis/testing/matrix.ts'
import { ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { cookieNames } from '@loci/contract/headers.ts'
import { type IdType, newId } from '@loci/contract/ids.ts'
import { formatSecretToken } from '@loci/contract/secret-token.ts'
import { MATRIX as DAEMON } from '@loci/daemon/testing/matrix.ts'
import type { IdentityProvider } from '@loci/management/testing/identity-provider.ts'
import { MATRIX as MANAGEMENT } from '@loci/management/testing/matrix.ts'
import {
  type Browser,
  type Code,
  exchange,
  obtainCode,
  SAME_ORIGIN,
  walkToCode,
} from '@loci/management/testing/sign-in.ts'
import type { LociProcess, ProgramName } from '../world/process.ts'
import type { WorldTenant } from '../world/tenants.ts'
import { BILLING_SECRET, type World } from '../world/world.ts'
import { createThief } from './cell-thief.ts'

const TRIES_MAX = 60

export interface DeadRequest {
  /** Of the table. */
  row: string
  program: ProgramName
  credential: string
  line: string
  headers: Record<string, string>
  body: unknown
}

export interface Asking {
  world: World
  tenant: WorldTenant
  /** Of the owner of the tenant, who is staff too. */
  apiKey: string
}

/** What a request of a phase uses up, made while everything is alive. */
interface Fresh {
  browser: Browser
  /** Sessions that end, each by its route. */
  ending: Browser[]
  code: Code
  page: { cookie: string; search: string }
}

export async function makeRequests(asking: Asking): Promise<DeadRequest[]> {
  const fresh = await makeFresh(asking)
  const requests: DeadRequest[] = []
  for (const [row, { class: name, operation, params, body }] of Object.entries<MatrixRow>(MANAGEMENT.rows)) {
    const line = fillLine(row, { ...params, ...PATHS[row.split(' ')[0] as string] }, asking)
    const given = { row, program: 'management' as const, line, body: fill(body, asking, row) }
    for (const [credential, headers] of Object.entries(credentialsOf(row, name, operation, asking, fresh)))
      requests.push({ ...given, credential, headers, ...special(row, fresh) })
  }
  for (const [row, { class: name, params, body }] of Object.entries<MatrixRow>(DAEMON.rows)) {
    const headers: Record<string, string> =
      name === 'admin'
        ? { 'x-loci-admin-token': asking.world.adminToken }
        : name === 'open'
          ? {}
          : name === 'partner'
            ? { authorization: `Bearer ${asking.tenant.partner.token}` }
            : { 'x-loci-capability': asking.tenant.operator.token }
    const line = fillLine(row, params ?? {}, asking)
    requests.push({ row, program: 'daemon', credential: name, line, headers, body: fill(body, asking, row) })
  }
  return requests
}

/** What the proxy is asked for, by method. */
const PATHS: Record<string, { path: string; id?: string }> = {
  GET: { path: 'v1/kv/entries' },
  POST: { path: 'v1/kv/entries/batch' },
  PUT: { path: 'v1/kv/entries/dead' },
  PATCH: { path: 'v1/working-memory/slots/dead' },
  DELETE: { path: 'v1/kv/entries/dead' },
}

async function makeFresh({ world }: Asking): Promise<Fresh> {
  const { url } = world.management as LociProcess
  const provider = world.identityProvider as IdentityProvider
  const management = { url, settings: { publicUrl: url } }
  const signIn = async () => {
    const { answer, browser } = await exchange(management, await obtainCode(provider, { login: 'ada' }))
    if (answer.status !== 200) throw new Error(`the exchange answered ${answer.status}: ${answer.text}`)
    return browser
  }
  const start = await fetch(`${url}/sign-in/start`, { redirect: 'manual' })
  const cookie = String(start.headers.get('set-cookie')).replace(/;.*/, '')
  const { search } = await walkToCode(provider, new URL(start.headers.get('location') as string), { login: 'ada' })
  return {
    browser: await signIn(),
    ending: [await signIn(), await signIn(), await signIn()],
    code: await obtainCode(provider, { login: 'ada' }),
    page: { cookie, search },
  }
}

type Headers = Record<string, string>

function credentialsOf(
  row: string,
  name: string,
  operation: string | undefined,
  { world, tenant, apiKey }: Asking,
  { browser, ending, page }: Fresh,
): Record<string, Headers> {
  const { url } = world.management as LociProcess
  const names = cookieNames(url)
  const cookies = ({ access, refresh }: Browser) => ({
    ...SAME_ORIGIN,
    cookie: `${names.access}=${access}; ${names.refresh}=${refresh}`,
  })
  const session = cookies(browser)
  if (row === 'GET /signed-in') return { browser: { cookie: page.cookie } }
  const own = ['POST /api/auth/refresh', 'POST /api/auth/logout', 'POST /sign-out'].indexOf(row)
  if (own >= 0) return { session: cookies(ending[own] as Browser) }
  if (name === 'cell') {
    const thief = createThief({ url, cellId: world.cellId as string, key: world.cellKey })
    return { cell: { authorization: `Bearer ${thief.token()}` } }
  }
  if (name === 'webhook') return { webhook: { authorization: `Bearer ${BILLING_SECRET}` } }
  if (name !== 'caller') return { session }
  // One of the rows makes organizations for whoever asks.
  const inOrganization = { ...session, 'x-loci-organization': tenant.organizationId }
  return operation === 'session'
    ? { session: inOrganization }
    : { 'API key': { 'x-api-key': apiKey }, session: inOrganization }
}

/** What differs from the row of the matrix: there nothing may be spent. */
function special(row: string, { code, page }: Fresh): Partial<DeadRequest> {
  if (row === 'POST /api/auth/exchange') return { body: code }
  // Refused for its body: nobody may make many.
  if (row === 'POST /api/v1/organizations') return { body: {} }
  if (row === 'GET /signed-in') return { line: `GET /signed-in${page.search}` }
  if (row === 'POST /api/v1/cli-logins/{id}/poll')
    return { line: `POST /api/v1/cli-logins/cli_${'0'.repeat(30)}/poll`, body: { device_code: 'x'.repeat(43) } }
  if (row === 'POST /signed-in/done') return { body: 'name=' }
  if (row === 'POST /cli-login') return { body: 'user_code=BBBB-BBBB' }
  if (row === 'GET /oauth/authorize') return { line: `GET /oauth/authorize?client_id=${newId('oac')}` }
  if (row === 'POST /oauth/token') {
    const refresh_token = formatSecretToken('ort', newId('oag'), 'x'.repeat(43))
    const fields = { grant_type: 'refresh_token', client_id: newId('oac'), refresh_token }
    return {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: String(new URLSearchParams(fields)),
    }
  }
  if (/^POST .*\/proxy\//.test(row)) return { body: { operations: [{ op: 'put', key: 'dead', value: 1 }] } }
  return /^(PUT|PATCH) .*\/proxy\//.test(row) ? { body: { value: 1 } } : {}
}

function fillLine(row: string, params: Record<string, string>, asking: Asking): string {
  const line = row.replace(/\{(\w+)(\.\.\.)?\}/g, (_, name) => params[name] ?? 'x')
  return fill(line, asking, row)
}

/** Real things to read; for everything else one that is well-formed, and that nobody has. */
function fill<Value>(value: Value, { world, tenant }: Asking, row: string): Value {
  const real: Record<string, string> = {
    organization: tenant.organizationId,
    tenant: tenant.tenantId,
    service: tenant.serviceId,
    cell: world.cellId as string,
  }
  const isReal = row.startsWith('GET ') || row.includes('/proxy/') || row.startsWith('POST /cell/')
  const text = JSON.stringify(value ?? null).replace(/~(\w+)/g, (_, name: string) => {
    if (name === 'uuid') return randomUUID()
    if (name === 'publicKey') return newKeyPair().publicJwk.x
    return (isReal ? real[name] : undefined) ?? newId(TYPES[name] ?? 'svc')
  })
  return value === undefined ? value : JSON.parse(text)
}

const TYPES: Record<string, IdType> = {
  organization: 'org',
  tenant: 'ten',
  unknownTenant: 'ten',
  doomedTenant: 'ten',
  operation: 'op',
  token: 'cap',
  doomedToken: 'cap',
  credential: 'ptr',
  doomedCredential: 'ptr',
  key: 'key',
  doomedKey: 'key',
  member: 'usr',
  doomedMember: 'usr',
  doomedInvitation: 'inv',
}

export interface Outcome {
  came: string
  /** The message of a refusal. */
  said: string
  hasRetryAfter: boolean
  ms: number
}

export async function outcomeOf(url: string, { row, line, headers, body }: DeadRequest): Promise<Outcome> {
  const startedAt = performance.now()
  const answer = await ask(url, line, { headers, body, beginning: true }).catch((error: Error) => error)
  const ms = performance.now() - startedAt
  if (answer instanceof Error) return { came: `no answer: ${answer.message}`, said: '', hasRetryAfter: false, ms }
  const said = /"message":"([^"]*)"/.exec(answer.text)?.[1] ?? ''
  return { came: shortOf(row, answer), said, hasRetryAfter: Number(answer.headers['retry-after']) > 0, ms }
}

/** While everything is alive a busy machine may say 503: nothing was done, by its own word. */
export async function outcomeWhileWell(url: string, request: DeadRequest): Promise<Outcome> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await outcomeOf(url, request)
    if (!outcome.came.startsWith('503 ') || tries === TRIES_MAX) return outcome
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

function shortOf(row: string, { status, text }: TestAnswer): string {
  if (/\/health\/ready$/.test(row)) return `${status} ${JSON.parse(text).status}`
  if (status < 400) return String(status)
  try {
    const { error } = JSON.parse(text)
    return `${status} ${typeof error === 'string' ? 'without a code' : error.code}`
  } catch {
    return `${status} no JSON: ${text.slice(0, 60)}`
  }
}

export function keyOf({ row, program, credential }: DeadRequest): string {
  return `${program}: ${row} with ${credential}`
}

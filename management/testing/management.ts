// A management of a test's own, served over HTTP from a database of its own, and cells that talk to it as daemons do.

import { randomBytes, randomUUID } from 'node:crypto'
import { newKeyPair, type PrivateJwk, privateKeyOf, signJws } from '@loci/capability/jws.ts'
import { createSealer, type Sealer } from '@loci/chassis/sealing.ts'
import { type AskOptions, ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { type LogLine, loggedIn, testLog } from '@loci/chassis/testing/server.ts'
import type { FeedItem, SwitchCommand } from '@loci/contract/feed.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import { type Role, SCOPES } from '@loci/contract/roles.ts'
import { openPool, type Pool } from '@loci/postgres/pool.ts'
import { PATIENT, testDatabase } from '@loci/postgres/testing/database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { lockCell } from '../acts/locks/store.ts'
import { issueApiKey } from '../api-keys/api-keys.ts'
import { createManagement } from '../app.ts'
import { addCell, requireCell } from '../cells/cells.ts'
import { findOneOrganization, makeOrganization } from '../organizations/organizations.ts'
import { ensureUser, insertMember } from '../organizations/store.ts'
import type { PlanName } from '../plans.ts'
import { SCHEMA } from '../schema.ts'
import { createService, requireService, requireServiceRequest } from '../services/services.ts'
import type { Service } from '../services/store.ts'
import type { ManagementSettings } from '../settings.ts'
import { findOneTenant, makeTenant } from '../tenants/tenants.ts'
import type { Issuer } from '../tokens/tokens.ts'

export const PUBLIC_URL = 'http://127.0.0.1:4400'
export const ACTOR = 'test'

export interface FeedAnswer {
  epoch: string
  full: boolean
  next: number
  more: boolean
  ledger?: number
  switches?: SwitchCommand[]
  items: FeedItem[]
}

export interface TestCell {
  id: string
  key: PrivateJwk
  token(change?: { header?: object; claims?: object; key?: PrivateJwk }): string
  /** Asks for the feed; throws unless the answer is 200. */
  feed(query?: Record<string, string | number>): Promise<FeedAnswer>
  /** Everything there is to know, to the end. */
  pull(from?: { epoch: string; next: number }): Promise<FeedAnswer>
  report(body: object, token?: string): Promise<{ status: number; body: Record<string, unknown> }>
}

/** An organization with its default tenant, and one who calls for it. */
export interface TestParty {
  organizationId: string
  tenantId: string
  /** Who stands behind the key. */
  ownerId: string
  apiKey: string
  /** With the API key of the owner. */
  ask(line: string, options?: AskOptions): Promise<TestAnswer>
}

export interface TestManagement {
  url: string
  pool: Pool
  issuer: Issuer
  sealer: Sealer
  database: { adminUrl: string; appUrl: string; ownerUrl: string }
  settings: ManagementSettings
  /** As a superuser, whom no policy holds. */
  sql<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  management: Awaited<ReturnType<typeof createManagement>>
  /** Every log line so far, as text. */
  lines: string[]
  ask(line: string, options?: AskOptions): Promise<TestAnswer>
  get(path: string, headers?: Record<string, string>): Promise<TestAnswer>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>
  cell(name?: string): Promise<TestCell>
  instance(cellId: string, options?: { organization?: string; tenant?: string; plan?: PlanName }): Promise<Service>
  /** A new organization with its owner, and a key of the owner's. */
  organization(options?: { name?: string; email?: string; scopes?: string[]; callsOf?: PlanName }): Promise<TestParty>
  /** Somebody else of the organization, with a key of their own. */
  member(
    of: TestParty,
    role: Role,
    options?: { email?: string; scopes?: string[]; tenantIds?: string[]; expiresAt?: Date },
  ): Promise<TestParty>
  /** With the organization of the service in use, as every route and command does it. */
  within<T>(
    service: Service,
    work: (sql: Parameters<Parameters<typeof transaction<T>>[1]>[0]) => Promise<T>,
  ): Promise<T>
  [Symbol.asyncDispose](): Promise<void>
}

export async function testManagement({
  settings: given = {},
  replicaOf,
  consoleFolder,
}: {
  settings?: Partial<ManagementSettings>
  /** Another process on the same database, with the same settings where no others are given. */
  replicaOf?: TestManagement
  /** Where a console was built to. */
  consoleFolder?: string
} = {}): Promise<TestManagement> {
  const database = replicaOf
    ? { ...replicaOf.database, async [Symbol.asyncDispose]() {} }
    : await testDatabase({ schema: SCHEMA, program: 'management' })
  const sealingKeys = replicaOf?.settings.sealingKeys ?? [{ id: 'test', key: randomBytes(32) }]
  const { lines, log } = testLog()
  const settings: ManagementSettings = {
    ...(replicaOf?.settings ?? testSettings(database.appUrl, sealingKeys)),
    ...given,
  }
  const management = await createManagement({
    settings,
    log,
    version: '0.0.0-test',
    verifyAnswers: true,
    consoleFolder,
  })
  const { url } = await management.start()
  const pool = openPool({
    ...PATIENT,
    url: database.appUrl,
    applicationName: 'test',
    connectionsMax: 6,
    onError: () => {},
  })
  const admin = openPool({
    url: database.adminUrl,
    applicationName: 'test-admin',
    connectionsMax: 2,
    ...PATIENT,
    onError: () => {},
  })
  const sealer = createSealer(sealingKeys)

  return {
    url,
    pool,
    issuer: { sealer, publicUrl: PUBLIC_URL },
    sealer,
    database,
    settings,
    management,
    lines,
    ask: (line, options) => ask(url, line, options),
    get: (path, headers = {}) => ask(url, `GET ${path}`, { headers }),
    post: (path, body, headers = {}) => ask(url, `POST ${path}`, { body, headers }),
    logged: (fits) => loggedIn(lines, fits),
    async sql<Row extends object>(text: string, values?: unknown[]) {
      return (await admin.query<Row>({ text, ...(values ? { values } : {}) })).rows
    },
    async cell(name = `cell-${randomUUID().slice(0, 8)}`) {
      const { publicJwk, privateJwk } = newKeyPair()
      const given = { name, region: 'us-east-1', capacity: 100, endpoint: 'http://127.0.0.1:4410', tenantId: null }
      const { id } = await transaction(pool, (sql) =>
        addCell(sql, { ...given, publicKeys: [publicJwk.x] }, { actor: ACTOR }),
      )
      return testCell(url, id, privateJwk)
    },
    instance(cellId, { organization = 'Acme', tenant = 'main', plan = 'pro' } = {}) {
      return transaction(pool, async (sql) => {
        const cell = await requireCell(sql, cellId)
        await lockCell(sql, cell.id)
        const act = { actor: ACTOR }
        const wanted = { name: organization, ownerEmail: `${randomUUID()}@example.com` }
        const { id: organizationId } =
          (await findOneOrganization(sql, organization)) ?? (await makeOrganization(sql, wanted, act))
        await useOrganization(sql, organizationId)
        const { id: tenantId } =
          (await findOneTenant(sql, organizationId, tenant)) ??
          (await makeTenant(sql, { organizationId, name: tenant, plan }, act, async () => {}))
        const rules = { isBilled: false, regions: [], cell }
        const asked = { name: 'memory', service_type: 'memory', plan, region: cell.region, tenant_id: tenantId }
        const request = requireServiceRequest(rules, asked)
        const caller = { id: ACTOR, organizationId, tenantIds: null }
        const { service } = await createService(sql, rules, { caller }, request)
        return requireService(sql, organizationId, service.id)
      })
    },
    async organization({
      name = 'Acme',
      email = `${randomUUID()}@example.com`,
      scopes = [...SCOPES],
      callsOf = 'enterprise',
    } = {}) {
      const made = await transaction(pool, async (sql) => {
        const organization = await makeOrganization(sql, { name, ownerEmail: email }, { actor: ACTOR })
        const request = { organizationId: organization.id, userId: organization.owner.id, name: 'test', scopes }
        const grant = { ...request, tenantIds: null, expiresAt: null }
        const { secret } = await issueApiKey(sql, sealingKeys, grant, { actor: ACTOR })
        return { organization, secret }
      })
      // Not its tenant's plan: how much its callers may ask, so that tests do not run into limits that they are not
      // about.
      await admin.query({
        text: 'update loci.organizations set plan = $2 where id = $1',
        values: [made.organization.id, callsOf],
      })
      const { organization, secret } = made
      return {
        organizationId: organization.id,
        tenantId: organization.tenant.id,
        ownerId: organization.owner.id,
        ...keyHolder(url, secret),
      }
    },
    async member(of, role, { email = `${randomUUID()}@example.com`, scopes, tenantIds, expiresAt } = {}) {
      const { organizationId } = of
      const { secret, userId } = await transaction(pool, async (sql) => {
        await useOrganization(sql, organizationId)
        const { id } = await ensureUser(sql, newId('usr'), email)
        await insertMember(sql, organizationId, id, role)
        const request = { organizationId, userId: id, name: role, scopes: scopes ?? [...SCOPES] }
        const grant = { ...request, tenantIds: tenantIds ?? null, expiresAt: expiresAt ?? null }
        return { userId: id, ...(await issueApiKey(sql, sealingKeys, grant, { actor: ACTOR })) }
      })
      return { ...of, ownerId: userId, ...keyHolder(url, secret) }
    },
    within(service, work) {
      return transaction(pool, async (sql) => {
        await useOrganization(sql, service.organizationId)
        return work(sql)
      })
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(management.servers.map((server) => server.close(0)))
      await management.close()
      await Promise.all([pool.close(), admin.close()])
      await database[Symbol.asyncDispose]()
    },
  }
}

function keyHolder(url: string, apiKey: string): Pick<TestParty, 'apiKey' | 'ask'> {
  return {
    apiKey,
    ask: (line, options = {}) =>
      ask(url, line, { ...options, headers: { [HEADER.apiKey]: apiKey, ...options.headers } }),
  }
}

function testCell(url: string, id: string, key: PrivateJwk): TestCell {
  const token: TestCell['token'] = ({ header = {}, claims = {}, key: other = key } = {}) => {
    const now = Math.floor(Date.now() / 1000)
    const own = { iss: id, aud: PUBLIC_URL, iat: now, exp: now + 60, jti: randomUUID() }
    return signJws({ alg: 'EdDSA', typ: 'loci-cell+jwt', ...header }, { ...own, ...claims }, privateKeyOf(other))
  }
  const cell: TestCell = {
    id,
    key,
    token,
    async feed(query = {}) {
      const text = new URLSearchParams(query as Record<string, string>)
      const answer = await fetch(`${url}/cell/v1/feed?${text}`, { headers: { authorization: `Bearer ${token()}` } })
      const body = await answer.text()
      if (answer.status !== 200) throw new Error(`the feed answered ${answer.status}: ${body}`)
      return JSON.parse(body)
    },
    async pull(from) {
      let page = await cell.feed(from ? { epoch: from.epoch, after: from.next } : {})
      const items = [...page.items]
      const { full } = page
      while (page.more) {
        page = await cell.feed({ epoch: page.epoch, after: page.next })
        items.push(...page.items)
      }
      return { ...page, full, items }
    },
    async report(body, sent = token()) {
      const answer = await fetch(`${url}/cell/v1/reports`, {
        method: 'POST',
        headers: { authorization: `Bearer ${sent}`, 'content-type': 'application/json' },
        body: JSON.stringify({ report_id: randomUUID(), ...body }),
      })
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    },
  }
  return cell
}

export function testSettings(databaseUrl: string, sealingKeys: ManagementSettings['sealingKeys']): ManagementSettings {
  return {
    listen: { host: '127.0.0.1', port: 0 },
    publicUrl: PUBLIC_URL,
    databaseUrl,
    databaseCa: undefined,
    databaseConnectionsMax: 8,
    // For a machine that stands still; who tests what a store that is away is told says what is shipped, 1,750.
    databaseStatementMs: 20_000,
    sealingKeys,
    staffEmails: ['staff@loci.example'],
    trustedGateways: [],
    gatewaySecrets: [],
    billingWebhookSecrets: [],
    billingSigningSecrets: [],
    billingProvider: 'stripe',
    regions: [],
    oidcIssuer: undefined,
    oidcClientId: undefined,
    oidcClientSecret: undefined,
    oidcAudience: undefined,
    oidcRedirectUris: undefined,
    oidcScopes: undefined,
    unauthenticatedPerMinute: 1_000_000,
    trustedProxies: [],
    requireHttps: false,
    tlsCert: undefined,
    tlsKey: undefined,
    concurrencyMax: 64,
    queueMax: 64,
    queueMs: 5_000,
    drainGraceMs: 0,
    drainMs: 1_000,
    logLevel: 'debug',
  }
}

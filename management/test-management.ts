// A management of a test's own, served over HTTP from a database of its own, and cells that talk to it as daemons do.

import { randomBytes, randomUUID } from 'node:crypto'
import { newKeyPair, type PrivateJwk, privateKeyOf, signJws } from '@loci/capability/jws.ts'
import { type AskOptions, ask, type TestAnswer } from '@loci/chassis/test-request.ts'
import { type LogLine, loggedIn, testLog } from '@loci/chassis/test-server.ts'
import type { FeedItem } from '@loci/contract/feed.ts'
import { openPool, type Pool } from '@loci/postgres/pool.ts'
import { testDatabase } from '@loci/postgres/test-database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from './access/store.ts'
import { createManagement, type ManagementSettings } from './app.ts'
import { addCell, requireCell } from './cells/cells.ts'
import { createSealer, type Sealer } from './keys/sealing.ts'
import type { PlanName } from './plans.ts'
import { MIGRATIONS } from './schema.ts'
import { addInstance } from './services/services.ts'
import type { Service } from './services/store.ts'
import { ensureOrganization, ensureTenant } from './tenants/tenants.ts'
import type { Issuer } from './tokens/tokens.ts'

export const PUBLIC_URL = 'http://127.0.0.1:4400'
export const ACTOR = 'test'

export interface FeedAnswer {
  epoch: string
  full: boolean
  next: number
  more: boolean
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

export interface TestManagement {
  url: string
  pool: Pool
  issuer: Issuer
  sealer: Sealer
  database: { adminUrl: string; appUrl: string; ownerUrl: string }
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
  /** With the organization of the service in use, as every route and command does it. */
  within<T>(
    service: Service,
    work: (sql: Parameters<Parameters<typeof transaction<T>>[1]>[0]) => Promise<T>,
  ): Promise<T>
  [Symbol.asyncDispose](): Promise<void>
}

export async function testManagement({
  settings = {},
}: {
  settings?: Partial<ManagementSettings>
} = {}): Promise<TestManagement> {
  const database = await testDatabase({ migrations: MIGRATIONS })
  const sealingKeys = [{ id: 'test', key: randomBytes(32) }]
  const { lines, log } = testLog()
  const management = await createManagement({
    settings: {
      listen: { host: '127.0.0.1', port: 0 },
      publicUrl: PUBLIC_URL,
      databaseUrl: database.appUrl,
      databaseCa: undefined,
      databaseConnectionsMax: 8,
      sealingKeys,
      trustedProxies: [],
      requireHttps: false,
      tlsCert: undefined,
      tlsKey: undefined,
      concurrencyMax: 64,
      queueMax: 64,
      queueMs: 300,
      drainGraceMs: 0,
      drainMs: 1_000,
      logLevel: 'debug',
      ...settings,
    },
    log,
    version: '0.0.0-test',
    verifyAnswers: true,
  })
  const { url } = await management.start()
  const pool = openPool({ url: database.appUrl, applicationName: 'test', connectionsMax: 6, onError: () => {} })
  const admin = openPool({
    url: database.adminUrl,
    applicationName: 'test-admin',
    connectionsMax: 2,
    onError: () => {},
  })
  const sealer = createSealer(sealingKeys)

  return {
    url,
    pool,
    issuer: { sealer, publicUrl: PUBLIC_URL },
    sealer,
    database,
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
      const { id } = await transaction(pool, (sql) => addCell(sql, { ...given, publicKeys: [publicJwk.x] }, ACTOR))
      return testCell(url, id, privateJwk)
    },
    instance(cellId, { organization = 'Acme', tenant = 'main', plan = 'pro' } = {}) {
      return transaction(pool, async (sql) => {
        const cell = await requireCell(sql, cellId)
        const { id: organizationId } = await ensureOrganization(sql, organization, ACTOR)
        const owner = await ensureTenant(sql, { organizationId, nameOrId: tenant, plan }, ACTOR)
        return addInstance(sql, { tenant: owner, cell, plan, name: 'memory', serviceType: 'memory' }, ACTOR)
      })
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

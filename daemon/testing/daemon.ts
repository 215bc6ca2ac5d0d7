// A daemon in this process, on a free port and a database of its own, for the tests of its features.

import { createHash, randomBytes } from 'node:crypto'
import { type AskOptions, ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { type LogLine, loggedIn, testLog } from '@loci/chassis/testing/server.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT, type TestDatabase, testDatabase } from '@loci/postgres/testing/database.ts'
import { createDaemon } from '../app.ts'
import { SCHEMA } from '../schema.ts'
import type { DaemonSettings } from '../settings.ts'
import { watchLocks } from './lock-watch.ts'

export interface TestDaemon {
  url: string
  /** Where /admin is served: `url`, unless the settings give it a listener of its own. */
  adminUrl: string
  adminToken: string
  database: TestDatabase
  daemon: Awaited<ReturnType<typeof createDaemon>>
  /** Every log line so far, as text. */
  lines: string[]
  ask(line: string, options?: AskOptions): Promise<TestAnswer>
  get(path: string, headers?: Record<string, string>): Promise<TestAnswer>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  /** With the admin token: `admin('POST /admin/services/disable', { services: ['mcp'] })`. */
  admin(line: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  /** As superuser: what the tables really hold, past row-level security. */
  sql<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>
  [Symbol.asyncDispose](): Promise<void>
}

export interface TestDaemonOptions {
  settings?: Partial<DaemonSettings>
  /** A database of another test daemon: a second replica of its cell. */
  replicaOf?: TestDaemon
  /** Instead of one of its own; it is the caller's to drop. */
  database?: TestDatabase
}

export async function testDaemon({
  settings = {},
  replicaOf,
  database: given = replicaOf?.database,
}: TestDaemonOptions = {}): Promise<TestDaemon> {
  watchLocks()
  const database = given ?? (await testDatabase({ schema: SCHEMA }))
  const adminToken = replicaOf?.adminToken ?? `loci_adm_${randomBytes(32).toString('base64url')}`
  const { lines, log } = testLog()
  const daemon = await createDaemon({
    settings: { ...testSettings(database.appUrl, adminToken), ...settings },
    log,
    version: '0.0.0-test',
    verifyAnswers: true,
  })
  const { url, adminUrl } = await daemon.start()
  const admin = openPool({
    url: database.adminUrl,
    applicationName: 'loci-test',
    connectionsMax: 1,
    ...PATIENT,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
  return {
    url,
    adminUrl,
    adminToken,
    database,
    daemon,
    lines,
    ask: (line, options) => ask(url, line, options),
    get: (path, headers = {}) => ask(url, `GET ${path}`, { headers }),
    post: (path, body, headers = {}) => ask(url, `POST ${path}`, { body, headers }),
    admin: (line, body, headers = {}) =>
      ask(adminUrl, line, { body, headers: { 'x-loci-admin-token': adminToken, ...headers } }),
    sql: async (text, values) => (await admin.query<never>({ text, ...(values ? { values } : {}) })).rows,
    logged: (fits) => loggedIn(lines, fits),
    async [Symbol.asyncDispose]() {
      await Promise.all(daemon.servers.map((server) => server.close(0)))
      await Promise.all([daemon.close(), admin.close()])
      if (!given) await database[Symbol.asyncDispose]()
    },
  }
}

export function testSettings(databaseUrl: string, adminToken: string): DaemonSettings {
  return {
    listen: { host: '127.0.0.1', port: 0 },
    adminListen: undefined,
    databaseUrl,
    databaseCa: undefined,
    databaseConnectionsMax: 2,
    // For a machine that stands still; who tests what a store that is away is told says what is shipped, 1,750.
    databaseStatementMs: 20_000,
    adminTokenDigests: [createHash('sha256').update(adminToken).digest()],
    adminAllowlist: ['127.0.0.0/8', '::1'],
    trustedProxies: [],
    requireHttps: false,
    tlsCert: undefined,
    tlsKey: undefined,
    partnerName: 'partner',
    concurrencyMax: 64,
    queueMax: 256,
    queueMs: 5_000,
    drainGraceMs: 0,
    drainMs: 0,
    logLevel: 'debug',
    sealingKeys: [{ id: 'test', key: createHash('sha256').update('sealing').digest() }],
    managementUrl: undefined,
    authorizationServer: undefined,
    cellId: undefined,
    cellKey: undefined,
    feedStaleS: 86_400,
    indexBytesMax: 64 * 1024 * 1024,
    unauthenticatedPerMinute: 1_000_000,
    encoder: undefined,
    legacyJwtPublicKey: undefined,
    legacyJwtIssuer: undefined,
    legacyJwtAudience: undefined,
  }
}

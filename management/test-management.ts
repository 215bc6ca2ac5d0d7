// Management in this process, on a free port and a database of its own, for the tests of its features.

import { type AskOptions, ask, type TestAnswer } from '@loci/chassis/test-request.ts'
import { type LogLine, loggedIn, testLog } from '@loci/chassis/test-server.ts'
import { type TestDatabase, testDatabase } from '@loci/postgres/test-database.ts'
import { createManagement, type ManagementSettings, MIGRATIONS } from './app.ts'

export interface TestManagement {
  url: string
  database: TestDatabase
  management: Awaited<ReturnType<typeof createManagement>>
  /** Every log line so far, as text. */
  lines: string[]
  ask(line: string, options?: AskOptions): Promise<TestAnswer>
  get(path: string, headers?: Record<string, string>): Promise<TestAnswer>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>
  [Symbol.asyncDispose](): Promise<void>
}

export async function testManagement({
  settings = {},
}: {
  settings?: Partial<ManagementSettings>
} = {}): Promise<TestManagement> {
  const database = await testDatabase({ migrations: MIGRATIONS })
  const { lines, log } = testLog()
  const management = await createManagement({
    settings: { ...defaults(database.appUrl), ...settings },
    log,
    version: '0.0.0-test',
    verifyAnswers: true,
  })
  const { url } = await management.start()
  return {
    url,
    database,
    management,
    lines,
    ask: (line, options) => ask(url, line, options),
    get: (path, headers = {}) => ask(url, `GET ${path}`, { headers }),
    post: (path, body, headers = {}) => ask(url, `POST ${path}`, { body, headers }),
    logged: (fits) => loggedIn(lines, fits),
    async [Symbol.asyncDispose]() {
      await Promise.all(management.servers.map((server) => server.close(0)))
      await management.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

function defaults(databaseUrl: string): ManagementSettings {
  return {
    listen: { host: '127.0.0.1', port: 0 },
    publicUrl: 'http://127.0.0.1:4400',
    databaseUrl,
    databaseCa: undefined,
    databaseConnectionsMax: 2,
    trustedProxies: [],
    requireHttps: false,
    tlsCert: undefined,
    tlsKey: undefined,
    concurrencyMax: 64,
    queueMax: 256,
    queueMs: 300,
    drainGraceMs: 0,
    drainMs: 0,
    logLevel: 'debug',
  }
}

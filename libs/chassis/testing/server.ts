// The server of the chassis with routes of a test's own, in this process, on a free port.

import { addressSet } from '../addresses.ts'
import { createLifecycle, type Lifecycle } from '../lifecycle.ts'
import { createLimiter, type Limiter } from '../limiter.ts'
import { createLog } from '../log.ts'
import { createMetrics, type Metrics } from '../metrics.ts'
import type { Route } from '../route.ts'
import { createServer, type HttpServer, type ServerOptions } from '../server.ts'
import { type AskOptions, ask, eventually, type TestAnswer } from './request.ts'

export type LogLine = Record<string, unknown> & { level: string; message: string }

export interface TestHttpServer {
  url: string
  server: HttpServer
  lifecycle: Lifecycle
  limiter: Limiter
  metrics: Metrics
  /** Every log line so far, as text. */
  lines: string[]
  ask(line: string, options?: AskOptions): Promise<TestAnswer>
  /** The first log line that fits, once it is there. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>
  [Symbol.asyncDispose](): Promise<void>
}

export async function testHttpServer(
  routes: Route[],
  options: Partial<ServerOptions> & { limits?: { runningMax: number; queueMax: number; queueMs: number } } = {},
): Promise<TestHttpServer> {
  const { limits = { runningMax: 64, queueMax: 256, queueMs: 300 }, ...given } = options
  const { lines, log } = testLog()
  const lifecycle = given.lifecycle ?? servingLifecycle()
  const limiter = given.limiter ?? createLimiter(limits)
  const metrics = given.metrics ?? createMetrics({ version: 'test' })
  const server = await createServer({
    routes,
    letterCase: 'camel',
    lifecycle,
    limiter,
    log,
    metrics,
    trustedProxies: addressSet([]),
    requireHttps: false,
    verifyAnswers: true,
    ...given,
  })
  const { url } = await server.listen({ host: '127.0.0.1', port: 0 })
  return {
    url,
    server,
    lifecycle,
    limiter,
    metrics,
    lines,
    ask: (line, asked) => ask(url, line, asked),
    logged: (fits) => loggedIn(lines, fits),
    async [Symbol.asyncDispose]() {
      await server.close(0)
    },
  }
}

export function testLog() {
  const lines: string[] = []
  const log = createLog({ level: 'debug', program: 'test', sink: { write: (text) => void lines.push(text) } })
  return { lines, log }
}

export function loggedIn(lines: string[], fits: (line: LogLine) => boolean): Promise<LogLine> {
  return eventually(() => lines.map((line) => JSON.parse(line) as LogLine).find(fits))
}

function servingLifecycle(): Lifecycle {
  const lifecycle = createLifecycle()
  lifecycle.move('warming', 'test')
  lifecycle.move('ready', 'test')
  return lifecycle
}

// The two servers that http.bench.ts compares, each in a process of its own: bare node:http, and the whole chassis.

import { fork } from 'node:child_process'
import { openSync } from 'node:fs'
import { createServer as createBareServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { addressSet } from '@loci/chassis/addresses.ts'
import { createLifecycle } from '@loci/chassis/lifecycle.ts'
import { createLimiter } from '@loci/chassis/limiter.ts'
import { createLog } from '@loci/chassis/log.ts'
import { createMetrics } from '@loci/chassis/metrics.ts'
import { open } from '@loci/chassis/probes.ts'
import { route } from '@loci/chassis/route.ts'
import { createServer } from '@loci/chassis/server.ts'

export type ServerKind = 'bare' | 'chassis'

export interface BenchServer {
  url: string
  /** Seconds of processor time that its main thread has used. */
  cpuSeconds(): Promise<number>
  stop(): Promise<void>
}

export const PATH = '/v1/entry'
/** The hot routes of the daemon have a key in their path. */
export const KEYED_PATH = '/v1/entries/k{n}'
const ENTRY = { key: 'greeting', value: 'hello, world', revision: 42, updatedAt: '2026-01-01T00:00:00.000Z' }

/** Its standard output, where a loci process logs, goes to `logFile`. */
export async function startServer(kind: ServerKind, logFile: string, nodeOptions: string[] = []): Promise<BenchServer> {
  const child = fork(fileURLToPath(import.meta.url), [kind], {
    execArgv: nodeOptions,
    stdio: ['ignore', openSync(logFile, 'a'), 'inherit', 'ipc'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const next = () =>
    new Promise<string | number>((resolve, reject) => {
      child.once('message', (message) => resolve(message as string | number))
      void exited.then(() => reject(new Error(`the ${kind} server ended early`)))
    })
  const url = (await next()) as string
  return {
    url,
    async cpuSeconds() {
      const answer = next()
      child.send('cpu')
      return (await answer) as number
    },
    async stop() {
      child.send('stop')
      await exited
    },
  }
}

/** The floor: the same bytes, and nothing of what a service owes its operator. */
async function serveBare(): Promise<string> {
  const body = JSON.stringify(ENTRY)
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(body) }
  const server = createBareServer((_request, response) => {
    response.writeHead(200, headers)
    response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** As a program of ours sets it up: info log on standard output, metrics, limiter, a deadline. */
async function serveChassis(): Promise<string> {
  const lifecycle = createLifecycle()
  lifecycle.move('warming', 'bench')
  lifecycle.move('ready', 'bench')
  const log = createLog({ level: 'info', program: 'bench' })
  process.once('exit', () => log.flush())
  const entry = route(
    { method: 'GET', path: PATH, access: open, tag: 'bench', summary: 'A small JSON.', answers: {} },
    () => ENTRY,
  )
  const keyed = route(
    {
      method: 'GET',
      path: '/v1/entries/{key}',
      access: open,
      tag: 'bench',
      summary: 'A small JSON by key.',
      answers: {},
    },
    () => ENTRY,
  )
  const server = await createServer({
    routes: [entry, keyed],
    letterCase: 'camel',
    lifecycle,
    limiter: createLimiter({ runningMax: 64, queueMax: 256, queueMs: 300 }),
    log,
    metrics: createMetrics({ version: 'bench' }),
    trustedProxies: addressSet([]),
    requireHttps: false,
  })
  return (await server.listen({ host: '127.0.0.1', port: 0 })).url
}

if (import.meta.main) {
  const url = process.argv[2] === 'bare' ? await serveBare() : await serveChassis()
  process.on('message', (message) => {
    if (message === 'stop') process.exit(0)
    const { user, system } = process.threadCpuUsage()
    process.send?.((user + system) / 1e6)
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.(url)
}

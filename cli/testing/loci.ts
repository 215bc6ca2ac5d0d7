// The command line as a process of its own, in a home of its own; nothing of the developer's reaches it.

import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MAIN = join(import.meta.dirname, '../main.ts')
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/loci-compiled')

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface TestHome {
  home: string
  data: string
  port: number
  env: Record<string, string>
  /** Runs to its end. */
  loci(args: string[], options?: { input?: string; env?: Record<string, string> }): Promise<Ended>
  /** The same with --json, and what it printed. */
  json<Data = Record<string, unknown>>(
    args: string[],
    options?: { input?: string; env?: Record<string, string> },
  ): Promise<{ code: number | null; document: Document<Data> }>
  spawn(args: string[]): ChildProcess
  [Symbol.asyncDispose](): Promise<void>
}

export interface Document<Data> {
  ok: boolean
  command: string | null
  request_id?: string
  data: Data
  error: { code: string; message: string; hint?: string }
}

export async function testHome(): Promise<TestHome> {
  const home = mkdtempSync(join(tmpdir(), 'loci-home-'))
  // Directly in a directory that others can enter: under root PostgreSQL runs as another user.
  const data = mkdtempSync(join(tmpdir(), 'loci-up-'))
  chmodSync(data, 0o700)
  const { PATH = '' } = process.env
  const env = { PATH, HOME: home, LOCI_UP_DATA: data, NODE_COMPILE_CACHE: CACHE }
  const start = (args: string[], extra: Record<string, string> = {}) =>
    spawn(process.execPath, [MAIN, ...args], { cwd: home, env: { ...env, ...extra }, stdio: ['pipe', 'pipe', 'pipe'] })
  const self: TestHome = {
    home,
    data,
    port: await freePorts(),
    env,
    spawn: (args) => start(args),
    async loci(args, { input = '', env: extra } = {}) {
      const child = start(args, extra)
      let stdout = ''
      let stderr = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text
      })
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text
      })
      child.stdin.on('error', () => {}).end(input)
      const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
      return { code, stdout, stderr }
    },
    async json<Data>(args: string[], options = {}) {
      const { code, stdout } = await self.loci([...args, '--json'], options)
      return { code, document: JSON.parse(stdout) as Document<Data> }
    },
    async [Symbol.asyncDispose]() {
      await self.loci(['down'])
      for (const directory of [home, data]) rmSync(directory, { recursive: true, force: true })
    },
  }
  return self
}

/** One that is free with those 10 and 20 above it; outside of what the system itself hands out. */
async function freePorts(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const free = await Promise.all([port, port + 10, port + 20].map(isFree))
    if (free.every((one) => one)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ host: '127.0.0.1', port }, () => probe.close(() => resolve(true)))
  })
}

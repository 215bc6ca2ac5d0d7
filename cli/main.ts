#!/usr/bin/env node
// The command `loci`. The only file of it that reads the environment.

import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { EXIT } from './failure.ts'
import type { Host } from './host.ts'
import manifest from './package.json' with { type: 'json' }
import { COMMANDS } from './tree/commands.ts'
import { run } from './tree/run.ts'

const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort())

// Whoever reads us may leave before the end: `loci … | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

const host: Host = {
  argv: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  home: homedir(),
  platform: process.platform,
  uid: process.getuid?.(),
  version: manifest.version,
  node: process.execPath,
  script: fileURLToPath(import.meta.url),
  isTerminal: process.stdout.isTTY === true,
  canAsk: process.stdin.isTTY === true && process.stdout.isTTY === true,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  async readInput() {
    const chunks: Buffer[] = []
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString('utf8')
  },
  async ask(question) {
    const { createInterface } = await import('node:readline/promises')
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    try {
      return await lines.question(question)
    } finally {
      lines.close()
    }
  },
  signal: stopping.signal,
}

const NODE_MIN = 24
// doctor is asked what is wrong with the machine: it says that among the rest.
if (Number(process.versions.node.split('.')[0]) < NODE_MIN && host.argv[0] !== 'doctor') {
  host.err(`loci needs Node ${NODE_MIN} or newer, and ${host.node} is Node ${process.versions.node}\n`)
  process.exit(EXIT.config)
}

process.exitCode = await run(host, COMMANDS)
// What is written is on its way; what still listens (a browser's keep-alive, a timer) must not hold the shell.
await new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
process.exit(process.exitCode)

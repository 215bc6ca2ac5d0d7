// `loci mcp` for the same database that the hooks use: what Claude remembers and what the person said are one memory.

import { spawn } from 'node:child_process'
import { databaseOf } from './project.mjs'

const env = process.env
const database = databaseOf(env, env.CLAUDE_PROJECT_DIR || process.cwd())
const isWindows = process.platform === 'win32'
const args = ['mcp', ...(database ? ['--user', database] : [])]
const child = spawn('loci', args, { stdio: 'inherit', cwd: env.CLAUDE_PROJECT_DIR, shell: isWindows })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.once('error', () => {
  process.stderr.write('The command loci is not on the PATH: npm install --global @locihq/cli\n')
  process.exitCode = 1
})
child.once('exit', (code) => process.exit(code ?? 1))

// npm run test:system -- <name> [--short]: tests of real processes under faults. Each ends with the line `N passed, N
// failed`. `all` runs every one in full, with a table at the end; `all --left` only those that have not passed yet.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runAll } from './all.ts'
import { COMPILE_CACHE } from './world/process.ts'

const DIRECTORY = new URL('system/', import.meta.url)
const KEPT = fileURLToPath(new URL('../node_modules/.cache/loci-system-tests.json', import.meta.url))
const names = existsSync(DIRECTORY)
  ? readdirSync(DIRECTORY)
      .filter((file) => file.endsWith('.ts'))
      .map((file) => file.slice(0, -3))
  : []
const [name, ...args] = process.argv.slice(2)
const env = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE }
if (name === 'all') {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort())
  process.exit(await runAll({ names, directory: fileURLToPath(DIRECTORY), kept: KEPT, stop: stop.signal }, args, env))
}
if (!name || !names.includes(name)) {
  console.error(`usage: npm run test:system -- <name> [--short], or all [--left]\nnames: ${names.join(', ')}`)
  process.exit(2)
}
const { status } = spawnSync(process.execPath, [fileURLToPath(new URL(`${name}.ts`, DIRECTORY)), ...args], {
  stdio: 'inherit',
  env,
})
process.exit(status ?? 1)

// npm run test:system -- <name> [--short]: tests of real processes under faults. Each ends with the line `N passed, N
// failed`. `all` runs every one in full, with a table at the end; `--from <name>` goes on after an interruption.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runAll } from './all.ts'
import { COMPILE_CACHE } from './world/process.ts'

const DIRECTORY = new URL('system/', import.meta.url)
const names = existsSync(DIRECTORY)
  ? readdirSync(DIRECTORY)
      .filter((file) => file.endsWith('.ts'))
      .map((file) => file.slice(0, -3))
  : []
const [name, ...args] = process.argv.slice(2)
const env = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE }
if (name === 'all') process.exit(await runAll(names, args, env))
if (!name || !names.includes(name)) {
  console.error(`usage: npm run test:system -- <name> [--short], or all [--from <name>]\nnames: ${names.join(', ')}`)
  process.exit(2)
}
const { status } = spawnSync(process.execPath, [fileURLToPath(new URL(`${name}.ts`, DIRECTORY)), ...args], {
  stdio: 'inherit',
  env,
})
process.exit(status ?? 1)

// npm run bench -- <name>: performance as a ratio against the bare engine in the same run.

import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const names = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length))
const [name, ...args] = process.argv.slice(2)
if (!name || !names.includes(name)) {
  console.error(`usage: npm run bench -- <name>\nnames: ${names.join(', ')}`)
  process.exit(2)
}
const { status } = spawnSync(process.execPath, [fileURLToPath(new URL(`${name}.bench.ts`, import.meta.url)), ...args], {
  stdio: 'inherit',
})
process.exit(status ?? 1)

// npm run dev: a whole loci on free loopback ports, to be used by hand or, with `-- --world FILE`, by the conformance suite.
// Everything of it is thrown away at the end.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { addTenant } from '@loci/tests/world/tenants.ts'
import { startWorld } from '@loci/tests/world/world.ts'
import { writeWorldFile } from '@loci/tests/world/world-file.ts'

const USAGE = 'usage: npm run dev -- [--replicas N] [--world FILE] [--verbose]'
const options = readOptions()

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        world: { type: 'string' },
        replicas: { type: 'string', default: '2' },
        verbose: { type: 'boolean', default: false },
      },
    })
    if (/^[1-9]\d?$/.test(values.replicas)) return values
    console.error(`--replicas is a number from 1 to 99, not '${values.replicas}'. ${USAGE}`)
  } catch (error) {
    // Node's advice about positional arguments is of no use here.
    console.error(`${(error as Error).message.split('. ', 1)[0]}. ${USAGE}`)
  }
  process.exit(64)
}

const directory = mkdtempSync(join(tmpdir(), 'loci-dev-'))
const tokenFile = join(directory, 'admin-token')
const world = await startWorld({
  replicas: Number(options.replicas),
  isBilled: true,
  log: (line) => console.log(line),
}).catch((error: Error) => {
  console.error(`npm run dev could not start: ${error.message}`)
  rmSync(directory, { recursive: true, force: true })
  process.exit(69)
})
writeFileSync(tokenFile, `${world.adminToken}\n`)
chmodSync(tokenFile, 0o600)

for (const [at, daemon] of world.daemons.entries())
  console.log(`daemon ${at + 1}    ${daemon.url}   docs ${daemon.url}/docs`)
console.log(`management  ${world.management?.url}   docs ${world.management?.url}/docs`)
console.log(`admin token in ${tokenFile}`)
console.log(`\n  curl -s ${world.daemons[0]?.url}/v1/health/all`)
console.log(`  curl -s -H "x-loci-admin-token: $(cat ${tokenFile})" ${world.daemons[0]?.url}/admin/services/status\n`)

if (options.world) {
  await writeWorldFile(options.world, world)
  console.log(`world file ${options.world}`)
} else {
  const tenant = await addTenant(world, { name: 'dev', plan: 'pro' })
  const file = join(directory, 'capability')
  writeFileSync(file, `${tenant.capability.token}\n`, { mode: 0o600 })
  const url = `${world.daemons[0]?.url}/v1/kv/entries/user:ada`
  const header = `-H "x-loci-capability: $(cat ${file})"`
  console.log(`  curl -s ${header} -H 'content-type: application/json' -X PUT ${url} -d '{"value":"tea"}'`)
  console.log(`  curl -s ${header} ${url}\n`)
}
console.log(`Ctrl-C drains and removes everything${options.world ? ' but the world file' : ''}.`)

for (const process_ of [...world.daemons, ...(world.management ? [world.management] : [])]) {
  if (options.verbose) process_.child.stdout?.pipe(process.stdout)
  void process_.exited.then(({ code }) => {
    if (stopping) return
    console.error(`a program ended by itself (${code}):\n${process_.lines.slice(-10).join('\n')}`)
    void stop(1)
  })
}

let stopping = false
async function stop(code: number): Promise<void> {
  if (stopping) return
  stopping = true
  console.log('draining …')
  await world.stop()
  rmSync(directory, { recursive: true, force: true })
  process.exit(code)
}
process.on('SIGINT', () => void stop(0))
process.on('SIGTERM', () => void stop(0))

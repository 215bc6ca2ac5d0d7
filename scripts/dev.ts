// npm run dev: a whole loci on free loopback ports, to be used by hand or, with `-- --world FILE`, by the conformance
// suite. Everything of it is thrown away at the end. The console is built beside it, again whenever a source of it
// changes; pages that are open load again by themselves.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { ShellName } from '@loci/chassis/shell-names.ts'
import { addOrganization, addTenant } from '@loci/tests/world/tenants.ts'
import { startWorld } from '@loci/tests/world/world.ts'
import { PEOPLE, pay, writeWorldFile } from '@loci/tests/world/world-file.ts'
import { watchConsole } from './build/console.ts'

const TOP = dirname(import.meta.dirname)
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
  asShipped: true,
  replicas: Number(options.replicas),
  isBilled: true,
  people: PEOPLE,
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
console.log(`console     ${world.management?.url}/services`)
console.log(`sign-in     ${world.signIn?.issuer}   as ${PEOPLE.map(({ sub }) => sub).join(' or ')}, without a password`)
console.log(`admin token in ${tokenFile}`)
console.log(`\n  curl -s ${world.daemons[0]?.url}/v1/health/all`)
console.log(`  curl -s -H "x-loci-admin-token: $(cat ${tokenFile})" ${world.daemons[0]?.url}/admin/services/status\n`)

if (!options.world) await watchConsole(TOP, join(TOP, 'console/dist'), () => console.log('console     built'))
if (options.world) {
  await writeWorldFile(options.world, world)
  console.log(`world file ${options.world}`)
} else {
  const file = join(directory, 'shell')
  writeFileSync(file, await shellLines(), { mode: 0o600 })
  console.log(`  . ${file}`)
  console.log(`  curl -s -H "$CAP" -H "$J" $D/v1/memory/records -d '{"content":"Ada prefers replies in Dutch"}'`)
  console.log(`  curl -s -H "$CAP" -H "$J" $D/v1/memory/recall -d '{"query":"which language for Ada?"}'\n`)
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

/** An organization that pays, with an instance, as variables of a shell: the names that the documents use. */
async function shellLines(): Promise<string> {
  const of = await addOrganization(world, 'acme')
  await pay(world.management?.url as string, of.tenantId, 'pro')
  const { capability } = await addTenant(world, { name: 'dev', plan: 'pro', of })
  const values: Record<ShellName, string | undefined> = {
    M: world.management?.url,
    D: world.daemons[0]?.url,
    J: 'content-type: application/json',
    KEY: `x-api-key: ${of.apiKey}`,
    CAP: `x-loci-capability: ${capability.token}`,
    ADMIN: `x-loci-admin-token: ${world.adminToken}`,
    TENANT: of.tenantId,
  }
  const field = `field() { node -p "JSON.parse(require('node:fs').readFileSync(0)).$1"; }`
  return `${Object.entries(values)
    .map(([name, value]) => `${name}='${value}'`)
    .join('\n')}\n${field}\n`
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

// Real clients of the Model Context Protocol, the official ones in TypeScript and Python, list and call every tool of a
// running daemon, by the handshake of older revisions and by the current one.

import { seal } from '@loci/capability/capability.ts'
import {
  ARGUMENTS,
  installPythonClient,
  type McpAsker,
  type McpUse,
  type Negotiation,
  useInPython,
  useInTypeScript,
} from '../robustness/mcp-clients.ts'
import { plantMutant } from '../world/mutant.ts'
import { untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const MODES: Negotiation[] = ['legacy', 'auto']
const READS = ['recall', 'working_memory']

await reportOn(async (report) => {
  const world = await startWorld({ replicas: 1 })
  try {
    const tenant = await addTenant(world, { name: 'acme', plan: 'enterprise' })
    const url = world.daemons[0]?.url as string
    const python = await installPythonClient()
    for (const mode of MODES) {
      const asker = (name: string) => ({ url, capability: tenant.capability.token, database: `${name}-${mode}`, mode })
      judge(report, `TypeScript, ${mode}`, await useInTypeScript(asker('ts')))
      judge(report, `Python, ${mode}`, await useInPython(python, asker('py')))
    }
    await narrowed(report, { url, capability: narrow(tenant), database: 'narrow', mode: 'auto' }, python)
    await mutant(report, world, tenant)
  } finally {
    await world.stop()
  }
})

function judge(report: Report, client: string, { listed, failed, recalled }: McpUse): void {
  for (const line of failed) report.note(line)
  const known = Object.keys(ARGUMENTS)
  const isAll = listed.length > 4 && listed.every((name) => known.includes(name))
  report.promise(
    `the client in ${client}, lists and calls every tool`,
    isAll && failed.length === 0 && recalled.includes('tulip'),
    `${listed.length} listed (${listed.join(', ')}), ${failed.length} failed`,
  )
}

/** A sub-agent that may read. */
function narrow({ capability }: WorldTenant): string {
  return seal(capability.delegation, { ops: ['memory:read', 'wm:read'], ks: ['memory/*', 'working-memory/*'] })
}

async function narrowed(report: Report, asker: McpAsker, python: string): Promise<void> {
  const uses = [await useInTypeScript(asker), await useInPython(python, asker)]
  report.promise(
    'a capability without an operation does not see its tool',
    uses.every(({ listed }) => JSON.stringify(listed) === JSON.stringify(READS)),
    uses.map(({ listed }) => listed.join(', ')).join('; '),
  )
}

async function mutant(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  await using planted = await plantMutant([
    { file: 'daemon/mcp/routes.ts', from: 'if (isOffered(name, call)) register', to: 'register' },
  ])
  const daemon = await planted.startProgram('daemon', world.daemonSettings())
  await untilReady(daemon.url)
  const asker = { url: daemon.url, capability: narrow(tenant), database: 'mutant', mode: 'auto' as const }
  const { listed } = await useInTypeScript(asker).catch(() => ({ listed: READS }))
  await daemon.stop()
  const isCaught = JSON.stringify(listed) !== JSON.stringify(READS)
  report.mutant('every tool is shown to everybody', isCaught ? listed.join(', ') : undefined)
}

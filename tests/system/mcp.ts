// Real clients of the Model Context Protocol, the official ones in TypeScript and Python, list and call every tool of a
// running daemon, by the handshake of older revisions and by the current one. Beside 10^5 memories no result is larger
// than a model can read.

import { seal } from '@loci/capability/capability.ts'
import { ask } from '@loci/chassis/testing/request.ts'
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
const isShort = process.argv.includes('--short')
const MEMORIES = isShort ? 3_000 : 100_000
const LARGE = 'large'
const TOKENS_MAX = 25_000
const TRIES_MAX = 120
/** Of a result as it is sent, its text and its structured content together: fewer in no language that people write. */
const BYTES_A_TOKEN = 2

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
    await remember(url, tenant)
    await bounded(report, url, tenant)
    await unbounded(report, world, tenant)
  } finally {
    await world.stop()
  }
})

function judge(report: Report, client: string, { listed, failed, recalled }: McpUse): void {
  for (const line of failed) report.note(line)
  const isAll = JSON.stringify(listed) === JSON.stringify(Object.keys(ARGUMENTS).sort())
  report.promise(
    `the client in ${client}, lists and calls all eight tools`,
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
    {
      file: 'daemon/mcp/server.ts',
      from: 'MCP_DEFINITIONS.filter(({ name }) => isOffered(name, call))',
      to: 'MCP_DEFINITIONS',
    },
  ])
  const daemon = await planted.startProgram('daemon', world.daemonSettings())
  await untilReady(daemon.url)
  const asker = { url: daemon.url, capability: narrow(tenant), database: 'mutant', mode: 'auto' as const }
  const { listed } = await useInTypeScript(asker).catch(() => ({ listed: READS }))
  await daemon.stop()
  const isCaught = JSON.stringify(listed) !== JSON.stringify(READS)
  report.mutant('every tool is shown to everybody', isCaught ? listed.join(', ') : undefined)
}

/** All of them say something that is asked for, so that nothing but the bound keeps a result small. */
async function remember(url: string, tenant: WorldTenant): Promise<void> {
  const batches = Array.from({ length: MEMORIES / 100 }, (_, at) => at)
  const store = async () => {
    for (let at = batches.pop(); at !== undefined; at = batches.pop()) {
      const first = at * 100
      const records = Array.from({ length: 100 }, (_, n) => ({
        sourceEventId: `order ${first + n}`,
        content: `Order ${first + n}: the customer wants tulip bulbs, ${'packed in paper and straw, '.repeat(6)}by Friday.`,
      }))
      const sent = { body: { records }, headers: headersOf(tenant) }
      const { status, text, error } = await ask(url, 'POST /v1/memory/records/batch', sent)
      if (status === 200) continue
      // A busy machine may overtake a commit by its deadline; records are stored by their source events.
      if (!error.retryable) throw new Error(text)
      batches.push(at)
    }
  }
  await Promise.all([store(), store(), store()])
}

function headersOf({ capability }: WorldTenant): Record<string, string> {
  return {
    ...{ 'x-loci-capability': capability.token, 'x-loci-database': LARGE },
    ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
  }
}

/** Tokens of the result of each tool, asked for as much as it may be asked for. */
async function tokensOf(url: string, tenant: WorldTenant): Promise<[tool: string, tokens: number][]> {
  const most: Record<string, Record<string, unknown>> = {
    ...ARGUMENTS,
    remember: { ...ARGUMENTS.remember, override: true },
    recall: { query: 'Who wants tulip bulbs packed in paper?', limit: 200, max_tokens: 1_000_000 },
    focus: { text: 'tulip bulbs '.repeat(600) },
    run_cycle: {
      focus: 'tulip bulbs',
      observations: Array.from({ length: 20 }, (_, n) => `${n} ${'tulip '.repeat(2_000)}`),
    },
    rank_tools: {
      ...ARGUMENTS.rank_tools,
      candidates: Array.from({ length: 500 }, (_, n) => `${n}-`.padEnd(250, 'tool')),
    },
  }
  const told: [string, number][] = []
  let id = ''
  for (const [name, given] of Object.entries(most)) {
    const params = { name, arguments: name === 'forget' ? { ...given, id } : given }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const result = await resultOf(url, tenant, body)
    if (name === 'remember') id = String(result.structuredContent?.id)
    told.push([name, Math.ceil(Buffer.byteLength(JSON.stringify(result)) / BYTES_A_TOKEN)])
  }
  return told
}

interface ToolResult {
  isError?: boolean
  content: { text: string }[]
  structuredContent?: { id?: string }
}

/** Asked again while the daemon is behind: after so many writes its index is built for a while. */
async function resultOf(url: string, tenant: WorldTenant, body: object): Promise<ToolResult> {
  for (let tries = 0; ; tries += 1) {
    const { json, text } = await ask(url, 'POST /mcp', { body, headers: headersOf(tenant) })
    const { result } = json<{ result?: ToolResult }>()
    if (result && !result.isError) return result
    if (tries === TRIES_MAX || !result?.content[0]?.text.includes('"retryable":true')) throw new Error(text)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

async function bounded(report: Report, url: string, tenant: WorldTenant): Promise<void> {
  const told = await tokensOf(url, tenant)
  report.promise(
    `no result is over ${TOKENS_MAX} tokens beside ${MEMORIES} memories, however much is asked for`,
    told.length === Object.keys(ARGUMENTS).length && told.every(([, tokens]) => tokens <= TOKENS_MAX),
    told.map(([name, tokens]) => `${name} ${tokens}`).join(', '),
  )
}

async function unbounded(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  await using planted = await plantMutant([{ file: 'daemon/mcp/shown.ts', from: 'if (left < 0) break', to: '' }])
  const daemon = await planted.startProgram('daemon', world.daemonSettings())
  await untilReady(daemon.url)
  const over = (await tokensOf(daemon.url, tenant)).find(([, tokens]) => tokens > TOKENS_MAX)
  await daemon.stop()
  report.mutant('a result holds all that was found', over?.join(' '))
}

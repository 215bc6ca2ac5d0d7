// Real clients of the Model Context Protocol: the official ones in TypeScript and in Python, the latter installed into
// a directory below the system's temporary one.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const PYTHON_VERSION = '2.3.0'

export type Negotiation = 'legacy' | 'auto'

export interface McpAsker {
  url: string
  capability: string
  database: string
  mode: Negotiation
}

export interface McpUse {
  listed: string[]
  /** Tools that answered with an error, and what. */
  failed: string[]
  /** What `recall` said. */
  recalled: string
}

/** `forget` comes after `remember`: it is given the id of what that stored. */
export const ARGUMENTS: Record<string, Record<string, unknown>> = {
  remember: { text: 'Ada keeps the tulip bulbs in the cellar', tags: ['ada'] },
  recall: { query: 'Where are the tulip bulbs?', limit: 3, tags: ['ada'], max_tokens: 500 },
  focus: { text: 'replies to Ada', ttl_minutes: 10 },
  working_memory: { include_evicted: true },
  run_cycle: { focus: 'replies to Ada' },
  rank_tools: { task_class: 'support', task_intent: 'refund an order', candidates: ['refund', 'look-up'] },
  forget: { reason: 'asked to' },
}

export async function useInTypeScript({ url, capability, database, mode }: McpAsker): Promise<McpUse> {
  const client = new Client({ name: 'system-test', version: '1' }, { versionNegotiation: { mode } })
  const headers = { 'x-loci-capability': capability, 'x-loci-database': database }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  try {
    const { tools } = await client.listTools()
    const listed = tools.map(({ name }) => name).sort()
    const texts = new Map<string, string>()
    const failed: string[] = []
    for (const [name, given] of Object.entries(ARGUMENTS)) {
      if (!listed.includes(name)) continue
      const id = name === 'forget' ? { id: JSON.parse(texts.get('remember') ?? '{}').id } : {}
      const result = await client.callTool({ name, arguments: { ...given, ...id } })
      const [content] = result.content as { text: string }[]
      texts.set(name, content?.text ?? '')
      if (result.isError) failed.push(`${name}: ${content?.text}`)
    }
    return { listed, failed, recalled: texts.get('recall') ?? '' }
  } finally {
    await client.close()
  }
}

/** Resolves with its interpreter. Kept for the next run; throws with what a person has to install. */
export async function installPythonClient(): Promise<string> {
  const directory = join(tmpdir(), `loci-mcp-${PYTHON_VERSION}`)
  const python = join(directory, 'bin/python')
  if (existsSync(join(directory, 'installed'))) return python
  const made = await run('python3', ['-m', 'venv', '--clear', directory])
  if (made.code !== 0) throw new Error(`no Python environment: install python3-venv (${made.output.trim()})`)
  const pip = ['install', '--quiet', '--disable-pip-version-check', `mcp==${PYTHON_VERSION}`]
  const installed = await run(join(directory, 'bin/pip'), pip)
  if (installed.code !== 0) throw new Error(`mcp ${PYTHON_VERSION} could not be installed: ${installed.output.trim()}`)
  await run('touch', [join(directory, 'installed')])
  return python
}

export async function useInPython(python: string, asker: McpAsker): Promise<McpUse> {
  const script = fileURLToPath(new URL('mcp-client.py', import.meta.url))
  const { url, capability, database, mode } = asker
  const given = [script, `${url}/mcp`, capability, database, mode, JSON.stringify(ARGUMENTS)]
  const { code, output } = await run(python, given)
  const line = output.trim().split('\n').at(-1) ?? ''
  if (code !== 0 || !line.startsWith('{')) return { listed: [], failed: [`exit ${code}: ${output}`], recalled: '' }
  return JSON.parse(line)
}

function run(file: string, args: string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => (output += part))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}

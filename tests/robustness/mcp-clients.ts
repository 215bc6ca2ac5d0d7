// Real clients of the Model Context Protocol: the official ones in TypeScript and in Python, the latter installed into
// a directory below the system's temporary one.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { pythonEnvironment } from '../world/python-environment.ts'

const PYTHON_VERSION = '2.3.0'

export type Negotiation = 'legacy' | 'auto'

export interface McpAsker {
  url: string
  mode: Negotiation
  /** Undefined: that of no header, which is `default`. */
  database?: string
  capability?: string
  /** Of a client without a capability. */
  oauth?: OauthAsker
}

/** A client that asks a person. */
export interface OauthAsker {
  clientId: string
  redirectUri: string
  /** Has the person's browser open the address, and answers what it was led back to the client with. */
  open(address: string): Promise<URLSearchParams>
}

export interface McpUse {
  listed: string[]
  /** Tools that answered with an error, and what. */
  failed: string[]
  /** What `recall` said. */
  recalled: string
  /** What a client that asked was given, in order: with the code, then with each refresh. */
  tokens: { access_token: string; refresh_token: string }[]
}

/** `forget` comes after `remember`: it is given the id of what that stored. */
export const ARGUMENTS: Record<string, Record<string, unknown>> = {
  remember: { text: 'Ada keeps the tulip bulbs in the cellar', tags: ['ada'], key: 'bulbs', context: 'chat-1' },
  recall: { query: 'Where are the tulip bulbs?', limit: 3, tags: ['ada'], max_tokens: 500 },
  focus: { text: 'replies to Ada', ttl_minutes: 10 },
  working_memory: { include_evicted: true },
  run_cycle: { focus: 'replies to Ada', observations: ['Ada wrote from Utrecht'] },
  report_outcome: { task_class: 'support', tool: 'refund', outcome: 'success', latency_ms: 12 },
  rank_tools: { task_class: 'support', task_intent: 'refund an order', candidates: ['refund', 'look-up'] },
  forget: { reason: 'asked to' },
}

export async function useInTypeScript({ url, oauth, mode, ...asker }: McpAsker): Promise<McpUse> {
  const kept = oauth && keptBy(oauth)
  const transport = () =>
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: headersOf(asker) },
      ...(kept ? { authProvider: kept.provider } : {}),
    })
  const newClient = () => new Client({ name: 'system-test', version: '1' }, { versionNegotiation: { mode } })
  if (oauth && kept) {
    const asking = transport()
    await newClient()
      .connect(asking)
      .catch((error) => {
        if (!(error instanceof UnauthorizedError)) throw error
      })
    if (kept.address === undefined) throw new Error('the client was not told where to ask')
    await asking.finishAuth(await oauth.open(kept.address))
  }
  const client = newClient()
  await client.connect(transport())
  try {
    const { tools } = await client.listTools()
    const listed = tools.map(({ name }) => name).sort()
    const texts = new Map<string, string>()
    const failed: string[] = []
    for (const [name, given] of Object.entries(ARGUMENTS)) {
      if (!listed.includes(name)) continue
      const id = name === 'forget' ? { id: JSON.parse(texts.get('remember') ?? '{}').id } : {}
      const result = await client
        .callTool({ name, arguments: { ...given, ...id } })
        .catch((error) => ({ isError: true, content: [{ text: String(error) }] }))
      const [content] = result.content as { text: string }[]
      // What failed has words and no id in it.
      if (result.isError) failed.push(`${name}: ${content?.text}`)
      else texts.set(name, content?.text ?? '')
    }
    if (kept) {
      kept.loseAccess()
      await client.listTools({}, { cacheMode: 'refresh' })
    }
    return { listed, failed, recalled: texts.get('recall') ?? '', tokens: kept?.tokens ?? [] }
  } finally {
    await client.close()
  }
}

/** What a client keeps of OAuth: who it is, its verifier, and its tokens. */
function keptBy({ clientId, redirectUri }: OauthAsker) {
  const tokens: McpUse['tokens'] = []
  let current: OAuthTokens | undefined
  let verifier = ''
  let discovered: OAuthDiscoveryState | undefined
  const provider: OAuthClientProvider = {
    redirectUrl: redirectUri,
    clientMetadata: { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
    clientInformation: () => ({ client_id: clientId }),
    tokens: () => current,
    saveTokens(given) {
      current = given
      tokens.push({ access_token: given.access_token, refresh_token: String(given.refresh_token) })
    },
    redirectToAuthorization(address) {
      kept.address = String(address)
    },
    saveCodeVerifier(given) {
      verifier = given
    },
    codeVerifier: () => verifier,
    saveDiscoveryState(given) {
      discovered = given
    },
    discoveryState: () => discovered,
  }
  const kept = {
    provider,
    tokens,
    address: undefined as string | undefined,
    /** As if its time were over: the daemon refuses it, and the client asks for the next one. */
    loseAccess() {
      if (current) current = { ...current, access_token: 'over' }
    },
  }
  return kept
}

function headersOf({ capability, database }: Pick<McpAsker, 'capability' | 'database'>): Record<string, string> {
  return {
    ...(capability === undefined ? {} : { 'x-loci-capability': capability }),
    ...(database === undefined ? {} : { 'x-loci-database': database }),
  }
}

/** Resolves with its interpreter. */
export async function installPythonClient(): Promise<string> {
  return join(await pythonEnvironment('mcp', PYTHON_VERSION), 'bin/python')
}

export async function useInPython(python: string, { url, mode, oauth, ...asker }: McpAsker): Promise<McpUse> {
  const script = fileURLToPath(new URL('mcp-client.py', import.meta.url))
  const given = {
    ...{ url: `${url}/mcp`, mode, headers: headersOf(asker), arguments: ARGUMENTS },
    ...(oauth ? { oauth: { client_id: oauth.clientId, redirect_uri: oauth.redirectUri } } : {}),
  }
  const { code, output } = await run(python, [script, JSON.stringify(given)], async (line) => {
    const address = line.startsWith('{"open"') ? JSON.parse(line).open : undefined
    if (address === undefined || !oauth) return undefined
    return JSON.stringify(Object.fromEntries(await oauth.open(address)))
  })
  const line = output.trim().split('\n').at(-1) ?? ''
  if (code !== 0 || !line.startsWith('{"listed"'))
    return { listed: [], failed: [`exit ${code}: ${output}`], recalled: '', tokens: [] }
  return JSON.parse(line)
}

/** `reply` says what each line of its output is answered with, if anything. */
function run(
  file: string,
  args: string[],
  reply: (line: string) => Promise<string | undefined> = async () => undefined,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    let output = ''
    child.stderr.setEncoding('utf8').on('data', (part: string) => (output += part))
    createInterface(child.stdout).on('line', (line) => {
      output += `${line}\n`
      reply(line).then(
        (answer) => answer !== undefined && child.stdin.write(`${answer}\n`),
        (error) => {
          child.kill()
          reject(error)
        },
      )
    })
    child.stdin.on('error', () => {})
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}

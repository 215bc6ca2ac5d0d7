// The Model Context Protocol over standard input and output: each line is a message, handed on to the daemon with a
// capability that is minted when it is needed. The client's own configuration has no secret in it.

import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { LociError } from '@loci/sdk/error.ts'
import { CommandFailure, usage } from '../failure.ts'
import { meantBy, userOf, withService, withUser } from '../profiles/connection.ts'
import { replaceFile } from '../replace-file.ts'
import type { Call, Result } from '../tree/command.ts'
import { argument } from './given.ts'
import { columns, short } from './shown.ts'

interface Message {
  id?: string | number | null
  method?: string
  params?: { _meta?: Record<string, unknown> }
}

const SERVER_ERROR = -32_000
const PARSE_ERROR = -32_700

export async function serve(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    let version: string | undefined
    const answer = (message: object) => call.host.out(`${JSON.stringify(message)}\n`)
    const hand = async (message: Message) => {
      const asked = message.params?._meta?.['io.modelcontextprotocol/protocolVersion']
      const named = typeof asked === 'string' ? asked : version
      const headers = {
        accept: 'application/json, text/event-stream',
        ...(named ? { 'mcp-protocol-version': named } : {}),
        ...(typeof asked === 'string' && message.method ? { 'mcp-method': message.method } : {}),
      }
      try {
        const daemon = await user.daemon()
        const { body } = await daemon.call('POST /mcp', { body: message, headers })
        const told = typeof body === 'string' ? (body === '' ? undefined : JSON.parse(body)) : body
        if (message.method === 'initialize')
          version = (told as { result?: { protocolVersion?: string } }).result?.protocolVersion
        if (message.id !== undefined && told) answer(told as object)
      } catch (error) {
        if (message.id === undefined) return
        const { details } = error as LociError
        if (error instanceof LociError && (details as { jsonrpc?: string } | undefined)?.jsonrpc)
          return answer(details as object)
        const hint = error instanceof LociError && error.hint ? ` ${error.hint}` : ''
        answer({
          jsonrpc: '2.0',
          id: message.id,
          error: { code: SERVER_ERROR, message: `${(error as Error).message}${hint}` },
        })
      }
    }
    const running = new Set<Promise<void>>()
    const { stdin } = await import('node:process')
    const lines = createInterface({ input: stdin })
    call.host.signal.addEventListener('abort', () => lines.close())
    for await (const line of lines) {
      if (line.trim() === '') continue
      let message: Message
      try {
        message = JSON.parse(line)
      } catch {
        answer({ jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message: 'a line is one JSON message' } })
        continue
      }
      // The handshake decides how the rest is sent.
      const one = hand(message)
      if (message.method === 'initialize') await one
      running.add(one)
      void one.finally(() => running.delete(one))
    }
    await Promise.all(running)
    return { data: null }
  })
}

export async function tools(call: Call): Promise<Result> {
  return withService(call, async (service) => {
    const daemon = await service.daemon(userOf(call))
    const ask = (id: number, method: string, params: object) =>
      daemon.call('POST /mcp', {
        body: { jsonrpc: '2.0', id, method, params },
        headers: { accept: 'application/json, text/event-stream' },
      })
    await ask(1, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'loci', version: call.host.version },
    })
    const { body } = await ask(2, 'tools/list', {})
    const { result } = body as { result: { tools: { name: string; description: string }[] } }
    return { data: result, lines: columns(result.tools.map(({ name, description }) => [name, short(description)])) }
  })
}

/** Where each client keeps its servers, and what it calls them. */
const CLIENTS = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex'] as const
type ClientName = (typeof CLIENTS)[number]

function fileOf(client: ClientName, { host }: Call): string {
  const inHome = (...parts: string[]) => join(host.home, ...parts)
  const inProject = (...parts: string[]) => join(host.cwd, ...parts)
  if (client === 'claude-code') return inProject('.mcp.json')
  if (client === 'cursor') return inProject('.cursor', 'mcp.json')
  if (client === 'vscode') return inProject('.vscode', 'mcp.json')
  if (client === 'codex') return join(host.env.CODEX_HOME || inHome('.codex'), 'config.toml')
  const file = 'claude_desktop_config.json'
  if (host.platform === 'darwin') return inHome('Library', 'Application Support', 'Claude', file)
  if (host.platform === 'win32') return join(host.env.APPDATA ?? inHome('AppData', 'Roaming'), 'Claude', file)
  return join(host.env.XDG_CONFIG_HOME || inHome('.config'), 'Claude', file)
}

/** One entry, beside those that are there; written again it changes nothing. */
export async function install(call: Call): Promise<Result> {
  const client = argument(call, 0) as ClientName
  const { profile, service } = meantBy(call)
  const user = call.text('user')
  const args = [
    'mcp',
    ...(profile.value ? ['--profile', profile.value] : []),
    ...(service.value ? ['--service', service.value] : []),
    ...(user ? ['--user', user] : []),
  ]
  const file = fileOf(client, call)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const url = call.text('http')
  const after = client === 'codex' ? tomlWith(before, args, url) : jsonWith(client, before, file, args, url)
  const data = { client, file, changed: after !== before, text: after }
  if (call.has('dry-run')) return { data: { ...data, dry_run: true }, lines: [`would write ${file}:`, after] }
  if (after !== before) {
    mkdirSync(dirname(file), { recursive: true })
    // Others keep keys in it.
    replaceFile(file, after, 0o644)
  }
  const next =
    url && client === 'codex' ? ['set LOCI_TOKEN to a capability before you start it: loci tokens create'] : []
  return { data, lines: [after === before ? `${file} has it already` : `${file} has the server "loci" now`, ...next] }
}

/** Over HTTP the client asks its own environment for the token; the file names the variable. */
function jsonWith(client: ClientName, before: string, file: string, args: string[], url: string | undefined): string {
  let known: Record<string, unknown>
  try {
    known = before.trim() === '' ? {} : JSON.parse(before)
  } catch {
    throw new CommandFailure('config', 'BAD_CONFIG', `${file} is not plain JSON: nothing was changed.`, {
      hint: 'Add the entry by hand: loci mcp install … --dry-run in another directory shows it.',
    })
  }
  if (url && client === 'claude-desktop')
    throw usage('Claude Desktop takes servers over HTTP only as connectors: leave --http out.')
  const variable = client === 'claude-code' ? '${' + 'LOCI_TOKEN}' : '${' + 'env:LOCI_TOKEN}'
  const isCode = client === 'vscode'
  const over = isCode ? '${' + 'input:loci-token}' : variable
  const entry = url
    ? { type: 'http', url, headers: { Authorization: `Bearer ${over}` } }
    : { ...(isCode ? { type: 'stdio' } : {}), command: 'loci', args }
  // VS Code has `servers`, all others `mcpServers`.
  const name = isCode ? 'servers' : 'mcpServers'
  const servers = { ...((known[name] as object | undefined) ?? {}), loci: entry }
  const others = ((known.inputs as { id: string }[] | undefined) ?? []).filter(({ id }) => id !== 'loci-token')
  const inputs =
    isCode && url
      ? {
          inputs: [
            ...others,
            { type: 'promptString', id: 'loci-token', description: 'Capability of loci', password: true },
          ],
        }
      : {}
  const after = `${JSON.stringify({ ...known, [name]: servers, ...inputs }, null, 2)}\n`
  return before !== '' && JSON.stringify(JSON.parse(before)) === JSON.stringify(JSON.parse(after)) ? before : after
}

/** Its name bare or in quotes, by itself or with a comment, and what follows until the next table. */
const OWN_TABLE =
  /^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*(?:loci|"loci"|'loci')[ \t]*\][ \t]*(?:#[^\n]*)?\r?\n(?:(?!\[)[^\n]*(?:\n|$))*/m

/** The table of ours is replaced, all other text stays as it is; a second one would make the file unreadable. */
function tomlWith(before: string, args: string[], url: string | undefined): string {
  const end = before.includes('\r\n') ? '\r\n' : '\n'
  const lines = url
    ? [`url = ${JSON.stringify(url)}`, 'bearer_token_env_var = "LOCI_TOKEN"']
    : ['command = "loci"', `args = [${args.map((one) => JSON.stringify(one)).join(', ')}]`]
  const table = ['[mcp_servers.loci]', ...lines].map((line) => `${line}${end}`).join('')
  const [own] = OWN_TABLE.exec(before) ?? []
  if (own !== undefined) return before.replace(own, () => `${table}${/\n\r?\n$/.test(own) ? end : ''}`)
  const gap = before === '' || /\n\r?\n$/.test(before) ? '' : before.endsWith('\n') ? end : `${end}${end}`
  return `${before}${gap}${table}`
}

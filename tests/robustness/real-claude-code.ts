// Claude Code itself, as it is published, against a model of ours: it answers every prompt with two words, and keeps
// what it was sent. Nothing is asked of anybody else's server.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Ran, runProcess } from './claude-code-plugin.ts'

const VERSION = '2.1.327'

/** 370 MB, kept for the next run; or why there is none. */
export function claudeCode(): { file: string } | { missing: string } {
  const folder = path.join(tmpdir(), `loci-claude-code-${VERSION}`)
  const find = () => {
    const scope = path.join(folder, 'node_modules/@anthropic-ai')
    const names = existsSync(scope) ? readdirSync(scope) : []
    return names.map((name) => path.join(scope, name, 'claude')).find((file) => existsSync(file))
  }
  const made = path.join(folder, 'installed')
  if (!existsSync(made)) {
    mkdirSync(folder, { recursive: true })
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--ignore-scripts']
    const { status, stderr } = spawnSync('npm', [...args, `@anthropic-ai/claude-code@${VERSION}`], { encoding: 'utf8' })
    if (status !== 0) return { missing: `it cannot be installed here: ${stderr.trim().split('\n').at(-1)}` }
    writeFileSync(made, '')
  }
  const file = find()
  return file ? { file } : { missing: 'there is no build of it for this machine' }
}

export interface Model {
  url: string
  /** The bodies of all prompts, as they came. */
  asked: string[]
  close(): void
}

export async function startModel(): Promise<Model> {
  const asked: string[] = []
  const server = createServer((request, answer) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      if (!request.url?.startsWith('/v1/messages')) return send(answer, 404, { type: 'error', error: { type: 'none' } })
      if (request.url.includes('count_tokens')) return send(answer, 200, { input_tokens: 10 })
      asked.push(body)
      const { stream, model } = JSON.parse(body) as { stream?: boolean; model: string }
      const usage = { input_tokens: 5, output_tokens: 2 }
      const message = { id: 'msg_1', type: 'message', role: 'assistant', model, stop_sequence: null, usage }
      const block = { type: 'text', text: 'Very well.' }
      if (!stream) return send(answer, 200, { ...message, content: [block], stop_reason: 'end_turn' })
      answer.writeHead(200, { 'content-type': 'text/event-stream' })
      const say = (type: string, data: object = {}) =>
        answer.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
      say('message_start', { message: { ...message, content: [], stop_reason: null } })
      say('content_block_start', { index: 0, content_block: { ...block, text: '' } })
      say('content_block_delta', { index: 0, delta: { type: 'text_delta', text: block.text } })
      say('content_block_stop', { index: 0 })
      say('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage })
      say('message_stop')
      answer.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close }
}

function send(answer: ServerResponse, status: number, body: object): void {
  answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** With nothing of the developer's: a home of its own, and no word to anybody but the model. */
export function runClaude(
  file: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Promise<Ran> {
  const quiet = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', ANTHROPIC_API_KEY: 'none' }
  return runProcess(file, args, { cwd, env: { ...quiet, ...env } })
}

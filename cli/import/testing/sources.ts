// Servers of other products as far as an import asks them: the routes and the shapes of pages that their sources have.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SourceServer extends AsyncDisposable {
  url: string
  /** Method, path with query, credential and body of each request. */
  asked: { line: string; key: string | undefined; body: unknown }[]
}

export type Answers = (request: { path: string; query: URLSearchParams; body: unknown }) => unknown

export const KEY = 'key-of-the-source'

/** `refuse`: how many are told first to come back later. */
export async function sourceServer(
  answers: Answers,
  { refuse = 0, needsKey = true }: { refuse?: number; needsKey?: boolean } = {},
): Promise<SourceServer> {
  const asked: SourceServer['asked'] = []
  let refused = 0
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString('utf8')
    const body: unknown = text === '' ? undefined : JSON.parse(text)
    const key = request.headers.authorization ?? request.headers['x-api-key']?.toString()
    asked.push({ line: `${request.method} ${request.url}`, key, body })
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://source')
    const end = (status: number, value: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (needsKey && !key?.endsWith(KEY)) return end(401, { detail: 'no key' })
    if (refused < refuse) {
      refused += 1
      response.setHeader('retry-after', '0')
      return end(refused % 2 === 0 ? 503 : 429, { detail: 'later' })
    }
    const value = answers({ path: pathname, query: searchParams, body })
    return value === undefined ? end(404, { detail: 'Not Found' }) : end(200, value)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The list of the platform, POST /v3/memories/?page=&page_size=, in pages of three whatever is asked. */
export function mem0Platform(memories: readonly object[], url: () => string): Answers {
  return ({ path, query }) => {
    if (path !== '/v3/memories/') return undefined
    const page = Number(query.get('page') ?? 1)
    const results = memories.slice((page - 1) * 3, page * 3)
    const next = page * 3 < memories.length ? `${url()}/v3/memories/?page=${page + 1}` : null
    return { count: memories.length, next, previous: null, results }
  }
}

/** POST /v1/long-term-memory/search, in pages of two. */
export function agentMemoryServer(memories: readonly object[]): Answers {
  return ({ path, body }) => {
    if (path !== '/v1/long-term-memory/search') return undefined
    const { offset } = body as { offset: number }
    const found = memories.slice(offset, offset + 2)
    return { total: memories.length, memories: found, next_offset: found.length === 2 ? offset + 2 : null }
  }
}

interface LettaAgent {
  agent: { id: string; name: string }
  blocks: readonly object[]
  passages: readonly { id: string }[]
  messages: readonly { id: string }[]
}

/** Lists of Letta: `limit`, `after` the id of the last one. */
export function lettaServer(agents: readonly LettaAgent[]): Answers {
  return ({ path, query }) => {
    const page = <Thing extends { id: string }>(things: readonly Thing[]) => {
      const from = things.findIndex(({ id }) => id === query.get('after')) + 1
      return things.slice(from, from + Number(query.get('limit')))
    }
    if (path === '/v1/agents/') return page(agents.map(({ agent }) => agent))
    const [, id, list] = /^\/v1\/agents\/([^/]+)\/(.+)$/.exec(path) ?? []
    const own = agents.find(({ agent }) => agent.id === id)
    if (list === 'core-memory/blocks') return page((own?.blocks ?? []) as { id: string }[])
    if (list === 'archival-memory') return page(own?.passages ?? [])
    if (list === 'messages') return page(own?.messages ?? [])
    return undefined
  }
}

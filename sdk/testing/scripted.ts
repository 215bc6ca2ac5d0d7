// Somebody's server, for tests of the client.

import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Seen {
  line: string
  headers: IncomingHttpHeaders
  body: string
}
export interface Told {
  status?: number
  headers?: Record<string, string>
  body?: unknown
}
/** `drop` ends the connection without an answer, `hang` never answers. */
export type Act = Told | 'drop' | 'hang'

/** Somebody's server that does what it is told, act by act, and then the last one for ever. */
export async function scripted(...acts: Act[]) {
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const act = acts[Math.min(seen.length, acts.length - 1)] ?? {}
      const body = Buffer.concat(chunks).toString()
      seen.push({ line: `${request.method} ${request.url}`, headers: request.headers, body })
      if (act === 'hang') return
      if (act === 'drop') return void request.socket.destroy()
      const isText = typeof act.body === 'string'
      response.writeHead(act.status ?? 200, {
        'content-type': isText ? 'text/html' : 'application/json',
        'x-request-id': 'req_header',
        ...act.headers,
      })
      response.end(isText ? act.body : JSON.stringify(act.body ?? { ok: true }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    acts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

// Servers that no loci is: one that never answers, one that fails, one that is too busy, one with another clock and
// another version.

import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Strange extends AsyncDisposable {
  silent: string
  /** When somebody has asked the silent one. */
  asked: Promise<void>
  broken: string
  busy: string
  late: string
}

const refusal = (code: string) => JSON.stringify({ error: { code, message: 'no' } })

export async function serving(): Promise<Strange> {
  const { promise: asked, resolve: hear } = Promise.withResolvers<void>()
  const json = { 'content-type': 'application/json' }
  const listeners: Record<'silent' | 'broken' | 'busy' | 'late', RequestListener> = {
    silent: () => hear(),
    broken: (_, answer) => void answer.writeHead(500, json).end(refusal('INTERNAL_ERROR')),
    busy: (_, answer) => void answer.writeHead(429, { ...json, 'retry-after': '60' }).end(refusal('RATE_LIMITED')),
    late: (_, answer) =>
      void answer
        .writeHead(200, { ...json, date: new Date(Date.now() - 600_000).toUTCString() })
        .end('{"info":{"version":"9.0.0"}}'),
  }
  const servers = Object.values(listeners).map((listener) => createServer(listener))
  const urls = await Promise.all(
    servers.map(
      (server) =>
        new Promise<string>((resolve) =>
          server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
        ),
    ),
  )
  const [silent = '', broken = '', busy = '', late = ''] = urls
  return {
    silent,
    asked,
    broken,
    busy,
    late,
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
}

// A small load balancer: two ports over the same replicas, each sent to only while its readiness was 200 at the last
// check. Nothing is retried, no header is added: what the replicas drop, the clients see.
//
//   httpUrl  balances requests, over upstream connections that it keeps (nginx, Envoy)
//   tcpUrl   balances connections, and a client stays where it was put until the connection ends (a Kubernetes Service)

import { Agent, createServer as createHttpServer, request as httpRequest } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'

interface Replica {
  host: string
  port: number
  isReady: boolean
  agent: Agent
}

export interface HealthProxy {
  httpUrl: string
  tcpUrl: string
  /** Resolves when the replica was found ready once. */
  add(url: string): Promise<void>
  remove(url: string): void
  close(): void
}

const CHECK_MS = 100

/** Hears of each request over httpUrl what it was and how it was answered; `body` is there for what failed. */
export type Seen = (line: string, status: number, body: string) => void

export async function startHealthProxy(seen?: Seen): Promise<HealthProxy> {
  const replicas = new Map<string, Replica>()
  const clients = new Set<Socket>()
  let turn = 0

  function next(): Replica | undefined {
    const ready = [...replicas.values()].filter(({ isReady }) => isReady)
    turn += 1
    return ready[turn % ready.length]
  }

  const http = createHttpServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    const replica = next()
    const { method, url, headers } = request
    const line = `${method} ${url}`
    if (!replica) {
      seen?.(line, 502, 'no replica is ready')
      response.writeHead(502).end('no replica is ready')
      return
    }
    const upstream = httpRequest(
      {
        host: replica.host,
        port: replica.port,
        agent: replica.agent,
        ...(method ? { method } : {}),
        ...(url ? { path: url } : {}),
        // `connection` is between two neighbours (RFC 9110, 7.6.1); everything else passes as it came.
        headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'connection')),
      },
      (answer) => {
        const { connection: _, ...passed } = answer.headers
        const status = answer.statusCode ?? 502
        response.writeHead(status, passed)
        answer.pipe(response)
        let body = ''
        if (status >= 400) answer.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')))
        answer.on('error', (error) => {
          seen?.(line, 502, `cut: ${error.message}`)
          response.destroy()
        })
        answer.on('end', () => seen?.(line, status, body))
      },
    )
    upstream.on('error', (error) => {
      seen?.(line, 502, `upstream: ${error.message}`)
      if (response.headersSent) response.destroy()
      else response.writeHead(502).end(`upstream: ${error.message}`)
    })
    request.pipe(upstream)
  })
  const tcp = createTcpServer((client) => {
    const replica = next()
    if (!replica) {
      client.destroy()
      return
    }
    const upstream = connect(replica.port, replica.host)
    clients.add(client)
    client.on('close', () => clients.delete(client))
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
  })

  const timer = setInterval(() => {
    for (const replica of replicas.values()) void check(replica)
  }, CHECK_MS)

  return {
    httpUrl: await listen(http),
    tcpUrl: await listen(tcp),
    async add(url) {
      const { hostname, port } = new URL(url)
      const replica: Replica = {
        host: hostname,
        port: Number(port),
        isReady: false,
        agent: new Agent({ keepAlive: true }),
      }
      replicas.set(url, replica)
      while (!replica.isReady) await new Promise((resolve) => setTimeout(resolve, 20))
    },
    remove(url) {
      const replica = replicas.get(url)
      replicas.delete(url)
      if (replica) closeIdle(replica)
    },
    close() {
      clearInterval(timer)
      http.close()
      http.closeAllConnections()
      tcp.close()
      for (const client of clients) client.destroy()
      for (const { agent } of replicas.values()) agent.destroy()
    },
  }
}

async function check(replica: Replica): Promise<void> {
  const isReady = await fetch(`http://${replica.host}:${replica.port}/health/ready`, {
    // On a busy machine a late answer is no answer of "not ready".
    signal: AbortSignal.timeout(20_000),
  }).then(
    (answer) => answer.status === 200,
    () => false,
  )
  replica.isReady = isReady
  if (!isReady) closeIdle(replica)
}

function closeIdle({ agent }: Replica): void {
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}

function listen(server: ReturnType<typeof createTcpServer> | ReturnType<typeof createHttpServer>): Promise<string> {
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
  )
}

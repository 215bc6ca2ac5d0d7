import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'

export interface TcpProxy extends AsyncDisposable {
  port: number
  /** From now on nothing passes in either direction, and nobody is told: a silent partition. */
  blackHole(): void
  /** Every connection is cut, and new ones as soon as they are made. */
  refuse(): void
  heal(): void
  /** Everything takes so much longer from now on, in each direction. */
  delay(ms: number): void
  /** Passes what the client sends, and then cuts the line instead of passing the answer. */
  cutAnswerTo(text: string): void
}

/** Stands between a client and a server on loopback, and misbehaves on demand. */
export async function startTcpProxy(to: { port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let forwarding = true
  let isRefusing = false
  let delayMs = 0
  let fatalText: string | undefined
  const pass = (to: Socket, data: Buffer) =>
    void (delayMs > 0 ? setTimeout(() => to.write(data), delayMs) : to.write(data))
  const server = createServer((client) => {
    if (isRefusing) return void client.on('error', () => {}).destroy()
    const upstream = connect(to.port, '127.0.0.1')
    let cutting = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (data) => {
      if (fatalText !== undefined && data.includes(fatalText)) cutting = true
      if (forwarding) pass(upstream, data)
    })
    upstream.on('data', (data) => {
      if (cutting) client.destroy()
      else if (forwarding) pass(client, data)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    blackHole: () => {
      forwarding = false
    },
    refuse: () => {
      isRefusing = true
      for (const socket of sockets) socket.destroy()
    },
    heal: () => {
      forwarding = true
      isRefusing = false
    },
    delay: (ms) => {
      delayMs = ms
    },
    cutAnswerTo: (text) => {
      fatalText = text
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

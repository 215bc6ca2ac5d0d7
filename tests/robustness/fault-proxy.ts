// Stands between a program and a server on loopback, and misbehaves on demand.
//
//   pass     everything goes through, `delayMs` later
//   hole     nothing goes through and nobody is told, as in a silent partition: what was sent arrives when it heals
//   refuse   nobody listens, and what was open is reset
//   reset    every connection is accepted and reset

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type Fault = 'pass' | 'hole' | 'refuse' | 'reset'

export interface FaultProxy {
  port: number
  set(fault: Fault): Promise<void>
  delayMs: number
  close(): Promise<void>
}

export async function startFaultProxy(target: () => number): Promise<FaultProxy> {
  const pairs = new Set<[Socket, Socket]>()
  let fault: Fault = 'pass'
  let held: (() => void)[] = []

  function forward(act: () => void): void {
    if (fault === 'hole') held.push(act)
    else if (proxy.delayMs > 0) setTimeout(act, proxy.delayMs)
    else act()
  }

  function join(from: Socket, to: Socket): void {
    from.on('data', (bytes) => forward(() => to.write(bytes)))
    from.on('end', () => forward(() => to.end()))
    from.on('close', () => forward(() => to.destroySoon()))
    from.on('error', () => {})
  }

  function cut(): void {
    for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy()
    held = []
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (fault === 'reset') {
      client.resetAndDestroy()
      return
    }
    const upstream = connect({ port: target(), host: '127.0.0.1', allowHalfOpen: true })
    const pair: [Socket, Socket] = [client, upstream]
    pairs.add(pair)
    join(client, upstream)
    join(upstream, client)
    client.on('close', () => pairs.delete(pair))
  })
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const proxy: FaultProxy = {
    port: (server.address() as AddressInfo).port,
    delayMs: 0,
    async set(next) {
      if (fault === 'refuse' && next !== 'refuse') await listen(proxy.port)
      fault = next
      if (next === 'refuse') server.close()
      if (next === 'refuse' || next === 'reset') cut()
      if (next === 'pass') for (const act of held.splice(0)) act()
    },
    async close() {
      server.close()
      cut()
    },
  }
  return proxy
}

// Who holds the connections of a listener. Without a bound one address held all 10,000 with a cheap request a minute on
// each, and everybody else, probes included, was closed without an answer.

import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type AddressSet, networkOf } from './addresses.ts'
import { idleSince } from './unanswered.ts'

interface ConnectionBounds {
  max: number
  trustedProxies: AddressSet
  isTls: boolean
}

/** The share of one address (IPv6: of a /64). Trusted proxies stand for many clients and are not limited. */
const ADDRESS_PART = 0.1
/** From here on the idlest are closed, before newcomers would have to be. */
const CROWDED_PART = 0.9
/** At a time, so that they are not looked for again with the next one. */
const CLOSED_PART = 0.05

export function boundConnections(server: Server, { max, trustedProxies, isTls }: ConnectionBounds): void {
  const held = new Map<string, number>()
  const addressMax = Math.max(1, Math.floor(max * ADDRESS_PART))
  const sockets = new Set<Socket>()
  server.maxConnections = max
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const network = networkOf(address)
    const count = (held.get(network) ?? 0) + 1
    held.set(network, count)
    socket.once('close', () => {
      const left = (held.get(network) ?? 1) - 1
      if (left > 0) held.set(network, left)
      else held.delete(network)
    })
    if (count > addressMax && !trustedProxies.has(address)) socket.destroy()
  })
  // A TLS socket is another one than that which was counted; requests come on it.
  server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
    if (socket.destroyed) return
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    if (sockets.size >= max * CROWDED_PART) closeIdlest(sockets, Math.max(1, Math.floor(max * CLOSED_PART)), socket)
  })
}

/** Those that have waited longest for a next request, and not the newcomer. */
function closeIdlest(sockets: Set<Socket>, count: number, newcomer: Socket): void {
  const idle = [...sockets]
    .filter((socket) => socket !== newcomer && idleSince(socket) !== undefined)
    .sort((a, b) => (idleSince(a) as number) - (idleSince(b) as number))
  for (const socket of idle.slice(0, count)) socket.destroy()
}

// Stands between a client and a daemon. The first answer to a memory that is stored is taken away: the daemon has
// stored it, and the client hears nothing. The first stream of events is cut behind the slot `two`, and no further one
// is let through before somebody asks for `/gate`.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface AnswerThief {
  url: string
  stolen(): number
  close(): void
}

const STORES = /^POST \/v1\/memory\/records HTTP/
const FOLLOWS = /^GET \/v1\/events /
const LAST = /"key": ?"two"/

export async function startAnswerThief(target: number): Promise<AnswerThief> {
  const sockets = new Set<Socket>()
  let stolen = 0
  let streams = 0
  const gate = Promise.withResolvers<void>()

  const server = createServer((client) => {
    const daemon = connect({ port: target, host: '127.0.0.1', noDelay: true })
    for (const socket of [client, daemon]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
    const cut = () => {
      client.destroy()
      daemon.destroy()
    }
    let isStolen = false
    let seen: string | undefined
    client.on('data', (bytes) => {
      const head = bytes.toString('latin1')
      if (head.startsWith('POST /gate ')) {
        gate.resolve()
        client.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n')
        return
      }
      if (STORES.test(head) && stolen === 0) {
        stolen = 1
        isStolen = true
      }
      if (!FOLLOWS.test(head)) {
        daemon.write(bytes)
        return
      }
      streams += 1
      seen = streams === 1 ? '' : undefined
      void (streams === 1 ? Promise.resolve() : gate.promise).then(() => daemon.write(bytes))
    })
    daemon.on('data', (bytes) => {
      if (isStolen) cut()
      if (isStolen || seen === undefined) {
        client.write(bytes)
        return
      }
      // Up to the end of the frame, whatever came with it.
      const text = seen + bytes.toString('latin1')
      const end = LAST.test(text) ? text.indexOf('\n\n', text.search(LAST)) : -1
      const length = end < 0 ? text.length : end + 2
      const part = Buffer.from(text.slice(seen.length, length), 'latin1')
      seen = text.slice(0, length)
      client.write(part, () => {
        if (end >= 0) cut()
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stolen: () => stolen,
    close() {
      gate.resolve()
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

// Connections that send the head of a request and one byte of its body, and then nothing; each begins again when it was
// answered or cut. What came back is counted.

import { connect, type Socket } from 'node:net'

export interface Drippers {
  stop(): Promise<Record<string, number>>
}

/** `head` ends with the empty line. */
export function startDrippers(url: string, head: string, count: number): Drippers {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const answers: Record<string, number> = {}
  let isOver = false
  const drip = () => {
    if (isOver) return
    const socket = connect(Number(port), hostname, () => socket.write(`${head}{`))
    sockets.add(socket)
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
      // Kept alive after a refusal: it is enough to know that one came.
      if (text.includes('\r\n\r\n')) socket.destroy()
    })
    socket.on('error', () => {})
    socket.once('close', () => {
      sockets.delete(socket)
      const status = text.slice(9, 12) || 'cut'
      answers[status] = (answers[status] ?? 0) + 1
      // Not a flood of connections, but a crowd of bodies.
      setTimeout(drip, 1_000)
    })
  }
  for (let n = 0; n < count; n += 1) setTimeout(drip, n * 2)
  return {
    async stop() {
      isOver = true
      const counted = { ...answers }
      for (const socket of sockets) socket.destroy()
      return counted
    },
  }
}

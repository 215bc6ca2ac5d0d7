// A stranger with many connections, as a process of its own: each connection asks the open routes one after the other,
// without end, or sends many requests ahead and reads nothing. Started by open-flood.ts with its targets as JSON.
// Writes how many answers it had when it is told to end.

import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { newId } from '@loci/contract/ids.ts'
import { formatSecretToken } from '@loci/contract/secret-token.ts'

export interface FloodTarget {
  url: string
  paths: string[]
  connections: number
  /** Default: 30. One address is told apart by it. */
  addresses?: number
  /** `invented`: another one with each request. */
  apiKey?: string
  /** With each request the cookie of a session, or the poll of a sign-in, of our form, that nobody has. */
  invents?: 'session' | 'poll'
  /** Sends so many ahead, reads nothing, and comes again after a while. */
  ahead?: number
}

const { targets } = JSON.parse(process.argv[2] as string) as { targets: FloodTarget[] }
/** Loopback is a whole network: a stranger with one address would be told apart by it. */
const ADDRESSES = 30
const BURST = 100
const UNREAD_MS = 2_500
let answers = 0

for (const { url, paths, connections, addresses = ADDRESSES, apiKey, invents, ahead } of targets) {
  const { hostname, port, host } = new URL(url)
  const credential = () => (apiKey === undefined ? '' : `x-api-key: ${apiKey === 'invented' ? invent() : apiKey}\r\n`)
  const ask = (at: number, turn: number) => {
    if (invents === 'poll') return poll(host)
    const cookie = invents === 'session' ? `cookie: loci_access_token=${inventToken()}\r\n` : ''
    return `GET ${paths[(at + turn) % paths.length]} HTTP/1.1\r\nhost: ${host}\r\n${credential()}${cookie}\r\n`
  }
  for (let at = 0; at < connections; at += 1) {
    if (ahead) sendAhead(at, ahead)
    else open(at)
    if (at % BURST === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  function sendAhead(at: number, count: number): void {
    const socket = connect({ host: hostname, port: Number(port), localAddress: `127.0.0.${2 + (at % addresses)}` })
    socket.pause()
    socket.on('error', () => {})
    socket.on('connect', () => socket.write(ask(at, 0).repeat(count)))
    setTimeout(() => {
      socket.destroy()
      answers += 1
      sendAhead(at, count)
    }, UNREAD_MS)
  }

  function open(at: number): void {
    const socket = connect({ host: hostname, port: Number(port), localAddress: `127.0.0.${2 + (at % addresses)}` })
    let turn = 0
    let text = ''
    socket.setEncoding('latin1')
    socket.on('connect', () => socket.write(ask(at, turn)))
    socket.on('data', (chunk: string) => {
      text += chunk
      const end = text.indexOf('\r\n\r\n')
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (end < 0 || text.length < end + 4 + length) return
      text = ''
      answers += 1
      turn += 1
      socket.write(ask(at, turn))
    })
    socket.on('error', () => {})
    // Whoever floods comes again.
    socket.on('close', () => setTimeout(() => open(at), 200))
  }
}

function poll(host: string): string {
  const body = JSON.stringify({ device_code: randomBytes(32).toString('base64url') })
  const path = `/api/v1/cli-logins/cli_${randomBytes(15).toString('hex')}/poll`
  return `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

function inventToken(): string {
  return [40, 200, 64].map((bytes) => randomBytes(bytes).toString('base64url')).join('.')
}

function invent(): string {
  return formatSecretToken('sk', newId('key'), randomBytes(32).toString('base64url'))
}

console.log('flooding')
process.on('SIGTERM', () => {
  console.log(String(answers))
  process.exit(0)
})

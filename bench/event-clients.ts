// A thousand clients of event streams in a process of their own, on bare sockets, so that they cost less than what they
// measure. They come from several addresses of loopback, because one address has a tenth of a listener's connections.

import { type ChildProcess, fork } from 'node:child_process'
import { connect } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { mapWidth } from '@loci/tests/world/report.ts'

interface FollowOptions {
  url: string
  /** Client n uses the n-th of them, in turns. */
  tokens: string[]
  streams: number
}

interface Delivered {
  events: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

export interface EventClients {
  /** Waits until so many were delivered, or nothing comes any more. */
  finish(expected: number): Promise<Delivered>
}

const ADDRESSES = 20
const OPENED_AT_ONCE = 8
const QUIET_MS = 3_000

export async function followMany(options: FollowOptions): Promise<EventClients> {
  const child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  child.send({ ...options })
  await messageOf(child, 'open')
  return {
    async finish(expected) {
      child.send({ expected })
      const { delivered } = await messageOf(child, 'delivered')
      child.kill()
      return delivered as Delivered
    },
  }
}

function messageOf(child: ChildProcess, name: string): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the clients ended with ${code}`)))
    child.on('message', (message: Record<string, unknown>) => name in message && resolve(message))
  })
}

/** Counts `slot.written` events by the moment in the name of their slot. */
async function followAll({ url, tokens, streams }: FollowOptions): Promise<void> {
  const { hostname, port } = new URL(url)
  const late = createHistogram()
  let lastAt = 0

  function open(n: number): Promise<void> {
    const socket = connect({ host: hostname, port: Number(port), localAddress: `127.0.0.${2 + (n % ADDRESSES)}` })
    socket.setEncoding('latin1')
    let rest = ''
    const token = tokens[n % tokens.length]
    socket.write(`GET /v1/events HTTP/1.1\r\nhost: ${hostname}\r\nx-loci-capability: ${token}\r\n\r\n`)
    return new Promise((resolve, reject) => {
      socket.once('data', (text: string) => (text.startsWith('HTTP/1.1 200') ? resolve() : reject(new Error(text))))
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('a stream ended')))
      socket.on('data', (text: string) => {
        const now = Date.now()
        const lines = (rest + text).split('\n')
        rest = lines.pop() as string
        for (const line of lines) {
          const sentAt = /"type":"slot\.written".*"key": ?"t(\d+)-/.exec(line)?.[1]
          if (sentAt === undefined) continue
          late.record(Math.max(1, now - Number(sentAt)))
          lastAt = now
        }
      })
    })
  }

  // A few at a time: an instance has a quarter of the slots of a process.
  await mapWidth(Array.from({ length: streams }), OPENED_AT_ONCE, (_, n) => open(n))
  process.send?.({ open: streams })
  process.on('message', ({ expected }: { expected: number }) => {
    const timer = setInterval(() => {
      if (late.count < expected && Date.now() - lastAt < QUIET_MS) return
      clearInterval(timer)
      const [p50Ms, p99Ms] = [late.percentile(50), late.percentile(99)]
      process.send?.({ delivered: { events: late.count, p50Ms, p99Ms, maxMs: late.max } })
    }, 50)
  })
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url))
  process.once('message', (options: FollowOptions) => void followAll(options))

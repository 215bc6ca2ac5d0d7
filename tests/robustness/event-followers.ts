// Clients that follow the events of an instance and are cut off again and again. Each knows nothing but the id of the
// last event it saw, and comes back to another replica.

import { type ClientRequest, request } from 'node:http'
import type { Random } from './seeded.ts'

export interface Followed {
  seq: number
  database: string
  data: { key: string; version: number }
}

export interface Follower {
  readonly seen: Followed[]
  readonly connections: number
  /** It has been told where it began: nothing after that may be missed. */
  readonly isPlaced: boolean
  stop(): void
}

/** Where they follow, and as whom. */
export interface Place {
  path: string
  headers: Record<string, string>
}

export const followCapability = (token: string): Place => ({
  path: '/v1/events',
  headers: { 'x-loci-capability': token },
})

export function follow(urls: string[], { path, headers }: Place, random: Random, stayMs: number): Follower {
  const seen: Followed[] = []
  let last: string | undefined
  let connections = 0
  let isOver = false
  let current: ClientRequest | undefined

  function connect(): void {
    if (isOver) return
    connections += 1
    const url = urls[connections % urls.length] as string
    let rest = ''
    let isClosed = false
    const close = () => {
      if (isClosed) return
      isClosed = true
      setTimeout(connect, random.below(50))
    }
    current = request(
      `${url}${path}`,
      { agent: false, headers: { ...headers, ...(last === undefined ? {} : { 'last-event-id': last }) } },
      (answer) => {
        answer.setEncoding('utf8')
        answer.on('data', (text: string) => {
          const blocks = (rest + text).split('\n\n')
          rest = blocks.pop() as string
          for (const block of blocks) take(block)
        })
        answer.on('error', () => {})
        answer.on('close', close)
      },
    )
    current.on('error', close)
    current.end()
    setTimeout((cut: ClientRequest) => cut.destroy(), 50 + random.below(stayMs), current)
  }

  function take(block: string): void {
    const id = /^id: (.*)$/m.exec(block)?.[1]
    const data = /^data: (.*)$/m.exec(block)?.[1]
    if (data !== undefined && id !== undefined) seen.push(JSON.parse(data))
    if (id !== undefined) last = id
  }

  connect()
  return {
    seen,
    get connections() {
      return connections
    },
    get isPlaced() {
      return last !== undefined
    },
    stop() {
      isOver = true
      current?.destroy()
    },
  }
}

// A reader of server-sent events for tests, over a connection of its own.

import { type IncomingHttpHeaders, request } from 'node:http'
import { eventually } from './request.ts'

export interface Sent<Data> {
  id: string | undefined
  event: string | undefined
  data: Data
}

export interface TestStream<Data> {
  status: number
  headers: IncomingHttpHeaders
  /** Everything that came, as text. */
  readonly text: string
  readonly events: Sent<Data>[]
  readonly isEnded: boolean
  /** Resolves with the first event that fits. */
  until(fits: (sent: Sent<Data>) => boolean, withinMs?: number): Promise<Sent<Data>>
  ended(withinMs?: number): Promise<void>
  close(): void
}

export function openEventStream<Data>(url: string, headers: Record<string, string>): Promise<TestStream<Data>> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent: false, headers })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      let text = ''
      let isEnded = false
      incoming.setEncoding('utf8')
      incoming.on('data', (chunk: string) => {
        text += chunk
      })
      incoming.on('error', () => {})
      incoming.on('close', () => {
        isEnded = true
      })
      const stream: TestStream<Data> = {
        status: incoming.statusCode as number,
        headers: incoming.headers,
        get text() {
          return text
        },
        get events() {
          return eventsOf<Data>(text)
        },
        get isEnded() {
          return isEnded
        },
        until: (fits, withinMs) => eventually(() => eventsOf<Data>(text).find(fits), withinMs),
        ended: async (withinMs) => void (await eventually(() => isEnded, withinMs)),
        close: () => void outgoing.destroy(),
      }
      resolve(stream)
    })
    outgoing.end()
  })
}

function eventsOf<Data>(text: string): Sent<Data>[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .filter((block) => /^event: /m.test(block))
    .map((block) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
      return { id: field('id'), event: field('event'), data: JSON.parse(field('data') ?? 'null') }
    })
}

// A reader of server-sent events for tests, over a connection of its own.

import { type IncomingHttpHeaders, request } from 'node:http'
import { eventually } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'

export interface Sent {
  id: string | undefined
  event: string | undefined
  data: { id: string; seq: number; type: string; subject: string; data: Record<string, unknown> }
}

export interface TestStream {
  status: number
  headers: IncomingHttpHeaders
  /** Everything that came, as text. */
  readonly text: string
  readonly events: Sent[]
  readonly isEnded: boolean
  /** Resolves with the event of that subject. */
  subject(subject: string, withinMs?: number): Promise<Sent>
  ended(withinMs: number): Promise<void>
  close(): void
}

export function openEvents(url: string, apiKey: string, headers: Record<string, string> = {}): Promise<TestStream> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/api/v1/events`, { agent: false, headers: { [HEADER.apiKey]: apiKey, ...headers } })
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
      const stream: TestStream = {
        status: incoming.statusCode as number,
        headers: incoming.headers,
        get text() {
          return text
        },
        get events() {
          return eventsOf(text)
        },
        get isEnded() {
          return isEnded
        },
        subject: (subject, withinMs) =>
          eventually(() => eventsOf(text).find(({ data }) => data.subject === subject), withinMs),
        ended: async (withinMs) => void (await eventually(() => isEnded, withinMs)),
        close: () => void outgoing.destroy(),
      }
      resolve(stream)
    })
    outgoing.end()
  })
}

function eventsOf(text: string): Sent[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .filter((block) => /^event: /m.test(block))
    .map((block) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
      return { id: field('id'), event: field('event'), data: JSON.parse(field('data') ?? 'null') }
    })
}

// One HTTP client with one connection that it keeps as long as it is let. It repeats nothing and hides nothing: whoever
// keeps a ledger must know of every request whether it was answered.

import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'

export interface PlainRequest {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string
}

export type Outcome =
  | { kind: 'answer'; status: number; headers: IncomingHttpHeaders; body: string }
  /** Nobody listened, so nothing was sent. */
  | { kind: 'refused' }
  /** Sent, or perhaps sent, and not answered to the last byte. */
  | { kind: 'silence'; reason: string }

export interface PlainClient {
  send(url: string, request: PlainRequest): Promise<Outcome>
  close(): void
}

const ANSWER_MS_MAX = 15_000
const STREAM_MS = 300

export function plainClient(): PlainClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    send: (url, { method, path, headers = {}, body }) =>
      new Promise((resolve) => {
        const sent = {
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...headers,
        }
        const request = httpRequest(url + path, { agent, method, headers: sent, timeout: ANSWER_MS_MAX }, (answer) => {
          const chunks: Buffer[] = []
          // An event stream has no end: what comes at once is the answer.
          const isStream = answer.headers['content-type'] === 'text/event-stream'
          if (isStream) setTimeout(() => answer.destroy(), STREAM_MS)
          answer.on('data', (chunk: Buffer) => chunks.push(chunk))
          answer.on('error', ({ message }) => resolve({ kind: 'silence', reason: message }))
          answer.on('close', () => {
            if (!answer.complete && !isStream) return resolve({ kind: 'silence', reason: 'the answer was cut' })
            const { statusCode = 0, headers: got } = answer
            resolve({ kind: 'answer', status: statusCode, headers: got, body: Buffer.concat(chunks).toString('utf8') })
          })
        })
        request.on('timeout', () => request.destroy(new Error(`no answer within ${ANSWER_MS_MAX} ms`)))
        request.on('error', (error: NodeJS.ErrnoException) =>
          resolve(
            error.code === 'ECONNREFUSED'
              ? { kind: 'refused' }
              : { kind: 'silence', reason: error.code ?? error.message },
          ),
        )
        request.end(body)
      }),
    close: () => agent.destroy(),
  }
}

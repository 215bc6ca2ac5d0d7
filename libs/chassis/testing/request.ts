// Requests of tests, on a connection of their own: what one test leaves in a kept-alive socket must not reach the next.

import { type IncomingHttpHeaders, request } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { connect } from 'node:net'

export interface TestAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The `error` of the body, when it is a refusal. */
  error: { code: string; message: string } & Record<string, unknown>
  json<Body = Record<string, unknown>>(): Body
}

export interface AskOptions {
  headers?: Record<string, string>
  /** Text and bytes go out as they are, everything else as JSON. */
  body?: unknown
  /** Of a TLS listener with a certificate that nobody has signed. */
  unverified?: boolean
  /** Which address of loopback, a whole network, it comes from. */
  from?: string
  /** Of an event stream, which has no end, the first bytes alone. */
  beginning?: boolean
}

/** `line` is a method and a path: `GET /health/live`. */
export function ask(
  url: string,
  line: string,
  { headers, body, unverified, from, beginning }: AskOptions = {},
): Promise<TestAnswer> {
  const [method, path] = line.split(' ') as [string, string]
  const isBare = body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
  const bytes = isBare ? body : JSON.stringify(body)
  const open = url.startsWith('https:') ? tlsRequest : request
  return new Promise((resolve, reject) => {
    const outgoing = open(new URL(url).origin, {
      method,
      path,
      agent: false,
      ...(from ? { localAddress: from } : {}),
      rejectUnauthorized: !unverified,
      headers: {
        ...(bytes === undefined ? {} : { 'content-length': Buffer.byteLength(bytes) }),
        ...(isBare ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    })
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = []
      const isCut = beginning && incoming.headers['content-type'] === 'text/event-stream'
      incoming.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (isCut) incoming.destroy()
      })
      incoming.on('error', reject)
      incoming.on(isCut ? 'close' : 'end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({
          status: incoming.statusCode as number,
          headers: incoming.headers,
          text,
          get error() {
            return JSON.parse(text).error
          },
          json: () => JSON.parse(text),
        })
      })
    })
    outgoing.end(bytes)
  })
}

/** Bytes as no client library would send them; resolves with everything that came back until the server closed. */
export function sendBytes(url: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes))
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve(text) : reject(error)))
    socket.on('close', () => resolve(text))
  })
}

/** What becomes true a moment later: a log line is written when the last byte is out, and the client may be faster. */
/**
 * A guard against waiting for ever, not a promise: a loaded machine may take its time, and due work that was too slow
 * is tried again after 5, 10, 20 and 40 s.
 */
const NEVER_MS = 240_000

/**
 * For what must be done before a moment that the test itself chose: tried again with twice the time while `work` says
 * that the machine was too slow for it (false).
 */
export async function inTime(work: (ms: number) => Promise<boolean>): Promise<void> {
  for (let ms = 1_000; !(await work(ms)); ms *= 2);
}

export async function eventually<Value>(
  look: () => Value | undefined | false | Promise<Value | undefined | false>,
  withinMs = NEVER_MS,
): Promise<Value> {
  const until = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > until) throw new Error(`not within ${withinMs} ms: ${look}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

// Sends bytes on a raw socket and reads whatever comes back: no HTTP client in between that would refuse to be rude.

import { connect } from 'node:net'

export interface StreamResult {
  received: Buffer
  ms: number
  /**
   * `closed`: the server ended it. `answered`: it answered and we left. `hung`: neither in time. `refused`: nobody
   * listens.
   */
  end: 'closed' | 'answered' | 'hung' | 'refused'
  /** What the socket itself said, if it failed: `ECONNRESET read`. */
  error: string | undefined
}

export interface StreamOptions {
  port: number
  /**
   * Says with a FIN that nothing follows; without it the server must end what is incomplete by its own deadline. The
   * FIN comes a moment later: Node ends a connection at once when it sees it, and a handler that awaits would never be
   * heard.
   */
  halfClose?: boolean
  deadlineMs?: number
  /** Another loopback address for each, so that 10^5 connections do not run out of ports. */
  from?: string
  /** Written one by one, this far apart, after `first`. */
  dripMs?: number
  first?: Buffer
}

const DEADLINE_MS = 12_000
const FIN_MS = 20

export function sendStream(bytes: Buffer, options: StreamOptions): Promise<StreamResult> {
  const { port, halfClose = true, deadlineMs = DEADLINE_MS, from, dripMs, first } = options
  return new Promise((resolve) => {
    const startedAt = performance.now()
    const chunks: Buffer[] = []
    let end: StreamResult['end'] = 'closed'
    let failure: string | undefined
    let drip: NodeJS.Timeout | undefined
    let fin: NodeJS.Timeout | undefined
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true, ...(from ? { localAddress: from } : {}) })
    const timer = setTimeout(() => {
      end = 'hung'
      socket.destroy()
    }, deadlineMs)
    socket.on('connect', () => {
      if (dripMs === undefined) {
        socket.write(bytes)
        if (halfClose) fin = setTimeout(() => socket.end(), FIN_MS)
        return
      }
      if (first) socket.write(first)
      let at = 0
      drip = setInterval(() => {
        if (socket.writable && at < bytes.length) socket.write(bytes.subarray(at, at + 1))
        at += 1
      }, dripMs)
    })
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (halfClose || dripMs !== undefined || parseAnswers(Buffer.concat(chunks)).length === 0) return
      end = 'answered'
      socket.destroy()
    })
    socket.on('end', () => socket.end())
    socket.on('error', (error: NodeJS.ErrnoException) => {
      failure = `${error.code} ${error.syscall}`
      if (error.code === 'ECONNREFUSED') end = 'refused'
    })
    socket.on('close', () => {
      clearTimeout(timer)
      clearInterval(drip)
      clearTimeout(fin)
      resolve({ received: Buffer.concat(chunks), ms: performance.now() - startedAt, end, error: failure })
    })
  })
}

export interface RawAnswer {
  status: number
  headers: Record<string, string>
  body: string
  /** The connection ended before the announced length. */
  isCut: boolean
}

/** All answers of a connection; interim ones (1xx) are passed over. */
export function parseAnswers(received: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = received
  while (rest.length > 0) {
    const at = rest.indexOf('\r\n\r\n')
    if (at < 0) break
    const [first = '', ...lines] = rest.subarray(0, at).toString('latin1').split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
    rest = rest.subarray(at + 4)
    if (status >= 100 && status < 200) continue
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const announced = Number(headers['content-length'] ?? 0)
    // An answer to HEAD announces what it does not send.
    const hasBody = rest.length > 0 && rest.subarray(0, 9).toString('latin1') !== 'HTTP/1.1 '
    const length = hasBody ? announced : 0
    answers.push({
      status: Number.isNaN(status) ? 0 : status,
      headers,
      body: rest.subarray(0, length).toString('utf8'),
      isCut: hasBody && rest.length < length,
    })
    rest = rest.subarray(Math.min(length, rest.length))
    if (headers['transfer-encoding'] !== undefined) break
  }
  return answers
}

/** What is wrong with an answer by the promises that hold for all of them; undefined when nothing is. */
export function faultOf({ status, headers, body, isCut }: RawAnswer): string | undefined {
  if (status === 0) return 'is not HTTP'
  // The webhook of billing is told 500 for whatever it is to repeat. Of a bug the log has a line, which the fuzz reads.
  const isForNow = status === 503 || (status === 500 && body === '{"error":"Failed to process billing event"}')
  if (status >= 500 && !(isForNow && headers['retry-after'])) return `has status ${status}: ${body.slice(0, 200)}`
  const requestId = headers['x-request-id'] ?? ''
  if (!/^req_[0-9a-z]{20,}$/.test(requestId)) return `${status} has no request id`
  if (status < 400 || body === '' || isCut) return undefined
  let error: Record<string, unknown> | undefined
  try {
    const parsed = JSON.parse(body) as { status?: string; error?: string | Record<string, unknown>; jsonrpc?: string }
    if (status === 503 && ['starting', 'draining'].includes(parsed.status ?? '')) return undefined
    // The specification's own shape, of the billing webhook alone.
    if (typeof parsed.error === 'string') return undefined
    error = parsed.error
    // JSON-RPC's own shape: so /mcp refuses what is no message of it. A raw stream has no path to hold it against.
    if (parsed.jsonrpc === '2.0' && typeof error?.code === 'number' && typeof error.message === 'string')
      return undefined
  } catch {
    return `${status} is not JSON: ${body.slice(0, 100)}`
  }
  const isShaped =
    typeof error?.code === 'string' &&
    typeof error.message === 'string' &&
    typeof error.retryable === 'boolean' &&
    error.status === status &&
    (error.requestId ?? error.request_id) === requestId
  return isShaped ? undefined : `${status} has another shape: ${body.slice(0, 200)}`
}

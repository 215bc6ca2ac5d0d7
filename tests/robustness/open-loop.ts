// Load on bare sockets, in a process of its own. Open: requests arrive at a rate, whether or not the earlier ones were
// answered, as far as there are idle connections to send them on. Closed: each connection sends the next one when it
// was answered.

import { type ChildProcess, fork } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'

export interface LoadOptions {
  url: string
  method: string
  /** `{n}` stands for a number below `variants`, another one with each request. */
  path: string
  variants: number
  /** Each of them asks for every variant. */
  tokens: string[]
  /** They are credentials of a partner, not capabilities. */
  isPartner?: boolean
  /** Besides the credential. */
  headers?: Record<string, string>
  /** The answer is a stream without an end: it is read for so long, and the connection closed. */
  streamMs?: number
  /** `{n}` as in the path. */
  body?: string
  /** How many requests can be outstanding at most. */
  connections: number
  /** Arrivals; without it the loop is closed. */
  perSecond?: number
  seconds: number
  warmUpSeconds?: number
}

export interface LoadResult {
  /** Sent on a connection, per second: what the server was really offered. */
  offeredPerSecond: number
  /** Arrivals for which no connection was idle: as many as were allowed were outstanding already. */
  turnedAway: number
  statuses: Record<string, number>
  /** Refusals by status and code, `503 OVERLOADED`; those without Retry-After end with `, no Retry-After`. */
  refusals: Record<string, number>
  /** Connections that ended with a request unanswered, or could not be opened. */
  errors: number
  accepted: { perSecond: number; p50Ms: number; p99Ms: number; worstMs: number }
  refused: { perSecond: number; p50Ms: number; p99Ms: number }
  /** Share of a core that the generator itself used: near 1 means that it was the limit and not the server. */
  cpu: number
}

/** Runs the load in a child process. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url))
  // Not as an argument: those end at 128 KiB, and a body may be larger.
  child.send(options)
  const result = Promise.withResolvers<LoadResult>()
  child.once('message', (message: LoadResult) => result.resolve(message))
  child.once('exit', (code) => result.reject(new Error(`the load generator ended early with ${code}`)))
  return result.promise
}

interface Tally {
  isCounting: boolean
  isOver: boolean
  sent: number
  turnedAway: number
  errors: number
  statuses: Record<string, number>
  refusals: Record<string, number>
  accepted: RecordableHistogram
  refused: RecordableHistogram
}

interface Connection {
  send(bytes: Buffer): void
}

const TICK_MS = 2
const RECONNECT_MS = 100

async function generate(options: LoadOptions): Promise<LoadResult> {
  const { connections, perSecond, seconds, warmUpSeconds = 0.5 } = options
  const requests = options.tokens.flatMap((token) =>
    Array.from({ length: options.variants }, (_, n) => requestBytes(options, token, n)),
  )
  const tally: Tally = {
    isCounting: false,
    isOver: false,
    sent: 0,
    turnedAway: 0,
    errors: 0,
    statuses: {},
    refusals: {},
    accepted: createHistogram(),
    refused: createHistogram(),
  }
  const idle: Connection[] = []
  let next = 0
  const send = (connection: Connection) => {
    // A step that shares no factor with common counts walks through all of them in no obvious order.
    next = (next + 7_919) % requests.length
    if (tally.isCounting) tally.sent += 1
    connection.send(requests[next] as Buffer)
  }
  for (let i = 0; i < connections; i += 1)
    openConnection(new URL(options.url), tally, options.streamMs, (connection) => {
      if (perSecond === undefined) send(connection)
      else idle.push(connection)
    })
  const arrivals = perSecond === undefined ? undefined : startArrivals(perSecond, tally, idle, send)
  await sleep(warmUpSeconds * 1_000)
  const startedAt = performance.now()
  const cpuAtStart = process.cpuUsage()
  tally.isCounting = true
  await sleep(seconds * 1_000)
  tally.isCounting = false
  tally.isOver = true
  clearInterval(arrivals)
  const elapsed = (performance.now() - startedAt) / 1_000
  const cpu = process.cpuUsage(cpuAtStart)
  const ms = (histogram: RecordableHistogram, share: number) => histogram.percentile(share) / 1_000
  return {
    offeredPerSecond: tally.sent / elapsed,
    turnedAway: tally.turnedAway,
    statuses: tally.statuses,
    refusals: tally.refusals,
    errors: tally.errors,
    accepted: {
      perSecond: tally.accepted.count / elapsed,
      p50Ms: ms(tally.accepted, 50),
      p99Ms: ms(tally.accepted, 99),
      worstMs: ms(tally.accepted, 100),
    },
    refused: { perSecond: tally.refused.count / elapsed, p50Ms: ms(tally.refused, 50), p99Ms: ms(tally.refused, 99) },
    cpu: (cpu.user + cpu.system) / 1e6 / elapsed,
  }
}

/** What is due is sent at every tick, also what a starved generator has missed: arrivals do not wait for the server. */
function startArrivals(perSecond: number, tally: Tally, idle: Connection[], send: (connection: Connection) => void) {
  const startedAt = performance.now()
  let arrived = 0
  return setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond)
    for (; arrived < due && idle.length > 0; arrived += 1) send(idle.shift() as Connection)
    if (tally.isCounting) tally.turnedAway += due - arrived
    arrived = due
  }, TICK_MS)
}

/** One address holds at most a tenth of a listener's connections: a crowd comes from many. */
const ADDRESSES = 16
let opened = 0

function openConnection(
  url: URL,
  tally: Tally,
  streamMs: number | undefined,
  onIdle: (connection: Connection) => void,
): void {
  let sentAt = 0
  let isWaiting = false
  const readAnswers = answerReader((answer) => {
    isWaiting = false
    if (tally.isCounting) count(tally, answer, performance.now() - sentAt)
    if (streamMs !== undefined && answer.startsWith('HTTP/1.1 200 ')) {
      take = () => true
      setTimeout(() => socket.destroy(), streamMs)
    } else if (!tally.isOver) onIdle(connection)
  })
  let take = readAnswers
  const socket: Socket = connect({
    host: url.hostname,
    port: Number(url.port),
    localAddress: `127.0.0.${2 + (opened++ % ADDRESSES)}`,
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafe(8 * 1024),
      callback: (length: number, bytes: Uint8Array) => take(bytes as Buffer, length),
    },
  })
  const connection: Connection = {
    send(bytes) {
      isWaiting = true
      sentAt = performance.now()
      socket.write(bytes)
    },
  }
  socket.once('connect', () => onIdle(connection))
  socket.on('error', () => {})
  socket.once('close', () => {
    if (tally.isOver) return
    if (isWaiting && tally.isCounting) tally.errors += 1
    // What is sent on it meanwhile goes nowhere and is not counted as an answer.
    setTimeout(() => openConnection(url, tally, streamMs, onIdle), RECONNECT_MS)
  })
}

function count(tally: Tally, answer: string, ms: number): void {
  const status = answer.slice(9, 12)
  tally.statuses[status] = (tally.statuses[status] ?? 0) + 1
  const isAccepted = status === '200'
  const histogram = isAccepted ? tally.accepted : tally.refused
  histogram.record(Math.max(1, Math.round(ms * 1_000)))
  if (isAccepted) return
  const code = /"code":"(\w+)"/.exec(answer)?.[1] ?? 'no code'
  const told = `${status} ${code}${/\r\nretry-after: *\d/i.test(answer) ? '' : ', no Retry-After'}`
  tally.refusals[told] = (tally.refusals[told] ?? 0) + 1
}

/** Calls back with each answer when its last byte is in: of one without a content-length, when its headers are. */
function answerReader(onAnswer: (answer: string) => void): (bytes: Buffer, length: number) => boolean {
  let text = ''
  let needed = 0
  return (bytes, length) => {
    // latin1: one character per byte, so that lengths can be compared.
    text += bytes.toString('latin1', 0, length)
    if (needed === 0) {
      const headEnd = text.indexOf('\r\n\r\n')
      if (headEnd < 0) return true
      needed = headEnd + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0)
    }
    if (text.length < needed) return true
    const answer = text
    text = ''
    needed = 0
    onAnswer(answer)
    return true
  }
}

function requestBytes(options: LoadOptions, token: string, n: number): Buffer {
  const { url, method, path, isPartner } = options
  const body = options.body?.replaceAll('{n}', String(n))
  const lines = [
    `${method} ${path.replaceAll('{n}', String(n))} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    isPartner ? `authorization: Bearer ${token}` : `x-loci-capability: ${token}`,
    ...Object.entries(options.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

if (import.meta.main) {
  process.once('message', async (options: LoadOptions) => {
    const result = await generate(options)
    process.send?.(result, () => process.exit(0))
  })
}

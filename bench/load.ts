// A closed loop of HTTP requests: each connection sends the next request when the answer to its last one is complete.
// On bare sockets and in a process of its own, so that it costs less than any server it measures.

import { type ChildProcess, fork } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'

export interface LoadOptions {
  /** Scheme http, an address or name and a port. */
  url: string
  method?: string
  /**
   * `{n}` in it, in the body or in a header, stands for a number below `variants`, another one with each request;
   * `{n%16}` for its rest.
   */
  path: string
  variants?: number
  /** Every variant is sent once, by whichever connection comes first: there must be more of them than can be sent. */
  once?: boolean
  /** Of a list each variant has one at random. */
  headers?: Record<string, string | string[]>
  /** Of a list each variant has the next. */
  body?: string | string[]
  connections: number
  seconds: number
  /** Before the counting begins. */
  warmUpSeconds?: number
}

export interface LoadResult {
  /** Whole answers, whatever their status. */
  requests: number
  statuses: Record<string, number>
  /** Connections that ended with a request unanswered, or could not be opened. */
  errors: number
  seconds: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** Share of a core that the generator itself used: near 1 means that it was the limit and not the server. */
  cpu: number
}

/** Runs the load in a child process. `onCounting` is called when the counting begins and when it has ended. */
export async function runLoad(options: LoadOptions, onCounting?: (at: 'begin' | 'end') => void): Promise<LoadResult> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url))
  // As a message: an argument has 128 KiB at most.
  child.send(options)
  const result = Promise.withResolvers<LoadResult>()
  child.on('message', (message: 'begin' | LoadResult) => {
    onCounting?.(message === 'begin' ? 'begin' : 'end')
    if (message !== 'begin') result.resolve(message)
  })
  child.once('exit', (code) => result.reject(new Error(`the load generator ended early with ${code}`)))
  return result.promise
}

/** The load itself, in this process. */
async function generate(options: LoadOptions, onBegin: () => void): Promise<LoadResult> {
  const { connections, seconds, warmUpSeconds = 0 } = options
  const latencies = createHistogram()
  const statuses: Record<string, number> = {}
  let sent = 0
  const tally = { isCounting: false, isOver: false, requests: 0, errors: 0 }
  const target: Target = {
    url: new URL(options.url),
    requests: Array.from({ length: options.variants ?? 1 }, (_, n) => requestBytes(options, n)),
    ...(options.once ? { nextOnce: () => sent++ } : {}),
    isOver: () => tally.isOver,
    onAnswer(status, ms) {
      if (!tally.isCounting) return
      tally.requests += 1
      statuses[status] = (statuses[status] ?? 0) + 1
      latencies.record(Math.max(1, Math.round(ms * 1_000)))
    },
    onError() {
      if (tally.isCounting) tally.errors += 1
    },
  }
  for (let i = 0; i < connections; i += 1) openConnection(target)
  await sleep(warmUpSeconds * 1_000)
  onBegin()
  const startedAt = performance.now()
  const cpuAtStart = process.threadCpuUsage()
  tally.isCounting = true
  await sleep(seconds * 1_000)
  tally.isCounting = false
  tally.isOver = true
  const elapsed = (performance.now() - startedAt) / 1_000
  const cpu = process.threadCpuUsage(cpuAtStart)
  return {
    requests: tally.requests,
    statuses,
    errors: tally.errors,
    seconds: elapsed,
    perSecond: tally.requests / elapsed,
    p50Ms: latencies.percentile(50) / 1_000,
    p99Ms: latencies.percentile(99) / 1_000,
    cpu: (cpu.user + cpu.system) / 1e6 / elapsed,
  }
}

interface Target {
  url: URL
  requests: Buffer[]
  /** The number of the next request, where each is sent once. */
  nextOnce?(): number
  isOver(): boolean
  onAnswer(status: string, ms: number): void
  onError(): void
}

const RECONNECT_MS = 10

function openConnection(target: Target): void {
  const { url, requests, nextOnce, isOver, onAnswer, onError } = target
  let next = Math.floor(Math.random() * requests.length)
  let sentAt = 0
  let isWaiting = true
  const take = answerReader((status) => {
    isWaiting = false
    onAnswer(status, performance.now() - sentAt)
    if (isOver()) socket.destroy()
    else send()
  })
  // One buffer per connection for its whole life: with the usual data events the generator was as dear as a bare
  // server.
  const onread = {
    buffer: Buffer.allocUnsafe(64 * 1024),
    callback: (length: number, bytes: Uint8Array) => take(bytes as Buffer, length),
  }
  const socket: Socket = connect({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port),
    noDelay: true,
    onread,
  })
  function send(): void {
    isWaiting = true
    sentAt = performance.now()
    // A step that shares no factor with common counts walks through all of them in no obvious order.
    next = nextOnce ? nextOnce() : (next + 7_919) % requests.length
    const request = requests[next]
    if (!request) throw new Error(`all ${requests.length} variants are sent: give more`)
    socket.write(request)
  }
  socket.once('connect', send)
  socket.on('error', () => {})
  socket.once('close', () => {
    if (isOver()) return
    if (isWaiting) onError()
    setTimeout(() => openConnection(target), RECONNECT_MS)
  })
}

/**
 * Calls back with the status of each answer when its last byte is in. Answers must have a content-length or no body.
 */
function answerReader(onAnswer: (status: string) => void): (bytes: Buffer, length: number) => boolean {
  let text = ''
  let needed = 0
  return (bytes, length) => {
    // latin1: one character per byte, so that lengths can be compared.
    text += bytes.toString('latin1', 0, length)
    if (needed === 0) {
      const headEnd = text.indexOf('\r\n\r\n')
      if (headEnd < 0) return true
      needed = headEnd + 4 + bodyLength(text.slice(0, headEnd))
    }
    if (text.length < needed) return true
    const status = text.slice(9, 12)
    text = ''
    needed = 0
    onAnswer(status)
    return true
  }
}

function bodyLength(head: string): number {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) return Number(length)
  if (/^HTTP\/1\.1 (204|304)/.test(head)) return 0
  throw new Error(`the load generator reads answers with a content-length only, and got:\n${head}`)
}

function requestBytes({ url, method = 'GET', path, headers = {}, body }: LoadOptions, n: number): Buffer {
  const fill = (text: string) =>
    text.replace(/\{n(?:%(\d+))?\}/g, (_, modulus?: string) => String(modulus ? n % Number(modulus) : n))
  const content = body === undefined ? undefined : fill(typeof body === 'string' ? body : (body[n % body.length] ?? ''))
  const all = {
    host: new URL(url).host,
    ...(content === undefined ? {} : { 'content-length': String(Buffer.byteLength(content)) }),
    ...headers,
  }
  const one = (value: string | string[]) =>
    typeof value === 'string' ? value : (value[Math.floor(Math.random() * value.length)] as string)
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${fill(one(value))}\r\n`)
  return Buffer.from(`${method} ${fill(path)} HTTP/1.1\r\n${lines.join('')}\r\n${content ?? ''}`)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

if (import.meta.main) {
  const tell = (message: 'begin' | LoadResult) => process.send?.(message)
  process.once('message', async (options: LoadOptions) => {
    tell(await generate(options, () => tell('begin')))
    process.disconnect()
  })
}

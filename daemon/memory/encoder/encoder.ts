// The main thread's end of the encoder: questions and texts become vectors, one at a time, questions first. Everything
// works without it: who gets no vector goes by the words.
//
//   starting   the thread checks the folder and loads the model
//   on         texts are encoded as they come
//   off        no folder, or one that cannot be used: told once, and every answer is "no vector"
//   failed     the thread ended, or answered nothing for HANG_MS: what waits gets no vector, and a new thread starts

import { createHash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { createCache } from '@loci/chassis/cache.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import { workInSpan } from '@loci/chassis/trace.ts'
import { othersUs } from '@loci/meter/clock.ts'
import { beside, current, noteThread, threadsTotalUs, type Work } from '@loci/meter/meter.ts'
import type { EncoderFacts } from './folder.ts'
import { isLatin } from './text.ts'
import type { FromEncoder, ToEncoder } from './worker.ts'

export interface Encoder {
  /** Whether a folder was named. */
  readonly isWanted: boolean
  /** Undefined while it is not on. */
  readonly facts: EncoderFacts | undefined
  /** Why it is not on. */
  readonly problem: string | undefined
  /** Resolves when it is known whether it is on. Never rejects. */
  start(): Promise<void>
  /** Of a question, before all texts. Undefined where there can be none, or not within QUESTION_MS. */
  question(text: string): Promise<Int8Array | undefined>
  /** Of a text that is stored, if it was made lately. `null`: it has none, being in another script. */
  known(text: string): Int8Array | null | undefined
  /**
   * Of texts, behind all questions unless somebody asks for what they say. Undefined for those that were not made by
   * `endsAt` (performance.now()).
   */
  texts(texts: readonly string[], endsAt: number, isAsked?: boolean): Promise<(Int8Array | null | undefined)[]>
  /** Behind everything else; nobody waits for them. Beyond what fits, the build of the index encodes them. */
  later(texts: readonly string[]): void
  close(): Promise<void>
}

/** A question is answered without its vector rather than late. */
const QUESTION_MS = 1_000
/** The longest text takes .3 s of a core. */
const HANG_MS = 30_000
const START_MS = 60_000
/** Texts that nobody waits for: 20 s of work. */
const LATER_MAX = 4_096
/**
 * While records are being stored, what nobody asks for waits until none came for QUIET_MS: where no core is free,
 * storing would be slower by what encoding takes. But no longer than QUIET_MS_MAX.
 */
const QUIET_MS = 100
const QUIET_MS_MAX = 10_000
/** Vectors of the texts that were encoded lately, at about 700 bytes each: of a full segment, and of the tails. */
const KNOWN_MAX = 8_192
/** A vector says what its text says: it is not kept here for long. */
const KNOWN_MS = 600_000

interface Task {
  key: string
  text: string
  since: number
  /** Undefined once nobody waits for it any more. */
  done: ((vector: Int8Array | undefined) => void)[]
  /** Whoever asked first pays. */
  work: Work | undefined
}

interface EncoderOptions {
  folder: string | undefined
  log: Log
  metrics?: Pick<Metrics, 'gauge'>
}

export function createEncoder({ folder, log, metrics }: EncoderOptions): Encoder {
  const known = createCache<{ vector: Int8Array; until: number }>(KNOWN_MAX)
  const queues: [urgent: Map<string, Task>, texts: Map<string, Task>, later: Map<string, Task>] = [
    new Map(),
    new Map(),
    new Map(),
  ]
  let facts: EncoderFacts | undefined
  let problem: string | undefined
  let worker: Worker | undefined
  let running: Task | undefined
  let watchdog: NodeJS.Timeout | undefined
  let lastId = 0
  let othersBefore = 0
  let storedAt = Number.NEGATIVE_INFINITY
  let quiet: NodeJS.Timeout | undefined
  let isClosed = false

  function launch(): Promise<void> {
    return new Promise((resolve) => {
      const started = new Worker(new URL('./worker.ts', import.meta.url), { name: 'encoder', workerData: { folder } })
      started.unref()
      worker = started
      const timer = setTimeout(() => end(started, `not started within ${START_MS} ms`), START_MS)
      const settle = () => {
        clearTimeout(timer)
        resolve()
      }
      started.on('message', (message: FromEncoder) => {
        if (started !== worker) return
        if ('id' in message) return answer(message)
        settle()
        if ('failed' in message) return turnOff(message.failed)
        facts = message.facts
        problem = undefined
        next()
      })
      const failed = (reason: string) => {
        settle()
        end(started, reason)
      }
      started.on('error', (error) => failed(error.message))
      started.on('exit', (code) => failed(`its thread exited with code ${code}`))
    })
  }

  /** The folder is as it is: trying again would change nothing. */
  function turnOff(reason: string): void {
    problem = reason
    log.warn(
      { component: 'memory', reason: `${folder}: ${reason}` },
      'LOCI_ENCODER cannot be used; recall goes by words alone',
    )
    void worker?.terminate()
    worker = undefined
    giveUp()
  }

  function end(ended: Worker, reason: string): void {
    if (ended !== worker || isClosed) return
    void ended.terminate()
    worker = undefined
    if (facts === undefined) {
      turnOff(reason)
      return
    }
    facts = undefined
    problem = reason
    log.error({ component: 'memory', reason }, 'encoder thread ended; recall goes by words until the next one is up')
    giveUp()
    void launch()
  }

  /** Whoever waits goes on without. */
  function giveUp(): void {
    clearTimeout(watchdog)
    const waiting = [...(running ? [running] : []), ...queues.flatMap((queue) => [...queue.values()])]
    for (const queue of queues) queue.clear()
    if (running) beside(-1)
    running = undefined
    for (const { done } of waiting) for (const tell of done) tell(undefined)
  }

  function next(): void {
    const queue = queues.find(({ size }) => size > 0)
    const [task] = queue?.values() ?? []
    if (running || !worker || !facts || !queue || !task) return
    const restMs =
      queue === queues[0] ? 0 : Math.min(storedAt + QUIET_MS, task.since + QUIET_MS_MAX) - performance.now()
    if (restMs > 0) {
      quiet ??= setTimeout(() => {
        quiet = undefined
        next()
      }, restMs).unref()
      return
    }
    queue.delete(task.key)
    running = task
    // The model works on threads that are not ours to ask: what all others than this one used meanwhile is its, but
    // for what those of the index have said that they used.
    beside(1)
    othersBefore = othersUs() - threadsTotalUs()
    const watched = worker
    watchdog = setTimeout(() => end(watched, `no answer for ${HANG_MS} ms`), HANG_MS)
    watchdog.unref()
    worker.postMessage({ id: ++lastId, text: task.text } satisfies ToEncoder)
  }

  function answer(message: Extract<FromEncoder, { id: number }>): void {
    if (message.id !== lastId || !running) return
    clearTimeout(watchdog)
    const { key, done, work } = running
    running = undefined
    beside(-1)
    noteThread(work, Math.max(0, othersUs() - threadsTotalUs() - othersBefore))
    const vector = 'vector' in message ? message.vector : undefined
    if (vector) known.keep(key, { vector, until: performance.now() + KNOWN_MS })
    else if ('failed' in message) log.warn({ component: 'memory', reason: message.failed }, 'text not encoded')
    for (const tell of done) tell(vector)
    next()
  }

  function find(key: string): Int8Array | undefined {
    const found = known.find(key)
    if (found && found.until < performance.now()) known.drop(key)
    return found && found.until >= performance.now() ? found.vector : undefined
  }

  function add(order: 0 | 1 | 2, text: string, done?: (vector: Int8Array | undefined) => void): void {
    const key = keyOf(text)
    const waiting = running?.key === key ? running : queues.map((queue) => queue.get(key)).find(Boolean)
    const task = waiting ?? { key, text, since: performance.now(), done: [], work: current() }
    if (done) task.done.push(done)
    if (task === running) return
    const at = queues.findIndex((queue) => queue.has(key))
    // Who waits for it moves it forward.
    if (at < 0 || order < at) {
      for (const queue of queues) queue.delete(key)
      queues[order].set(key, task)
    }
    next()
  }

  function vectorOf(order: 0 | 1, text: string, withinMs: number): Promise<Int8Array | null | undefined> {
    if (!isLatin(text)) return Promise.resolve(null)
    const found = find(keyOf(text))
    if (found || !facts) return Promise.resolve(found)
    if (withinMs <= 0) return Promise.resolve(undefined)
    const encode = () =>
      new Promise<{ vector: Int8Array | undefined }>((resolve) => {
        const timer = setTimeout(() => resolve({ vector: undefined }), withinMs)
        add(order, text, (vector) => {
          clearTimeout(timer)
          resolve({ vector })
        })
      })
    return workInSpan('encoder', encode).then(({ vector }) => vector)
  }

  const oldest = () => queues.flatMap((queue) => [...queue.values().take(1)]).map(({ since }) => since)
  metrics?.gauge('loci_encoder_waiting', 'Texts that wait to be encoded.', () =>
    queues.reduce((sum, { size }) => sum + size, 0),
  )
  metrics?.gauge('loci_encoder_lag_seconds', 'How long the oldest of the texts that wait to be encoded does.', () =>
    Math.max(0, ...oldest().map((since) => (performance.now() - since) / 1_000)),
  )

  return {
    isWanted: folder !== undefined,
    get facts() {
      return facts
    },
    get problem() {
      return problem
    },
    start: async () => {
      if (folder !== undefined && !worker && !isClosed) await launch()
    },
    question: async (text) => (await vectorOf(0, text, QUESTION_MS)) ?? undefined,
    known: (text) => (isLatin(text) ? find(keyOf(text)) : null),
    texts: (texts, endsAt, isAsked = false) =>
      Promise.all(texts.map((text) => vectorOf(isAsked ? 0 : 1, text, endsAt - performance.now()))),
    later(texts) {
      if (!facts) return
      storedAt = performance.now()
      for (const text of texts) {
        if (queues[2].size >= LATER_MAX) return
        if (isLatin(text) && !find(keyOf(text))) add(2, text)
      }
    },
    async close() {
      isClosed = true
      clearTimeout(quiet)
      giveUp()
      await worker?.terminate()
    },
  }
}

/** Not the text itself: what is kept here outlives the request. */
function keyOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

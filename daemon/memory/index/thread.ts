// The main thread's end of a worker thread.
//
//   idle      no thread: the next task starts one
//   running   tasks are sent as they come, at most `tasksMax` at a time, and answered in order
//   failed    the thread ended by itself, or answered nothing for `hangMs`: every task that waits is refused (503), and
//             the next one starts a new thread
//   closed    no new tasks; those that wait are answered, then the thread ends
//
// A task is answered once: by the thread, by its deadline or by the thread's end. Never with a part of an answer.

import { Worker } from 'node:worker_threads'
import { ApiError } from '@loci/chassis/api-error.ts'
import { overloaded } from '@loci/chassis/limiter.ts'
import type { Log } from '@loci/chassis/log.ts'
import { workInSpan } from '@loci/chassis/trace.ts'
import { beside, current, enter, noteThread, type Work } from '@loci/meter/meter.ts'
import { MissingPartError } from './engine.ts'
import { DamagedSegmentError } from './format.ts'
import type { FromWorker, Task, ToWorker } from './worker.ts'

/** A thread whose heap passes this ends, instead of the process. */
const HEAP_MB_MAX = 192

/** The thread was not asked in vain: unless it hangs, it does what it was sent and keeps what that made. */
export class LateError extends ApiError {
  constructor(deadlineMs: number) {
    super(
      'OVERLOADED',
      `The index of this process did not answer within ${deadlineMs} ms. Nothing was done; try again.`,
    )
  }
}

export interface ThreadOptions {
  name: string
  log: Log
  tasksMax: number
  deadlineMs: number
  hangMs: number
  /** For tests: another worker. */
  worker?: URL
}

type Done = Exclude<FromWorker, { failed: unknown } | { expired: true }>

export interface Thread {
  run(task: Task): Promise<Done>
  forget(key: string): void
  /** Counts the threads that ended: what one of them was sent, the next does not have. */
  readonly generation: number
  close(): Promise<void>
}

interface Waiting {
  resolve: (answer: Done) => void
  reject: (error: Error) => void
  timer: NodeJS.Timeout
}

export function createThread(options: ThreadOptions): Thread {
  const { name, log, tasksMax, deadlineMs, hangMs } = options
  const waiting = new Map<number, Waiting>()
  /** Sent and not answered: a task whose deadline has passed still keeps the thread busy. */
  const sent = new Map<number, Work | undefined>()
  let worker: Worker | undefined
  let generation = 0
  let lastId = 0
  let isClosed = false
  let watchdog: NodeJS.Timeout | undefined
  let onIdle: (() => void) | undefined

  function start(): Worker {
    const started = new Worker(options.worker ?? new URL('./worker.ts', import.meta.url), {
      name,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    })
    started.unref()
    started.on('message', (message: FromWorker) => answer(started, message))
    started.on('error', (error) => end(started, error))
    started.on('exit', (code) => end(started, new Error(`exited with code ${code}`)))
    worker = started
    return started
  }

  function end(ended: Worker, error: Error): void {
    if (ended !== worker) return
    worker = undefined
    generation++
    clearTimeout(watchdog)
    if (!isClosed)
      log.error({ error, component: name, count: waiting.size }, 'index thread ended; waiting tasks are refused')
    const refused = [...waiting.values()]
    waiting.clear()
    if (sent.size > 0) beside(-1)
    sent.clear()
    for (const { reject, timer } of refused) {
      clearTimeout(timer)
      reject(new ApiError('OVERLOADED', 'The search thread of this process failed. Nothing was done; try again.'))
    }
    onIdle?.()
  }

  function answer(from: Worker, message: FromWorker): void {
    if (from !== worker) return
    // Also of a task whose deadline has passed: it was done.
    const work = sent.get(message.id)
    if (sent.delete(message.id) && sent.size === 0) beside(-1)
    watch()
    const task = waiting.get(message.id)
    waiting.delete(message.id)
    enter(work)
    noteThread(work, message.us)
    if (sent.size === 0) onIdle?.()
    if (task === undefined) return
    clearTimeout(task.timer)
    if ('expired' in message) task.reject(new LateError(deadlineMs))
    else if ('failed' in message) task.reject(errorOf(message.failed))
    else task.resolve(message)
  }

  /** Ends a thread that has work and answers nothing. */
  function watch(): void {
    clearTimeout(watchdog)
    const watched = worker
    if (sent.size === 0 || watched === undefined) return
    watchdog = setTimeout(() => {
      void watched.terminate()
      end(watched, new Error(`no answer for ${hangMs} ms`))
    }, hangMs)
    watchdog.unref()
  }

  return {
    run(task) {
      if (isClosed) return Promise.reject(new ApiError('DRAINING', 'This process is shutting down. Try again.'))
      if (sent.size >= tasksMax) return Promise.reject(overloaded())
      const to = worker ?? start()
      const id = ++lastId
      const ask = () =>
        new Promise<Done>((resolve, reject) => {
          const timer = setTimeout(() => {
            waiting.delete(id)
            reject(new LateError(deadlineMs))
          }, deadlineMs)
          waiting.set(id, { resolve, reject, timer })
          sent.set(id, current())
          if (sent.size === 1) {
            beside(1)
            watch()
          }
          to.postMessage({ ...task, id, expiresAt: Date.now() + deadlineMs } satisfies ToWorker)
        })
      return workInSpan(`${name} ${task.kind}`, ask)
    },
    forget(key) {
      worker?.postMessage({ kind: 'forget', key } satisfies ToWorker)
    },
    get generation() {
      return generation
    },
    async close() {
      isClosed = true
      if (sent.size > 0) await new Promise<void>((resolve) => (onIdle = resolve))
      clearTimeout(watchdog)
      await worker?.terminate()
    },
  }
}

function errorOf({ problem, because }: Extract<FromWorker, { failed: unknown }>['failed']): Error {
  if (because === 'damage') return new DamagedSegmentError(problem)
  return because === 'missing' ? new MissingPartError(problem) : new Error(problem)
}

// Background jobs: what a process does beside answering requests. A feature exports its jobs and app.ts lists them.
//
//   waiting   for its interval, counted from the end of the last run, or until it is woken
//   running   never twice at once; a wake-up during a run starts the next run at once
//   stopped   its run said 'done', or the process stops: its signal is aborted, the run ends, `last` is called
//
// Never: a failed run ends the process or the job. A failure is logged when its reason changes, and once a minute while
// it lasts.

import type { Log } from './log.ts'

/** `again`: there is more to do, run again without waiting. `done`: never run again. */
export type JobOutcome = 'again' | 'done' | undefined

export interface Job {
  /** The `component` of its log lines. */
  name: string
  everyMs: number
  run(signal: AbortSignal): Promise<JobOutcome> | Promise<void>
  /** Runs when it is started. Otherwise the first run is somewhere in the first interval, so that replicas spread. */
  atStart?: boolean
  /** Whoever holds it can start the next run early. */
  wakeup?: Wakeup
  /** After a failure: this long, doubled with each further one, at most `msMax`. Otherwise the interval. */
  backoff?: { ms: number; msMax: number }
  /** The log line of a failure. With a function, the error is logged by its message, without a stack. */
  failure?: string | ((error: unknown) => string)
  /** When the process stops, after the last run: what would be lost otherwise. */
  last?(): Promise<void>
}

export interface RunningJobs {
  /** Resolves when every run has ended. */
  stop(): Promise<void>
}

const FAILED = 'background job failed; retrying'
const LAST_FAILED =
  'the last step of a background job failed while stopping; component says which: feed = the lease runs out in 10 s, usage = the last seconds are not counted, last use = not saved. Nothing to do'

export function startJobs(jobs: Job[], log: Log): RunningJobs {
  const stopping = new AbortController()
  const running = jobs.map((job) => runJob(job, log, stopping.signal))
  return {
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

/** Resolves when the job is done or the signal has stopped it. */
export async function runJob(job: Job, log: Log, signal: AbortSignal): Promise<void> {
  const { name: component, everyMs, backoff, failure = FAILED } = job
  const wakeup = job.wakeup ?? createWakeup()
  let isNews = createRepeats()
  let failures = 0
  let outcome: JobOutcome
  if (!job.atStart) await wakeup.wait(everyMs * Math.random(), signal)
  while (!signal.aborted && outcome !== 'done') {
    let waitMs = everyMs
    try {
      outcome = (await job.run(signal)) ?? undefined
      failures = 0
      isNews = createRepeats()
    } catch (error) {
      if (signal.aborted) break
      outcome = undefined
      const reason = (error as Error).message
      if (isNews(reason)) {
        if (typeof failure === 'string') log.warn({ component, error }, failure)
        else log.warn({ component, reason }, failure(error))
      }
      // Random, so that what failed together does not come back together.
      if (backoff) waitMs = Math.min(backoff.msMax, backoff.ms * 2 ** failures) * (0.5 + Math.random())
      failures += 1
    }
    if (outcome === undefined) await wakeup.wait(waitMs, signal)
  }
  await job.last?.().catch((error) => log.warn({ component, error }, LAST_FAILED))
}

export interface Wakeup {
  wake(): void
  /** Until it is woken, the time is over or the signal aborts; at once when it was woken since the last wait. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

/** For one waiter. Woken several times between two waits, it ends one wait. */
export function createWakeup(): Wakeup {
  let isWoken = false
  let resume = () => {}
  return {
    wake() {
      isWoken = true
      resume()
    },
    async wait(ms, signal) {
      if (!isWoken && !signal.aborted)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          resume = () => {
            clearTimeout(timer)
            resolve()
          }
          signal.addEventListener('abort', resume, { once: true })
        })
      signal.removeEventListener('abort', resume)
      resume = () => {}
      isWoken = false
    },
  }
}

const REPEAT_MS = 60_000

/** Whether a reason is worth a log line: when it differs from the one before, and once a minute while it lasts. */
export function createRepeats(nowMs: () => number = () => performance.now()): (reason: string) => boolean {
  let last = ''
  let lastAt = Number.NEGATIVE_INFINITY
  return (reason) => {
    const now = nowMs()
    if (reason === last && now - lastAt < REPEAT_MS) return false
    last = reason
    lastAt = now
    return true
  }
}

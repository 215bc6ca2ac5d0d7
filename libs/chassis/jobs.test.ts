import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRepeats, createWakeup, type Job, runJob, startJobs } from './jobs.ts'
import { eventually } from './testing/request.ts'
import { testLog } from './testing/server.ts'

const NEVER_MS = 3_600_000

/** A job that counts its runs, and how many were under way at once. */
function counting(change: Partial<Job> & { takes?: () => Promise<unknown> }) {
  const seen = { runs: 0, atOnce: 0, atOnceMax: 0 }
  const { takes, ...given } = change
  const job: Job = {
    name: 'test',
    everyMs: NEVER_MS,
    async run() {
      seen.runs += 1
      seen.atOnce += 1
      seen.atOnceMax = Math.max(seen.atOnceMax, seen.atOnce)
      await takes?.()
      seen.atOnce -= 1
    },
    ...given,
  }
  return { seen, job }
}

// Mutants: forget in createWakeup() that it was woken before a wait (1 run); run at once when woken, without waiting
// for the run (2 at once).
test('a wake-up during a run starts one more run, after it', async () => {
  const wakeup = createWakeup()
  const gates: (() => void)[] = []
  const takes = () => new Promise<void>((resolve) => gates.push(resolve))
  const { seen, job } = counting({ atStart: true, wakeup, takes })
  const jobs = startJobs([job], testLog().log)
  await eventually(() => gates.length === 1)

  wakeup.wake()
  wakeup.wake()
  gates[0]?.()
  await eventually(() => gates.length === 2)
  gates[1]?.()

  await eventually(() => seen.atOnce === 0)
  await jobs.stop()
  assert.deepEqual(seen, { runs: 2, atOnce: 0, atOnceMax: 1 })
})

// Mutants: wait for the interval after 'again'; go on after 'done'.
test('a job with more to do runs again at once, and one that is done never again', async () => {
  let runs = 0
  const run = async () => {
    runs += 1
    return runs < 3 ? ('again' as const) : ('done' as const)
  }
  await runJob({ name: 'test', everyMs: NEVER_MS, atStart: true, run }, testLog().log, new AbortController().signal)
  assert.equal(runs, 3)
})

// Mutants: log each failure; end the loop in the catch.
test('a job that fails goes on, and logs each reason once', async () => {
  const { lines, log } = testLog()
  const reasons = ['first', 'first', 'first', 'second', 'first']
  let runs = 0
  const run = async () => {
    const reason = reasons[runs]
    runs += 1
    if (reason) throw new Error(reason)
    return 'done' as const
  }
  const job: Job = { name: 'sweep', everyMs: 1, atStart: true, failure: 'sweep failed; retrying', run }
  await runJob(job, log, new AbortController().signal)

  const told = lines.map((line) => JSON.parse(line) as { component: string; message: string; error: Error })
  assert.deepEqual(
    told.map(({ component, message, error }) => [component, message, error.message]),
    ['first', 'second', 'first'].map((reason) => ['sweep', 'sweep failed; retrying', reason]),
  )
})

// Mutant: wait for the interval after a failure, whatever `backoff` says (never ends).
test('a job with a backoff does not wait for its interval after a failure', async () => {
  let runs = 0
  const run = async () => {
    runs += 1
    if (runs < 4) throw new Error('not yet')
    return 'done' as const
  }
  const job: Job = { name: 'test', everyMs: NEVER_MS, atStart: true, backoff: { ms: 1, msMax: 2 }, run }
  await runJob(job, testLog().log, new AbortController().signal)
  assert.equal(runs, 4)
})

// Mutants: resolve stop() before the run has ended; leave out `last`; call `last` beside the run.
test('stopping aborts the signal, waits for the run and then calls last; a failure of the aborted run is not logged', async () => {
  const { lines, log } = testLog()
  const steps: string[] = []
  const run = (signal: AbortSignal) =>
    new Promise<void>((_, reject) =>
      signal.addEventListener('abort', () =>
        setImmediate(() => {
          steps.push('run ended')
          reject(new Error('aborted'))
        }),
      ),
    )
  const jobs = startJobs(
    [{ name: 'test', everyMs: 1, atStart: true, run, last: async () => void steps.push('last') }],
    log,
  )
  await jobs.stop()
  assert.deepEqual([steps, lines], [['run ended', 'last'], []])
})

test('a job that waits for its interval is stopped at once', async () => {
  const { seen, job } = counting({ everyMs: NEVER_MS })
  const jobs = startJobs([job], testLog().log)
  await jobs.stop()
  assert.equal(seen.runs, 0)
})

test('the same reason is news again after a minute, another one at once', () => {
  let now = 1_000
  const isNews = createRepeats(() => now)
  assert.deepEqual([isNews('a'), isNews('a'), isNews('b'), isNews('a')], [true, false, true, true])
  now += 59_999
  assert.equal(isNews('a'), false)
  now += 1
  assert.deepEqual([isNews('a'), isNews('a')], [true, false])
})

// The life of a process, told at /v1/lifecycle/status and by the probes.
//
//   starting   the process runs; configuration is read, nothing is connected yet
//   migrating  the database's schema is older than this code (or the database does not answer); waits, touches nothing
//   warming    the schema is there; caches and switches are being read. A daemon comes back to it when its database is
//              not the one that it was (a restore, a fail-over): what it knows is of another time until it was told
//              everything again
//   ready      serves
//   degraded   serves, but a dependency or an optional part is down and no other replica would do better
//   draining   told to stop: still answers what arrives during the grace, refuses it afterwards, ends what runs
//   stopped    nothing runs any more
//   failed     cannot serve and will not by itself; the process ends with a non-zero code
//
//   starting → migrating → warming ⇄ ready ⇄ degraded → draining → stopped; degraded → warming; any → failed; any but
//   stopped → draining.
//   Never: back from draining, ready before warming, a state that was left without an entry in `transitions`.

import { ApiError } from './api-error.ts'

export type LifecycleState =
  | 'starting'
  | 'migrating'
  | 'warming'
  | 'ready'
  | 'degraded'
  | 'draining'
  | 'stopped'
  | 'failed'

interface Transition {
  from: LifecycleState | null
  to: LifecycleState
  at: string
  reason: string
}

export interface LifecycleStatus {
  state: LifecycleState
  since: string
  acceptingRequests: boolean
  reasons: string[]
  transitions: Transition[]
  drain: { deadline: string | null; inFlight: number }
}

export interface Lifecycle {
  readonly state: LifecycleState
  move(to: LifecycleState, reason: string): void
  /** What is down right now, by name; moves between ready and degraded. */
  report(part: string, problem: string | undefined): void
  /** What was last reported of a part; undefined while it is well. */
  problem(part: string): string | undefined
  /** Why a request that is no probe is not served now, or undefined. */
  refusal(): ApiError | undefined
  beginDrain(reason: string, options: { graceMs: number; deadlineMs: number }): void
  status(inFlight: number): LifecycleStatus
  onMove(listener: (transition: Transition) => void): void
}

const NEXT: Record<LifecycleState, LifecycleState[]> = {
  starting: ['migrating', 'warming', 'draining', 'failed'],
  migrating: ['warming', 'draining', 'failed'],
  warming: ['ready', 'degraded', 'draining', 'failed'],
  ready: ['degraded', 'warming', 'draining', 'failed'],
  degraded: ['ready', 'warming', 'draining', 'failed'],
  draining: ['stopped', 'failed'],
  stopped: [],
  failed: ['draining', 'stopped'],
}

/** A flapping dependency must not grow the list for ever. */
const TRANSITIONS_MAX = 50

export function createLifecycle(now: () => number = Date.now): Lifecycle {
  let state: LifecycleState = 'starting'
  const transitions: Transition[] = [
    { from: null, to: 'starting', at: new Date(now()).toISOString(), reason: 'process started' },
  ]
  const problems = new Map<string, string>()
  /** What was down since it became degraded: one line tells that all of it is back. */
  const wasDown = new Set<string>()
  const listeners: ((transition: Transition) => void)[] = []
  let graceEndsAt = 0
  let drainDeadline: string | null = null

  function move(to: LifecycleState, reason: string): void {
    if (to === state) return
    if (!NEXT[state].includes(to)) throw new Error(`a ${state} process cannot become ${to} (${reason})`)
    const transition = { from: state, to, at: new Date(now()).toISOString(), reason }
    state = to
    transitions.push(transition)
    if (transitions.length > TRANSITIONS_MAX) transitions.shift()
    for (const listener of listeners) listener(transition)
  }

  function isServing(): boolean {
    return state === 'ready' || state === 'degraded'
  }

  return {
    get state() {
      return state
    },
    move(to, reason) {
      move(to === 'ready' && problems.size > 0 ? 'degraded' : to, reason)
    },
    report(part, problem) {
      if (problem === undefined) problems.delete(part)
      else problems.set(part, problem)
      if (problem !== undefined) wasDown.add(part)
      else if (!isServing()) wasDown.delete(part)
      if (!isServing()) return
      if (problems.size > 0) move('degraded', `${part}: ${problem ?? 'still degraded by another part'}`)
      else {
        move('ready', `recovered: ${[...wasDown].join(', ')}`)
        wasDown.clear()
      }
    },
    problem: (part) => problems.get(part),
    refusal() {
      if (isServing()) return undefined
      if (state === 'draining' && now() < graceEndsAt) return undefined
      if (state === 'draining' || state === 'stopped')
        return new ApiError('DRAINING', 'The process is shutting down. Another replica serves; try again.')
      return new ApiError('STARTING', `The process is ${state}. Try again.`)
    },
    beginDrain(reason, { graceMs, deadlineMs }) {
      if (state === 'draining' || state === 'stopped') return
      // Only what was serving has callers to be graceful to.
      graceEndsAt = isServing() ? now() + graceMs : 0
      drainDeadline = new Date(now() + deadlineMs).toISOString()
      move('draining', reason)
    },
    status(inFlight) {
      const last = transitions.at(-1) as Transition
      return {
        state,
        since: last.at,
        acceptingRequests: isServing(),
        reasons: isServing() ? [...problems].map(([part, problem]) => `${part}: ${problem}`) : [last.reason],
        transitions,
        drain: { deadline: drainDeadline, inFlight },
      }
    },
    onMove(listener) {
      listeners.push(listener)
    },
  }
}

// The state of a database's cycles as health and statistics show it. Pure.

import type { CycleHead } from './rows.ts'

/** A cycle that is this late is not coming by itself. */
const STALLED_MS = 30_000

export function attemptsOf({ total, failed, failedRow, failedAt, failedCode }: CycleHead) {
  return {
    total: total + failed,
    failed,
    consecutiveFailures: failedRow,
    lastFailureAt: failedAt?.toISOString() ?? null,
    lastFailureCode: failedCode,
  }
}

/** The events that wait for a cycle. */
export function backlogOf({ pending, pendingSince, at }: CycleHead) {
  const ageMs = pendingSince && Math.max(0, Math.round(at.getTime() - pendingSince.getTime()))
  return { projections: pending, oldestAgeMs: ageMs }
}

/** The due cycle of a database: late since it was due, however often it was tried. */
export function loopOf({ intervalMs, dueAt, dueSince, lastAt, at }: CycleHead) {
  const lagMs = dueSince === null ? 0 : Math.max(0, Math.round(at.getTime() - dueSince.getTime()))
  const state = intervalMs === null && dueAt === null ? 'off' : lagMs > 0 ? 'due' : 'idle'
  return {
    state: state as 'off' | 'idle' | 'due',
    lastTickAt: lastAt?.toISOString() ?? null,
    nextTickAt: dueAt?.toISOString() ?? null,
    lagMs,
    stalled: lagMs > STALLED_MS,
  }
}

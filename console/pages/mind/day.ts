// The day that is read around a moment: the last 24 hours, where the moment is in them.

import { DAY_MS, type Span } from './scale.ts'

export interface Day extends Span {
  /** It ends now, and goes on. */
  isOpen: boolean
}

interface Looked {
  /** Null: now. */
  at: number | null
  window: Span
  now: number
}

/**
 * The same day while it has the moment and the window. What it answers, it answers again: a page that sets it while it
 * draws would otherwise draw without an end. After another range was chosen no day may have both, for the window
 * follows one drawing later.
 */
export function dayAround(day: Day, { at, window, now }: Looked): Day {
  const isInside = window.to > day.from && (day.isOpen || window.from < day.to)
  if (isInside && (at === null || at >= day.from)) return day
  const next = dayOf(at, now)
  return next.from === day.from && next.to === day.to ? day : next
}

export function dayOf(at: number | null, now: number): Day {
  const begin = now - DAY_MS
  if (at === null || at >= begin) return { from: begin, to: now, isOpen: true }
  const to = Math.min(now, at + DAY_MS / 2)
  return { from: at - DAY_MS / 2, to, isOpen: to === now }
}

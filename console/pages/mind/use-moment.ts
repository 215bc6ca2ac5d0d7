// The moment that is looked at, and the window around it. The address has both as `at` and `range`; while somebody
// scrubs it is written when the hand rests, because a browser takes only so many addresses a second.

import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useNow } from '../../parts/time.tsx'
import { RANGE_MS, type Range, type Span, windowFor } from './scale.ts'

const route = getRouteApi('/s/$slug/mind')
const RESTS_MS = 300
/** How much of the window is before a moment that was outside of it. */
const BEFORE = 0.75
const PIXELS = 900

export interface Looking {
  range: Range
  window: Span
  now: number
  /** Null: now, and it goes on. */
  at: number | null
  /** `at`, or now. */
  moment: number
  look(at: number | null): void
  /** Moves the window to that end; the moment stays where it is in the window. */
  moveTo(end: number): void
}

interface Where {
  at: number | null
  /** Of the window; null: now. */
  end: number | null
}

export function useLooking(): Looking {
  const { at: said, range = '1h' } = route.useSearch()
  const rangeMs = RANGE_MS[range]
  const clock = useNow(1_000)
  const now = Math.max(clock, Date.now() - 1_000)
  const [where, setWhere] = useState<Where>(() => whereOf(said, rangeMs, now))
  const written = useRef(said)
  useWritten(where.at, written)

  // Somebody followed a link, or went back.
  useEffect(() => {
    if (said === written.current) return
    written.current = said
    setWhere(whereOf(said, rangeMs, Date.now()))
  }, [said, rangeMs])
  // Another range shows the same moment.
  const ranged = useRef(rangeMs)
  useEffect(() => {
    if (ranged.current === rangeMs) return
    ranged.current = rangeMs
    setWhere(({ at }) => ({ at, end: windowFor(at, rangeMs, Date.now()) }))
  }, [rangeMs])

  const look = useCallback(
    (at: number | null) => {
      const today = Date.now()
      setWhere(({ end }) => {
        if (at === null || at >= today) return { at: null, end: null }
        const to = end ?? today
        if (at >= to - rangeMs && at <= to) return { at, end }
        return { at, end: endFrom(at < to ? at + rangeMs * BEFORE : at + rangeMs * (1 - BEFORE), today) }
      })
    },
    [rangeMs],
  )
  const moveTo = useCallback((end: number) => {
    const today = Date.now()
    setWhere((before) => {
      const by = Math.min(end, today) - (before.end ?? today)
      const at = (before.at ?? today) + by
      return { at: at >= today ? null : at, end: endFrom(end, today) }
    })
  }, [])
  // The end of a window that goes on moves by pixels, not by seconds: what is drawn stays as it is between them.
  const pixelMs = Math.max(1_000, rangeMs / PIXELS)
  const to = where.end ?? Math.ceil(now / pixelMs) * pixelMs
  return {
    ...{ range, now, at: where.at, moment: where.at ?? now, look, moveTo },
    window: { from: to - rangeMs, to },
  }
}

function whereOf(said: string | undefined, rangeMs: number, now: number): Where {
  const read = said === undefined ? Number.NaN : Date.parse(said)
  const at = Number.isNaN(read) || read >= now ? null : read
  return { at, end: windowFor(at, rangeMs, now) }
}

function endFrom(end: number, now: number): number | null {
  return end >= now ? null : end
}

/** Into the address, when the hand rests. */
function useWritten(at: number | null, written: React.RefObject<string | undefined>): void {
  const navigate = useNavigate()
  useEffect(() => {
    const time = at === null ? undefined : new Date(at).toISOString()
    if (time === written.current || (time !== undefined && Date.parse(written.current ?? '') === at)) return
    const timer = setTimeout(() => {
      written.current = time
      void navigate({
        from: '/s/$slug/mind',
        to: '.',
        search: (before) => ({ ...before, at: time }),
        replace: true,
        resetScroll: false,
      })
    }, RESTS_MS)
    return () => clearTimeout(timer)
  }, [at, navigate, written])
}

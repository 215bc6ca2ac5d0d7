// A moment: how long ago, and exactly when on the tip of the pointer.

import { useEffect, useState } from 'react'
import { ago, clock, moment, rfc3339 } from '../format.ts'
import { usePreferences } from '../preferences.ts'

/** The time, again every `ms`. */
export function useNow(ms: number): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ms)
    return () => clearInterval(timer)
  }, [ms])
  return now
}

export function Ago({ at }: { at: string | null | undefined }) {
  const { zone } = usePreferences()
  const now = useNow(10_000)
  return (
    <time dateTime={at ?? undefined} title={rfc3339(at)} className="nowrap">
      {ago(at, now, zone)}
    </time>
  )
}

/** HH:MM:SS in the chosen zone. */
export function Clock({ at }: { at: string | null | undefined }) {
  const { zone } = usePreferences()
  return (
    <time dateTime={at ?? undefined} title={rfc3339(at)} className="tn nowrap">
      {clock(at, zone)}
    </time>
  )
}

/** The day and the minute, in the chosen zone. */
export function Moment({ at }: { at: string | null | undefined }) {
  const { zone } = usePreferences()
  return (
    <time dateTime={at ?? undefined} title={rfc3339(at)} className="tn nowrap">
      {moment(at, zone)}
    </time>
  )
}

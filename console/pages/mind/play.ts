// Play: the moment goes through the window in half a minute, and stops when it is now. Who wants less motion sees a
// step at a time instead.

import { useEffect, useRef, useState } from 'react'
import { RANGE_MS } from './scale.ts'
import type { Looking } from './use-moment.ts'

const WINDOW_MS = 36_000
const STEP_MS = 1_000

export function usePlay(looking: Looking) {
  const [isPlaying, setPlaying] = useState(false)
  const latest = useRef(looking)
  useEffect(() => {
    latest.current = looking
  })
  useEffect(() => {
    if (!isPlaying) return
    const { at, window } = latest.current
    // From now there is nothing to go on to: the window is played from its beginning.
    let moment = at ?? window.from
    let before = performance.now()
    let shown = before
    let frame = 0
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches
    const play = (now: number) => {
      const { range, look } = latest.current
      moment += ((now - before) / WINDOW_MS) * RANGE_MS[range]
      before = now
      if (!isCalm || now - shown >= STEP_MS) {
        shown = now
        look(moment)
      }
      if (moment >= Date.now()) setPlaying(false)
      else frame = requestAnimationFrame(play)
    }
    frame = requestAnimationFrame(play)
    return () => cancelAnimationFrame(frame)
  }, [isPlaying])
  return [isPlaying, setPlaying] as const
}

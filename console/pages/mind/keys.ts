// The keys of the page: a cycle or a change back and on, play, now, another range, the table.

import { useCallback, useEffect, useMemo, useRef } from 'react'
import { useKeys } from '../../keys/keys.ts'
import { stepFrom } from './moment.ts'
import { RANGES, type Range } from './scale.ts'
import type { Looking } from './use-moment.ts'

interface MindKeys {
  looking: Looking
  /** Moments to step through. */
  times: { cycles: readonly number[]; changes: readonly number[] }
  setRange(range: Range): void
  setPlaying(change: (is: boolean) => boolean): void
  setTable(change: (is: boolean) => boolean): void
}

export function useMindKeys(own: MindKeys): (of: 'cycles' | 'changes', by: 1 | -1) => void {
  const latest = useRef(own)
  useEffect(() => {
    latest.current = own
  })
  const step = useCallback((of: 'cycles' | 'changes', by: 1 | -1) => {
    const { looking, times } = latest.current
    const next = stepFrom(times[of], looking.moment, by)
    if (next !== undefined) looking.look(next)
    else if (by === 1) looking.look(null)
  }, [])
  useKeys(
    useMemo(() => {
      const range = (by: 1 | -1) => () => {
        const { looking, setRange } = latest.current
        const next = RANGES[RANGES.indexOf(looking.range) + by]
        if (next) setRange(next)
      }
      return {
        ArrowLeft: () => step('cycles', -1),
        ArrowRight: () => step('cycles', 1),
        'shift+ArrowLeft': () => step('changes', -1),
        'shift+ArrowRight': () => step('changes', 1),
        ' ': () => latest.current.setPlaying((is) => !is),
        n: () => latest.current.looking.look(null),
        '[': range(-1),
        ']': range(1),
        t: () => latest.current.setTable((is) => !is),
      }
    }, [step]),
  )
  return step
}

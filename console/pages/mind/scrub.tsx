// The line of the moment. Its handle is a slider: by the hand, or by the arrows.

import { useRef } from 'react'
import { clock, counted } from '../../format.ts'
import { usePreferences } from '../../preferences.ts'
import { placeOf, type Span } from './scale.ts'

interface ScrubProps {
  window: Span
  width: number
  height: number
  moment: number
  held: number
  /** Where the cycle stands that decided what is held. */
  tick: number | undefined
  onLook(at: number): void
}

const STEPS = 120
const HANDLE = 58

export function Scrub({ window, width, height, moment, held, tick, onLook }: ScrubProps) {
  const { zone } = usePreferences()
  const dragged = useRef<number>(undefined)
  const { from, to } = window
  const x = Math.max(0, Math.min(width, placeOf(window, width)(moment)))
  const step = (to - from) / STEPS
  return (
    <>
      {tick !== undefined && (
        <span className="since-cycle" style={{ height: height - 26, transform: `translateX(${tick}px)` }} />
      )}
      <div className="scrub" style={{ height: height + 20, transform: `translateX(${x}px)` }}>
        <span
          className="at tn"
          role="slider"
          tabIndex={0}
          style={{ left: Math.max(0, Math.min(width - HANDLE, x - HANDLE / 2)) - x }}
          aria-label="Moment"
          aria-orientation="horizontal"
          aria-valuemin={Math.round(from / 1_000)}
          aria-valuemax={Math.round(to / 1_000)}
          aria-valuenow={Math.round(Math.max(from, Math.min(to, moment)) / 1_000)}
          aria-valuetext={`${clock(new Date(moment), zone)}, ${counted(held, 'item')} held`}
          onKeyDown={(event) => {
            const by = { PageUp: 10, PageDown: -10, Home: -STEPS, End: STEPS }[event.key]
            if (by === undefined) return
            event.preventDefault()
            onLook(Math.max(from, Math.min(to, moment + by * step)))
          }}
          onPointerDown={(event) => {
            event.stopPropagation()
            dragged.current = event.clientX - x
            event.currentTarget.setPointerCapture(event.pointerId)
          }}
          onPointerMove={({ clientX }) => {
            if (dragged.current !== undefined) onLook(from + ((clientX - dragged.current) / width) * (to - from))
          }}
          onPointerUp={() => {
            dragged.current = undefined
          }}
        >
          {clock(new Date(moment), zone)}
        </span>
      </div>
    </>
  )
}

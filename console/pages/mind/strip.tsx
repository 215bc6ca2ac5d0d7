// A day of cycles, and the window in it, which can be moved.

import { memo, useMemo, useRef } from 'react'
import { clock, counted, zoneAhead } from '../../format.ts'
import { useWidth } from '../../parts/width.ts'
import { usePreferences } from '../../preferences.ts'
import { binsOf } from './drawn.ts'
import { DAY_MS, placeOf, type Span, ticksOf } from './scale.ts'
import type { Mind } from './timeline.ts'

interface StripProps {
  mind: Mind
  day: Span
  window: Span
  read: Span
  now: number
  onMove(end: number): void
}

const STEPS = 144
const HEIGHT = 44

export function Strip({ mind, day, window, read, now, onMove }: StripProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const dragged = useRef<number>(undefined)
  const { zone } = usePreferences()
  const place = placeOf(day, width)
  const range = window.to - window.from
  const time = (at: number) => clock(new Date(at), zone, { seconds: false })
  const timeAt = (clientX: number) =>
    day.from + ((clientX - (box.current?.getBoundingClientRect().left ?? 0)) / width) * (day.to - day.from)
  const isToday = day.to >= now - 60_000
  return (
    <section className="card strip" aria-label="Cycles of a day">
      <div
        ref={box}
        className="bins"
        onPointerDown={(event) => {
          const at = timeAt(event.clientX)
          const isInside = at >= window.from && at <= window.to
          dragged.current = isInside ? window.to - at : range / 2
          event.currentTarget.setPointerCapture(event.pointerId)
          if (!isInside) onMove(at + range / 2)
        }}
        onPointerMove={({ clientX }) => {
          if (dragged.current !== undefined) onMove(timeAt(clientX) + dragged.current)
        }}
        onPointerUp={() => {
          dragged.current = undefined
        }}
      >
        <Bins mind={mind} day={day} read={read} width={width} />
        <span
          className="window"
          role="slider"
          tabIndex={0}
          aria-label="Window"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round((100 * (window.to - day.from)) / (day.to - day.from))}
          aria-valuetext={`${time(window.from)} to ${time(window.to)}`}
          style={{
            left: Math.max(0, place(window.from)),
            width: Math.max(6, Math.min(width, place(window.to)) - Math.max(0, place(window.from))),
          }}
          onKeyDown={(event) => {
            const by = { ArrowLeft: -0.25, ArrowRight: 0.25, PageDown: -1, PageUp: 1 }[event.key]
            if (by === undefined) return
            event.preventDefault()
            onMove(window.to + by * range)
          }}
        />
      </div>
      <div className="row xs mut hours tn" aria-hidden="true">
        {ticksOf(day, width, zoneAhead(day.from, zone), width / 4.5).map((at) =>
          place(at) > 130 && place(at) < width - 90 ? (
            <span key={at} style={{ left: place(at) }}>
              {time(at)}
            </span>
          ) : null,
        )}
        <span className="first">
          {isToday && day.to - day.from >= DAY_MS - 1 ? 'yesterday ' : ''}
          {time(day.from)}
        </span>
        <span className="last">
          {time(Math.min(now, day.to))}
          {isToday ? ' now' : ''}
        </span>
      </div>
    </section>
  )
}

const Bins = memo(function Bins({
  mind,
  day,
  read,
  width,
}: Pick<StripProps, 'mind' | 'day' | 'read'> & { width: number }) {
  const bins = useMemo(() => binsOf(mind, day, STEPS), [mind, day])
  const ran = mind.cycles.filter(({ at }) => at >= day.from && at < day.to).length
  const wide = width / STEPS
  const place = placeOf(day, width)
  return (
    <svg
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${Math.max(1, width)} ${HEIGHT}`}
      role="img"
      aria-label={`${counted(ran, 'cycle')} in 24 hours, ten minutes each: as high as cycles ran, as bright as what they held; the window shown is marked.`}
    >
      {bins.map(({ cycles, count, lamp }, at) =>
        count > 0 ? (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place
            key={at}
            data-lamp={lamp}
            x={at * wide}
            y={HEIGHT - 3 - Math.max(2, cycles * (HEIGHT - 8))}
            width={Math.max(1, wide * 0.66)}
            height={Math.max(2, cycles * (HEIGHT - 8))}
          />
        ) : null,
      )}
      {read.from > day.from && <rect className="unread" width={Math.max(0, place(read.from))} height={HEIGHT} />}
      {read.to < day.to && (
        <rect className="unread" x={place(read.to)} width={width - place(read.to)} height={HEIGHT} />
      )}
      <path className="gl" d={`M0 ${HEIGHT - 1.5}H${width}`} />
    </svg>
  )
})

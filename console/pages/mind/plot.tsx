// The picture: focus, what came and left, the places with their stays, what was heard, the axis; and over it the line
// of the moment, which follows the hand without anything else being drawn again.

import { memo, useMemo, useRef } from 'react'
import { clock, count, counted, zoneAhead } from '../../format.ts'
import { Said } from '../../parts/said.tsx'
import { usePreferences } from '../../preferences.ts'
import { Bars } from './bars.tsx'
import { BarsOnCanvas } from './canvas.tsx'
import {
  type Bar,
  barOf,
  barsIn,
  CAME_BASE,
  changeHeight,
  cyclesIn,
  FOCUS_HEIGHT,
  type Frame,
  frameOf,
  LEFT_BASE,
  SVG_BARS_MAX,
  type Tick,
  topOf,
} from './drawn.ts'
import type { Focus } from './moment.ts'
import { placeOf, type Span, ticksOf } from './scale.ts'
import { Scrub } from './scrub.tsx'
import type { CycleAt, Mind, Stay } from './timeline.ts'

interface PlotProps {
  mind: Mind
  rows: readonly (readonly Stay[])[]
  foci: readonly Focus[]
  window: Span
  /** What is there: outside of it nothing is known yet. */
  read: Span
  /** Until when what goes on is known. */
  end: number
  width: number
  moment: number
  held: readonly Stay[]
  cycle: CycleAt | undefined
  item: string | undefined
  onLook(at: number): void
  /** Of a stay that was pointed at. */
  onItem(key: string): void
}

/** As a hand trembles. */
const CLICK_PX = 4

export function Plot(props: PlotProps) {
  const { mind, rows, foci, window, read, end, width, moment, held, cycle, item, onLook, onItem } = props
  const box = useRef<HTMLDivElement>(null)
  const pressed = useRef<{ x: number; isMoved: boolean }>(undefined)
  const frame = useMemo(() => frameOf(rows, width), [rows, width])
  const bars = useMemo(() => barsIn(rows, window, width, end), [rows, window, width, end])
  const inMind = useMemo(() => {
    const row = new Map(bars.map((bar) => [bar.stay, bar.row]))
    return held.flatMap((stay) => barOf(stay, row.get(stay) ?? 0, window, width, end) ?? [])
  }, [bars, held, window, width, end])
  const timeAt = (x: number) => {
    const left = box.current?.getBoundingClientRect().left ?? 0
    return window.from + ((x - left) / width) * (window.to - window.from)
  }
  const isOnCanvas = bars.length > SVG_BARS_MAX
  return (
    <div
      ref={box}
      className="lanes"
      style={{ width, height: frame.height }}
      onPointerDown={(event) => {
        if (event.button !== 0) return
        pressed.current = { x: event.clientX, isMoved: false }
        event.currentTarget.setPointerCapture(event.pointerId)
        onLook(timeAt(event.clientX))
      }}
      onPointerMove={({ clientX }) => {
        const { current } = pressed
        if (!current) return
        current.isMoved ||= Math.abs(clientX - current.x) > CLICK_PX
        if (current.isMoved) onLook(timeAt(clientX))
      }}
      onPointerUp={({ clientX, clientY }) => {
        const { current } = pressed
        pressed.current = undefined
        const bar = current && !current.isMoved ? barUnder(box.current, clientX, clientY, bars, frame) : undefined
        if (bar) onItem(bar.stay.key)
      }}
      onPointerCancel={() => {
        pressed.current = undefined
      }}
    >
      {isOnCanvas && <BarsOnCanvas bars={bars} frame={frame} />}
      <Still
        {...{ mind, foci, window, read, frame, bars: isOnCanvas ? NONE : bars }}
        label={labelOf(mind, bars.length, window)}
      />
      <InMind frame={frame} bars={inMind} item={item} />
      <Scrub
        {...{ window, width, moment, held: held.length, onLook }}
        height={frame.axisTop}
        tick={cycle && cycle.at >= window.from ? placeOf(window, width)(cycle.at) : undefined}
      />
    </div>
  )
}

const NONE: readonly Bar[] = []

/** The sentence that the picture is for who does not see it. */
function labelOf(mind: Mind, stays: number, { from, to }: Span): string {
  const ran = mind.cycles.filter(({ at }) => at >= from && at < to).length
  const [begin, end] = [
    clock(new Date(from), 'local', { seconds: false }),
    clock(new Date(to), 'local', { seconds: false }),
  ]
  return `Working memory from ${begin} to ${end}: ${counted(stays, 'item')} in ${counted(mind.capacity, 'place')}, ${counted(ran, 'cycle')}. View as table has each of them.`
}

function barUnder(box: HTMLElement | null, x: number, y: number, bars: readonly Bar[], frame: Frame): Bar | undefined {
  const rect = box?.getBoundingClientRect()
  if (!rect) return undefined
  const [left, top] = [x - rect.left, y - rect.top]
  return bars.find((bar) => {
    const high = topOf(frame, bar.row)
    return left >= bar.x && left <= bar.x + bar.width && top >= high && top <= high + frame.high
  })
}

interface StillProps {
  mind: Mind
  foci: readonly Focus[]
  window: Span
  read: Span
  frame: Frame
  bars: readonly Bar[]
  label: string
}

const Still = memo(function Still({ mind, foci, window, read, frame, bars, label }: StillProps) {
  const { zone } = usePreferences()
  const { width, height } = frame
  const place = placeOf(window, width)
  const ticks = cyclesIn(mind, window, width)
  return (
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <defs>
        {LAMPS.map((lamp) => (
          <linearGradient key={lamp} id={`lamp-${lamp}`} data-lamp={lamp} x1="0" x2="0" y1="0" y2="1">
            <stop offset="0" stopOpacity=".85" />
            <stop offset="1" stopOpacity=".28" />
          </linearGradient>
        ))}
        <pattern id="not-kept" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <path d="M0 0v7" />
        </pattern>
      </defs>
      {foci.map((focus) => (
        <FocusSpan key={focus.from} focus={focus} window={window} width={width} />
      ))}
      {Array.from({ length: frame.places }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a place is its number
        <path key={row} className="ln" d={`M0 ${topOf(frame, row + 1) - 3}H${width}`} />
      ))}
      {ticks.map((tick) => (
        <CycleTick key={tick.seqs[0]} tick={tick} frame={frame} isAlone={ticks.length < width / 8} />
      ))}
      <Bars bars={bars} frame={frame} />
      {mind.prunedBefore !== null && mind.prunedBefore > window.from && (
        <g className="not-kept">
          <rect width={Math.min(width, place(mind.prunedBefore))} y={30} height={frame.heardTop - 30} />
          <title>{`Not kept whole before ${clock(new Date(mind.prunedBefore), zone)}`}</title>
        </g>
      )}
      {[
        { x: 0, end: place(read.from) },
        { x: place(read.to), end: width },
      ].map(({ x, end }) =>
        end > x && end > 0 && x < width ? (
          <rect
            key={x}
            className="unread"
            x={Math.max(0, x)}
            y={30}
            width={end - Math.max(0, x)}
            height={frame.heardTop - 30}
          />
        ) : null,
      )}
      {ticksOf(window, width, zoneAhead(window.from, zone)).map((at) => (
        <text
          key={at}
          className="ax"
          x={place(at)}
          y={frame.axisTop + 13}
          textAnchor={place(at) < 16 ? 'start' : place(at) > width - 16 ? 'end' : 'middle'}
        >
          {clock(new Date(at), zone, { seconds: window.to - window.from <= 120_000 })}
        </text>
      ))}
    </svg>
  )
})

const LAMPS = [0, 1, 2, 3, 4, 5]

function FocusSpan({ focus: { text, from, to }, window, width }: { focus: Focus; window: Span; width: number }) {
  const place = placeOf(window, width)
  const x = Math.max(0, place(from))
  const wide = Math.min(width, place(to)) - x - 2
  if (wide <= 0 || x >= width) return null
  return (
    <g>
      <rect className="fo" x={x} width={wide} height={FOCUS_HEIGHT} rx={3} />
      {wide >= 26 && (
        <foreignObject x={x + 6} y={1} width={wide - 8} height={20}>
          <div className="ft">
            <Said of={text} line />
          </div>
        </foreignObject>
      )}
    </g>
  )
}

function CycleTick({ tick: { x, came, left, heard }, frame, isAlone }: { tick: Tick; frame: Frame; isAlone: boolean }) {
  const wide = isAlone ? 7 : 3
  const [up, down] = [changeHeight(came), changeHeight(left)]
  return (
    <g>
      {isAlone && <path className="tick" d={`M${x} 34V${frame.heardTop}`} />}
      {up > 0 && <rect className="came" x={x - wide / 2} y={CAME_BASE - up} width={wide} height={up} rx={1} />}
      {down > 0 && <rect className="left" x={x - wide / 2} y={LEFT_BASE} width={wide} height={down} rx={1} />}
      <circle className="cd" cx={x} cy={56} r={isAlone ? 2 : 1} />
      {Array.from({ length: Math.min(isAlone ? 5 : 1, heard) }, (_, at) => (
        <circle
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
          key={at}
          className="ob"
          cx={x + (at - (Math.min(isAlone ? 5 : 1, heard) - 1) / 2) * 7}
          cy={frame.heardTop + 10}
          r={3}
        />
      ))}
      <title>{`${count(heard)} heard`}</title>
    </g>
  )
}

/** What is held at the moment, over the rest. */
const InMind = memo(function InMind({
  frame,
  bars,
  item,
}: {
  frame: Frame
  bars: readonly Bar[]
  item?: string | undefined
}) {
  return (
    <svg
      className="in-mind"
      width={frame.width}
      height={frame.height}
      viewBox={`0 0 ${frame.width} ${frame.height}`}
      aria-hidden="true"
    >
      <Bars bars={bars} frame={frame} areHeld item={item} />
    </svg>
  )
})

// Bars in SVG: each is a stay, its words inside, its light below them, how it came before them and why it left at its
// end. Words never lie on light.

import { memo } from 'react'
import { leftOf } from '../../parts/decided.ts'
import { Said } from '../../parts/said.tsx'
import { type Bar, type Frame, hasWords, topOf, WORDS_MIN } from './drawn.ts'

interface BarsProps {
  bars: readonly Bar[]
  frame: Frame
  /** Those that are held at the moment: they stand out. */
  areHeld?: boolean
  /** The key of the one that is looked at. */
  item?: string | undefined
}

export const Bars = memo(function Bars({ bars, frame, areHeld = false, item }: BarsProps) {
  return (
    <g className={areHeld ? 'held' : undefined}>
      {bars.map((bar) => (
        <OneBar key={bar.stay.id} bar={bar} frame={frame} isOn={bar.stay.key === item} />
      ))}
    </g>
  )
})

interface BarProps {
  bar: Bar
  frame: Frame
  isOn: boolean
}

const OneBar = memo(
  function OneBar({ bar: { stay, row, x, width, light, isEnded }, frame, isOn }: BarProps) {
    const top = topOf(frame, row)
    const bottom = top + frame.high
    const mark = isEnded && stay.left ? leftOf(stay.left.reasonCode).mark : undefined
    return (
      <g className={isOn ? 'on' : undefined}>
        <rect className="rb" x={x} y={top} width={width} height={frame.high} rx={3} />
        {light.map((step) => (
          <g key={step.x} data-lamp={step.lamp}>
            <rect className="glow" x={step.x} y={bottom - step.height} width={step.width} height={step.height} />
            <rect className="edge" x={step.x} y={bottom - step.height} width={step.width} height={1.5} />
          </g>
        ))}
        {width >= WORDS_MIN && hasWords(frame) && (
          <foreignObject x={x + 5} y={top + 1} width={Math.max(0, width - (mark ? 14 : 8))} height={18}>
            <div className="rt">
              <Words stay={stay} />
            </div>
          </foreignObject>
        )}
        {mark !== undefined && width >= 10 && (
          <g className="ex">
            <circle cx={x + width} cy={top + 9} r={6.5} />
            <text x={x + width} y={top + 12.5} textAnchor="middle">
              {mark}
            </text>
          </g>
        )}
      </g>
    )
  },
  ({ bar, ...one }, { bar: next, ...other }) =>
    one.frame === other.frame && one.isOn === other.isOn && bar.stay === next.stay && isAlike(bar, next),
)

/** In the same place and as long: what it says is of the same stay. */
function isAlike(one: Bar, other: Bar): boolean {
  return one.row === other.row && one.x === other.x && one.width === other.width && one.isEnded === other.isEnded
}

/** What it said, or why that is not there. */
export function Words({ stay: { text, isRedacted, isCut, came, pinned, key } }: { stay: Bar['stay'] }) {
  return (
    <>
      {pinned && <b className="g">◆</b>}
      {came?.by === 'recalled' && <b className="g up">↑</b>}
      {text !== undefined ? (
        <Said of={isCut ? `${text}…` : text} line />
      ) : isRedacted ? (
        <span className="redacted" title="erased, or no longer kept" />
      ) : (
        <span className="id ell">{key}</span>
      )}
    </>
  )
}

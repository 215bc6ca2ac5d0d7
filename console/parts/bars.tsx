// Amounts by step as bars, one part on the other. The last step is paler: it is not over. A table has every number
// (chart.tsx).

import { useRef } from 'react'
import { compact } from '../format.ts'
import type { Line } from './chart.tsx'
import { axisOf, labelsOf } from './plot.ts'
import { useWidth } from './width.ts'

interface BarsProps {
  /** From the bottom up. */
  lines: readonly Line[]
  times: readonly string[]
  /** What it shows, in a sentence. */
  label: string
  height?: number
}

const LEFT = 40
const BOTTOM = 22
const TIMES_SHOWN = 5
const GAP = 0.3

export function Bars({ lines, times, label, height = 220 }: BarsProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const totals = times.map((_, at) => lines.reduce((sum, { values }) => sum + (values[at] ?? 0), 0))
  const axis = axisOf(Math.max(0, ...totals))
  const top = axis.at(-1) as number
  const slot = (width - LEFT) / Math.max(1, times.length)
  const y = (value: number) => 8 + (1 - value / top) * (height - BOTTOM - 8)
  return (
    <div ref={box} className="plot">
      {width > 0 && (
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
          {axis.map((value) => (
            <g key={value}>
              <path className="gl" d={`M${LEFT} ${y(value)}H${width}`} />
              <text className="ax" x={0} y={y(value) + 4}>
                {compact(value)}
              </text>
            </g>
          ))}
          {times.map((_, at) => {
            let below = 0
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place
              <g key={at} opacity={at === times.length - 1 ? 0.55 : 1}>
                {lines.map(({ name, color, values }) => {
                  const value = values[at] ?? 0
                  const from = below
                  below += value
                  if (value === 0) return null
                  return (
                    <rect
                      key={name}
                      x={LEFT + at * slot + (slot * GAP) / 2}
                      y={y(below)}
                      width={slot * (1 - GAP)}
                      height={Math.max(0.5, y(from) - y(below) - (from > 0 ? 1 : 0))}
                      fill={color}
                    />
                  )
                })}
              </g>
            )
          })}
          {labelsOf(times.length, TIMES_SHOWN).map((at) => (
            <text
              key={at}
              className="ax"
              x={at === times.length - 1 ? width : LEFT + (at + 0.5) * slot}
              y={height - 4}
              textAnchor={at === times.length - 1 ? 'end' : at === 0 ? 'start' : 'middle'}
            >
              {times[at]}
            </text>
          ))}
        </svg>
      )}
    </div>
  )
}

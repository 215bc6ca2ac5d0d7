// Lines over time, the first with its area: one sentence says what it shows, and a table has every number.

import { useRef } from 'react'
import { axisOf, labelsOf } from './plot.ts'
import { useWidth } from './width.ts'

export interface Line {
  name: string
  /** A variable of tokens.css. */
  color: string
  values: readonly number[]
}

interface ChartProps {
  lines: readonly Line[]
  /** Of each step, as they are written. */
  times: readonly string[]
  /** What it shows, in a sentence. */
  label: string
  height?: number
}

const LEFT = 26
const BOTTOM = 22
const TIMES_SHOWN = 5

export function Chart({ lines, times, label, height = 140 }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const axis = axisOf(Math.max(0, ...lines.flatMap(({ values }) => values)))
  const top = axis.at(-1) as number
  const x = (at: number) => LEFT + (at / Math.max(1, times.length - 1)) * (width - LEFT)
  const y = (value: number) => 8 + (1 - value / top) * (height - BOTTOM - 8)
  return (
    <div ref={box} className="plot">
      {width > 0 && (
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
          {axis.map((value) => (
            <g key={value}>
              <path className="gl" d={`M${LEFT} ${y(value)}H${width}`} />
              <text className="ax" x={0} y={y(value) + 4}>
                {value}
              </text>
            </g>
          ))}
          {lines.map(({ name, color, values }, at) => {
            const points = values.map((value, step) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(' ')
            return (
              <g key={name}>
                {at === 0 && (
                  <polygon points={`${LEFT},${y(0)} ${points} ${width},${y(0)}`} fill={color} opacity="0.12" />
                )}
                <polyline points={points} fill="none" stroke={color} strokeWidth="1.5" strokeLinejoin="round" />
              </g>
            )
          })}
          {labelsOf(times.length, TIMES_SHOWN).map((at) => (
            <text
              key={at}
              className="ax"
              x={x(at)}
              y={height - 4}
              textAnchor={at === 0 ? 'start' : at === times.length - 1 ? 'end' : 'middle'}
            >
              {times[at]}
            </text>
          ))}
        </svg>
      )}
    </div>
  )
}

/** Every number of a chart. */
export function ChartTable({ lines, times, of }: { lines: readonly Line[]; times: readonly string[]; of: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section className="scroll tall" tabIndex={0} aria-label={`${of} as a table`}>
      <table className="t">
        <thead>
          <tr>
            <th>At</th>
            {lines.map(({ name }) => (
              <th key={name} className="num">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((time, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place; two may be written alike
            <tr key={at}>
              <td className="tn">{time}</td>
              {lines.map(({ name, values }) => (
                <td key={name} className="num">
                  {values[at]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

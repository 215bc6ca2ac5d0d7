// How long each phase of a cycle took, as one bar; and which colour is which phase.

import type { CSSProperties } from 'react'
import { took } from '../format.ts'
import { PHASES, type Phase, phaseColor, phaseStretches } from './phases.ts'

interface PhaseBarProps {
  phases: readonly Phase[]
  /** What the whole width stands for. */
  scaleMs: number
}

export function PhaseBar({ phases, scaleMs }: PhaseBarProps) {
  const told = phases.map(({ name, durationMs }) => `${name} ${took(durationMs)}`).join(', ')
  return (
    <span className="sum phases" role="img" aria-label={told} title={told}>
      {phaseStretches(phases, scaleMs).map(({ name, color, from, width }) => (
        <i
          key={name}
          style={{ '--from': `${from * 100}%`, '--part': `${width * 100}%`, background: color } as CSSProperties}
        />
      ))}
    </span>
  )
}

export function PhaseLegend() {
  return (
    <span className="legend">
      {PHASES.map((name) => (
        <span key={name}>
          <i style={{ background: phaseColor(name) }} />
          {name}
        </span>
      ))}
    </span>
  )
}

// Activation as light: how long and how bright. Its end has an edge, so that the length can be seen on any fill.

import type { CSSProperties } from 'react'
import { score } from '../format.ts'
import { FULL, lampOf } from './lamp.ts'

interface LampProps {
  activation: number
  /** The strongest of a list may be stronger than a full lamp. */
  full?: number
}

export function Lamp({ activation, full = FULL }: LampProps) {
  const part = Math.max(0, Math.min(1, activation / full))
  return (
    <span className="lamp" role="img" aria-label={`activation ${score(activation)}`}>
      {part > 0 && <i data-lamp={lampOf(activation)} style={{ '--part': `${part * 100}%` } as CSSProperties} />}
    </span>
  )
}

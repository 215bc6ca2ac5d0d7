// The places of a working memory as a row of windows: how many are taken, and how bright.

import { lampOf } from './lamp.ts'

/** More are told by the number alone. */
const SHOWN_MAX = 12

interface LitProps {
  activations: readonly number[]
  capacity: number
}

export function Lit({ activations, capacity }: LitProps) {
  const shown = activations.toSorted((one, other) => other - one).slice(0, SHOWN_MAX)
  const free = Math.max(0, Math.min(SHOWN_MAX, capacity) - shown.length)
  return (
    <span className="lit" role="img" aria-label={`${activations.length} of ${capacity} places lit`}>
      {shown.map((activation, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a window is its place
        <i key={at} data-lamp={lampOf(activation)} />
      ))}
      {Array.from({ length: free }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a window is its place
        <i key={`free ${at}`} />
      ))}
    </span>
  )
}

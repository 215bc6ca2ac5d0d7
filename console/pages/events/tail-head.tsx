// How the tail stands: whether it is told, when the last came, how many come, and whether any was missed.

import { ago, count } from '../../format.ts'
import type { StreamState } from '../../live/messages.ts'
import { Status } from '../../parts/status.tsx'
import { useNow } from '../../parts/time.tsx'
import { perMinute, type Tail } from './tail.ts'

interface TailHeadProps {
  tail: Tail
  stream: StreamState | undefined
  /** How many came since it is held. */
  newer: number
  isHeld: boolean
  onNewer(): void
}

export function TailHead({ tail: { rows, gaps }, stream, newer, isHeld, onNewer }: TailHeadProps) {
  const now = useNow(1_000)
  const isLive = stream?.is === 'open'
  const last = rows[0]?.event.at
  const since = gaps.at(-1) ?? rows.findLast(({ event }) => event.seq > 0)?.place
  const told = [
    last !== undefined && `last event ${ago(last, now)}`,
    isLive && `${count(perMinute(rows, now))} per minute`,
    since !== undefined && `nothing missed since change ${count(since)}`,
  ]
  return (
    <header>
      <Status tone={isLive ? 'ok' : 'idle'} icon={isLive ? 'check' : 'clock'}>
        {isLive ? 'Live' : stream?.is === 'paused' ? 'Paused' : 'Waiting'}
      </Status>
      <span className="sm mut tn">{told.filter(Boolean).join(' · ')}</span>
      <span className="r">
        {isHeld && (
          <button type="button" className="tag acc" onClick={onNewer}>
            {newer > 0 ? `${count(newer)} new above, held while you read` : 'held while you read'}
          </button>
        )}
      </span>
    </header>
  )
}

// The tail as a page has it: read back from where the stream stands, then told as it happens.

import { LociError } from '@loci/sdk/error.ts'
import { useCallback, useEffect, useRef, useState } from 'react'
import { followEvents, goBack, LOST_MS, useLiveState } from '../../live/live.ts'
import type { StreamState } from '../../live/messages.ts'
import { useNow } from '../../parts/time.tsx'
import { added, knownEnd, NOTHING_YET, olderFrom, type Tail } from './tail.ts'

/** How many are read back at a time. */
const BACK = 200

export interface Followed {
  tail: Tail
  stream: StreamState | undefined
  /** Why nothing is told now. */
  error: Error | null
  /** Reads some that are older; undefined where there are none. */
  older: (() => void) | undefined
  again(): void
}

export function useTail(serviceId: string): Followed {
  const [tail, setTail] = useState<Tail>(NOTHING_YET)
  const { service: stream } = useLiveState()
  const now = useNow(1_000)
  const asked = useRef<number>(undefined)
  useEffect(() => followEvents({ event: (event, isGap) => setTail((known) => added(known, event, isGap)) }), [])
  const position = stream?.is === 'open' ? Number(stream.position) : Number.NaN
  const back = useCallback(
    (from: number) => {
      asked.current = from
      goBack(serviceId, from)
    },
    [serviceId],
  )
  useEffect(() => {
    if (Number.isNaN(position) || asked.current !== undefined) return
    setTail((known) => knownEnd(known, position))
    back(Math.max(0, position - BACK))
  }, [position, back])
  const from = olderFrom(tail, BACK)
  return {
    tail,
    stream,
    error: errorOf(stream, now),
    older: from === undefined || from === asked.current ? undefined : () => back(from),
    again: () => asked.current !== undefined && goBack(serviceId, asked.current),
  }
}

function errorOf(stream: StreamState | undefined, now: number): Error | null {
  if (!stream || stream.is === 'open' || stream.is === 'paused' || now - stream.since < LOST_MS) return null
  const { refusal } = stream
  if (refusal) return new LociError(refusal.code, refusal.message, refusal)
  if (stream.is === 'elsewhere')
    return new LociError('OVERLOADED', 'This browser follows the service of another window.', { status: 503 })
  return new LociError('NETWORK_FAILURE', 'no answer', { status: 0 })
}

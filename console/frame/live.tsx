// Whether what is shown is told of changes, in the bar of every page. A stream that is away for less than three seconds
// is no news.

import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useApi } from '../api/api.ts'
import { servicesQuery } from '../api/services.ts'
import { LOST_MS, POLL_MS, useLive, useLiveState } from '../live/live.ts'
import type { StreamState } from '../live/messages.ts'
import { useNow } from '../parts/time.tsx'

/** Of others nothing is told. */
const TELLING = new Set(['active', 'updating', 'suspended'])

export function Live() {
  const api = useApi()
  const { slug } = useParams({ strict: false })
  const { data = [] } = useQuery(servicesQuery(api))
  const service = slug === undefined ? undefined : data.find((one) => one.slug === slug || one.id === slug)
  const followed = service && TELLING.has(service.status) ? service.id : null
  useLive(api.organization.id, followed)
  const state = useLiveState()
  return <Badge state={followed === null ? state.organization : state.service} />
}

function Badge({ state }: { state: StreamState | undefined }) {
  const now = useNow(1_000)
  const { dot, word, why, seconds } = shownOf(state, now)
  return (
    <span className="live" title={why}>
      <span className={`dot${dot}`} />
      <span role="status">{word}</span>
      {seconds !== undefined && <span className="tn"> {seconds} s</span>}
    </span>
  )
}

interface Shown {
  /** Of the dot. */
  dot: '' | ' warn' | ' idle'
  word: string
  why: string
  seconds?: number
}

function shownOf(state: StreamState | undefined, now: number): Shown {
  const sinceMs = state ? Math.max(0, now - state.since) : 0
  const isLate = sinceMs >= LOST_MS
  if (state?.is === 'open' || (state?.is === 'lost' && !isLate))
    return { dot: '', word: 'Live', why: 'What changes is shown as it happens.' }
  if (state?.is === 'paused') return { dot: ' idle', word: 'Paused', why: 'Nobody looked at a page for a minute.' }
  if (state?.is === 'lost' || (state?.is === 'opening' && isLate))
    return {
      dot: ' warn',
      word: 'Reconnecting',
      why: 'What is shown may be old. It is asked again every 10 s until changes are told.',
      seconds: Math.round(sinceMs / 1_000),
    }
  if (state === undefined || state.is === 'opening')
    return { dot: ' idle', word: 'Connecting', why: 'It is asked for what changes.' }
  return {
    dot: ' idle',
    word: `Every ${POLL_MS / 1_000} s`,
    why:
      state.is === 'elsewhere'
        ? 'This browser follows the service of another tab; here it is asked again every 10 s.'
        : 'Changes cannot be followed now, so it is asked again every 10 s.',
  }
}

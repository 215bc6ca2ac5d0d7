// The places of the working memory as windows, and who would leave first.

import type { SlotList } from '@loci/sdk/daemon.ts'
import type { ReactNode } from 'react'
import { count, score, bytes as sized } from '../../format.ts'
import { lampOf } from '../../parts/lamp.ts'
import { Said } from '../../parts/said.tsx'
import { Ago } from '../../parts/time.tsx'
import { firstToExpire, isPut, leavingOrder, type Policy } from './leaving.ts'

/** More places than these are told by the number alone. */
const WINDOWS_MAX = 48
const SPELLED = ['None', 'One', 'Two', 'Three', 'Four', 'Five', 'Six', 'Seven', 'Eight', 'Nine', 'Ten']

interface PlacesProps {
  list: SlotList
  bytes: number | undefined
  /** Undefined: not known yet, or a newer one. */
  policy: Policy | undefined
}

export function Places({ list: { slots, capacity }, bytes, policy }: PlacesProps) {
  const lit = slots.map(({ activation }) => activation).toSorted((one, other) => other - one)
  const windows = Math.min(capacity, WINDOWS_MAX)
  return (
    <div className="b places">
      <span className="windows" role="img" aria-label={`${count(slots.length)} of ${count(capacity)} places lit`}>
        {Array.from({ length: windows }, (_, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a window is its place
          <i key={at} data-lamp={at < lit.length ? lampOf(lit[at] as number) : undefined} />
        ))}
      </span>
      <div>
        <b className="many tn">
          {count(slots.length)} of {count(capacity)} places
        </b>
        <div className="sm mut">
          {sized(bytes)}
          {policy && ` · policy: ${policy}`}
        </div>
      </div>
      <div className="next sm mut2">
        <Next slots={slots} capacity={capacity} policy={policy} />
        <Expiring slots={slots} />
      </div>
    </div>
  )
}

function Next({ slots, capacity, policy }: Pick<SlotList, 'slots' | 'capacity'> & Pick<PlacesProps, 'policy'>) {
  if (capacity === 0) return <b>It has no place at all: what is put is refused, and cycles hold nothing.</b>
  if (policy === undefined || slots.length === 0) return null
  const free = Math.max(0, capacity - slots.length)
  const room =
    free > 0 ? <b>{free === 1 ? 'One more fits.' : `${SPELLED[free] ?? count(free)} more fit.`}</b> : <b>It is full.</b>
  if (policy === 'reject')
    return (
      <p>
        {room} {free > 0 ? 'After that, what' : 'What'} is put is refused: by the policy nothing makes room.
      </p>
    )
  const [first] = leavingOrder(slots, policy)
  if (!first) return <p>{room} All that is held is pinned: nothing makes room for more.</p>
  return (
    <p title="As of what the last cycle or write stored. A write judges anew at its moment.">
      {room} {free > 0 ? 'After that' : 'For the next one'} <Said of={first.value} line /> leaves first:{' '}
      {WHY[policy](score(first.activation), isPut(first))}
    </p>
  )
}

const WHY: Readonly<Record<Exclude<Policy, 'reject'>, (activation: string, isPut: boolean) => ReactNode>> = {
  activation: (activation, wasPut) =>
    `${activation} is the lowest ${wasPut ? 'that is not pinned' : 'of what cycles brought and nobody pinned'}.`,
  lru: () => 'it was written least recently.',
  fifo: () => 'it is the oldest.',
}

function Expiring({ slots }: Pick<SlotList, 'slots'>) {
  const first = firstToExpire(slots)
  if (!first) return null
  return (
    <p>
      <Said of={first.value} line /> expires <Ago at={first.expiresAt} />.
    </p>
  )
}

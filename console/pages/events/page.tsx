// What happens in a service, as it happens: a tail that stands still while somebody reads it.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useService } from '../../frame/service.tsx'
import { useKeys } from '../../keys/keys.ts'
import { CommandLine } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Loaded, Skeleton } from '../../parts/states.tsx'
import './events.css'
import { cycleCountsQuery } from './queries.ts'
import { Rows } from './rows.tsx'
import { heldRows, isShown } from './tail.ts'
import { TailHead } from './tail-head.tsx'
import { useTail } from './use-tail.ts'

const TYPES = [
  [undefined, 'All'],
  ['slot', 'Working memory'],
  ['cycle', 'Cycles'],
  ['memory', 'Memory'],
] as const

const route = getRouteApi('/s/$slug/events')

export function Page() {
  const view = useService()
  const { at, service } = view
  const { type, only } = route.useSearch()
  const followed = useTail(service.id)
  const { tail, stream, error, older, again } = followed
  const [heldAt, hold] = useState<number>()
  const list = useRef<HTMLElement>(null)
  const { data: cycles } = useQuery(cycleCountsQuery(view))
  const newest = tail.rows[0]?.place
  const toggle = useMemo(() => () => hold((is) => (is === undefined ? newest : undefined)), [newest])
  useKeys(useMemo(() => ({ ' ': toggle }), [toggle]))
  useHeldWhileReading(list, () => hold((is) => is ?? newest))
  const narrowed = { type, database: only && at.database }
  const { shown, newer } = heldRows(
    tail.rows.filter((row) => isShown(row, narrowed)),
    heldAt,
  )
  const letGo = () => {
    hold(undefined)
    scrollTo({ top: 0 })
  }
  const isThere = tail.isRead || tail.rows.length > 0
  return (
    <>
      <Head title="Events" of={service.name} sub="of this service, kept 24 hours">
        <nav className="seg" aria-label="Of what">
          {TYPES.map(([value, word]) => (
            <Link
              key={word}
              from="/s/$slug/events"
              to="."
              search={(now) => ({ ...now, type: value })}
              activeOptions={{ exact: true }}
            >
              {word}
            </Link>
          ))}
        </nav>
        <nav className="seg" aria-label="Of which database">
          {([undefined, 'database'] as const).map((value) => (
            <Link
              key={value ?? 'all'}
              from="/s/$slug/events"
              to="."
              search={(now) => ({ ...now, only: value })}
              activeOptions={{ exact: true }}
            >
              {value ? <code>{at.database}</code> : 'all databases'}
            </Link>
          ))}
        </nav>
        <button
          type="button"
          className="btn"
          aria-pressed={heldAt !== undefined}
          onClick={heldAt === undefined ? toggle : letGo}
        >
          <Icon name={heldAt === undefined ? 'paused' : 'play'} />
          {heldAt === undefined ? 'Hold' : 'Go on'}
        </button>
      </Head>
      <section className="card" aria-label="Events" ref={list}>
        <TailHead tail={tail} stream={stream} newer={newer} isHeld={heldAt !== undefined} onNewer={letGo} />
        {isThere || error ? (
          <Loaded of={{ data: isThere ? shown : undefined, error, dataUpdatedAt: stream?.since ?? 0, refetch: again }}>
            {(rows) =>
              rows.length === 0 ? (
                <NothingHere isNarrowed={tail.rows.length > 0} />
              ) : (
                <Rows rows={rows} gaps={tail.gaps} slug={service.slug} cycles={cycles} />
              )
            }
          </Loaded>
        ) : (
          <Skeleton rows={12} />
        )}
        {isThere && tail.rows.length > 0 && (
          <div className="b row sm mut">
            {older ? (
              <button type="button" className="btn s" onClick={older}>
                <Icon name="down" />
                Older
              </button>
            ) : (
              'Nothing older is kept.'
            )}
          </div>
        )}
      </section>
      <p className="row wrap">
        <span className="sm mut">What an agent holds, as it changes</span>
        <CommandLine>loci wm list --watch</CommandLine>
      </p>
    </>
  )
}

function NothingHere({ isNarrowed }: { isNarrowed: boolean }) {
  return isNarrowed ? (
    <Empty title="None of these">What happened lately is of another kind, or in another database.</Empty>
  ) : (
    <Empty title="Nothing happened in 24 hours" command="loci memory store &quot;Ada prefers replies in Dutch&quot;">
      Each memory that is stored, each slot that comes or leaves and each cycle stands here as it happens.
    </Empty>
  )
}

/** Who has gone down in the list, or stands on one of its rows, reads: nothing moves under the eyes. */
function useHeldWhileReading(list: React.RefObject<HTMLElement | null>, onRead: () => void): void {
  const read = useRef(onRead)
  read.current = onRead
  useEffect(() => {
    const onScroll = () => scrollY > 80 && read.current()
    const onFocus = ({ target }: FocusEvent) =>
      list.current?.querySelector('tbody')?.contains(target as Node) && read.current()
    addEventListener('scroll', onScroll, { passive: true })
    addEventListener('focusin', onFocus)
    return () => {
      removeEventListener('scroll', onScroll)
      removeEventListener('focusin', onFocus)
    }
  }, [list])
}

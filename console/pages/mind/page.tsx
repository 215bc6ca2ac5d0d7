// Mind: what was held in working memory when, how strongly, since what and why no longer. One hour on one screen; a
// line through it is the moment that the panel beside it tells of.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { cycleStatsQuery, lastCycleQuery } from '../../api/cycles.ts'
import { ago, clock, moment as dayAndTime, span } from '../../format.ts'
import { DEFAULT_DATABASE, useService } from '../../frame/service.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { usePreferences } from '../../preferences.ts'
import { type Day, dayAround, dayOf } from './day.ts'
import { useMindKeys } from './keys.ts'
import './mind.css'
import { changesOf } from './moment.ts'
import { Picture } from './picture.tsx'
import { usePlay } from './play.ts'
import { useTimeline } from './queries.ts'
import { RANGES, type Range } from './scale.ts'
import type { Mind } from './timeline.ts'
import { type Looking, useLooking } from './use-moment.ts'

const route = getRouteApi('/s/$slug/mind')
const WORDS: Readonly<Record<Range, string>> = {
  '1m': 'minute',
  '15m': '15 minutes',
  '1h': 'hour',
  '6h': '6 hours',
  '24h': '24 hours',
}
const SHORT: Readonly<Record<Range, string>> = { '1m': '1 m', '15m': '15 m', '1h': '1 h', '6h': '6 h', '24h': '24 h' }

export function Page() {
  const looking = useLooking()
  const day = useDay(looking)
  return <OneDay key={day.from} looking={looking} day={day} />
}

function useDay(looking: Looking): Day {
  const [day, setDay] = useState(() => dayOf(looking.at, looking.now))
  const next = dayAround(day, looking)
  if (next !== day) setDay(next)
  return next
}

function OneDay({ looking, day }: { looking: Looking; day: Day }) {
  const view = useService()
  const { item } = route.useSearch()
  const navigate = useNavigate()
  const { window, look } = looking
  // What somebody waits for is what he sees first.
  const [first] = useState(window)
  const timeline = useTimeline(view, day, first, day.isOpen)
  const { mind } = timeline
  const times = useMemo(
    () => (mind ? { cycles: mind.cycles.map(({ at }) => at), changes: changesOf(mind) } : NONE),
    [mind],
  )
  const [isPlaying, setPlaying] = usePlay(looking)
  const [isTable, setTable] = useState(false)
  const setRange = (range: Range) =>
    void navigate({
      from: '/s/$slug/mind',
      to: '.',
      search: (now) => ({ ...now, range: range === '1h' ? undefined : range }),
      replace: true,
    })
  const step = useMindKeys({ looking, times, setRange, setPlaying, setTable })
  const { database } = view.at
  const user = database === DEFAULT_DATABASE ? '' : ` --user ${database}`
  const setItem = (key: string | undefined) =>
    void navigate({
      from: '/s/$slug/mind',
      to: '.',
      search: (now) => ({
        ...now,
        item: key,
        ...(looking.at === null ? {} : { at: new Date(looking.at).toISOString() }),
      }),
      replace: true,
      resetScroll: false,
    })
  return (
    <>
      <Head title="Mind" of={view.service.name} sub={<Shown looking={looking} />}>
        <nav className="seg" aria-label="How much is shown">
          {RANGES.map((range) => (
            <Link
              key={range}
              from="/s/$slug/mind"
              to="."
              search={(now) => ({ ...now, range: range === '1h' ? undefined : range })}
              replace
              resetScroll={false}
              activeProps={{}}
              aria-current={range === looking.range ? 'page' : undefined}
            >
              {SHORT[range]}
            </Link>
          ))}
        </nav>
        <div className="seg">
          <button type="button" aria-label="Previous cycle" title="Previous cycle" onClick={() => step('cycles', -1)}>
            <Icon name="step-back" />
          </button>
          <button
            type="button"
            aria-label={isPlaying ? 'Hold' : 'Play'}
            title={isPlaying ? 'Hold' : 'Play'}
            onClick={() => setPlaying(!isPlaying)}
          >
            <Icon name={isPlaying ? 'paused' : 'play'} />
          </button>
          <button type="button" aria-label="Next cycle" title="Next cycle" onClick={() => step('cycles', 1)}>
            <Icon name="step-on" />
          </button>
        </div>
        <button type="button" className="btn" onClick={() => look(null)} disabled={looking.at === null}>
          <Icon name="clock" />
          {looking.at === null ? 'Now' : 'Back to now'}
        </button>
      </Head>
      <Loaded of={{ ...timeline, data: mind, dataUpdatedAt: timeline.readAt }} rows={12}>
        {(shown) =>
          shown.stays.length + shown.cycles.length === 0 && isWhole(timeline.read, day) ? (
            <section className="card">
              <Nothing mind={shown} now={looking.now} />
            </section>
          ) : (
            <Picture
              mind={shown}
              looking={looking}
              day={day}
              read={timeline.read ?? window}
              isTable={isTable}
              onTable={setTable}
              item={item}
              onItem={setItem}
            />
          )
        }
      </Loaded>
      <p className="row wrap">
        <CommandLine>{`loci cycles list${user}`}</CommandLine>
      </p>
    </>
  )
}

const NONE = { cycles: [], changes: [] }

function isWhole(read: { from: number } | undefined, day: Day): boolean {
  return read !== undefined && read.from <= day.from
}

function Shown({ looking: { at, window, now, range } }: { looking: Looking }) {
  const { zone } = usePreferences()
  if (window.to >= now) return <>What was held in the last {WORDS[range]}, and why it came and left</>
  const ends = { seconds: range === '1m' }
  return (
    <>
      {dayAndTime(new Date(window.from), zone)} to {clock(new Date(window.to), zone, ends)}, {span(now - (at ?? now))}{' '}
      ago
    </>
  )
}

/** Nothing at all, or nothing for a day. */
function Nothing({ now }: { mind: Mind; now: number }) {
  const view = useService()
  const { zone } = usePreferences()
  const { data: stats } = useQuery(cycleStatsQuery(view))
  const { data: last } = useQuery({ ...lastCycleQuery(view), enabled: (stats?.totalCycles ?? 0) > 0 })
  const observe = "loci cycles run --observe 'Ada asks for her parcel'"
  if (!last)
    return (
      <Empty title="Nothing was in mind yet" command={observe}>
        A cycle brings in what was heard and what it reminds of. Each then has a bar here: since when it is held, how
        strongly, and why it left.
      </Empty>
    )
  return (
    <Empty
      title="Nothing was in mind in these 24 hours"
      command={observe}
      action={
        <Link className="btn p" from="/s/$slug/mind" to="." search={(before) => ({ ...before, at: last.startedAt })}>
          The last cycle, {ago(last.startedAt, now, zone)}
        </Link>
      }
    >
      No cycle ran and nothing was put.
    </Empty>
  )
}

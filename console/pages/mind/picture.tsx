// The picture with its panel, the strip of the day under both, and what has to be said beside them.

import { Link } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { clock, counted, span } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { Icon } from '../../parts/icon.tsx'
import { useWidth } from '../../parts/width.ts'
import { usePreferences } from '../../preferences.ts'
import { burstIn } from './drawn.ts'
import { Held } from './held.tsx'
import { cycleAt, fociOf, focusAt, heldAt } from './moment.ts'
import { NO_PLACES, type Places, placed, rowsOf } from './places.ts'
import { Plot } from './plot.tsx'
import { useFocusTtl } from './queries.ts'
import { DAY_MS, placeOf, RANGE_MS, type Span } from './scale.ts'
import { Strip } from './strip.tsx'
import { StaysTable } from './table.tsx'
import type { Mind } from './timeline.ts'
import type { Looking } from './use-moment.ts'

interface PictureProps {
  mind: Mind
  looking: Looking
  day: Span & { isOpen: boolean }
  read: Span
  isTable: boolean
  onTable(is: boolean): void
  item: string | undefined
  onItem(key: string | undefined): void
}

/** Narrower than this it scrolls. */
const WIDTH_MIN = 700
const MINUTE_MS = 60_000

export function Picture({ mind, looking, day, read, isTable, onTable, item, onItem }: PictureProps) {
  const view = useService()
  const box = useRef<HTMLDivElement>(null)
  const room = useWidth(box)
  const width = room === 0 ? 0 : Math.max(WIDTH_MIN, room)
  const { window: shown, moment, now, look, moveTo } = looking
  const window = useMemo(() => ({ from: shown.from, to: shown.to }), [shown.from, shown.to])
  const rows = useRows(mind, read)
  const ttlMs = useFocusTtl(view)
  const foci = useMemo(() => fociOf(mind.cycles, ttlMs), [mind, ttlMs])
  const cycle = cycleAt(mind, moment)
  const held = useHeld(rows, moment)
  const end = day.isOpen ? window.to : Math.min(window.to, read.to)
  const strip = useStrip(day, now)
  useInSight(box, room < WIDTH_MIN ? placeOf(window, width)(moment) : undefined, shown.to)
  const onLook = useCallback((at: number) => look(at), [look])
  return (
    <>
      <Notes mind={mind} window={window} />
      <div className="mindgrid">
        <section className="card tl" aria-label="Timeline">
          {isTable ? (
            <StaysTable
              stays={mind.stays}
              window={window}
              onLook={(at, key) => {
                look(at)
                onItem(key)
                onTable(false)
              }}
            />
          ) : (
            <div className="lab" aria-hidden="true">
              {LABELS.map(([name, top, title]) => (
                <span key={name} style={{ top }} title={title}>
                  {name}
                </span>
              ))}
            </div>
          )}
          <div className="lanes-room" ref={box} hidden={isTable}>
            {width > 0 && !isTable && (
              <Plot
                {...{ mind, rows, foci, window, read, end, width, moment, held, cycle, item, onItem }}
                onLook={onLook}
              />
            )}
          </div>
          <Legend isTable={isTable} onTable={onTable} />
        </section>
        <Held {...{ moment, held, cycle, item, onItem }} capacity={mind.capacity} focus={focusAt(foci, moment)} />
      </div>
      <Strip mind={mind} day={strip} window={window} read={read} now={now} onMove={moveTo} />
    </>
  )
}

const LABELS: readonly (readonly [string, number, string?])[] = [
  ['focus', 3],
  ['came', 34],
  ['left', 58],
  ['places', 95, 'A place is the picture’s own: working memory has as many, and numbers none.'],
]

/** What has its place keeps it as long as the day is shown. */
function useRows(mind: Mind, { from }: Span) {
  const places = useRef<Places>(NO_PLACES)
  return useMemo(() => {
    places.current = placed(mind.stays, places.current, mind.capacity, from)
    return rowsOf(mind.stays, places.current, mind.capacity)
  }, [mind, from])
}

/** The same list while the same are held: only its light changes between. */
function useHeld(rows: ReturnType<typeof rowsOf>, moment: number) {
  return useMemo(() => heldAt(rows, moment), [rows, moment])
}

function useStrip({ from, to, isOpen }: PictureProps['day'], now: number): Span {
  const minute = Math.ceil(now / MINUTE_MS) * MINUTE_MS
  return useMemo(
    () => (isOpen ? { from: Math.min(from, minute - DAY_MS), to: minute } : { from, to }),
    [from, to, isOpen, minute],
  )
}

/** Where the picture is wider than its room, the moment stands in the middle of it when another window is shown. */
function useInSight(box: React.RefObject<HTMLDivElement | null>, x: number | undefined, of: number): void {
  const latest = useRef(x)
  latest.current = x
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when another window is shown
  useEffect(() => {
    const element = box.current
    if (element && latest.current !== undefined) element.scrollLeft = latest.current - element.clientWidth / 2
  }, [box, of, x === undefined])
}

function Notes({ mind, window }: { mind: Mind; window: Span }) {
  const { service } = useService()
  const { zone } = usePreferences()
  const burst = burstIn(mind.cycles, window)
  const { damaged, prunedBefore, isComplete } = mind
  return (
    <>
      {damaged.length > 0 && (
        <p className="note bad">
          <Icon name="cross" />
          <span>
            {counted(damaged.length, 'part')} of it {damaged.length === 1 ? 'does' : 'do'} not fit{' '}
            {damaged.length === 1 ? 'its' : 'their'} digest and {damaged.length === 1 ? 'is' : 'are'} not shown:{' '}
            {damaged
              .slice(0, 3)
              .map(({ kind, ref }) => `${kind} ${ref ?? 'without a name'}`)
              .join(', ')}
            {damaged.length > 3 && ', …'}. Nothing else is hidden by it.{' '}
            {hasPage('integrity') && (
              <Link to="/s/$slug/integrity" params={{ slug: service.slug }} search={({ db }) => ({ db })}>
                Integrity
              </Link>
            )}
          </span>
        </p>
      )}
      {prunedBefore !== null && prunedBefore > window.from && (
        <p className="note">
          <Icon name="info" />
          Before {clock(new Date(prunedBefore), zone)} it is not kept whole any more: what is hatched may have held
          more.
        </p>
      )}
      {!isComplete && (
        <p className="note">
          <Icon name="info" />
          Of some that were in mind then it is not known what became of them: they may be missing.
        </p>
      )}
      {burst && (
        <p className="note">
          <Icon name="info" />
          <span>
            {counted(burst.count, 'cycle')} ran within {span(Math.max(1_000, burst.to - burst.from))}.{' '}
            <Link
              from="/s/$slug/mind"
              to="."
              search={(now) => ({ ...now, range: '1m', at: new Date(middleOf(burst)).toISOString() })}
              replace
              resetScroll={false}
            >
              Look at that minute
            </Link>
          </span>
        </p>
      )}
    </>
  )
}

/** So that a minute around it has the end of it. */
function middleOf({ from, to }: Span): number {
  return Math.max((from + to) / 2, to - RANGE_MS['1m'] / 2)
}

function Legend({ isTable, onTable }: { isTable: boolean; onTable(is: boolean): void }) {
  return (
    <div className="leg">
      <div className="legend">
        <span title="As high and as bright as it was held; full at 9. One step per cycle, as it was stored.">
          <i className="ramp" />
          activation
        </span>
        <span>
          <b className="g up">↑</b>recalled from memory
        </span>
        <span>
          <b className="g">◆</b>pinned
        </span>
        <span>
          <b className="exg">×</b>outcompeted
        </span>
        <span>
          <b className="exg">↓</b>under the bar of the focus
        </span>
        <span>
          <b className="exg">⌛</b>expired
        </span>
      </div>
      <span className="grow" />
      <button type="button" className="link sm nowrap" onClick={() => onTable(!isTable)}>
        {isTable ? 'View as picture' : 'View as table'}
      </button>
    </div>
  )
}

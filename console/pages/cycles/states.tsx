// Above the list: whether what is shown can be believed, whether cycles run by themselves, and how long they take.

import type { CycleStats } from '@loci/sdk/daemon.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { clock, count, counted, span, took } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { Trouble } from '../../parts/states.tsx'
import { Ago, useNow } from '../../parts/time.tsx'
import { usePreferences } from '../../preferences.ts'
import { durationsOf } from './durations.ts'
import { intervalQuery, loopQuery } from './queries.ts'

type Corruption = CycleStats['corruption']

interface StateProps {
  icon?: { name: IconName; tone: 'ok' | 'warn' | 'bad' | 'idle' }
  title: string
  aside?: ReactNode
  more?: ReactNode
  children: ReactNode
}

function State({ icon, title, aside, more, children }: StateProps) {
  return (
    <section className="card" aria-label={title}>
      <div className="b row state">
        {icon && (
          <span className={`seal ${icon.tone}`}>
            <Icon name={icon.name} />
          </span>
        )}
        <div className="grow">
          <b className="b6">{title}</b>
          <div className="sm mut">{children}</div>
        </div>
        {aside}
      </div>
      {more}
    </section>
  )
}

/** `seen`: what the list found out, which may be newer. */
export function ChainState({ stats, seen }: { stats: CycleStats | undefined; seen: Corruption | undefined }) {
  const { service } = useService()
  const { zone } = usePreferences()
  const known = [stats?.corruption, seen].filter((one) => one !== undefined)
  const [first, second] = known
  if (!first || !stats) return <State title="Chain of cycles">–</State>
  const of = second && (second.count > first.count || checked(second) >= checked(first)) ? second : first
  const report = hasPage('integrity') && (
    <Link className="why" to="/s/$slug/integrity" params={{ slug: service.slug }}>
      Report
    </Link>
  )
  const total = stats.completedCycles
  if (of.detected)
    return (
      <State
        icon={{ name: 'warning', tone: 'bad' }}
        title={`${count(of.count)} of ${count(total)} damaged`}
        aside={report}
        more={<Damaged entries={of.entries} />}
      >
        These are not shown. The others are, and hold together.
      </State>
    )
  const at = of.verifiedAt === null ? '' : `, verified at ${clock(of.verifiedAt, zone)}`
  if (total === 0)
    return (
      <State icon={{ name: 'link', tone: 'idle' }} title="No chain yet" aside={report}>
        each cycle is linked to the one before it
      </State>
    )
  if (of.verifiedAt === null)
    return (
      <State icon={{ name: 'link', tone: 'idle' }} title="Chain not read as a whole yet" aside={report}>
        each cycle that is shown was verified
      </State>
    )
  return (
    <State
      icon={{ name: 'link', tone: 'ok' }}
      title={checked(of) >= total ? 'Chain is whole' : 'Chain is whole as far as it was read'}
      aside={report}
    >
      {`${count(Math.min(total, checked(of)))} of ${count(total)}${at}`}
    </State>
  )
}

const checked = ({ checkedThroughSeq }: Corruption) => checkedThroughSeq ?? 0

const DAMAGE: Readonly<Record<string, string>> = {
  digest_mismatch: 'its bytes do not fit its hash',
  chain_break: 'it is not linked to the one before it',
  undecodable: 'it cannot be read',
  missing: 'it is not there',
  page_unreadable: 'its page on the disk cannot be read',
}

function Damaged({ entries }: { entries: Corruption['entries'] }) {
  return (
    <ul className="b damaged">
      {entries.map(({ ref, seq, reason, quarantinedAt }) => (
        <li key={`${seq} ${ref}`} className="row wrap sm">
          <span className="st bad">
            <Icon name="cross" />
            {seq === null ? 'a cycle' : `Cycle ${count(seq)}`}
          </span>
          {ref && <span className="id">{ref}</span>}
          <span className="mut2" title={reason}>
            {DAMAGE[reason] ?? reason}
          </span>
          <span className="mut">
            found <Ago at={quarantinedAt} />
          </span>
        </li>
      ))}
    </ul>
  )
}

const LOOP: Readonly<Record<string, string>> = { off: 'off', idle: 'idle', due: 'due' }

export function LoopState() {
  const view = useService()
  const loop = useQuery(loopQuery(view))
  const settings = useQuery(intervalQuery(view))
  const now = useNow(5_000)
  if (loop.error && !loop.data)
    return (
      <section className="card">
        <Trouble error={loop.error} onRetry={() => void loop.refetch()} />
      </section>
    )
  if (!loop.data) return <State title="Loop">–</State>
  const { loop: state, backlog, attempts } = loop.data
  const schedule = settings.data?.config.schedule as { intervalMs?: unknown } | undefined
  const every = typeof schedule?.intervalMs === 'number' ? schedule.intervalMs : undefined
  const waits =
    backlog.projections === 0
      ? 'nothing waits'
      : `${counted(backlog.projections, 'event')} ${backlog.projections === 1 ? 'waits' : 'wait'}, the oldest ${span(backlog.oldestAgeMs)}`
  const how =
    state.state === 'off'
      ? 'cycles run when they are asked for'
      : [
          every === undefined ? undefined : `every ${span(every)} where something came in`,
          state.nextTickAt && Date.parse(state.nextTickAt) > now
            ? `next in ${span(Date.parse(state.nextTickAt) - now)}`
            : undefined,
        ]
          .filter(Boolean)
          .join(', ')
  const isFailing = attempts.consecutiveFailures > 0
  return (
    <State
      {...(state.stalled || isFailing ? { icon: { name: 'warning', tone: 'warn' } as const } : {})}
      title={state.stalled ? `Loop: stalled, ${span(state.lagMs)} late` : `Loop: ${LOOP[state.state] ?? state.state}`}
    >
      {isFailing ? (
        <>
          {counted(attempts.consecutiveFailures, 'try failed', 'tries failed')} in a row, the last{' '}
          <Ago at={attempts.lastFailureAt} /> with <code>{attempts.lastFailureCode}</code>
        </>
      ) : (
        [how, waits].filter(Boolean).join('; ')
      )}
    </State>
  )
}

const HEIGHT = 40

export function Durations({ of }: { of: readonly { durationMs: number }[] }) {
  const found = durationsOf(of.map(({ durationMs }) => durationMs))
  if (!found) return <State title="Duration">–</State>
  const { median, p95, bins, widthMs } = found
  const most = Math.max(...bins)
  const label = `Durations of ${counted(of.length, 'cycle')}: half of them within ${took(median)}, 19 of 20 within ${took(p95)}`
  return (
    <State
      title="Duration"
      aside={
        <svg
          className="durations"
          viewBox={`0 0 ${bins.length * 16} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={label}
        >
          {bins.map((many, at) => {
            const height = many === 0 ? 0 : Math.max(2, (many / most) * (HEIGHT - 2))
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: a bin is its place
              <rect key={at} x={at * 16} y={HEIGHT - height} width="13" height={height}>
                <title>{`${count(many)} ${at === bins.length - 1 ? `from ${took(at * widthMs)}` : `of ${took(at * widthMs)} to ${took((at + 1) * widthMs)}`}`}</title>
              </rect>
            )
          })}
        </svg>
      }
    >
      <span className="nowrap" title={`of the ${counted(of.length, 'cycle')} below`}>
        median {count(median)} · p95 {count(p95)} ms
      </span>
    </State>
  )
}

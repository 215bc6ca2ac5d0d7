// One cycle: what it was about and heard, how long its phases took, and its ledger: everything that it decided, on one
// scale, with the bar of the focus drawn through it.

import type { Cycle } from '@loci/sdk/daemon.ts'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { cycleQuery, cycleStatsQuery, decisionsQuery } from '../../api/cycles.ts'
import { problemOf } from '../../api/problem.ts'
import { useRecords } from '../../api/records.ts'
import { count, moment, shortId, took } from '../../format.ts'
import { DEFAULT_DATABASE, useService } from '../../frame/service.tsx'
import { useKeys } from '../../keys/keys.ts'
import { hasPage } from '../../pages.ts'
import { CommandLine } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { recordIdOf } from '../../parts/ledger.ts'
import { Empty, Loaded, Trouble } from '../../parts/states.tsx'
import { Clock } from '../../parts/time.tsx'
import { triggerOf } from '../../parts/trigger.ts'
import { usePreferences } from '../../preferences.ts'
import { About } from './about.tsx'
import './cycle.css'
import { Decisions } from './decisions.tsx'
import { Phases } from './phases.tsx'
import { Stored } from './stored.tsx'

const route = getRouteApi('/s/$slug/cycles/$id')

export function Page() {
  const { id } = route.useParams()
  return <OneCycle key={id} id={id} />
}

function OneCycle({ id }: { id: string }) {
  const view = useService()
  const query = useQuery(cycleQuery(view, id))
  const cycle = query.data
  const decisions = useQuery(decisionsQuery(view, cycle?.id))
  const named = decisions.data ?? []
  const records = useRecords(view, named.map(recordIdOf))
  const { database } = view.at
  const user = database === DEFAULT_DATABASE ? '' : ` --user ${database}`
  useKeys(useMemo(() => ({ y: () => void navigator.clipboard.writeText(cycle?.id ?? id) }), [cycle, id]))
  return (
    <>
      <Head
        title={cycle ? `Cycle ${count(cycle.seq)}` : id.startsWith('cyc_') ? shortId(id) : `Cycle ${id}`}
        of={view.service.name}
        above={
          <Link to="/s/$slug/cycles" params={{ slug: view.service.slug }}>
            Cycles
          </Link>
        }
        sub={cycle && <When cycle={cycle} />}
      >
        {cycle && <Steps cycle={cycle} />}
        {cycle && hasPage('mind') && (
          <Link
            className="btn"
            to="/s/$slug/mind"
            params={{ slug: view.service.slug }}
            search={(now) => ({ db: now.db, at: cycle.startedAt })}
          >
            <Icon name="mind" />
            On the timeline
          </Link>
        )}
      </Head>
      {cycle === undefined && query.error ? (
        <section className="card">
          <NotThere id={id} error={query.error} onRetry={() => void query.refetch()} />
        </section>
      ) : cycle === undefined ? (
        <section className="card">
          <Loaded of={query} rows={8}>
            {() => null}
          </Loaded>
        </section>
      ) : (
        <>
          {cycle.redacted && (
            <p className="note">
              <Icon name="erase" />
              Words of this cycle were erased. What it decided, and its place in the chain, are as they were.
            </p>
          )}
          <div className="grid cycle-top">
            <About cycle={cycle} decisions={named} records={records} />
            <Phases cycle={cycle} />
          </div>
          <Decisions cycle={cycle} query={decisions} records={records} />
          <Stored cycle={cycle} />
          <p>
            <CommandLine>{`loci cycles decisions ${cycle.id}${user}`}</CommandLine>
          </p>
        </>
      )}
    </>
  )
}

function When({ cycle }: { cycle: Cycle }) {
  const { zone } = usePreferences()
  const { startedAt, durationMs, trigger } = cycle
  return (
    <span className="row wrap tn">
      <Linked cycle={cycle} />
      <span title={moment(startedAt, zone)}>
        <Clock at={startedAt} /> · {took(durationMs)} · {triggerOf(trigger).by}
      </span>
    </span>
  )
}

/** What is shown was verified by the server; that it is linked to the one before it is seen here. */
function Linked({ cycle: { seq, prevHash, hash } }: { cycle: Cycle }) {
  const view = useService()
  const before = useQuery({ ...cycleQuery(view, String(seq - 1)), enabled: seq > 1 })
  const isLinked = before.data && before.data.hash === prevHash
  return (
    <span className="tag ok" title={`sha256 ${hash}`}>
      <Icon name="link" />
      {seq === 1 ? 'verified, the first' : isLinked ? `verified, linked to ${count(seq - 1)}` : 'verified'}
    </span>
  )
}

/** To the cycles before and after it. */
function Steps({ cycle: { seq } }: { cycle: Cycle }) {
  const view = useService()
  const navigate = useNavigate()
  const { data: stats } = useQuery(cycleStatsQuery(view))
  const { slug } = view.service
  const last = Math.max(seq, stats?.totalCycles ?? seq)
  useKeys(
    useMemo(() => {
      const to = (number: number) => () => {
        if (number >= 1 && number <= last)
          void navigate({ to: '/s/$slug/cycles/$id', params: { slug, id: String(number) }, search: (now) => now })
      }
      return { ArrowLeft: to(seq - 1), ArrowRight: to(seq + 1) }
    }, [navigate, slug, seq, last]),
  )
  return (
    <nav className="seg" aria-label="Step through cycles">
      <Step to={seq - 1} isThere={seq > 1} icon="step-back" label="previous cycle" />
      <Step to={seq + 1} isThere={seq < last} icon="step-on" label="next cycle" />
    </nav>
  )
}

interface StepProps {
  to: number
  isThere: boolean
  icon: 'step-back' | 'step-on'
  label: string
}

function Step({ to, isThere, icon, label }: StepProps) {
  const { service } = useService()
  return (
    <Link
      to="/s/$slug/cycles/$id"
      params={{ slug: service.slug, id: String(to) }}
      search={(now) => now}
      disabled={!isThere}
      activeProps={{}}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
    </Link>
  )
}

function NotThere({ id, error, onRetry }: { id: string; error: unknown; onRetry(): void }) {
  const { service } = useService()
  const { kind } = problemOf(error)
  if (kind === 'missing')
    return (
      <Empty
        title={id.startsWith('cyc_') ? 'There is no such cycle' : `There is no cycle ${id}`}
        action={
          <Link to="/s/$slug/cycles" params={{ slug: service.slug }} className="btn p">
            Cycles
          </Link>
        }
        command="loci cycles list"
      >
        It did not run yet, it is no longer kept, or it is in another database.
      </Empty>
    )
  if (kind !== 'damaged') return <Trouble error={error} onRetry={onRetry} />
  return (
    <div className="b damaged">
      <p className="row wrap">
        <span className="st bad">
          <Icon name="cross" />
          damaged
        </span>
        <span className="id">{id}</span>
      </p>
      <p>Its bytes do not fit its hash, so it is not shown; nothing else is hidden by it.</p>
      <Trouble error={error} />
    </div>
  )
}

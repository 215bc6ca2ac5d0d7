// Cycles, newest first: what each was about, how long its phases took, what it decided; whether the chain of them is
// whole and the loop runs; and a cycle to be run, or tried without doing it.

import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { cycleStatsQuery } from '../../api/cycles.ts'
import { count, took } from '../../format.ts'
import { DEFAULT_DATABASE, useService } from '../../frame/service.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { DryRun } from '../../parts/dry-run.tsx'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { PhaseLegend } from '../../parts/phase-bar.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import type { CyclesSearch } from '../../search.ts'
import './cycles.css'
import { cyclesQuery } from './queries.ts'
import { RunDialog } from './run.tsx'
import { ChainState, Durations, LoopState } from './states.tsx'
import { CycleTable } from './table.tsx'

const route = getRouteApi('/s/$slug/cycles')
const SPANS: readonly (readonly [CyclesSearch['since'], string])[] = [
  ['1h', '1 h'],
  ['24h', '24 h'],
  ['7d', '7 d'],
  [undefined, 'All'],
]

export function Page() {
  const view = useService()
  const { since } = route.useSearch()
  const [asks, ask] = useState<'dry run' | 'run'>()
  const stats = useQuery(cycleStatsQuery(view))
  const list = useInfiniteQuery(cyclesQuery(view, since))
  const cycles = list.data?.pages.flatMap((page) => page.cycles) ?? []
  const { database } = view.at
  const user = database === DEFAULT_DATABASE ? '' : ` --user ${database}`
  const close = () => ask(undefined)
  return (
    <>
      <Head
        title="Cycles"
        of={view.service.name}
        sub={
          stats.data && (
            <>
              {count(stats.data.totalCycles)} in <code>{database}</code>,{' '}
              {stats.data.attempts.failed === 0 ? 'none failed' : `${count(stats.data.attempts.failed)} tries failed`}
              {stats.data.totalCycles > 0 && ` · mean ${took(stats.data.averageDurationMs)}`}
            </>
          )
        }
      >
        <nav className="seg" aria-label="How far back">
          {SPANS.map(([name, text]) => (
            <Link
              key={text}
              from="/s/$slug/cycles"
              to="."
              search={(now) => ({ ...now, since: name })}
              activeProps={{}}
              aria-current={name === since ? 'page' : undefined}
            >
              {text}
            </Link>
          ))}
        </nav>
        <button type="button" className="btn" onClick={() => ask('dry run')}>
          Dry run…
        </button>
        <button type="button" className="btn p" onClick={() => ask('run')}>
          <Icon name="play" />
          Run a cycle
        </button>
      </Head>
      <div className="grid cycle-states">
        <ChainState stats={stats.data} seen={list.data?.pages[0]?.corruption} />
        <LoopState />
        <Durations of={cycles} />
      </div>
      <section className="card">
        <header>
          <h2>Newest first</h2>
          <span className="r">
            <PhaseLegend />
          </span>
        </header>
        <Loaded of={list} rows={8}>
          {() =>
            cycles.length === 0 ? (
              <Empty
                title={stats.data?.totalCycles ? 'No cycle ran in this time' : 'No cycle ran yet'}
                command={`loci cycles run --observe 'Ada asks for her parcel'${user}`}
                action={
                  <button type="button" className="btn p" onClick={() => ask('run')}>
                    Run a cycle
                  </button>
                }
              >
                A cycle takes in what was heard, recalls what belongs to it, and decides what stays in mind.
              </Empty>
            ) : (
              <CycleTable cycles={cycles} />
            )
          }
        </Loaded>
        {list.hasNextPage && (
          <div className="b">
            <button
              type="button"
              className="btn s"
              disabled={list.isFetching}
              onClick={() => void list.fetchNextPage()}
            >
              {list.isFetchingNextPage ? 'Asking…' : 'Older'}
            </button>
          </div>
        )}
      </section>
      <p>
        <CommandLine>{`loci cycles list${user}`}</CommandLine>
      </p>
      {asks === 'dry run' && <DryRun onClose={close} />}
      {asks === 'run' && <RunDialog onClose={close} />}
    </>
  )
}

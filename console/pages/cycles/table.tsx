// The cycles as rows: by whom, about what, how long each phase took, what was decided. What a cycle without a focus
// heard is asked for when its row is seen.

import type { Cycle } from '@loci/sdk/daemon.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { decisionsQuery } from '../../api/cycles.ts'
import { useRecords } from '../../api/records.ts'
import { count, took } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { useRowKeys } from '../../keys/rows.ts'
import { hasPage } from '../../pages.ts'
import { heardIn } from '../../parts/heard.ts'
import { recordIdOf } from '../../parts/ledger.ts'
import { PhaseBar } from '../../parts/phase-bar.tsx'
import { phasesEnd } from '../../parts/phases.ts'
import { Said } from '../../parts/said.tsx'
import { useSeen } from '../../parts/seen.ts'
import { Clock } from '../../parts/time.tsx'
import { triggerOf } from '../../parts/trigger.ts'
import { changesIn } from './changes.ts'

export function CycleTable({ cycles }: { cycles: readonly Cycle[] }) {
  const table = useRef<HTMLTableElement>(null)
  useRowKeys(table)
  const scaleMs = Math.max(...cycles.map(({ phases }) => phasesEnd(phases)))
  return (
    <table className="t cy" ref={table}>
      <colgroup>
        <col className="seq" />
        <col className="when" />
        <col className="by" />
        <col />
        <col className="phased" />
        <col className="took" />
        <col className="decided" />
      </colgroup>
      <thead>
        <tr>
          <th>Cycle</th>
          <th>Time</th>
          <th>By</th>
          <th>Focus, or what came in</th>
          <th>Phases</th>
          <th className="num">Took</th>
          <th>Decided</th>
        </tr>
      </thead>
      <tbody>
        {cycles.map((cycle) => (
          <CycleRow key={cycle.id} cycle={cycle} scaleMs={scaleMs} />
        ))}
      </tbody>
    </table>
  )
}

function CycleRow({ cycle, scaleMs }: { cycle: Cycle; scaleMs: number }) {
  const { service } = useService()
  const { id, seq, startedAt, trigger, focus, phases, durationMs, decisions } = cycle
  return (
    <tr>
      <td>
        {hasPage('cycle') ? (
          <Link
            data-row
            className="b5"
            to="/s/$slug/cycles/$id"
            params={{ slug: service.slug, id: String(seq) }}
            title={id}
          >
            {count(seq)}
          </Link>
        ) : (
          <span className="b5">{count(seq)}</span>
        )}
      </td>
      <td className="mut2">
        <Clock at={startedAt} />
      </td>
      <td>
        <span className="tag" title={trigger}>
          {triggerOf(trigger).tag}
        </span>
      </td>
      <td>{focus === null ? <Heard cycle={cycle} /> : <Said of={focus} line />}</td>
      <td>
        <PhaseBar phases={phases} scaleMs={scaleMs} />
      </td>
      <td className="num">{took(durationMs)}</td>
      <td>
        <Decided decisions={decisions} />
      </td>
    </tr>
  )
}

function Heard({ cycle }: { cycle: Cycle }) {
  const view = useService()
  const box = useRef<HTMLSpanElement>(null)
  const isSeen = useSeen(box)
  const many = cycle.phases.find(({ name }) => name === 'perceive')?.in ?? 0
  const decisions = useQuery({ ...decisionsQuery(view, cycle.id), enabled: isSeen && many > 0 })
  const named = decisions.data ?? []
  const records = useRecords(view, named.map(recordIdOf))
  const [first] = heardIn(cycle, named, records.byId)
  if (cycle.redacted) return <span className="redacted" role="img" aria-label="erased" />
  return (
    <span ref={box} className="ell heard">
      <span className="mut2">{many === 0 ? 'nothing heard' : `heard ${count(many)}${first ? ':' : ''}`}</span>{' '}
      {first && <Said of={first.content} line />}
    </span>
  )
}

function Decided({ decisions }: { decisions: Cycle['decisions'] }) {
  const { came, left, rest } = changesIn(decisions)
  return (
    <span className="dec" title={rest.join(', ')}>
      {came > 0 && <b className="k-came">+{count(came)}</b>}
      {left > 0 && <b className="k-left">−{count(left)}</b>}
      <span className="mut2">{rest.join(', ') || 'nothing held'}</span>
    </span>
  )
}

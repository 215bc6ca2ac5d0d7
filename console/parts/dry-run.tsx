// What a cycle would do, without doing it: all of it is computed by the server, and nothing of it is kept.

import type { Cycle, CycleRan } from '@loci/sdk/daemon.ts'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useRecords } from '../api/records.ts'
import { useService } from '../frame/service.tsx'
import { Dialog } from './dialog.tsx'
import { Flow } from './flow.tsx'
import { Icon } from './icon.tsx'
import { recordIdOf } from './ledger.ts'
import { BarLegend, Ledger } from './ledger-table.tsx'
import { Trouble } from './states.tsx'
import { FamilyLegend } from './why.tsx'

export function DryRun({ onClose }: { onClose(): void }) {
  const { daemon } = useService()
  const [focus, setFocus] = useState('')
  const [heard, setHeard] = useState('')
  const run = useMutation({
    mutationFn: async (what: { focus: string; heard: string }) => {
      const observations = what.heard === '' ? [] : [{ content: what.heard }]
      const body = { dryRun: true, observations, ...(what.focus === '' ? {} : { focus: what.focus }) }
      return (await daemon.call('POST /v1/cognitive/cycles', { body })).body
    },
  })
  return (
    <Dialog title="What would a cycle do?" wide onClose={onClose}>
      <form
        className="ask"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate({ focus: focus.trim(), heard: heard.trim() })
        }}
      >
        <label className="field">
          <span className="label">Focus: what it is about</span>
          <input className="in mind" value={focus} onChange={({ target }) => setFocus(target.value)} />
        </label>
        <label className="field">
          <span className="label">Heard, if anything</span>
          <input className="in mind" value={heard} onChange={({ target }) => setHeard(target.value)} />
        </label>
        <button type="submit" className="btn p" disabled={run.isPending}>
          {run.isPending ? 'Asking…' : 'Show it'}
        </button>
      </form>
      <p className="sm mut">Nothing is stored, nothing comes and nothing leaves.</p>
      {run.error && <Trouble error={run.error} onRetry={() => run.variables && run.mutate(run.variables)} />}
      {run.data && isCycle(run.data) && <Outcome cycle={run.data} heard={run.variables?.heard ?? ''} />}
    </Dialog>
  )
}

function Outcome({ cycle, heard }: { cycle: Cycle; heard: string }) {
  const view = useService()
  const ledger = cycle.ledger ?? []
  const records = useRecords(view, ledger.map(recordIdOf))
  return (
    <div className="outcome" role="status">
      <Flow of={cycle} />
      {ledger.length === 0 ? (
        <p className="note">
          <Icon name="info" />
          Nothing would be decided: nothing is held, and nothing fits.
        </p>
      ) : (
        <>
          <div className="row wrap">
            <FamilyLegend />
            <span className="grow" />
            {cycle.threshold && <BarLegend threshold={cycle.threshold} />}
          </div>
          <div className="scroll">
            <Ledger
              decisions={ledger}
              threshold={cycle.threshold}
              records={records}
              unstored={new Map([...records.missing].map((id) => [id, heard]))}
            />
          </div>
        </>
      )}
    </div>
  )
}

function isCycle(ran: CycleRan): ran is Cycle {
  return !('redacted' in ran && ran.redacted) || 'ledger' in ran
}

// A cycle that is run from here: about something, with what was heard. The key of the form makes it one, however often
// it is sent.

import type { Cycle } from '@loci/sdk/daemon.ts'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { newIdempotencyKey } from '../../api/api.ts'
import { count } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Flow } from '../../parts/flow.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Trouble } from '../../parts/states.tsx'
import { cycleRan, isKept, runCycle, type ToRun } from './queries.ts'

export function RunDialog({ onClose }: { onClose(): void }) {
  const view = useService()
  const [focus, setFocus] = useState('')
  const [heard, setHeard] = useState('')
  const [actor, setActor] = useState('')
  const [idempotencyKey, setKey] = useState(newIdempotencyKey)
  const run = useMutation({
    mutationFn: (what: ToRun) => runCycle(view, what),
    onSuccess: () => {
      setKey(newIdempotencyKey())
      setHeard('')
      return cycleRan(view)
    },
  })
  return (
    <Dialog title="Run a cycle" onClose={onClose}>
      <form
        className="run"
        onSubmit={(event) => {
          event.preventDefault()
          run.mutate({ focus: focus.trim(), heard: heard.trim(), actor: actor.trim(), idempotencyKey })
        }}
      >
        <label className="field">
          <span className="label">Focus: what it is about, if anything</span>
          <input className="in mind" name="focus" value={focus} onChange={({ target }) => setFocus(target.value)} />
        </label>
        <label className="field">
          <span className="label">Heard, if anything</span>
          <textarea
            className="in mind"
            name="heard"
            rows={2}
            value={heard}
            onChange={({ target }) => setHeard(target.value)}
          />
        </label>
        <label className="field">
          <span className="label">Who said it</span>
          <input
            className="in mind"
            name="actor"
            value={actor}
            disabled={heard.trim() === ''}
            onChange={({ target }) => setActor(target.value)}
          />
        </label>
        <div className="row">
          <button type="submit" className="btn p" disabled={run.isPending}>
            <Icon name="play" />
            {run.isPending ? 'It runs…' : 'Run it'}
          </button>
          <span className="sm mut">What was heard becomes a memory; what has no place any more leaves.</span>
        </div>
      </form>
      {run.error && <Trouble error={run.error} isWrite onRetry={() => run.variables && run.mutate(run.variables)} />}
      {run.data && (
        <div className="ran" role="status">
          {isKept(run.data) ? (
            <Ran cycle={run.data} onClose={onClose} />
          ) : (
            <p className="note ok">
              <Icon name="check" />
              It ran, and is no longer kept.
            </p>
          )}
        </div>
      )}
    </Dialog>
  )
}

function Ran({ cycle, onClose }: { cycle: Cycle; onClose(): void }) {
  const { service } = useService()
  return (
    <>
      <p className="row wrap">
        <span className="st ok">
          <Icon name="check" />
          Cycle {count(cycle.seq)} ran
        </span>
        <Link
          to="/s/$slug/cycles/$id"
          params={{ slug: service.slug, id: String(cycle.seq) }}
          className="why"
          onClick={onClose}
        >
          What it decided <Icon name="next" />
        </Link>
      </p>
      <Flow of={cycle} />
    </>
  )
}

// Clear the working memory: first what would leave, counted by the server, then the question; and the way back for a
// day. The token of it lives in this page alone.

import type { SlotsCleared } from '@loci/sdk/daemon.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { newIdempotencyKey } from '../../api/api.ts'
import { factsKey } from '../../api/cache.ts'
import { count, counted } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Loaded, Trouble } from '../../parts/states.tsx'
import { Ago } from '../../parts/time.tsx'
import { slotsChanged } from './queries.ts'

export function ClearDialog({ onClose }: { onClose(): void }) {
  const view = useService()
  const [withPinned, setWithPinned] = useState(false)
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey)
  const includePinned = withPinned ? ('true' as const) : ('false' as const)
  const counts = useQuery({
    queryKey: factsKey(view.at, 'clear', includePinned),
    staleTime: 0,
    gcTime: 0,
    queryFn: async ({ signal }) => {
      const query = { dryRun: 'true' as const, includePinned }
      return (await view.daemon.call('POST /v1/working-memory/slots/clear', { query, signal })).body
    },
  })
  const clear = useMutation({
    mutationFn: async () =>
      (await view.daemon.call('POST /v1/working-memory/slots/clear', { query: { includePinned }, idempotencyKey }))
        .body,
    onSuccess: () => slotsChanged(view),
  })
  if (clear.data) return <Cleared cleared={clear.data} onClose={onClose} />
  return (
    <Dialog title="Clear the working memory?" onClose={onClose}>
      <Loaded of={counts} rows={2}>
        {({ cleared, retained, retainedKeys }) => (
          <p>
            <b className="tn">{counted(cleared, 'slot leaves', 'slots leave')}</b>
            {retained > 0 && (
              <>
                , {counted(retained, 'pinned one stays', 'pinned ones stay')}: <code>{retainedKeys.join(', ')}</code>
              </>
            )}
            . Long-term memory is not touched. For 24 hours it can be taken back.
          </p>
        )}
      </Loaded>
      <label className="row">
        <input
          type="checkbox"
          checked={withPinned}
          onChange={({ target }) => {
            setWithPinned(target.checked)
            setIdempotencyKey(newIdempotencyKey())
          }}
        />
        Also those that are pinned
      </label>
      {clear.error && <Trouble error={clear.error} isWrite onRetry={() => clear.mutate()} />}
      <div className="row">
        <button
          type="button"
          className="btn d"
          disabled={clear.isPending || !counts.data || counts.data.cleared === 0}
          onClick={() => clear.mutate()}
        >
          {clear.isPending ? 'Asking…' : counts.data ? `Clear ${count(counts.data.cleared)}` : 'Clear'}
        </button>
        <button type="button" className="btn" onClick={onClose}>
          Keep it
        </button>
      </div>
    </Dialog>
  )
}

function Cleared({ cleared: { cleared, undo }, onClose }: { cleared: SlotsCleared; onClose(): void }) {
  const view = useService()
  const [idempotencyKey] = useState(newIdempotencyKey)
  const back = useMutation({
    mutationFn: async (undoToken: string) =>
      (await view.daemon.call('POST /v1/working-memory/slots/restore', { body: { undoToken }, idempotencyKey })).body,
    onSuccess: () => slotsChanged(view),
  })
  return (
    <Dialog title={back.data ? 'Taken back' : 'Cleared'} onClose={onClose}>
      {back.data ? (
        <p role="status">
          {counted(back.data.restored, 'slot is', 'slots are')} in mind again
          {back.data.missing.length > 0 && `; ${counted(back.data.missing.length, 'one')} could not be: erased since`}.
        </p>
      ) : (
        <p role="status">{counted(cleared, 'slot')} left. Each of them also stands below, with its way back.</p>
      )}
      {back.error && <Trouble error={back.error} isWrite onRetry={() => undo && back.mutate(undo.token)} />}
      <div className="row">
        {undo && !back.data && (
          <button type="button" className="btn" disabled={back.isPending} onClick={() => back.mutate(undo.token)}>
            <Icon name="restore" />
            Undo
          </button>
        )}
        <button type="button" className="btn p" onClick={onClose}>
          Done
        </button>
        {undo && !back.data && (
          <span className="sm mut">
            This way back ends <Ago at={undo.expiresAt} />
          </span>
        )}
      </div>
    </Dialog>
  )
}

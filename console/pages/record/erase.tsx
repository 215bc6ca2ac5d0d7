// Before a memory is erased: what it takes, that nothing brings it back, and what to do instead.

import type { Record as Memory, RecordDeleted } from '@loci/sdk/daemon.ts'
import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { problemOf } from '../../api/problem.ts'
import { useService } from '../../frame/service.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Trouble } from '../../parts/states.tsx'
import { eraseRecord } from './queries.ts'

interface EraseProps {
  record: Memory
  onErased(receipt: RecordDeleted): void
  onClose(): void
}

export function Erase({ record: { id, key }, onErased, onClose }: EraseProps) {
  const view = useService()
  const wasUnknown = useRef(false)
  const erase = useMutation({
    mutationFn: () => eraseRecord(view, id),
    onSuccess: onErased,
    onError: (error) => {
      if (problemOf(error, { isWrite: true }).kind === 'unknown') wasUnknown.current = true
    },
  })
  const isGone = wasUnknown.current && erase.error !== null && problemOf(erase.error).kind === 'missing'
  return (
    <Confirm
      title="Erase this memory"
      action="Erase it everywhere"
      typed="erase"
      isBusy={erase.isPending}
      onConfirm={() => erase.mutate()}
      onClose={onClose}
    >
      <p className="mut2">
        It is taken out of records, the index, slots and their versions, evictions, cycles and projections, with all
        records that say the same, and it is not learned again unless somebody overrides. This can’t be undone.
      </p>
      <p className="mut2">
        {key === null ? (
          'To correct it instead, store what is true now.'
        ) : (
          <>
            To correct it instead, store a new fact under <code>{key}</code>.
          </>
        )}
      </p>
      {isGone ? (
        <p className="note ok" role="status">
          The first try did it: there is no memory under this id any more. Its receipt stands in the audit.
        </p>
      ) : (
        erase.error && <Trouble error={erase.error} isWrite onRetry={() => erase.mutate()} />
      )}
    </Confirm>
  )
}

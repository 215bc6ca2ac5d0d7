// Taking an instance back, or having its cell erase it. Only staff decides; nothing happens by itself.

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { queries } from '../../api/cache.ts'
import { type Quarantined, staffKey } from '../../api/staff.ts'
import { shortId } from '../../format.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Trouble } from '../../parts/states.tsx'

interface DecideProps {
  what: 'adopt' | 'erase'
  instance: Quarantined
  onClose(): void
}

export function Decide({ what, instance, onClose }: DecideProps) {
  const { management } = useApi()
  const [idempotencyKey] = useState(newIdempotencyKey)
  const { cell_id, service_id } = instance
  const act = useMutation({
    mutationFn: async (): Promise<void> => {
      const call = { path: { cell_id, service_id }, idempotencyKey }
      if (what === 'adopt') await management.call('POST /api/v1/quarantine/{cell_id}/{service_id}/adopt', call)
      else await management.call('DELETE /api/v1/quarantine/{cell_id}/{service_id}', call)
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: staffKey('quarantine') })
      onClose()
    },
  })
  return (
    <Confirm
      title={what === 'adopt' ? `Adopt ${shortId(service_id)}?` : `Erase ${shortId(service_id)}?`}
      action={what === 'adopt' ? 'Adopt it' : 'Erase it'}
      typed={what === 'erase' ? service_id : undefined}
      isBusy={act.isPending}
      onConfirm={() => act.mutate()}
      onClose={onClose}
    >
      <p className="mut2">
        {what === 'adopt'
          ? 'It becomes a service of its organization again, failed (recovered), as its cell says it is. Its owner accepts it with Try again, or deletes it.'
          : 'Its cell erases everything in it: memories, what is in mind, cycles, entries. This cannot be taken back.'}
      </p>
      {act.error && <Trouble error={act.error} isWrite onRetry={() => act.mutate()} />}
    </Confirm>
  )
}

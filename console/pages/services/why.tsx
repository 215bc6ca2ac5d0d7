// Why a service is not active, in its row, and what its owner can do about it; and how far one is that is being made.

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { organizationKey } from '../../api/cache.ts'
import { commandService, type Verb } from '../../api/commands.ts'
import { reasonOf } from '../../api/reasons.ts'
import type { ServiceItem } from '../../api/services.ts'
import { hasPage } from '../../pages.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Trouble } from '../../parts/states.tsx'
import { detailQuery, operationQuery } from './queries.ts'

export function Progress({ service }: { service: ServiceItem }) {
  const api = useApi()
  const detail = useQuery(detailQuery(api, service))
  const { data: operation } = useQuery(operationQuery(api, detail.data?.operation_id))
  if (!operation) return null
  const done = operation.steps.filter(({ status }) => status === 'succeeded').length
  const current = operation.steps.find(({ status }) => status === 'running' || status === 'pending')
  const at = Math.min(done + 1, operation.steps.length)
  return (
    <div className="row sm mut2 progress">
      <span className="nowrap">
        Step {at} of {operation.steps.length}
        {current && `, ${current.name}`}
      </span>
      <span
        className="meter"
        role="progressbar"
        aria-label={`${service.name}: done`}
        aria-valuenow={operation.percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <i style={{ width: `${operation.percent}%` }} />
      </span>
    </div>
  )
}

export function Why({ service }: { service: ServiceItem }) {
  const api = useApi()
  const cache = useQueryClient()
  const [isDeleting, setDeleting] = useState(false)
  const [key, setKey] = useState(newIdempotencyKey)
  const { data } = useQuery(detailQuery(api, service))
  const act = useMutation({
    mutationFn: (verb: Verb) => commandService(api, service.id, verb, key),
    onSuccess: () => {
      setKey(newIdempotencyKey())
      setDeleting(false)
      return cache.invalidateQueries({ queryKey: organizationKey(api, 'services') })
    },
  })
  const reason = data && reasonOf(data.status, data.status_reason)
  if (!reason) return null
  const verb = reason.action === 'resume' ? 'resume' : reason.action === 'retry' ? 'retry' : undefined
  return (
    <div className={`sm reason ${reason.tone}`}>
      {data.status_reason && <code>{data.status_reason}</code>} {reason.text}{' '}
      {verb && (
        <button type="button" className="link" disabled={act.isPending} onClick={() => act.mutate(verb)}>
          {verb === 'resume' ? 'Resume' : 'Try again'}
        </button>
      )}
      {reason.action === 'billing' && hasPage('usage') && <Link to="/o/usage">Billing</Link>}
      {data.status === 'failed' && (
        <>
          {verb && ' · '}
          <button type="button" className="link" onClick={() => setDeleting(true)}>
            Delete
          </button>
        </>
      )}
      {act.error && !isDeleting && (
        <Trouble error={act.error} isWrite onRetry={() => act.variables && act.mutate(act.variables)} />
      )}
      {isDeleting && (
        <Confirm
          title={`Delete ${service.name}?`}
          action="Delete it"
          typed={service.slug}
          isBusy={act.isPending}
          onConfirm={() => act.mutate('delete')}
          onClose={() => setDeleting(false)}
        >
          <p className="mut2">
            Everything in it is erased: memories, what is in mind, cycles, entries. Its tokens open nothing any more.
            This cannot be taken back.
          </p>
          {act.error && <Trouble error={act.error} isWrite onRetry={() => act.mutate('delete')} />}
        </Confirm>
      )}
    </div>
  )
}

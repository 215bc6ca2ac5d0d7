// What stands above all when a service is not active; and the commands of its owner.

import type { Service } from '@loci/sdk/management.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { organizationKey } from '../../api/cache.ts'
import { commandService, type Verb } from '../../api/commands.ts'
import { reasonOf } from '../../api/reasons.ts'
import { isMoving, type ServiceItem } from '../../api/services.ts'
import { hasPage } from '../../pages.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Trouble } from '../../parts/states.tsx'

export function NotActive({ service, detail }: { service: ServiceItem; detail: Service | undefined }) {
  const reason = detail && reasonOf(detail.status, detail.status_reason)
  if (reason)
    return (
      <div className={`note ${reason.tone}`} role="status">
        <Icon name={reason.tone === 'bad' ? 'cross' : 'warning'} />
        <div>
          <b>{reason.text}</b>
          <p className="sm">
            {detail.status_reason && <code>{detail.status_reason}</code>}{' '}
            {reason.action === 'billing' && hasPage('usage') && <Link to="/o/usage">Usage and billing</Link>}
          </p>
        </div>
      </div>
    )
  if (!isMoving(service.status)) return null
  return (
    <div className="note" role="status">
      <Icon name="running" />
      <div>
        <b>It is {service.status}</b>
        <p className="sm">
          {service.status === 'deleting'
            ? 'Everything in it is being erased; it leaves the list when its cell has confirmed that.'
            : 'Its steps are in the list; this page goes on by itself.'}{' '}
          <Link to="/services">Services</Link>
        </p>
      </div>
    </div>
  )
}

export function Commands({ service }: { service: ServiceItem }) {
  const api = useApi()
  const cache = useQueryClient()
  const [asked, ask] = useState<Verb>()
  const [key, setKey] = useState(newIdempotencyKey)
  const act = useMutation({
    mutationFn: (verb: Verb) => commandService(api, service.id, verb, key),
    onSuccess: () => {
      setKey(newIdempotencyKey())
      ask(undefined)
      return cache.invalidateQueries({ queryKey: organizationKey(api, 'services') })
    },
  })
  const close = () => {
    act.reset()
    ask(undefined)
  }
  if (service.status === 'deleting' || service.status === 'deleted') return null
  return (
    <>
      <Menu className="btn q" label={<Icon name="more" />} name={`What can be done with ${service.name}`}>
        {service.status === 'suspended' ? (
          <button type="button" onClick={() => act.mutate('resume')}>
            Resume
          </button>
        ) : service.status === 'failed' ? (
          <button type="button" onClick={() => act.mutate('retry')}>
            Try again
          </button>
        ) : (
          <button type="button" onClick={() => ask('suspend')}>
            Suspend…
          </button>
        )}
        <button type="button" onClick={() => ask('delete')}>
          Delete…
        </button>
      </Menu>
      {act.error && asked === undefined && (
        <Trouble error={act.error} isWrite onRetry={() => act.variables && act.mutate(act.variables)} />
      )}
      {asked && (
        <Confirm
          title={asked === 'delete' ? `Delete ${service.name}?` : `Suspend ${service.name}?`}
          action={asked === 'delete' ? 'Delete it' : 'Suspend it'}
          typed={asked === 'delete' ? service.slug : undefined}
          isBusy={act.isPending}
          onConfirm={() => act.mutate(asked)}
          onClose={close}
        >
          <p className="mut2">
            {asked === 'delete'
              ? 'Everything in it is erased: memories, what is in mind, cycles, entries. Its tokens open nothing any more. This cannot be taken back.'
              : 'Writes are refused until it is resumed, reads go on. Nothing is lost.'}
          </p>
          {act.error && <Trouble error={act.error} isWrite onRetry={() => act.mutate(asked)} />}
        </Confirm>
      )}
    </>
  )
}

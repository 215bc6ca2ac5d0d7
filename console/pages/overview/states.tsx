// What stands above all when a service is not active; and the commands of its owner.

import type { Service } from '@loci/sdk/management.ts'
import { Link } from '@tanstack/react-router'
import { reasonOf } from '../../api/reasons.ts'
import { isMoving, type ServiceItem } from '../../api/services.ts'
import { hasPage } from '../../pages.ts'
import { Icon } from '../../parts/icon.tsx'
import { Menu } from '../../parts/menu.tsx'
import { useServiceCommand } from '../../parts/service-command.tsx'

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
  const { run, shown } = useServiceCommand(service)
  if (service.status === 'deleting' || service.status === 'deleted') return null
  return (
    <>
      <Menu className="btn q" label={<Icon name="more" />} name={`What can be done with ${service.name}`}>
        {service.status === 'suspended' ? (
          <button type="button" onClick={() => run('resume')}>
            Resume
          </button>
        ) : service.status === 'failed' ? (
          <button type="button" onClick={() => run('retry')}>
            Try again
          </button>
        ) : (
          <button type="button" onClick={() => run('suspend')}>
            Suspend…
          </button>
        )}
        <button type="button" onClick={() => run('delete')}>
          Delete…
        </button>
      </Menu>
      {shown}
    </>
  )
}

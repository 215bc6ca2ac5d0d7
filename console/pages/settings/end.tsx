// To stop a service for a while, and to end it.

import { useNavigate } from '@tanstack/react-router'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { useServiceCommand, WHAT_DELETE_DOES, WHAT_SUSPEND_DOES } from '../../parts/service-command.tsx'

export function End() {
  const { service } = useService()
  const navigate = useNavigate()
  const { run, isBusy, shown } = useServiceCommand(service, (verb) => {
    if (verb === 'delete') void navigate({ to: '/services' })
  })
  const { status } = service
  if (status === 'deleting' || status === 'deleted') return null
  return (
    <Card title="Stop and end">
      <div className="end">
        {status === 'failed' ? (
          <>
            <p className="mut2">It is not what was asked for. Asked again, it goes on from the step that failed.</p>
            <button type="button" className="btn" disabled={isBusy} onClick={() => run('retry')}>
              Try again
            </button>
          </>
        ) : status === 'suspended' ? (
          <>
            <p className="mut2">It is suspended: writes are refused, reads go on.</p>
            <button type="button" className="btn" disabled={isBusy} onClick={() => run('resume')}>
              Resume
            </button>
          </>
        ) : (
          <>
            <p className="mut2">{WHAT_SUSPEND_DOES}</p>
            <button type="button" className="btn" disabled={isBusy} onClick={() => run('suspend')}>
              Suspend…
            </button>
          </>
        )}
        <p className="mut2">{WHAT_DELETE_DOES}</p>
        <button type="button" className="btn d" disabled={isBusy} onClick={() => run('delete')}>
          Delete…
        </button>
      </div>
      {shown}
    </Card>
  )
}

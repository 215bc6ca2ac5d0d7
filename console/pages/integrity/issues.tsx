// What a walk found, with what can be done about each.

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api/api.ts'
import { count, counted, shortId } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Trouble } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { type Issue, isErasable } from './walk.ts'

const SHOWN_MAX = 200

export function Issues({ issues, onErased }: { issues: readonly Issue[]; onErased(): void }) {
  const [erasing, erase] = useState<Issue>()
  return (
    <div id="issues">
      <Card title="Issues" aside={counted(issues.length, 'open issue')} flush>
        <table className="t issues">
          <thead>
            <tr>
              <th className="severity">Severity</th>
              <th>What</th>
              <th className="place">Where</th>
              <th className="ref">Ref</th>
              <th>Repair</th>
            </tr>
          </thead>
          <tbody>
            {issues.slice(0, SHOWN_MAX).map((issue) => {
              const { severity, type, domain, database, ref, detail, repair } = issue
              const isDamage = severity === 'error'
              return (
                <tr key={`${domain}/${database}/${ref}/${type}`}>
                  <td>
                    <Status tone={isDamage ? 'bad' : 'warn'} icon={isDamage ? 'cross' : 'warning'}>
                      {isDamage ? 'damage' : severity}
                    </Status>
                  </td>
                  <td>
                    {type}: {detail}
                  </td>
                  <td>
                    {domain} · <code>{database}</code>
                  </td>
                  <td>
                    <span className="id" title={ref ?? undefined}>
                      {ref === null ? '–' : shortId(ref)}
                    </span>
                  </td>
                  <td>
                    {repair}{' '}
                    {isErasable(issue) && (
                      <button type="button" className="btn s d" onClick={() => erase(issue)}>
                        Erase…
                      </button>
                    )}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
        {issues.length > SHOWN_MAX && (
          <p className="b sm mut">{count(issues.length - SHOWN_MAX)} more: mend these, and check again.</p>
        )}
      </Card>
      {erasing && <EraseIssue issue={erasing} onErased={onErased} onClose={() => erase(undefined)} />}
    </div>
  )
}

function EraseIssue({ issue, onErased, onClose }: { issue: Issue; onErased(): void; onClose(): void }) {
  const { service } = useService()
  const api = useApi()
  const { ref, database } = issue
  const erase = useMutation({
    mutationFn: () =>
      api.daemon(service.id, database).call('DELETE /v1/memory/records/{id}', { path: { id: ref as string } }),
    onSuccess: () => {
      onClose()
      onErased()
    },
  })
  return (
    <Confirm
      title="Erase what is damaged?"
      action="Erase"
      isBusy={erase.isPending}
      onConfirm={() => erase.mutate()}
      onClose={onClose}
    >
      <p>
        The memory <code>{ref}</code> of <code>{database}</code> cannot be read any more. A backup may still have it:
        ask the operators first. Erased, it is gone from there too, when that backup is restored.
      </p>
      {erase.error && <Trouble error={erase.error} isWrite onRetry={() => erase.mutate()} />}
    </Confirm>
  )
}

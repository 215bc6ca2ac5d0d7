// Billing events whose tenant is not known here. They count when the tenant appears, and are dead after 30 days.

import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.ts'
import { parkedQuery } from '../../api/staff.ts'
import { shortId } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Ago, Moment } from '../../parts/time.tsx'

export function Parked() {
  const parked = useQuery(parkedQuery(useApi()))
  return (
    <Card
      flush
      title="Billing events of nobody"
      aside={
        <>
          {parked.dataUpdatedAt > 0 && (
            <span>
              read <Ago at={new Date(parked.dataUpdatedAt).toISOString()} />; reading is audited
            </span>
          )}
          <button type="button" className="btn s" onClick={() => void parked.refetch()}>
            Read again
          </button>
        </>
      }
    >
      <Loaded of={parked} rows={3}>
        {({ events, next_cursor }) =>
          events.length === 0 ? (
            <Empty title="No event is parked">
              Whatever the payment provider tells of a tenant that does not exist here waits, and counts when the tenant
              appears.
            </Empty>
          ) : (
            <>
              <table className="t">
                <thead>
                  <tr>
                    <th>Received</th>
                    <th>Event</th>
                    <th>Tenant as named</th>
                    <th className="hide-s">Says</th>
                    <th>Effect</th>
                  </tr>
                </thead>
                <tbody>
                  {events.map(({ id, received_at, event_type, tenant_id, plan, status, effect }) => (
                    <tr key={id}>
                      <td className="mut2">
                        <Moment at={received_at} />
                      </td>
                      <td>
                        <code>{event_type}</code>
                      </td>
                      <td>
                        <span className="id" title={tenant_id}>
                          {tenant_id.startsWith('ten_') ? shortId(tenant_id) : tenant_id.slice(0, 40)}
                        </span>
                      </td>
                      <td className="hide-s">
                        {plan}, {status.replaceAll('_', ' ')}
                      </td>
                      <td>
                        <span className={`tag${effect === 'dead' ? ' bad' : ' warn'}`}>{effect}</span>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {next_cursor !== null && <p className="b sm mut under">Only the newest 200 are shown.</p>}
            </>
          )
        }
      </Loaded>
    </Card>
  )
}

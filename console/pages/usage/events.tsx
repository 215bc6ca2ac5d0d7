// What the payment provider said about a tenant, and what became of it.

import type { Tenant } from '@loci/sdk/management.ts'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useApi } from '../../api/api.ts'
import { shortId } from '../../format.ts'
import { hasPage } from '../../pages.ts'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { NoRight, useMay } from '../../parts/right.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Ago, Moment } from '../../parts/time.tsx'
import { type BillingEvent, billingEventsQuery, webhookQuery } from './queries.ts'
import { EFFECTS, orderOf } from './words.ts'

export function Events({ tenant }: { tenant: Tenant | undefined }) {
  const api = useApi()
  const mayRead = useMay('billing:read')
  const webhook = useQuery(webhookQuery(api))
  const isConfigured = webhook.data?.configured === true
  const events = useInfiniteQuery(billingEventsQuery(api, tenant?.id, mayRead))
  const all = events.data?.pages.flatMap((page) => page.events)
  const [newest] = all ?? []
  return (
    <Card
      flush
      title={
        <span className="row wrap">
          What the payment provider said
          {isConfigured && (
            <span className="sm mut plain">
              webhook of {webhook.data?.webhook}
              {newest && (
                <>
                  , last event <Ago at={newest.received_at} />
                </>
              )}
            </span>
          )}
        </span>
      }
      aside={
        <>
          {api.me.isStaff && hasPage('quarantine') && (
            <Link to="/staff/quarantine" search={{ view: 'parked' }}>
              Parked events
            </Link>
          )}
          newest first
        </>
      }
    >
      {mayRead ? (
        <Loaded of={{ ...events, data: all }} rows={3}>
          {(list) =>
            list.length === 0 ? (
              <NothingSaid isConfigured={isConfigured} isKnown={webhook.data !== undefined} />
            ) : (
              <>
                <table className="t said">
                  <thead>
                    <tr>
                      <th>Received</th>
                      <th>Event</th>
                      <th>Says</th>
                      <th>Effect</th>
                      <th className="hide-s">Order</th>
                      <th className="num hide-s">Warnings</th>
                    </tr>
                  </thead>
                  <tbody>
                    {list.map((event) => (
                      <Row key={event.id} event={event} />
                    ))}
                  </tbody>
                </table>
                {events.hasNextPage && (
                  <div className="b under">
                    <button
                      type="button"
                      className="btn s"
                      disabled={events.isFetchingNextPage}
                      onClick={() => void events.fetchNextPage()}
                    >
                      Older ones
                    </button>
                  </div>
                )}
              </>
            )
          }
        </Loaded>
      ) : (
        <NoRight title="Only owners read the bill" right="billing:read" />
      )}
    </Card>
  )
}

function NothingSaid({ isConfigured, isKnown }: { isConfigured: boolean; isKnown: boolean }) {
  if (isKnown && !isConfigured)
    return (
      <Empty title="No payment provider is connected" command="loci billing webhook status">
        Every plan is covered and nothing is refused for payment. Whoever runs this installation connects one by
        LOCI_BILLING_WEBHOOK_SECRETS of management.
      </Empty>
    )
  return (
    <Empty title="Nothing was said about this tenant yet" command="loci billing webhook test">
      It is on the plan free until the payment provider tells of a subscription.
    </Empty>
  )
}

const TONES: Readonly<Record<string, string>> = { applied: ' ok', unordered: ' warn', dead: ' bad' }

function Row({ event }: { event: BillingEvent }) {
  const { event_type, plan, status, effect, warnings, received_at, subscription_id, counts_for } = event
  const subscription = subscription_id ?? counts_for
  return (
    <tr>
      <td className="mut2">
        <Moment at={received_at} />
      </td>
      <td>
        <code>{event_type}</code>
        {subscription && (
          <div className="xs mut" title={subscription}>
            {shortId(subscription)}
          </div>
        )}
      </td>
      <td>
        {plan}, {status.replaceAll('_', ' ')}
      </td>
      <td>
        <span className={`tag${TONES[effect] ?? ''}`} title={EFFECTS[effect]}>
          {effect === 'applied' && <Icon name="check" />}
          {effect}
        </span>
        {effect !== 'applied' && effect !== 'superseded' && <div className="xs mut effect">{EFFECTS[effect]}</div>}
      </td>
      <td className="mut2 hide-s">{orderOf(event)}</td>
      <td className="num mut2 hide-s" title={warnings.join('\n')}>
        {warnings.length === 0 ? '–' : `${warnings.length}: ${warnings[0]}`}
      </td>
    </tr>
  )
}

// One service. What it does is asked for when the row comes into view; what is not known is a dash, never 0.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useRef } from 'react'
import { useApi } from '../../api/api.ts'
import { isMoving, type ServiceItem } from '../../api/services.ts'
import { slotsQuery } from '../../api/slots.ts'
import { lastWhole, usageQuery } from '../../api/usage.ts'
import { count } from '../../format.ts'
import { DEFAULT_DATABASE } from '../../frame/service.tsx'
import { Lit } from '../../parts/lit.tsx'
import { useSeen } from '../../parts/seen.ts'
import { Spark } from '../../parts/spark.tsx'
import { ServiceStatus } from '../../parts/status.tsx'
import { Ago } from '../../parts/time.tsx'
import { Progress, Why } from './why.tsx'

export function Row({ service }: { service: ServiceItem }) {
  const { id, slug, name, status, plan, created_at } = service
  const api = useApi()
  const row = useRef<HTMLTableRowElement>(null)
  const isSeen = useSeen(row)
  const type = typeOf(service)
  const isServing = status === 'active' || status === 'updating' || status === 'suspended'
  const usage = useQuery(usageQuery(api, id, '1h', isSeen && isServing))
  const mind = { at: { id, database: DEFAULT_DATABASE }, daemon: api.daemon(id, DEFAULT_DATABASE) }
  const slots = useQuery(slotsQuery(mind, { isEnabled: isSeen && isServing && type !== 'kv', everyMs: 60_000 }))
  const perMinute = usage.data?.isReported ? lastWhole(usage.data.requests) : undefined
  return (
    <tr ref={row}>
      <td>
        <Link to="/s/$slug" params={{ slug }} search={{ db: undefined }} className="name" data-row>
          {name}
        </Link>
        <div className="id">{slug}</div>
        {isMoving(status) && <Progress service={service} />}
        {!isMoving(status) && status !== 'active' && <Why service={service} />}
      </td>
      <td>
        <ServiceStatus status={status} />
      </td>
      <td className="hide-s mut2">{type}</td>
      <td className="hide-s">
        {usage.data?.isReported ? (
          <Spark values={usage.data.requests} label={`Requests per minute in the last hour, now ${count(perMinute)}`} />
        ) : (
          <span className="mut sm">{usage.data || !isServing ? 'no traffic yet' : '–'}</span>
        )}
      </td>
      <td className="num hide-s">{count(perMinute)}</td>
      <td className="hide-s">
        {slots.data ? (
          <span className="row held">
            <Lit activations={slots.data.slots.map(({ activation }) => activation)} capacity={slots.data.capacity} />
            <span className="sm mut2 nowrap">
              {slots.data.count} of {slots.data.capacity}
            </span>
          </span>
        ) : (
          <span className="mut">–</span>
        )}
      </td>
      <td className="num hide-s">{count(usage.data?.records)}</td>
      <td className="hide-s mut2">{plan}</td>
      <td className="num mut2">
        <Ago at={created_at} />
      </td>
    </tr>
  )
}

function typeOf({ service_type, service_type_id }: ServiceItem): string {
  return typeof service_type === 'string' ? service_type : service_type_id
}

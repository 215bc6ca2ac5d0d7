// What it holds, of what its plan allows.

import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.ts'
import { databasesQuery } from '../../api/databases.ts'
import { tenantStatusQuery } from '../../api/tenants.ts'
import { lastWhole, usageQuery } from '../../api/usage.ts'
import { bytes, count, perSecond } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Loaded } from '../../parts/states.tsx'

/** From here on it is worth a look. */
const NEARLY = 0.9

export function Holds() {
  const view = useService()
  const api = useApi()
  const status = useQuery(tenantStatusQuery(api, view.service.tenant_id))
  const { data: usage } = useQuery(usageQuery(api, view.service.id, '1h'))
  const { data: databases } = useQuery(databasesQuery(api, view.service.id))
  const perMinute = usage && lastWhole(usage.requests)
  const requests = perMinute === undefined ? undefined : perMinute / 60
  return (
    <Card title="Holds" aside="of the plan">
      <Loaded of={status} rows={4}>
        {({ limits }) => (
          <div className="grid holds">
            <Held name="Records" value={usage?.records} of={limits.records.limit} text={count} />
            <Held name="Bytes" value={usage?.bytes} of={limits.bytes.limit} text={bytes} />
            <Held name="Databases" value={databases?.length} of={limits.databases.limit} text={count} />
            <Held name="Requests" value={requests} of={limits.requests_per_second.limit} text={perSecond} />
          </div>
        )}
      </Loaded>
    </Card>
  )
}

interface HeldProps {
  name: string
  value: number | undefined
  of: number
  text(value: number | undefined): string
}

function Held({ name, value, of, text }: HeldProps) {
  const part = value === undefined || of === 0 ? 0 : Math.min(1, value / of)
  return (
    <div>
      <div className="row sm">
        <span className="mut2">{name}</span>
        <span className="grow" />
        <b className="b5 tn">{text(value)}</b>
        <span className="mut tn">of {name === 'Requests' ? count(of) : text(of)}</span>
      </div>
      <span className={`meter${part >= NEARLY ? ' warn' : ''}`}>
        <i style={{ width: `${(part * 100).toFixed(2)}%` }} />
      </span>
    </div>
  )
}

// Requests of all services of a tenant together, as reads and writes.

import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useApi } from '../../api/api.ts'
import { clock, compact, date } from '../../format.ts'
import { useKeys } from '../../keys/keys.ts'
import { Bars } from '../../parts/bars.tsx'
import { Card } from '../../parts/card.tsx'
import { ChartTable } from '../../parts/chart.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { usePreferences } from '../../preferences.ts'
import { tenantUsageQuery } from './queries.ts'
import { barsOf, type Range, rangeOf } from './series.ts'

const PERIOD = { '24h': '24 hours', '30d': '30 days', '12m': '12 months' } as const

export function Requests({ tenantId, range }: { tenantId: string | undefined; range: Range }) {
  const { zone } = usePreferences()
  const [isTable, setTable] = useState(false)
  const usage = useQuery(tenantUsageQuery(useApi(), tenantId, range))
  useKeys(useMemo(() => ({ t: () => setTable((is) => !is) }), []))
  const { unit } = rangeOf(range)
  const sum = usage.data?.usage.reduce((all, { requests }) => all + requests, 0)
  return (
    <Card
      title={
        <span className="row wrap">
          Requests per {unit}
          <span className="legend">
            <span>
              <i className="reads" />
              reads
            </span>
            <span>
              <i className="writes" />
              writes
            </span>
          </span>
        </span>
      }
      aside={
        <>
          {sum !== undefined && (
            <span className="total">
              {compact(sum)} in {PERIOD[range]}
            </span>
          )}
          <button type="button" className="why" onClick={() => setTable(!isTable)}>
            {isTable ? 'Plot' : 'Table'}
          </button>
        </>
      }
    >
      <Loaded of={usage} rows={6}>
        {(report) => {
          if (sum === 0)
            return (
              <Empty title="No request yet" command="loci services usage">
                What services are asked is reported a minute later, and stands here by {unit}.
              </Empty>
            )
          const { times, reads, writes } = barsOf(report.usage, range, Date.parse(report.to))
          const lines = [
            { name: 'writes', color: 'var(--part-around)', values: writes },
            { name: 'reads', color: 'var(--accent)', values: reads },
          ]
          // Days and months are those of UTC, as they are counted.
          const shown = times.map((at) =>
            range === '24h'
              ? clock(new Date(at), zone, { seconds: false })
              : date(new Date(at), 'utc', { months: range === '12m' }),
          )
          const label = `Requests per ${unit} in ${PERIOD[range]}: ${sum} in all`
          return isTable ? (
            <ChartTable lines={lines} times={shown} of="Requests" />
          ) : (
            <Bars lines={lines} times={shown} label={label} />
          )
        }}
      </Loaded>
    </Card>
  )
}

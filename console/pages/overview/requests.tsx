// How much it is asked, minute by minute or hour by hour.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useApi } from '../../api/api.ts'
import { lastWhole, type Span, usageQuery } from '../../api/usage.ts'
import { clock, count, day } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { useKeys } from '../../keys/keys.ts'
import { Card } from '../../parts/card.tsx'
import { Chart, ChartTable } from '../../parts/chart.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { usePreferences } from '../../preferences.ts'

const route = getRouteApi('/s/$slug/')
const SPANS: readonly (readonly [Span, string])[] = [
  ['1h', '1 h'],
  ['24h', '24 h'],
  ['7d', '7 d'],
]

export function Requests() {
  const { service } = useService()
  const of: Span = route.useSearch().range ?? '1h'
  const [isTable, setTable] = useState(false)
  const { zone } = usePreferences()
  const usage = useQuery(usageQuery(useApi(), service.id, of))
  useKeys(useMemo(() => ({ t: () => setTable((is) => !is) }), []))
  const unit = of === '1h' ? 'minute' : 'hour'
  return (
    <Card
      title={
        <span className="row wrap">
          Requests per {unit}
          <span className="legend">
            <span>
              <i className="all" />
              all
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
          <nav className="seg" aria-label="How far back">
            {SPANS.map(([name, text]) => (
              <Link
                key={name}
                from="/s/$slug"
                to="."
                search={(now) => ({ ...now, range: name === '1h' ? undefined : name })}
                resetScroll={false}
                replace
                activeProps={{}}
                aria-current={name === of || undefined}
              >
                {text}
              </Link>
            ))}
          </nav>
          <button type="button" className="why" onClick={() => setTable(!isTable)}>
            {isTable ? 'Plot' : 'Table'}
          </button>
        </>
      }
    >
      <Loaded of={usage} rows={4}>
        {({ requests, writes, times, isReported }) => {
          if (!isReported)
            return (
              <Empty title="No traffic yet" command="loci memory store &quot;Ada prefers replies in Dutch&quot;">
                A daemon reports what it was asked once a minute.
              </Empty>
            )
          const lines = [
            { name: 'all', color: 'var(--accent)', values: requests },
            { name: 'writes', color: 'var(--part-around)', values: writes },
          ]
          const shown = times.map((at) =>
            of === '7d' ? day(new Date(at), zone) : clock(new Date(at), zone, { seconds: false }),
          )
          const label = `Requests per ${unit}: ${count(lastWhole(requests))} in the last one, ${count(lastWhole(writes))} of them writes; at most ${count(Math.max(...requests))}`
          return isTable ? (
            <ChartTable lines={lines} times={shown} of="Requests" />
          ) : (
            <Chart lines={lines} times={shown} label={label} />
          )
        }}
      </Loaded>
    </Card>
  )
}

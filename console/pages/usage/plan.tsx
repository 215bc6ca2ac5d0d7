// The plan, and how much of it is used. Records, bytes and requests are limits of each service, so the one that is
// nearest to its limit is shown, by its name.

import type { ListServicesResponse, TenantStatus } from '@loci/sdk/management.ts'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { CSSProperties } from 'react'
import { useApi } from '../../api/api.ts'
import { bytes, count, date, day, shortId } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { useNow } from '../../parts/time.tsx'
import { usePreferences } from '../../preferences.ts'
import { type ServiceUsage, servicesUsageQuery } from './queries.ts'
import { fullAt } from './series.ts'

interface PlanProps {
  status: UseQueryResult<TenantStatus>
  services: ListServicesResponse['services'] | undefined
}

const TONES = {
  active: ['ok', 'check', 'active'],
  past_due: ['warn', 'warning', 'past due'],
  suspended: ['bad', 'cross', 'unpaid'],
} as const

export function Plan({ status, services }: PlanProps) {
  const used = useQuery(servicesUsageQuery(useApi(), services))
  const { zone } = usePreferences()
  const [tone, icon, word] = TONES[status.data?.status as keyof typeof TONES] ?? TONES.active
  return (
    <Card
      title={`Plan ${status.data?.covered_plan ?? ''}`}
      aside={
        status.data && (
          <Status tone={tone} icon={icon}>
            {word}
          </Status>
        )
      }
    >
      <Loaded of={status} rows={6}>
        {({ billing, limits }) => (
          <div className="grid meters">
            <dl className="kv">
              <dt>Period</dt>
              <dd>
                {billing.current_period_end
                  ? `${billing.current_period_start ? `${day(billing.current_period_start, zone)} to ` : 'until '}${day(billing.current_period_end, zone)}`
                  : '–'}
              </dd>
              <dt>Subscription</dt>
              <dd>
                {billing.subscription_id ? (
                  <span className="id" title={billing.subscription_id}>
                    {shortId(billing.subscription_id)}
                  </span>
                ) : (
                  <span className="mut">none</span>
                )}
              </dd>
            </dl>
            <Meter label="Services" value={limits.services.used} limit={limits.services.limit} show={count} />
            <Loaded of={used} rows={3}>
              {(list) => (
                <>
                  <Largest of="records" label="Records" list={list} limit={limits.records.limit} show={count} />
                  <Largest of="bytes" label="Bytes" list={list} limit={limits.bytes.limit} show={bytes} />
                  <Busiest list={list} limit={limits.requests_per_second.limit} />
                </>
              )}
            </Loaded>
            <p className="row wrap sm mut">
              <span>From a shell</span>
              <CommandLine>loci billing show</CommandLine>
            </p>
          </div>
        )}
      </Loaded>
    </Card>
  )
}

interface LargestProps {
  of: 'records' | 'bytes'
  label: string
  list: readonly ServiceUsage[]
  limit: number
  show(value: number | undefined): string
}

function Largest({ of, label, list, limit, show }: LargestProps) {
  const now = useNow(60_000)
  const { zone } = usePreferences()
  const held = list
    .map(({ service, days }) => ({ service, points: days.map((one) => ({ at: one.at, value: one[of] })) }))
    .map((one) => ({ ...one, value: one.points.at(-1)?.value }))
    .toSorted((one, other) => (other.value ?? -1) - (one.value ?? -1))[0]
  const full = held ? fullAt(held.points, limit, now) : undefined
  return (
    <Meter label={`${label}, largest service`} value={held?.value} limit={limit} show={show} of={held?.service}>
      {full !== undefined &&
        (full <= now
          ? 'Full: writes that add to it are refused, reads go on.'
          : `At this pace full on ${date(new Date(full), zone)}; then writes are refused, reads go on.`)}
    </Meter>
  )
}

function Busiest({ list, limit }: { list: readonly ServiceUsage[]; limit: number }) {
  const busiest = list.toSorted((one, other) => other.perSecond - one.perSecond)[0]
  return (
    <Meter
      label="Requests per second, peak"
      value={busiest && Math.round(busiest.perSecond * 10) / 10}
      limit={limit}
      show={(value) => (value !== undefined && value > 0 && value < 10 ? value.toFixed(1) : count(value))}
      of={busiest && busiest.perSecond > 0 ? busiest.service : undefined}
    />
  )
}

interface MeterProps {
  label: string
  value: number | undefined
  limit: number
  show(value: number | undefined): string
  of?: { name: string; slug: string } | undefined
  children?: string | false
}

const WARN_FROM = 0.75

function Meter({ label, value, limit, show, of, children }: MeterProps) {
  const part = value === undefined ? 0 : Math.min(1, value / limit)
  return (
    <div>
      <div className="row sm wrap">
        <span className="mut2">{label}</span>
        {of && value !== undefined && value > 0 && (
          <Link to="/s/$slug" params={{ slug: of.slug }} search={{ db: undefined }} className="why">
            {of.name}
          </Link>
        )}
        <span className="grow" />
        <span className="nowrap">
          <b className="b5 tn">{show(value)}</b> <span className="mut">of {show(limit)}</span>
        </span>
      </div>
      <span
        className={`meter${part >= WARN_FROM ? ' warn' : ''}`}
        role="img"
        aria-label={`${label}: ${show(value)} of ${show(limit)}`}
        style={{ '--part': `${part * 100}%` } as CSSProperties}
      >
        <i />
      </span>
      {children && <p className="xs forecast">{children}</p>}
    </div>
  )
}

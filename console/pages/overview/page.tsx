// A service at a glance: what it holds in mind, how it is, how much it is asked, what happened last.

import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.ts'
import { ago, span } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { CommandLine, Copy } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { ServiceStatus } from '../../parts/status.tsx'
import { useNow } from '../../parts/time.tsx'
import { Health } from './health.tsx'
import { Holds } from './holds.tsx'
import { InMind } from './in-mind.tsx'
import './overview.css'
import { detailQuery } from './queries.ts'
import { Recently } from './recently.tsx'
import { Requests } from './requests.tsx'
import { Commands, NotActive } from './states.tsx'

const DAY_MS = 86_400_000

export function Page() {
  const view = useService()
  const { service } = view
  const { data: detail } = useQuery(detailQuery(useApi(), view))
  const now = useNow(60_000)
  const isServing = service.status === 'active' || service.status === 'updating' || service.status === 'suspended'
  // A key-value service has no mind.
  const hasMind = detail?.service_type !== 'kv'
  const age = now - Date.parse(service.created_at)
  const about = [
    age < 7 * DAY_MS ? `since ${span(Math.max(60_000, age))}` : ago(service.created_at, now),
    detail?.region,
    service.plan,
  ]
  return (
    <>
      <Head
        title={service.name}
        sub={
          <span className="row wrap">
            <ServiceStatus status={service.status} />
            <span>{about.filter(Boolean).join(' · ')}</span>
          </span>
        }
      >
        {service.endpoint && (
          <>
            <Copy text={service.endpoint} label="Endpoint" isLarge />
            <a className="btn hide-s" href={`${service.endpoint}/docs`} target="_blank" rel="noopener">
              API docs
            </a>
          </>
        )}
        <Commands service={service} />
      </Head>
      <NotActive service={service} detail={detail} />
      {isServing && (
        <>
          {hasMind && (
            <div className="grid halves">
              <InMind />
              <Health />
            </div>
          )}
          <div className="grid halves">
            <Requests />
            <Holds />
          </div>
          {hasMind && <Recently />}
        </>
      )}
      <p className="row wrap">
        <span className="sm mut">The same from a shell</span>
        <CommandLine>{`loci services get ${service.slug}`}</CommandLine>
      </p>
    </>
  )
}

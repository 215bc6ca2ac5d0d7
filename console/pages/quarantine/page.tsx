// What nobody owns: instances that a cell holds and management does not know, and billing events of tenants that do not
// exist.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../api/api.ts'
import { cellsQuery, type Quarantined, quarantineQuery } from '../../api/staff.ts'
import { shortId } from '../../format.ts'
import { Staff } from '../../parts/staff.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Ago } from '../../parts/time.tsx'
import { Decide } from './decide.tsx'
import { Parked } from './parked.tsx'

const route = getRouteApi('/staff/quarantine')

export function Page() {
  const { view } = route.useSearch()
  return <Staff page={view ?? 'quarantine'}>{view === 'parked' ? <Parked /> : <Quarantine />}</Staff>
}

function Quarantine() {
  const api = useApi()
  const quarantine = useQuery(quarantineQuery(api))
  const { data: cells } = useQuery(cellsQuery(api))
  const [asked, ask] = useState<{ what: 'adopt' | 'erase'; instance: Quarantined }>()
  return (
    <section className="card">
      <Loaded of={quarantine} rows={3}>
        {(instances) =>
          instances.length === 0 ? (
            <Empty title="Nothing is in quarantine">
              Each cell reports what it holds. What management does not know, after a restore or a loss, waits here: it
              is served to nobody and never erased by itself.
            </Empty>
          ) : (
            <table className="t">
              <thead>
                <tr>
                  <th>Instance</th>
                  <th>Cell</th>
                  <th className="hide-s">Organization</th>
                  <th className="hide-s">Is</th>
                  <th className="num hide-s">Generation</th>
                  <th className="hide-s">First seen</th>
                  <th>Last seen</th>
                  <th />
                </tr>
              </thead>
              <tbody>
                {instances.map((instance) => (
                  <tr key={`${instance.cell_id} ${instance.service_id}`}>
                    <td>
                      <span className="id" title={instance.service_id}>
                        {shortId(instance.service_id)}
                      </span>
                    </td>
                    <td>{cells?.items.find(({ id }) => id === instance.cell_id)?.name ?? shortId(instance.cell_id)}</td>
                    <td className="hide-s">
                      <span className="id" title={`${instance.organization_id}, ${instance.tenant_id}`}>
                        {shortId(instance.organization_id)}
                      </span>
                    </td>
                    <td className="mut2 hide-s">
                      {instance.service_type}, {instance.plan}, {instance.state}
                    </td>
                    <td className="num hide-s">{instance.generation}</td>
                    <td className="mut2 hide-s">
                      <Ago at={instance.first_seen_at} />
                    </td>
                    <td className="mut2">
                      <Ago at={instance.last_seen_at} />
                    </td>
                    <td className="num nowrap">
                      <button type="button" className="why" onClick={() => ask({ what: 'adopt', instance })}>
                        Adopt
                      </button>{' '}
                      &nbsp;
                      <button type="button" className="why" onClick={() => ask({ what: 'erase', instance })}>
                        Erase
                      </button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
      {asked && <Decide {...asked} onClose={() => ask(undefined)} />}
    </section>
  )
}

// The services of the organization, and what each of them needs.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useRef } from 'react'
import { useApi } from '../../api/api.ts'
import { needsALook } from '../../api/reasons.ts'
import { type ServiceItem, servicesQuery } from '../../api/services.ts'
import { counted } from '../../format.ts'
import { useKeys } from '../../keys/keys.ts'
import { useRowKeys } from '../../keys/rows.ts'
import { hasPage } from '../../pages.ts'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { FirstSteps } from './first-steps.tsx'
import { Row } from './row.tsx'
import './services.css'
import { Today } from './today.tsx'

const route = getRouteApi('/services')

export function Page() {
  const api = useApi()
  const services = useQuery(servicesQuery(api))
  const { q = '', status } = route.useSearch()
  const table = useRef<HTMLTableElement>(null)
  useRowKeys(table)
  const all = services.data ?? []
  const create = hasPage('create') && (
    <Link to="/services/new" className="btn p">
      <Icon name="add" />
      Create service
    </Link>
  )
  return (
    <>
      <Head title="Services" sub={services.data && `${services.data.length} in ${api.organization.name}`}>
        {all.length > 0 && <Filters all={all} />}
        {create}
      </Head>
      <section className="card">
        <Loaded of={services} rows={6}>
          {(list) => {
            if (list.length === 0)
              return (
                <Empty title="No service yet" action={create} command="loci services create my-agent">
                  A service is the memory of one agent, or of many: each person it serves has a database of its own.
                </Empty>
              )
            const shown = list.filter((one) => isShown(one, q, status))
            if (shown.length === 0)
              return (
                <Empty
                  title="None of them fits"
                  action={
                    <Link to="/services" search={{ q: undefined, status: undefined }} className="btn">
                      Show all {list.length}
                    </Link>
                  }
                >
                  {counted(list.length, 'service is', 'services are')} hidden by the filter.
                </Empty>
              )
            return (
              <table ref={table} className="t sv">
                <thead>
                  <tr>
                    <th>Name</th>
                    <th>Status</th>
                    <th className="hide-s">Type</th>
                    <th className="hide-s">Requests, last hour</th>
                    <th className="num hide-s nowrap">Per min</th>
                    <th className="hide-s">In mind</th>
                    <th className="num hide-s">Records</th>
                    <th className="hide-s">Plan</th>
                    <th className="num">Created</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map((service) => (
                    <Row key={service.id} service={service} />
                  ))}
                </tbody>
              </table>
            )
          }}
        </Loaded>
      </section>
      {services.data && (
        <div className="grid below">
          <FirstSteps services={services.data} />
          <Today services={services.data} />
        </div>
      )}
    </>
  )
}

function Filters({ all }: { all: ServiceItem[] }) {
  const { q = '', status } = route.useSearch()
  const navigate = route.useNavigate()
  const input = useRef<HTMLInputElement>(null)
  useKeys(useMemo(() => ({ '/': () => input.current?.focus() }), []))
  const active = all.filter((one) => one.status === 'active').length
  const look = all.filter((one) => needsALook(one.status)).length
  return (
    <>
      <nav className="seg" aria-label="Which">
        <Link
          to="/services"
          search={(search) => ({ ...search, status: undefined })}
          activeProps={{}}
          activeOptions={{ exact: true, explicitUndefined: true }}
          aria-current={status === undefined || undefined}
        >
          All
        </Link>
        <Link
          to="/services"
          search={(search) => ({ ...search, status: 'active' as const })}
          activeProps={{}}
          activeOptions={{ exact: true, explicitUndefined: true }}
          aria-current={status === 'active' || undefined}
        >
          Active {active}
        </Link>
        <Link
          to="/services"
          search={(search) => ({ ...search, status: 'look' as const })}
          activeProps={{}}
          activeOptions={{ exact: true, explicitUndefined: true }}
          aria-current={status === 'look' || undefined}
        >
          Needs a look {look}
        </Link>
      </nav>
      <label className="in filter">
        <Icon name="filter" />
        <input
          ref={input}
          aria-label="Filter"
          placeholder="Filter"
          value={q}
          onChange={({ target }) =>
            void navigate({ search: (search) => ({ ...search, q: target.value || undefined }), replace: true })
          }
        />
        <kbd className="hide-s">/</kbd>
      </label>
    </>
  )
}

function isShown({ name, slug, status: is }: ServiceItem, q: string, status: 'active' | 'look' | undefined): boolean {
  if (status === 'active' && is !== 'active') return false
  if (status === 'look' && !needsALook(is)) return false
  return `${name} ${slug}`.toLowerCase().includes(q.toLowerCase())
}

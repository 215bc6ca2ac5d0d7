// Any id that somebody pasted leads to what it names.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Navigate, useRouteContext } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '../../api/api.ts'
import { organizationKey } from '../../api/cache.ts'
import { servicesQuery } from '../../api/services.ts'
import { DEFAULT_DATABASE } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { Head } from '../../parts/head.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { findIn } from './find.ts'
import { placeOf } from './places.ts'

const route = getRouteApi('/go/$id')
const TO = {
  tokens: '/o/tokens',
  members: '/o/members',
  usage: '/o/usage',
  audit: '/staff/audit',
  cells: '/staff/cells',
} as const

export function Page() {
  const { id } = route.useParams()
  const place = placeOf(id)
  if (!place)
    return (
      <Told id={id} title="That is no id of loci">
        Ids begin with what they name: svc_ a service, mem_ a memory, cyc_ a cycle, op_ an operation, cap_ a token.
      </Told>
    )
  if (place.is === 'nowhere')
    return (
      <Told id={id} title={`The ${place.what} has no page`}>
        {place.why}
      </Told>
    )
  if (place.is === 'page')
    return hasPage(place.page) ? (
      <Navigate to={TO[place.page]} replace />
    ) : (
      <Told id={id} title={`The ${place.what} has no page yet`}>
        It stands in a list that this console does not have.
      </Told>
    )
  if (place.is === 'organization') return <Organization id={id} />
  if (place.is === 'service') return <Service id={id} of={id} />
  if (place.is === 'operation') return <Operation id={id} />
  return <Somewhere key={id} id={id} is={place.is} />
}

function Organization({ id }: { id: string }) {
  const { organizations } = useRouteContext({ from: '__root__' }).session
  return organizations.some((one) => one.id === id) ? (
    <Navigate to="/services" search={{ org: id === organizations[0]?.id ? undefined : id }} replace />
  ) : (
    <Told id={id} title="You do not belong to this organization">
      An owner or an admin of it can invite you.
    </Told>
  )
}

function Service({ id, of }: { id: string; of: string }) {
  const services = useQuery(servicesQuery(useApi()))
  return (
    <Looking id={id} of={services}>
      {(all) => {
        const found = all.find((one) => one.id === of)
        return found ? <Navigate to="/s/$slug" params={{ slug: found.slug }} replace /> : <NotFound id={id} />
      }}
    </Looking>
  )
}

function Operation({ id }: { id: string }) {
  const api = useApi()
  const operation = useQuery({
    queryKey: organizationKey(api, 'operation', id, 'go'),
    queryFn: async ({ signal }) =>
      (await api.management.call('GET /api/v1/operations/{id}', { path: { id }, signal })).body,
  })
  return (
    <Looking id={id} of={operation}>
      {({ service_id: serviceId }) => <Service id={id} of={serviceId} />}
    </Looking>
  )
}

function Somewhere({ id, is }: { id: string; is: 'memory' | 'cycle' }) {
  const api = useApi()
  const { from } = route.useSearch()
  const found = useQuery({
    queryKey: organizationKey(api, 'found', id),
    queryFn: async ({ signal }) => (await findIn(api, is, id, from, signal)) ?? null,
  })
  return (
    <Looking id={id} of={found}>
      {(one) => {
        if (one === null) return <NotFound id={id} />
        const { slug, database } = one
        const search = { db: database === DEFAULT_DATABASE ? undefined : database }
        return is === 'memory' ? (
          <Navigate to="/s/$slug/memory/$id" params={{ slug, id }} search={search} replace />
        ) : (
          <Navigate to="/s/$slug/cycles/$id" params={{ slug, id }} search={search} replace />
        )
      }}
    </Looking>
  )
}

interface LookingProps<Data> {
  id: string
  of: Parameters<typeof Loaded<Data>>[0]['of']
  children(data: Data): ReactNode
}

function Looking<Data>({ id, of, children }: LookingProps<Data>) {
  return of.data === undefined ? (
    <>
      <Head title={id} sub="is looked for" shown={<code>{id}</code>} />
      <section className="card">
        <Loaded of={of} rows={3}>
          {() => null}
        </Loaded>
      </section>
    </>
  ) : (
    children(of.data)
  )
}

function NotFound({ id }: { id: string }) {
  const { organization } = useApi()
  return (
    <Told id={id} title="Nothing here has this id">
      It was looked for in {organization.name}. It may have been erased or deleted, or belong to another organization.
    </Told>
  )
}

function Told({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <>
      <Head title={id} shown={<code>{id}</code>} />
      <section className="card">
        <Empty
          title={title}
          action={
            <Link to="/services" className="btn p">
              Services
            </Link>
          }
          command={`loci services list`}
        >
          {children}
        </Empty>
      </section>
    </>
  )
}

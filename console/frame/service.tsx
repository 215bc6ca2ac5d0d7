// A service by the slug in the address: what every page below /s/{slug} stands on.

import type { Client } from '@loci/sdk/client.ts'
import type { DaemonOperations } from '@loci/sdk/daemon.ts'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, Outlet } from '@tanstack/react-router'
import { createContext, useContext, useMemo } from 'react'
import { useApi } from '../api/api.ts'
import { type ServiceItem, servicesQuery } from '../api/services.ts'
import { Head } from '../parts/head.tsx'
import { Empty, Loaded } from '../parts/states.tsx'

export interface ServiceInView {
  service: ServiceItem
  /** What keys of the cache begin with (api/cache.ts). */
  at: { id: string; database: string }
  /** Its daemon, in the database of the address. */
  daemon: Client<DaemonOperations>
}

export const DEFAULT_DATABASE = 'default'

const ServiceContext = createContext<ServiceInView | undefined>(undefined)
const route = getRouteApi('/s/$slug')

export function useService(): ServiceInView {
  const service = useContext(ServiceContext)
  if (!service) throw new Error('useService() stands outside of /s/{slug}')
  return service
}

export function ServiceRoute() {
  const { slug } = route.useParams()
  const { db: database = DEFAULT_DATABASE } = route.useSearch()
  const api = useApi()
  const services = useQuery(servicesQuery(api))
  const service = services.data?.find((one) => one.slug === slug || one.id === slug)
  const id = service?.id
  const daemon = useMemo(() => (id === undefined ? undefined : api.daemon(id, database)), [api, id, database])
  if (service && daemon)
    return (
      <ServiceContext value={{ service, at: { id: service.id, database }, daemon }}>
        <Outlet key={`${service.id}/${database}`} />
      </ServiceContext>
    )
  return (
    <>
      <Head title={slug} />
      <section className="card">
        <Loaded of={services}>
          {() => (
            <Empty
              title={`${api.organization.name} has no service '${slug}'`}
              action={
                <Link to="/services" className="btn p">
                  Services
                </Link>
              }
              command="loci services list"
            >
              It may have been deleted, or it belongs to another organization.
            </Empty>
          )}
        </Loaded>
      </section>
    </>
  )
}

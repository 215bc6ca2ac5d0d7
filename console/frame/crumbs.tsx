// Where one is: the organization, the service, the database; each is a list of the others.

import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useRouteContext, useSearch } from '@tanstack/react-router'
import { useApi } from '../api/api.ts'
import { databasesQuery } from '../api/databases.ts'
import { servicesQuery } from '../api/services.ts'
import { Icon } from '../parts/icon.tsx'
import { Menu, MenuLink } from '../parts/menu.tsx'
import { DEFAULT_DATABASE } from './service.tsx'

const SERVICES_SHOWN = 12

export function Crumbs() {
  const { slug } = useParams({ strict: false })
  return (
    <nav className="crumbs" aria-label="Where you are">
      <Organizations />
      {slug !== undefined && <Services slug={slug} />}
    </nav>
  )
}

function Organizations() {
  const { organization } = useApi()
  const { organizations } = useRouteContext({ from: '__root__' }).session
  const [first] = organizations
  return (
    <span className="org">
      <Menu label={<Picked text={organization.name} />} name={`Organization: ${organization.name}`}>
        {organizations.map(({ id, name, role }) => (
          <MenuLink
            key={id}
            to="/services"
            search={id === first?.id ? { org: undefined } : { org: id }}
            isOn={id === organization.id}
          >
            {name} <span className="mut">{role}</span>
          </MenuLink>
        ))}
      </Menu>
    </span>
  )
}

function Services({ slug }: { slug: string }) {
  const { data = [] } = useQuery(servicesQuery(useApi()))
  const service = data.find((one) => one.slug === slug || one.id === slug)
  return (
    <>
      <span className="sep org">/</span>
      <Menu label={<Picked text={service?.name ?? slug} />} name={`Service: ${service?.name ?? slug}`}>
        {data.slice(0, SERVICES_SHOWN).map(({ id, slug: to, name }) => (
          <MenuLink key={id} to="/s/$slug" params={{ slug: to }} search={{ db: undefined }} isOn={id === service?.id}>
            {name}
          </MenuLink>
        ))}
        <Link to="/services">All services</Link>
      </Menu>
      {service?.status === 'active' && <Databases serviceId={service.id} slug={slug} />}
    </>
  )
}

function Databases({ serviceId, slug }: { serviceId: string; slug: string }) {
  const api = useApi()
  const { db = DEFAULT_DATABASE } = useSearch({ strict: false })
  const { data = [] } = useQuery(databasesQuery(api, serviceId))
  const names = [...new Set([DEFAULT_DATABASE, ...data.map(({ name }) => name), db])].sort()
  return (
    <>
      <span className="sep org">/</span>
      <span className="org">
        <Menu label={<Picked text={db} isCode />} name={`Database: ${db}`}>
          {names.map((name) => (
            <MenuLink
              key={name}
              to="/s/$slug"
              params={{ slug }}
              search={{ db: name === DEFAULT_DATABASE ? undefined : name }}
              isOn={name === db}
            >
              <code>{name}</code>
            </MenuLink>
          ))}
        </Menu>
      </span>
    </>
  )
}

function Picked({ text, isCode = false }: { text: string; isCode?: boolean }) {
  return (
    <>
      {isCode ? <code>{text}</code> : <b>{text}</b>}
      <Icon name="choose" />
    </>
  )
}

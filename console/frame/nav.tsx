// The pages at the left; below 900 px the first four as tabs, and the rest behind More. Only pages that are there.

import { Link, type LinkProps, useParams, useRouterState } from '@tanstack/react-router'
import { useApi } from '../api/api.ts'
import { hasPage } from '../pages.ts'
import { Icon, type IconName } from '../parts/icon.tsx'
import { Menu } from '../parts/menu.tsx'

export interface NavItem {
  /** The folder in pages/. */
  page: string
  label: string
  icon: IconName
  to: LinkProps['to']
  /** `g` and this letter. */
  key?: string
  /** Begins the addresses of all its pages, where it is more than one. */
  below?: string
  /** On the tabs of a narrow screen. */
  short?: string
}

export const GENERAL: NavItem[] = [
  { page: 'services', label: 'Services', icon: 'services', to: '/services', key: 's', short: 'Services' },
]
export const OF_SERVICE: NavItem[] = [
  { page: 'overview', label: 'Overview', icon: 'overview', to: '/s/$slug', key: 'o', short: 'Overview' },
  { page: 'mind', label: 'Mind', icon: 'mind', to: '/s/$slug/mind', key: 'm', short: 'Mind' },
  {
    page: 'working-memory',
    label: 'Working memory',
    icon: 'working-memory',
    to: '/s/$slug/working-memory',
    key: 'w',
    short: 'Working',
  },
  { page: 'memory', label: 'Memory', icon: 'memory', to: '/s/$slug/memory', key: 'r', short: 'Memory' },
  { page: 'cycles', label: 'Cycles', icon: 'cycles', to: '/s/$slug/cycles', key: 'c' },
  { page: 'advice', label: 'Tool advice', icon: 'advice', to: '/s/$slug/advice', key: 'a' },
  { page: 'events', label: 'Events', icon: 'events', to: '/s/$slug/events', key: 'e' },
  { page: 'integrity', label: 'Integrity', icon: 'integrity', to: '/s/$slug/integrity' },
  { page: 'settings', label: 'Settings', icon: 'settings', to: '/s/$slug/settings' },
]
export const OF_ORGANIZATION: NavItem[] = [
  { page: 'tokens', label: 'Tokens', icon: 'tokens', to: '/o/tokens', key: 't' },
  { page: 'usage', label: 'Usage and billing', icon: 'usage', to: '/o/usage', short: 'Usage' },
  { page: 'members', label: 'Members', icon: 'members', to: '/o/members' },
]
/** Only who is staff sees it; anybody else who knows the address is told which right it needs. */
export const OF_STAFF: NavItem[] = [
  { page: 'cells', label: 'Operators', icon: 'operators', to: '/staff/cells', below: '/staff/' },
]

export const there = (items: NavItem[]): NavItem[] => items.filter(({ page }) => hasPage(page))

export function Nav() {
  const { organization, me } = useApi()
  const { slug } = useParams({ strict: false })
  return (
    <nav className="nav" aria-label="Pages">
      <Items of={GENERAL} />
      {slug !== undefined && <Items title="This service" of={OF_SERVICE} />}
      <Items title={organization.name} of={OF_ORGANIZATION} />
      {me.isStaff && <Items title="Platform staff" of={OF_STAFF} />}
      <div className="foot">
        loci {globalThis.LOCI_VERSION} · <a href="/docs">API docs</a>
      </div>
    </nav>
  )
}

function Items({ title, of }: { title?: string; of: NavItem[] }) {
  const items = there(of)
  if (items.length === 0) return null
  return (
    <>
      {title && <div className="h">{title}</div>}
      {items.map((item) => (
        <Item key={item.page} item={item} />
      ))}
    </>
  )
}

function Item({ item: { to, label, icon, short, below }, isTab = false }: { item: NavItem; isTab?: boolean }) {
  const isBelow = useRouterState({
    select: ({ location }) => below !== undefined && location.pathname.startsWith(below),
  })
  // The params are those of the page that is shown: a service's items show on its pages alone.
  return (
    <Link
      to={to as '/services'}
      params={(params) => params}
      activeOptions={{ exact: to === '/s/$slug', includeSearch: false }}
      activeProps={{ 'aria-current': 'page' }}
      {...(isBelow ? { 'aria-current': 'page' as const } : {})}
    >
      <Icon name={icon} />
      {isTab ? short : label}
    </Link>
  )
}

/** At most five: four pages and More. */
export function Tabs() {
  const { slug } = useParams({ strict: false })
  const { me } = useApi()
  const own = there(slug === undefined ? [...GENERAL, ...OF_ORGANIZATION] : OF_SERVICE)
  const shown = own.slice(0, 4)
  const rest = [
    ...own.slice(4),
    ...(slug === undefined ? [] : there([...GENERAL, ...OF_ORGANIZATION])),
    ...(me.isStaff ? there(OF_STAFF) : []),
  ]
  return (
    <nav className="tabs" aria-label="Pages">
      {shown.map((item) => (
        <Item key={item.page} item={{ ...item, short: item.short ?? item.label }} isTab />
      ))}
      {rest.length > 0 && (
        <Menu
          className="more"
          label={
            <>
              <Icon name="more" />
              More
            </>
          }
        >
          {rest.map((item) => (
            <Item key={item.page} item={item} />
          ))}
        </Menu>
      )}
    </nav>
  )
}

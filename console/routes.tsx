// Every address of the console (the same in management/console/routes.ts). All that a link must restore stands in it.

import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import type { Session } from './api/session.ts'
import { Frame } from './frame/frame.tsx'
import { NotHere, PageFailed } from './frame/not-here.tsx'
import { ServiceRoute } from './frame/service.tsx'
import { lazyPage } from './pages.ts'
import {
  adviceSearch,
  auditSearch,
  cellsSearch,
  createSearch,
  cycleSearch,
  cyclesSearch,
  eventsSearch,
  goSearch,
  integritySearch,
  membersSearch,
  memorySearch,
  mindSearch,
  organizationSearch,
  overviewSearch,
  quarantineSearch,
  serviceSearch,
  servicesSearch,
  tokensSearch,
  usageSearch,
  workingMemorySearch,
} from './search.ts'

export interface RouterContext {
  session: Session
}

const root = createRootRouteWithContext<RouterContext>()({
  validateSearch: organizationSearch,
  search: { middlewares: [retainSearchParams(['org'])] },
  component: Frame,
  notFoundComponent: NotHere,
  errorComponent: PageFailed,
})

/** A page that is not there yet shows what NotHere shows. */
const page = (name: string) => ({ component: lazyPage(name) ?? NotHere })

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/services' })
  },
})
const services = createRoute({
  getParentRoute: () => root,
  path: '/services',
  validateSearch: servicesSearch,
  ...page('services'),
})
const create = createRoute({
  getParentRoute: () => root,
  path: '/services/new',
  validateSearch: createSearch,
  ...page('create'),
})

const service = createRoute({
  getParentRoute: () => root,
  path: '/s/$slug',
  validateSearch: serviceSearch,
  search: { middlewares: [retainSearchParams(['db'])] },
  component: ServiceRoute,
})
const overview = createRoute({
  getParentRoute: () => service,
  path: '/',
  validateSearch: overviewSearch,
  ...page('overview'),
})
const mind = createRoute({
  getParentRoute: () => service,
  path: '/mind',
  validateSearch: mindSearch,
  ...page('mind'),
})
const workingMemory = createRoute({
  getParentRoute: () => service,
  path: '/working-memory',
  validateSearch: workingMemorySearch,
  ...page('working-memory'),
})
const memory = createRoute({
  getParentRoute: () => service,
  path: '/memory',
  validateSearch: memorySearch,
  ...page('memory'),
})
const record = createRoute({ getParentRoute: () => service, path: '/memory/$id', ...page('record') })
const cycles = createRoute({
  getParentRoute: () => service,
  path: '/cycles',
  validateSearch: cyclesSearch,
  ...page('cycles'),
})
const cycle = createRoute({
  getParentRoute: () => service,
  path: '/cycles/$id',
  validateSearch: cycleSearch,
  ...page('cycle'),
})
const advice = createRoute({
  getParentRoute: () => service,
  path: '/advice',
  validateSearch: adviceSearch,
  ...page('advice'),
})
const events = createRoute({
  getParentRoute: () => service,
  path: '/events',
  validateSearch: eventsSearch,
  ...page('events'),
})
const integrity = createRoute({
  getParentRoute: () => service,
  path: '/integrity',
  validateSearch: integritySearch,
  ...page('integrity'),
})
const settings = createRoute({ getParentRoute: () => service, path: '/settings', ...page('settings') })

const tokens = createRoute({
  getParentRoute: () => root,
  path: '/o/tokens',
  validateSearch: tokensSearch,
  ...page('tokens'),
})
const usage = createRoute({
  getParentRoute: () => root,
  path: '/o/usage',
  validateSearch: usageSearch,
  ...page('usage'),
})
const members = createRoute({
  getParentRoute: () => root,
  path: '/o/members',
  validateSearch: membersSearch,
  ...page('members'),
})
const cells = createRoute({
  getParentRoute: () => root,
  path: '/staff/cells',
  validateSearch: cellsSearch,
  ...page('cells'),
})
const quarantine = createRoute({
  getParentRoute: () => root,
  path: '/staff/quarantine',
  validateSearch: quarantineSearch,
  ...page('quarantine'),
})
const audit = createRoute({
  getParentRoute: () => root,
  path: '/staff/audit',
  validateSearch: auditSearch,
  ...page('audit'),
})
/** Any id that somebody pasted. */
const go = createRoute({ getParentRoute: () => root, path: '/go/$id', validateSearch: goSearch, ...page('go') })

const tree = root.addChildren([
  home,
  services,
  create,
  service.addChildren([
    overview,
    mind,
    workingMemory,
    memory,
    record,
    cycles,
    cycle,
    advice,
    events,
    integrity,
    settings,
  ]),
  ...[tokens, usage, members, cells, quarantine, audit, go],
])

export function makeRouter(context: RouterContext) {
  return createRouter({ routeTree: tree, context, defaultPreload: 'intent', scrollRestoration: true })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}

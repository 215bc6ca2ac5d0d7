// What the addresses of the console say behind the question mark. Read from text that anybody may have typed: what does
// not fit is left out, never an error.

type Search = Record<string, unknown>

export interface OrganizationSearch {
  /** Left out for the first organization of the person. */
  org?: string | undefined
}
export interface ServicesSearch {
  q?: string | undefined
  status?: 'active' | 'look' | undefined
}
export interface CreateSearch {
  /** Which creation is shown. */
  op?: string | undefined
}
export interface ServiceSearch {
  /** Left out for `default`. */
  db?: string | undefined
}
export interface OverviewSearch {
  /** Of the requests; left out for an hour. */
  range?: '24h' | '7d' | undefined
}
export interface MindSearch {
  range?: (typeof RANGES)[number] | undefined
  /** A moment, RFC 3339. */
  at?: string | undefined
  item?: string | undefined
}
export interface MemorySearch {
  /** A question: what is recalled. */
  q?: string | undefined
  /** The list instead. */
  view?: 'browse' | undefined
  as_of?: string | undefined
  actor?: string | undefined
  kind?: string | undefined
  tag?: string | undefined
  context?: string | undefined
  key?: string | undefined
  since?: string | undefined
  until?: string | undefined
  /** Of the list: the oldest first. */
  order?: 'asc' | undefined
  limit?: '25' | '100' | undefined
  /** The best there is, however little it has to do with the question. */
  anyway?: 'yes' | undefined
  /** The one whose reasons are shown. */
  hit?: string | undefined
}
export interface CyclesSearch {
  /** Left out: all. */
  since?: '1h' | '24h' | '7d' | undefined
}
export interface CycleSearch {
  /** Of the decisions those of this kind. */
  action?: 'came' | 'stayed' | 'left' | 'other' | undefined
}
export interface AdviceSearch {
  /** The policies instead. */
  view?: 'policies' | undefined
  class?: string | undefined
  intent?: string | undefined
  policy?: string | undefined
  /** At most: USD, milliseconds. */
  cost?: string | undefined
  latency?: string | undefined
  /** No tool that has side effects. */
  effects?: 'no' | undefined
  /** Where the task comes from. The same one gets the same answer. */
  event?: string | undefined
  /** The one whose reasons are shown. */
  tool?: string | undefined
}
export interface EventsSearch {
  /** The beginning of the type: `slot`, `memory.erased`. */
  type?: string | undefined
  /** Only those of the database in view. */
  only?: 'database' | undefined
}
export interface IntegritySearch {
  /** A check that begins when the page opens. */
  check?: 'full' | 'incremental' | undefined
}
export interface GoSearch {
  /** The service that was in view: it is looked through first. */
  from?: string | undefined
}

export interface TokensSearch {
  /** Left out for capabilities. */
  tab?: 'keys' | 'partners' | undefined
  /** Left out for the default one. */
  tenant?: string | undefined
  /** What is being made, narrowed, revoked or replaced, and which one. */
  act?: 'make' | 'narrow' | 'revoke' | 'rotate' | undefined
  id?: string | undefined
  /** Those that ended too. */
  ended?: 'yes' | undefined
  /** Those with which the console itself asks too. */
  own?: 'yes' | undefined
}
export interface UsageSearch {
  tenant?: string | undefined
  /** Left out for 30 days. */
  range?: '24h' | '12m' | undefined
}
export interface MembersSearch {
  act?: 'invite' | 'remove' | undefined
  id?: string | undefined
}
export interface CellsSearch {
  cell?: string | undefined
  /** The sub-service that is being switched. */
  switch?: string | undefined
}
export interface AuditSearch {
  /** An organization; left out for the platform. */
  of?: string | undefined
}

const RANGES = ['1m', '15m', '1h', '6h', '24h'] as const

export const organizationSearch = (search: Search): OrganizationSearch => texts(search, 'org')
export const servicesSearch = (search: Search): ServicesSearch => ({
  ...texts(search, 'q'),
  ...oneOf(search, 'status', ['active', 'look'] as const),
})
export const createSearch = (search: Search): CreateSearch => texts(search, 'op')
export const serviceSearch = (search: Search): ServiceSearch => texts(search, 'db')
export const overviewSearch = (search: Search): OverviewSearch => oneOf(search, 'range', ['24h', '7d'] as const)
export const mindSearch = (search: Search): MindSearch => ({
  ...oneOf(search, 'range', RANGES),
  ...texts(search, 'at', 'item'),
})
export const workingMemorySearch = (search: Search): { slot?: string | undefined } => texts(search, 'slot')
export const memorySearch = (search: Search): MemorySearch => ({
  ...texts(search, 'q', 'as_of', 'actor', 'kind', 'tag', 'context', 'key', 'since', 'until', 'hit'),
  ...oneOf(search, 'view', ['browse'] as const),
  ...oneOf(search, 'order', ['asc'] as const),
  ...oneOf(search, 'anyway', ['yes'] as const),
  ...oneOf({ limit: String(search.limit) }, 'limit', ['25', '100'] as const),
})
export const cyclesSearch = (search: Search): CyclesSearch => oneOf(search, 'since', ['1h', '24h', '7d'] as const)
export const cycleSearch = (search: Search): CycleSearch =>
  oneOf(search, 'action', ['came', 'stayed', 'left', 'other'] as const)
export const adviceSearch = (search: Search): AdviceSearch => ({
  ...texts(search, 'class', 'intent', 'policy', 'cost', 'latency', 'event', 'tool'),
  ...oneOf(search, 'view', ['policies'] as const),
  ...oneOf(search, 'effects', ['no'] as const),
})
export const eventsSearch = (search: Search): EventsSearch => ({
  ...texts(search, 'type'),
  ...oneOf(search, 'only', ['database'] as const),
})
export const goSearch = (search: Search): GoSearch => texts(search, 'from')
export const integritySearch = (search: Search): IntegritySearch =>
  oneOf(search, 'check', ['full', 'incremental'] as const)
export const tokensSearch = (search: Search): TokensSearch => ({
  ...texts(search, 'tenant', 'id'),
  ...oneOf(search, 'tab', ['keys', 'partners'] as const),
  ...oneOf(search, 'act', ['make', 'narrow', 'revoke', 'rotate'] as const),
  ...oneOf(search, 'ended', ['yes'] as const),
  ...oneOf(search, 'own', ['yes'] as const),
})
export const usageSearch = (search: Search): UsageSearch => ({
  ...texts(search, 'tenant'),
  ...oneOf(search, 'range', ['24h', '12m'] as const),
})
export const membersSearch = (search: Search): MembersSearch => ({
  ...oneOf(search, 'act', ['invite', 'remove'] as const),
  ...texts(search, 'id'),
})
export const cellsSearch = (search: Search): CellsSearch => texts(search, 'cell', 'switch')
export const quarantineSearch = (search: Search): { view?: 'parked' | undefined } =>
  oneOf(search, 'view', ['parked'] as const)
export const auditSearch = (search: Search): AuditSearch => texts(search, 'of')

function texts<Name extends string>(search: Search, ...names: Name[]): { [Key in Name]?: string | undefined } {
  const found: { [Key in Name]?: string | undefined } = {}
  for (const name of names) {
    const value = search[name]
    // The router reads `?q=4411` as a number.
    const text = typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
    if (text !== '') found[name] = text
  }
  return found
}

function oneOf<Name extends string, Value extends string>(
  search: Search,
  name: Name,
  values: readonly Value[],
): { [Key in Name]?: Value | undefined } {
  const value = values.find((one) => one === search[name])
  return (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: Value | undefined }
}

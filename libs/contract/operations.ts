// What a capability can be good for: each operation with the domains whose keyspaces it needs and what it
// does to the data, and the types of service with the domains that each has. Both programs decide by these tables and
// never by a name.

export const DOMAINS = ['working-memory', 'cognitive', 'kv', 'memory', 'advice'] as const
export type Domain = (typeof DOMAINS)[number]

export type Effect = 'read' | 'write' | 'delete' | 'operate'

/**
 * What goes on while an instance is suspended (unless its reason serves nothing: states.ts), and while the cell has
 * been without contact to management for too long. `operate` is what an operator reads or deletes; an operator's route
 * that writes has the effect `write`.
 */
export const EFFECTS: Readonly<Record<Effect, { whileSuspended: boolean; whileFeedIsStale: boolean }>> = {
  read: { whileSuspended: true, whileFeedIsStale: true },
  write: { whileSuspended: false, whileFeedIsStale: false },
  delete: { whileSuspended: true, whileFeedIsStale: true },
  operate: { whileSuspended: true, whileFeedIsStale: false },
}

export interface OperationKind {
  domains: readonly Domain[]
  /**
   * `database`: the credential must cover the request's database in each of the domains. `instance`: nothing must be
   * covered; a token is still given the domains' keyspaces, because they bound what is shown.
   */
  scope: 'database' | 'instance'
  effect: Effect
}

const operations = {
  'system:read': { domains: [], scope: 'instance', effect: 'read' },
  'kv:read': { domains: ['kv'], scope: 'database', effect: 'read' },
  'kv:write': { domains: ['kv'], scope: 'database', effect: 'write' },
  'kv:delete': { domains: ['kv'], scope: 'database', effect: 'delete' },
  'cycles:run': { domains: ['cognitive', 'working-memory', 'memory'], scope: 'database', effect: 'write' },
  'cycles:read': { domains: ['cognitive'], scope: 'database', effect: 'read' },
  'wm:read': { domains: ['working-memory'], scope: 'database', effect: 'read' },
  'wm:write': { domains: ['working-memory'], scope: 'database', effect: 'write' },
  'wm:delete': { domains: ['working-memory'], scope: 'database', effect: 'delete' },
  'memory:read': { domains: ['memory'], scope: 'database', effect: 'read' },
  'memory:write': { domains: ['memory'], scope: 'database', effect: 'write' },
  'memory:delete': { domains: ['memory'], scope: 'database', effect: 'delete' },
  'advice:read': { domains: ['advice'], scope: 'database', effect: 'read' },
  'advice:write': { domains: ['advice'], scope: 'database', effect: 'write' },
  'events:read': { domains: DOMAINS, scope: 'instance', effect: 'read' },
  operator: { domains: DOMAINS, scope: 'instance', effect: 'operate' },
} as const satisfies Record<string, OperationKind>

export type Operation = keyof typeof operations

export const OPERATIONS: Readonly<Record<Operation, OperationKind>> = operations
export const OPERATION_NAMES = Object.keys(operations) as Operation[]

const partnerRoutes = {
  projections: { domains: ['advice'], scope: 'database', effect: 'write' },
  advice: { domains: ['advice'], scope: 'database', effect: 'read' },
} as const satisfies Record<string, OperationKind>

export type PartnerRoute = keyof typeof partnerRoutes

/** What a partner credential can be good for. It names one database, so no keyspace is asked for. */
export const PARTNER_ROUTES: Readonly<Record<PartnerRoute, OperationKind>> = partnerRoutes
export const PARTNER_ROUTE_NAMES = Object.keys(partnerRoutes) as PartnerRoute[]

const serviceTypes = {
  memory: { domains: DOMAINS, otherNames: [] },
  kv: { domains: ['kv'], otherNames: ['key-value', 'key_value', 'keyvalue'] },
  // It has the routes of `memory`; relation routes come later.
  graph: { domains: DOMAINS, otherNames: [] },
} as const satisfies Record<string, { domains: readonly Domain[]; otherNames: readonly string[] }>

export type ServiceType = keyof typeof serviceTypes

export const SERVICE_TYPES: Readonly<
  Record<ServiceType, { domains: readonly Domain[]; otherNames: readonly string[] }>
> = serviceTypes
export const SERVICE_TYPE_NAMES = Object.keys(serviceTypes) as ServiceType[]

/** The type of that name, or of which it is another name, in any case. */
export function serviceTypeOf(name: string): ServiceType | undefined {
  const asked = name.toLowerCase()
  return SERVICE_TYPE_NAMES.find((type) => type === asked || SERVICE_TYPES[type].otherNames.includes(asked))
}

/** Whether a service of that type has the domain. One of a type that this release does not know has none. */
export function hasDomain(serviceType: string, domain: Domain): boolean {
  const type = serviceTypeOf(serviceType)
  return type !== undefined && SERVICE_TYPES[type].domains.includes(domain)
}

/** Whether a service of that type has the operation: what is of the whole instance, and what has all its domains. */
export function hasOperation(serviceType: string, { domains, scope }: OperationKind): boolean {
  return scope === 'instance' || domains.every((domain) => hasDomain(serviceType, domain))
}

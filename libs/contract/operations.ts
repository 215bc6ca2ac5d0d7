// The operations of capabilities (CONTRACT 1), and the domains whose keyspaces each needs.

export const OPERATIONS = [
  'system:read',
  'kv:read',
  'kv:write',
  'kv:delete',
  'cycles:run',
  'cycles:read',
  'wm:read',
  'wm:write',
  'wm:delete',
  'memory:read',
  'memory:write',
  'memory:delete',
  'advice:read',
  'events:read',
  'operator',
] as const

export type Operation = (typeof OPERATIONS)[number]

export const DOMAINS = ['working-memory', 'cognitive', 'kv', 'memory', 'advice'] as const
export type Domain = (typeof DOMAINS)[number]

/** The sets of sub-services that a service can open. `graph` opens what `memory` opens; its relation routes come later. */
export const SERVICE_TYPES = ['memory', 'kv', 'graph'] as const
export type ServiceType = (typeof SERVICE_TYPES)[number]

/** The type of that name; `key-value` is another name of `kv`. */
export function serviceTypeOf(name: string): ServiceType | undefined {
  const known = name === 'key-value' ? 'kv' : name
  return SERVICE_TYPES.find((type) => type === known)
}

/** Whether a service of that type opens the domain. */
export function opensDomain(serviceType: string, domain: Domain): boolean {
  return serviceType !== 'kv' || domain === 'kv'
}

/** Whether an operation means anything there: what is of the whole instance does, and what needs a domain that is open. */
export function opensOperation(serviceType: string, operation: Operation): boolean {
  if (operation === 'operator' || operation === 'events:read') return true
  return DOMAINS_OF[operation].every((domain) => opensDomain(serviceType, domain))
}

/** `system:read` is of the whole instance; the event stream shows whatever the keyspaces cover, so it asks for every domain. */
export const DOMAINS_OF: Readonly<Record<Operation, readonly Domain[]>> = {
  'system:read': [],
  'kv:read': ['kv'],
  'kv:write': ['kv'],
  'kv:delete': ['kv'],
  'cycles:run': ['cognitive', 'working-memory', 'memory'],
  'cycles:read': ['cognitive'],
  'wm:read': ['working-memory'],
  'wm:write': ['working-memory'],
  'wm:delete': ['working-memory'],
  'memory:read': ['memory'],
  'memory:write': ['memory'],
  'memory:delete': ['memory'],
  'advice:read': ['advice'],
  'events:read': DOMAINS,
  operator: DOMAINS,
}

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

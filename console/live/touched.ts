// Which answers in the cache an event makes old. Events have no content: they say where to ask again. A key begins with
// what it is of (api/cache.ts), then says what it holds; a new page that reads what changes has its row here.

import type { Kind } from './messages.ts'

export interface Told {
  kind: Kind
  /** The organization or the service. */
  of: string
  type: string
  database?: string | undefined
  data: { [field: string]: unknown }
}

/** By the beginning of the type: what is old of that database. */
const TOUCHED: Readonly<Record<string, readonly string[]>> = {
  cycle: ['slots', 'evictions', 'cycles', 'timeline', 'stats', 'slot-stats', 'cycle-stats', 'cycle stats'],
  slot: ['slots', 'evictions', 'timeline', 'stats', 'slot-stats'],
  memory: ['records', 'record', 'holder', 'databases'],
  database: ['databases', 'records'],
  subservice: ['health', 'system'],
}
/** Of all databases together. */
const OF_SERVICE = new Set(['databases'])

/** Whether nothing that holds words may be kept: something was erased, or it is not known whether. */
export function erases({ type }: Pick<Told, 'type'>): boolean {
  return type === 'memory.erased' || type === 'database.deleted' || type === 'truncated'
}

export function isTouched(key: readonly unknown[], told: Told): boolean {
  const [scope, id] = key
  return scope === told.kind && id === told.of
    ? told.kind === 'service'
      ? isTouchedOfService(key, told)
      : isTouchedOfOrganization(key, told)
    : // A service that changes is told by its organization.
      scope === 'service' && told.kind === 'organization' && isOfServices(told) && key[4] === 'detail'
}

function isTouchedOfService([, , , database, what, which]: readonly unknown[], told: Told): boolean {
  if (isAll(told)) return true
  const names = TOUCHED[told.type.split('.')[0] ?? ''] ?? []
  if (!names.includes(String(what))) return false
  if (!OF_SERVICE.has(String(what)) && told.database !== undefined && database !== told.database) return false
  // One memory by its id is touched by what happened to itself.
  const isOne = typeof which === 'string' && which.startsWith('mem_')
  return !isOne || which === told.data.id || which === told.data.supersededBy
}

function isTouchedOfOrganization([, , what]: readonly unknown[], told: Told): boolean {
  if (isAll(told)) return true
  const isOfService = /^(?:services?|operations?)\b/.test(String(what))
  return isOfServices(told) === isOfService
}

function isOfServices({ type }: Told): boolean {
  return type.startsWith('service.') || type.startsWith('operation.')
}

/** Nothing is known of what happened before. */
function isAll({ type }: Told): boolean {
  return type === 'truncated' || type === 'begun'
}

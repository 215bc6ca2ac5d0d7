// What a token may do, in words; what can be asked for, and why the rest can't. By the tables of the contract, which
// both programs decide by, and by what the server says of the person's role and of the token that is narrowed.

import { hasOperation, OPERATION_NAMES, OPERATIONS, type Operation } from '@loci/contract/operations.ts'

export const ALL: readonly Operation[] = OPERATION_NAMES

export interface Preset {
  id: 'agent' | 'reader' | 'all' | 'operator'
  label: string
  about: string
  has(op: Operation): boolean
}

export const PRESETS: readonly Preset[] = [
  {
    id: 'agent',
    label: 'An agent',
    about: 'remembers, recalls, runs cycles; deletes nothing',
    has: (op) => OPERATIONS[op].effect === 'read' || OPERATIONS[op].effect === 'write',
  },
  { id: 'reader', label: 'Only reading', about: 'changes nothing', has: (op) => OPERATIONS[op].effect === 'read' },
  { id: 'all', label: 'All of its data', about: 'deletes too', has: (op) => op !== 'operator' },
  { id: 'operator', label: 'Operator', about: 'configuration, policies, audit', has: () => true },
]

/** Seconds. The first that a plan of any size allows is the default. */
export const TIMES = [
  [3_600, '1 hour'],
  [86_400, '1 day'],
  [7 * 86_400, '7 days'],
  [30 * 86_400, '30 days'],
  [90 * 86_400, '90 days'],
] as const
export const TIME_DEFAULT = 86_400

/** `all but deletes and operator`; else at most three of them by name. */
export function inWords(ops: readonly string[]): string {
  if (ops.includes('operator')) return 'operator: everything'
  const has = (preset: Preset['id']) => {
    const wanted = ALL.filter((op) => PRESETS.find(({ id }) => id === preset)?.has(op))
    return wanted.length === ops.length && wanted.every((op) => ops.includes(op))
  }
  if (has('all')) return 'all but operator'
  if (has('agent')) return 'all but deletes and operator'
  if (has('reader')) return 'everything, only reading'
  if (ops.length === 0) return 'nothing'
  return ops.length <= 3 ? ops.join(', ') : `${ops.slice(0, 2).join(', ')} and ${ops.length - 2} more`
}

/** `default`, `all`, `a and 2 more`: the databases of keyspaces such as `kv/default`. */
export function databasesOf(keyspaces: readonly string[]): string {
  const names = [...new Set(keyspaces.map((keyspace) => keyspace.slice(keyspace.indexOf('/') + 1)))]
  if (names.includes('*')) return 'all'
  const [first = 'none'] = names
  return names.length > 1 ? `${first} and ${names.length - 1} more` : first
}

/** Why a token of this service can't have it; undefined: it can. */
export function whyNot(op: Operation, { role, ops, serviceType }: Bounds): string | undefined {
  if (!ops.includes(op)) return `the role ${role} has no ${op}`
  if (!hasOperation(serviceType, OPERATIONS[op])) return `a service of the type ${serviceType} has no ${op}`
  return undefined
}

interface Bounds {
  role: string
  ops: readonly string[]
  serviceType: string
}

/** Why a narrower token can't have it. */
export function whyNotNarrowed(op: Operation, held: readonly string[]): string | undefined {
  if (op === 'operator') return 'operator can’t be handed on'
  return held.includes(op) ? undefined : `its parent has no ${op}`
}

/** `its parent has no kv:write and no kv:delete; operator can’t be handed on`. */
export function joinReasons(reasons: readonly string[]): string {
  const byStart = Map.groupBy(new Set(reasons), (reason) => reason.slice(0, Math.max(0, reason.indexOf(' no '))))
  return [...byStart]
    .map(([start, all]) =>
      start === '' ? all.join('; ') : `${start}${all.map((one) => one.slice(start.length)).join(',')}`,
    )
    .join('; ')
}

// The locks of a cell that several transactions want, and the order in which one may take them (ARCHITECTURE.md, Lock
// order). A statement declares what it and the functions that it calls take, as `locks`. In every test that runs a
// daemon a statement that declares less, or more, fails (testing/lock-watch.ts).

import { createLockOrder, type Lock, maybe } from '@loci/postgres/lock-order.ts'

/**
 * After the idempotency key, before the heads of audit and events. `instance` is the advisory lock that writers share.
 * A due row of a database is written by who holds its head; who claims or postpones one locks nothing else.
 */
export const LOCKS = createLockOrder(['cell row', 'switches', 'instance', 'head', 'instance row'], {
  'due row': 'head',
})

export const instanceLock = (instanceId: string) => LOCKS.lock('instance', instanceId)
export const instanceRow = (instanceId: string) => LOCKS.lock('instance row', instanceId)
export const cellRow = () => LOCKS.lock('cell row', '')
export const headOf = (instanceId: string, database: string) => LOCKS.lock('head', `${instanceId} ${database}`)
export const dueOf = (instanceId: string, database: string) => LOCKS.lock('due row', `${instanceId} ${database}`)
/** Of the service as a whole: the feed writes it, which has the row of the cell; its worker takes it last. */
export const serviceDue = (instanceId: string) => ({ ...dueOf(instanceId, ''), under: 'cell row ' })
export const eventHead = (instanceId: string) => LOCKS.lock('event head', instanceId)

/**
 * Of a function that enters databases: the instance, the heads by name, the row of the instance where a database is
 * new, and what it locks besides.
 */
export function enteringLocks(
  instanceId: string,
  places: readonly { database: string }[],
  ...also: ('due row' | 'event head')[]
): Lock[] {
  const names = [...new Set(places.map(({ database }) => database))].sort()
  return [
    instanceLock(instanceId),
    ...names.map((name) => headOf(instanceId, name)),
    ...(also.includes('due row') ? names.map((name) => dueOf(instanceId, name)) : []),
    maybe(instanceRow(instanceId)),
    ...(also.includes('event head') ? [eventHead(instanceId)] : []),
  ]
}

// The order in which a transaction takes locks that others want too. Two transactions that keep one order cannot
// deadlock. A transaction that breaks it fails in tests and is logged by a program that serves: PostgreSQL resolves the
// rare deadlock by itself, and a mistake in this check must not refuse a customer's write.

/** A lock that a statement takes, with its place in the order; made by lock() of a LockOrder. */
export interface Lock {
  name: string
  key: string
  /** Undefined where another lock guards it. */
  rank: number | undefined
  /** Name and key of the lock that guards it: whoever takes it must have that one. */
  under: string | undefined
  /** Taken sometimes only: it must not be late, and whoever takes it later may not rely on it. */
  isMaybe?: boolean
  /** The whole order, to be told. */
  order: string
}

interface Held {
  last: Lock | undefined
  names: Set<string>
}

const transactions = new WeakMap<object, Held>()

let onBroken = (_names: string, text: string): void => {
  throw new Error(text)
}

/** For a process that serves: from here on nothing is thrown; each pair of names is logged once. */
export function logBrokenLockOrder(log: { error(fields: { reason: string }, message: string): void }): void {
  const logged = new Set<string>()
  onBroken = (names, reason) => {
    if (logged.has(names)) return
    logged.add(names)
    log.error({ reason }, 'a transaction broke the lock order and may deadlock; report this bug')
  }
}

/**
 * The transaction takes these locks, in their order. Fails when it has a lock that comes after one of them: a later
 * name, or a greater key of the same name. What it has already it may lock again. Called by transaction() for
 * statements that declare their locks.
 */
export function noteLocks(transaction: object, locks: readonly Lock[]): void {
  for (const lock of locks) note(heldBy(transaction), lock)
}

function note(held: Held, lock: Lock): void {
  const { name, key, rank, under, isMaybe = false, order } = lock
  const id = `${name} ${key}`
  if (held.names.has(id)) return
  if (!isMaybe) held.names.add(id)
  if (under !== undefined) {
    if (!held.names.has(under))
      onBroken(`${name} without its guard`, `lock order: ${id} is locked without ${under}, which guards it`)
    return
  }
  const { last } = held
  const isLate = last && (Number(last.rank) > Number(rank) || (last.rank === rank && last.key > key))
  if (isLate)
    onBroken(
      `${name} after ${last.name}`,
      `lock order: ${id} is locked after ${last.name} ${last.key}; the order is ${order}`,
    )
  else held.last = lock
}

/** Of a statement that takes it sometimes. */
export function maybe(lock: Lock): Lock {
  return { ...lock, isMaybe: true }
}

function heldBy(transaction: object): Held {
  const held = transactions.get(transaction) ?? { last: undefined, names: new Set() }
  transactions.set(transaction, held)
  return held
}

export interface LockOrder<Name extends string> {
  /** What a statement declares in its `locks`. */
  lock(name: Name, key: string): Lock
  /** The place of a name; undefined for one that is guarded. */
  rankOf(name: Name): number | undefined
  /** Beside a statement that locks and does not declare it. */
  note(sql: object, name: Name, key: string): void
  /** A row that the transaction has made itself: nobody else can wait for it, so it has no place in the order. */
  own(sql: object, name: Name, key: string): void
}

/** What an act begins and ends with in both programs. The head of events is last, because it gives the order. */
const FIRST = ['idempotency key'] as const
const LAST = ['audit head', 'event head'] as const
const OWN_RANK_MIN = 100
const LAST_RANK_MIN = 200

type ActLock = (typeof FIRST | typeof LAST)[number]

/**
 * `own` in the order in which they are locked, between those of every act. `guarded`: names of locks that only the
 * holder of another one takes, under the same key; among themselves they need no order.
 */
export function createLockOrder<const Own extends string, const Guarded extends string = never>(
  own: readonly Own[],
  guarded: Readonly<Record<Guarded, Own>> = {} as Record<Guarded, Own>,
): LockOrder<Own | Guarded | ActLock> {
  const order = [...FIRST, ...own, ...LAST].join(', ')
  const ranks = new Map<string, number>([
    ...FIRST.map((name, rank) => [name, rank] as const),
    ...own.map((name, rank) => [name, OWN_RANK_MIN + rank] as const),
    ...LAST.map((name, rank) => [name, LAST_RANK_MIN + rank] as const),
  ])
  const lock = (name: Own | Guarded | ActLock, key: string): Lock => {
    const guard = (guarded as Readonly<Record<string, string>>)[name]
    return { name, key, order, rank: ranks.get(name), under: guard && `${guard} ${key}` }
  }
  return {
    lock,
    rankOf: (name) => ranks.get(name),
    note(sql, name, key) {
      // By the pool itself a statement is a transaction of its own: it holds nothing before and nothing after.
      if (!('client' in sql)) noteLocks(sql, [lock(name, key)])
    },
    own(sql, name, key) {
      heldBy(sql).names.add(`${name} ${key}`)
    },
  }
}

/** For what both programs share. */
export const ACT_LOCKS = createLockOrder([])

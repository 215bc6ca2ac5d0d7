// The order in which a transaction takes locks that others want too. Two transactions that keep one order cannot
// deadlock. A transaction that breaks it fails in tests and is logged by a program that serves: PostgreSQL resolves the
// rare deadlock by itself, and a mistake in this check must not refuse a customer's write.

import type { Sql } from './pool.ts'

interface Held {
  last: { rank: number; name: string; key: string } | undefined
  names: Set<string>
}

const transactions = new WeakMap<Sql, Held>()

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

export interface LockOrder<Name extends string> {
  /**
   * Beside every statement that locks. Fails when the transaction has a lock that comes after this one: a later name,
   * or a greater key of the same name. What it has already it may lock again.
   */
  note(sql: Sql, name: Name, key: string): void
  /** A row that the transaction has made itself: nobody else can wait for it, so it has no place in the order. */
  own(sql: Sql, name: Name, key: string): void
}

/** What an act begins and ends with in both programs. The head of events is last, because it gives the order. */
const FIRST = ['idempotency key'] as const
const LAST = ['audit head', 'event head'] as const
const OWN_RANK_MIN = 100
const LAST_RANK_MIN = 200

type ActLock = (typeof FIRST | typeof LAST)[number]

/** `own` in the order in which they are locked, between those of every act. */
export function createLockOrder<const Own extends string>(own: readonly Own[]): LockOrder<Own | ActLock> {
  const names = [...FIRST, ...own, ...LAST]
  const ranks = new Map<string, number>([
    ...FIRST.map((name, rank) => [name, rank] as const),
    ...own.map((name, rank) => [name, OWN_RANK_MIN + rank] as const),
    ...LAST.map((name, rank) => [name, LAST_RANK_MIN + rank] as const),
  ])
  const heldBy = (sql: Sql): Held => {
    const held = transactions.get(sql) ?? { last: undefined, names: new Set() }
    transactions.set(sql, held)
    return held
  }
  return {
    note(sql, name, key) {
      // By the pool itself a statement is a transaction of its own: it holds nothing before and nothing after.
      if ('client' in sql) return
      const held = heldBy(sql)
      const id = `${name} ${key}`
      if (held.names.has(id)) return
      const rank = ranks.get(name) as number
      const { last } = held
      const isLate = last && (last.rank > rank || (last.rank === rank && last.key > key))
      if (isLate)
        onBroken(
          `${name} after ${last.name}`,
          `lock order: ${id} is locked after ${last.name} ${last.key}; the order is ${names.join(', ')}`,
        )
      else held.last = { rank, name, key }
      held.names.add(id)
    },
    own(sql, name, key) {
      heldBy(sql).names.add(`${name} ${key}`)
    },
  }
}

/** For what both programs share. */
export const ACT_LOCKS = createLockOrder([])

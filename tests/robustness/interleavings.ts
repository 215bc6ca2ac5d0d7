// Feeds under transactions that overlap in every way. The writers are the product's own functions on a pool whose every
// statement waits a random moment, so that transactions take their numbers, work and commit in any order. What really
// was committed is written down by a trigger, in the transaction itself; what a reader that remembers only how far it
// has read came to see is held against it.

import type { Client, Pool } from '@loci/postgres/pool.ts'
import type { Random } from './seeded.ts'

/** One committed change. `label` tells two changes of one key apart. */
export interface Committed {
  seq: number
  key: string
  label: string
}

export interface Seen {
  key: string
  label: string
}

export interface Feed {
  /** One transaction; may throw to be rolled back. */
  write(turn: number): Promise<unknown>
  /** What is new since the last call. */
  read(): Promise<Seen[]>
  /** All that was committed, in order of seq. */
  history(): Promise<Committed[]>
}

export interface Findings {
  /** Transactions that committed. */
  commits: number
  changes: number
  reads: number
  /** Committed, and never seen although nothing newer of its key was either. */
  missed: string[]
  /** Seen in another order than it was committed, or never committed at all. */
  reordered: string[]
}

export const ROLLED_BACK = 'rolled back by the test'

export async function interleave(
  feed: Feed,
  { turns, width, readers = 1 }: { turns: number; width: number; readers?: number },
): Promise<Findings> {
  let next = 0
  let isOver = false
  let reads = 0
  let commits = 0
  const seen: Seen[] = []
  const look = async () => {
    reads += 1
    seen.push(...(await feed.read()))
  }
  const writer = async () => {
    while (next < turns) {
      next += 1
      try {
        await feed.write(next)
        commits += 1
      } catch (error) {
        if ((error as Error).message !== ROLLED_BACK) throw error
      }
    }
  }
  const reader = async () => {
    while (!isOver) {
      await look()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  const reading = Array.from({ length: readers }, reader)
  try {
    await Promise.all(Array.from({ length: width }, writer))
  } finally {
    isOver = true
    await Promise.all(reading)
  }
  await look()
  return { ...compare(await feed.history(), seen), commits, reads }
}

function compare(history: Committed[], seen: Seen[]): Pick<Findings, 'changes' | 'missed' | 'reordered'> {
  const findings = { changes: history.length, missed: [] as string[], reordered: [] as string[] }
  const orderOf = new Map(history.map(({ key, label }, at) => [`${key} ${label}`, at]))
  const lastSeen = new Map<string, number>()
  for (const { key, label } of seen) {
    const at = orderOf.get(`${key} ${label}`)
    // Read twice is allowed, read backwards is not.
    if (at === undefined || at < (lastSeen.get(key) ?? -1)) findings.reordered.push(`${key} ${label}`)
    else lastSeen.set(key, at)
  }
  for (const [at, { seq, key, label }] of history.entries())
    if ((lastSeen.get(key) ?? -1) < at) findings.missed.push(`${seq} ${key} ${label}`)
  return findings
}

/** The same pool, but every statement of a transaction waits a moment first. */
export function hesitant(pool: Pool, random: Random): Pool {
  return {
    ...pool,
    async client() {
      const client = await pool.client()
      const query: Client['query'] = async (statement) => {
        const dice = random()
        if (dice < 0.5) await new Promise((resolve) => setTimeout(resolve, random.below(3)))
        else if (dice < 0.75) await new Promise((resolve) => setImmediate(resolve))
        return client.query(statement)
      }
      return { ...client, query }
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { CommitUnknownError } from '@loci/contract/outcomes.ts'
import { isRetryable, isStatementError, NotCommittedError } from './errors.ts'
import { noteLocks } from './lock-order.ts'
import type { Pool, Sql, Statement } from './pool.ts'

export { CommitUnknownError, isRetryable }

export interface TransactionOptions {
  isolation?: 'read committed' | 'repeatable read' | 'serializable'
  readOnly?: boolean
  retriesMax?: number
}

/**
 * Runs `work` in one transaction: commits what it returns, rolls back what it throws.
 *
 * `work` runs again after a serialization failure or a deadlock, so it may do nothing but SQL: no call to another
 * server, no counter in memory (what must happen besides goes to `sql.afterCommit`). It runs once more when a partition
 * was missing and has been made. Nothing else is ever repeated, for nothing else is known to have had no effect.
 */
export async function transaction<T>(
  pool: Pool,
  work: (sql: Sql) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const run = () => againAfterConflict(() => attempt(pool, work, options), options.retriesMax)
  const { result, effects } = await againWhenMended(pool, run)
  for (const effect of effects) pool.afterCommit(effect)
  return result
}

/** Runs `work` again after a serialization failure or a deadlock, and after nothing else. */
export async function againAfterConflict<T>(work: () => Promise<T>, retriesMax = 3): Promise<T> {
  for (let retry = 0; ; retry += 1) {
    try {
      return await work()
    } catch (error) {
      if (retry >= retriesMax || !isRetryable(error)) throw error
      // Random, or the two that collided collide again. The connection is back in the pool meanwhile.
      await sleep(2 ** retry * (2 + 8 * Math.random()))
    }
  }
}

async function againWhenMended<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(await pool.hasMended(error))) throw error
    return work()
  }
}

type Effect = Parameters<Sql['afterCommit']>[0]

async function attempt<T>(
  pool: Pool,
  work: (sql: Sql) => Promise<T>,
  options: TransactionOptions,
): Promise<{ result: T; effects: Effect[] }> {
  const client = await pool.client()
  const effects: Effect[] = []
  const sql: Sql = {
    query(statement) {
      if (statement.locks) noteLocks(sql, statement.locks())
      return client.query(statement)
    },
    afterCommit: (effect) => void effects.push(effect),
  }
  let broken: Error | undefined
  try {
    await client.query({ text: beginText(options) })
    let result: T
    try {
      result = await work(sql)
    } catch (error) {
      await client.query({ text: 'rollback' }).catch((rollbackError) => {
        broken = rollbackError
      })
      throw error
    }
    await client.query({ text: 'commit' }).catch((error) => {
      // The server said no: nothing holds, and Postgres has already left the transaction.
      if (isStatementError(error) || error instanceof NotCommittedError) throw error
      if (error instanceof CommitUnknownError) throw error
      broken = error
      throw new CommitUnknownError(
        'the connection broke during commit: look whether the change is there before repeating it',
        { cause: error },
      )
    })
    return { result, effects }
  } finally {
    client.release(broken)
  }
}

function beginText({ isolation, readOnly }: TransactionOptions): string {
  return `begin${isolation ? ` isolation level ${isolation}` : ''}${readOnly ? ' read only' : ''}`
}

/**
 * One statement that changes something, committed by itself. Getting a connection may fail without effect; once the
 * statement is on its way, a connection that breaks leaves open whether it took effect, and the error says so.
 */
export async function execute<Row extends object = Record<string, unknown>>(
  pool: Pool,
  statement: Statement,
): Promise<{ rows: Row[]; rowCount: number }> {
  return againWhenMended(pool, () => executeOnce<Row>(pool, statement))
}

async function executeOnce<Row extends object>(
  pool: Pool,
  statement: Statement,
): Promise<{ rows: Row[]; rowCount: number }> {
  const client = await pool.client()
  let broken: Error | undefined
  try {
    return await client.query<Row>(statement)
  } catch (error) {
    if (isStatementError(error) || error instanceof CommitUnknownError) throw error
    broken = error as Error
    throw new CommitUnknownError(
      'the connection broke during a write: look whether the change is there before repeating it',
      { cause: error },
    )
  } finally {
    client.release(broken)
  }
}

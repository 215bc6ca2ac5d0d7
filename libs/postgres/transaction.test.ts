import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { isUnavailable, NotCommittedError, sqlState } from './errors.ts'
import type { Pool, Sql } from './pool.ts'
import { openPool } from './pool.ts'
import { startTcpProxy } from './testing/tcp-proxy.ts'
import type { Throwaway } from './testing/throwaway.ts'
import { startThrowaway } from './testing/throwaway.ts'
import { until } from './testing/until.ts'
import { CommitUnknownError, isRetryable, transaction } from './transaction.ts'

// A server of its own: the test of the lost standby changes a setting of the whole server.
let server: Throwaway
let pool: Pool
before(async () => {
  server = await startThrowaway()
  pool = openTestPool(server.adminUrl())
  await pool.query({ text: 'create table counter (id int primary key, value int not null)' })
})
after(async () => {
  await pool.close()
  await server.remove()
})
beforeEach(async () => {
  await pool.query({ text: 'truncate counter' })
  await pool.query({ text: 'insert into counter values (1, 0), (2, 0)' })
})

test('what work returns is committed, what it throws is rolled back', async () => {
  assert.equal(await transaction(pool, async (sql) => add(sql, 1).then(() => 'done')), 'done')
  const mistake = new Error('mistake')
  await assert.rejects(
    transaction(pool, async (sql) => add(sql, 1).then(() => Promise.reject(mistake))),
    mistake,
  )
  assert.deepEqual(await values(), [1, 0])
})

test('two serializable transactions that cannot both hold are tried again until both do', async () => {
  const meeting = meetingOf(2)
  let attempts = 0
  const move = (from: number, to: number) =>
    transaction(
      pool,
      async (sql) => {
        attempts += 1
        const { rows } = await sql.query<{ value: number }>({
          text: 'select value from counter where id = $1',
          values: [from],
        })
        await meeting()
        await sql.query({ text: 'update counter set value = $2 + 1 where id = $1', values: [to, rows[0]!.value] })
      },
      { isolation: 'serializable' },
    )

  await Promise.all([move(1, 2), move(2, 1)])

  assert.ok(attempts > 2, `${attempts} attempts`)
  assert.deepEqual((await values()).toSorted(), [1, 2])
})

test('a deadlock is tried again', async () => {
  const meeting = meetingOf(2)
  let attempts = 0
  const both = (first: number, second: number) =>
    transaction(pool, async (sql) => {
      attempts += 1
      await add(sql, first)
      await meeting()
      await add(sql, second)
    })

  await Promise.all([both(1, 2), both(2, 1)])

  // One of the two is refused; on a busy machine it comes back while the other has not gone on, and once more.
  assert.ok(attempts === 3 || attempts === 4, `${attempts} attempts`)
  assert.deepEqual(await values(), [2, 2])
})

test('retries end, and the reason is found below the errors that wrap it', async () => {
  let attempts = 0
  const failing = transaction(
    pool,
    async (sql) => {
      attempts += 1
      await sql.query({ text: `do $$ begin raise exception 'no' using errcode = '40001'; end $$` }).catch((cause) => {
        throw new Error('record the outcome', { cause })
      })
    },
    { retriesMax: 2 },
  )
  await assert.rejects(failing, (error) => isRetryable(error))
  assert.equal(attempts, 3)
})

test('a unique violation is not tried again', async () => {
  let attempts = 0
  const failing = transaction(pool, async (sql) => {
    attempts += 1
    await sql.query({ text: 'insert into counter values (1, 1)' })
  })
  await assert.rejects(failing, (error) => sqlState(error) === '23505')
  assert.equal(attempts, 1)
})

test('work that swallows an error of a statement cannot be taken for committed', async () => {
  const swallowing = transaction(pool, async (sql) => {
    await add(sql, 1)
    await sql.query({ text: 'select 1/0' }).catch(() => {})
  })
  await assert.rejects(swallowing, NotCommittedError)
  assert.deepEqual(await values(), [0, 0])
})

test('a read only transaction writes nothing', async () => {
  await assert.rejects(
    transaction(pool, (sql) => add(sql, 1), { readOnly: true }),
    (e) => sqlState(e) === '25006',
  )
})

test('a statement that outlives its transaction runs nowhere', async () => {
  let leaked: Sql | undefined
  await transaction(pool, async (sql) => {
    leaked = sql
  })
  await assert.rejects(leaked!.query({ text: 'select 1' }), /given back/)
})

test('a connection lost during commit leaves the outcome unknown, before it only unavailable', async () => {
  await using proxy = await startTcpProxy(server)
  const fragile = openTestPool(`postgres://postgres@127.0.0.1:${proxy.port}/postgres`)
  proxy.cutAnswerTo('commit')
  await assert.rejects(
    transaction(fragile, (sql) => add(sql, 1)),
    (error: Error) => {
      return error instanceof CommitUnknownError && isUnavailable(error.cause)
    },
  )
  assert.deepEqual(await values(), [1, 0], 'here it did take effect')

  proxy.cutAnswerTo('update')
  await assert.rejects(
    transaction(fragile, (sql) => add(sql, 1)),
    (error: Error) => {
      return isUnavailable(error) && !(error instanceof CommitUnknownError)
    },
  )
  assert.deepEqual(fragile.counts(), { total: 0, idle: 0, waiting: 0 })
  await fragile.close()
})

test('a commit that no standby confirmed is not reported as done', async () => {
  const impatient = openTestPool(server.adminUrl(), 1_000)
  const admin = openTestPool(server.adminUrl(), 60_000)
  await admin.query({ text: `alter system set synchronous_standby_names = 'nobody'` })
  await admin.query({ text: 'select pg_reload_conf()' })
  try {
    // Postgres waits for the standby longer than we wait for Postgres. Until it has read its new setting it does not
    // wait at all.
    const outcome = () =>
      transaction(impatient, (sql) => add(sql, 1)).then(
        () => undefined,
        (error: unknown) => error,
      )
    let unknown = await outcome()
    while (unknown === undefined) unknown = await outcome()
    assert.ok(unknown instanceof CommitUnknownError, String(unknown))
    // An operator who sees the waiting session and cancels it makes Postgres answer "done".
    const cancelled = [
      assert.rejects(
        transaction(pool, (sql) => add(sql, 2)),
        CommitUnknownError,
      ),
      assert.rejects(pool.query({ text: 'insert into counter values (3, 0)' }), CommitUnknownError),
    ]
    let isOver = false
    const both = Promise.all(cancelled).finally(() => (isOver = true))
    const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
    await until(async () => isOver || ((await admin.query({ text: cancel })) && false))
    await both
  } finally {
    await admin.query({ text: 'alter system reset synchronous_standby_names' })
    await admin.query({ text: 'select pg_reload_conf()' })
    await impatient.close()
    await admin.close()
  }
})

function openTestPool(url: string, statementMs = 5_000): Pool {
  return openPool({ url, applicationName: 'transaction-test', connectionsMax: 4, statementMs, onError: () => {} })
}

async function add(sql: Sql, id: number): Promise<void> {
  await sql.query({ text: 'update counter set value = value + 1 where id = $1', values: [id] })
}

async function values(): Promise<number[]> {
  const { rows } = await pool.query<{ value: number }>({ text: 'select value from counter order by id' })
  return rows.map((row) => row.value)
}

/** Holds the first `count` callers until all of them are here; later callers pass. */
function meetingOf(count: number): () => Promise<void> {
  const all = Promise.withResolvers<void>()
  let arrived = 0
  return () => {
    arrived += 1
    if (arrived === count) all.resolve()
    return all.promise
  }
}

// Mutants: run effects in attempt(), before the commit; keep one list for all attempts; run them although the work
// threw.
test('an effect runs once, after the commit, and never for an attempt that was rolled back or run again', async () => {
  const woken: string[] = []
  const failed: Error[] = []
  const waking = openPool({
    url: server.adminUrl(),
    applicationName: 'test',
    connectionsMax: 2,
    onError: (error) => failed.push(error),
    wake: (...ids) => woken.push(ids.join(' ')),
  })
  let seen: number[] = []
  let attempts = 0
  await transaction(waking, async (sql) => {
    attempts += 1
    sql.afterCommit((wake) => wake('feed', `attempt ${attempts}`))
    await add(sql, 1)
    if (attempts === 1) await sql.query({ text: `do $$ begin raise serialization_failure; end $$` })
    sql.afterCommit(() => {
      throw new Error('an effect is no reason to fail what is committed')
    })
    sql.afterCommit((wake) => wake('last'))
    seen = await values()
  })
  assert.deepEqual([attempts, seen, woken], [2, [0, 0], ['feed attempt 2', 'last']])
  assert.deepEqual(
    failed.map(({ message }) => message),
    ['an effect is no reason to fail what is committed'],
  )

  const refused = transaction(waking, async (sql) => {
    sql.afterCommit((wake) => wake('never'))
    throw new Error('refused')
  })
  await assert.rejects(refused, /refused/)
  waking.afterCommit((wake) => wake('at once'))
  assert.deepEqual(woken.slice(2), ['at once'])
  await waking.close()
})

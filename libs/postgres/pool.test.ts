import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { DatabaseUnavailableError } from '@loci/contract/outcomes.ts'
import { isUnavailable, sqlState } from './errors.ts'
import type { Pool, PoolOptions } from './pool.ts'
import { openPool } from './pool.ts'
import { startTcpProxy } from './testing/tcp-proxy.ts'
import type { Throwaway } from './testing/throwaway.ts'
import { startThrowaway } from './testing/throwaway.ts'
import { until } from './testing/until.ts'

// What these bounds are told from is a wait without end, the driver's default; how near a loaded machine comes to them
// is its affair.
const ENDLESS_MS = 20_000

// A server of its own, because a proxy needs its TCP port and one test changes a setting of the whole server.
let server: Throwaway
before(async () => {
  server = await startThrowaway()
})
after(() => server.remove())

// Concurrent, because most of it is waiting for bounds to pass.
describe('pool', { concurrency: true }, () => {
  test('values arrive as the types we promise', async () => {
    await using pool = testPool()
    const { rows, rowCount } = await pool.query({
      name: 'types',
      text: `select 9007199254740991::int8 as big, '{1,NULL,{3}}'::text as plain, array[1,null,3]::int8[] as bigs,
               1.50::numeric as money, '2026-01-02T03:04:05Z'::timestamptz as at where $1::int = 1`,
      values: [1],
    })
    const at = new Date('2026-01-02T03:04:05Z')
    assert.equal(rowCount, 1)
    assert.deepEqual(rows, [{ big: 9007199254740991, plain: '{1,NULL,{3}}', bigs: [1, null, 3], money: '1.50', at }])
    await assert.rejects(pool.query({ text: 'select 9007199254740992::int8' }), /select it as text/)
  })

  // Everybody else is trusted by this server. Mutant: PlacedClient without the password.
  test('a login proves its password, and a wrong one is told as that', async () => {
    const hba = join(server.dataDirectory, 'pg_hba.conf')
    writeFileSync(hba, `host all proven all scram-sha-256\n${readFileSync(hba, 'utf8')}`)
    await using admin = testPool({ url: server.adminUrl() })
    await admin.query({ text: `create role proven login password 's%cret'` })
    await admin.query({ text: 'select pg_reload_conf()' })
    const url = (password: string) => `postgres://proven:${password}@127.0.0.1:${server.port}/postgres`
    await until(async () => {
      await using pool = testPool({ url: url('wrong') })
      return pool.query({ text: 'select 1' }).then(
        () => false,
        (error) => sqlState(error) === '28P01',
      )
    })
    await using pool = testPool({ url: url('s%25cret') })
    const { rows } = await pool.query({ text: 'select current_user as name' })
    assert.deepEqual(rows, [{ name: 'proven' }])
  })

  test('a named statement is prepared once per connection', async () => {
    await using pool = testPool({ connectionsMax: 1 })
    for (const n of [1, 2, 3]) await pool.query({ name: 'twice', text: 'select $1::int * 2', values: [n] })
    const { rows } = await pool.query({ text: `select name from pg_prepared_statements` })
    assert.deepEqual(rows, [{ name: 'twice' }])
  })

  test('every session carries our limits and our name', async () => {
    await using pool = testPool()
    const { rows } = await pool.query({
      text: `select name, setting from pg_settings where name in ('statement_timeout', 'lock_timeout',
             'idle_in_transaction_session_timeout', 'application_name', 'jit') order by name`,
    })
    const settings = Object.fromEntries(rows.map((row) => [row.name, row.setting]))
    assert.deepEqual(settings, {
      application_name: 'pool-test',
      idle_in_transaction_session_timeout: '5000',
      jit: 'off',
      lock_timeout: '1250',
      statement_timeout: '1750',
    })
  })

  test('a statement that runs too long is ended by the server and its connection stays', async () => {
    await using pool = testPool({ connectionsMax: 1, statementMs: 1_000 })
    const pid = await pidOf(pool)
    await assert.rejects(pool.query({ text: 'select pg_sleep(30)' }), (error) => sqlState(error) === '57014')
    assert.equal(await pidOf(pool), pid)
  })

  // A slow machine may take one refusal for silence; with SILENCE_MS below the round trip no refusal ever arrives.
  // Mutant: SILENCE_MS = 250.
  test('a server 300 ms away says itself that a statement ran too long', async () => {
    await using proxy = await startTcpProxy(server)
    await using pool = testPool({
      url: `postgres://postgres@127.0.0.1:${proxy.port}/postgres`,
      connectionsMax: 1,
      connectMs: 10_000,
      statementMs: 500,
    })
    await pool.query({ text: 'select 1' })
    proxy.delay(150)
    const told: unknown[] = []
    while (told.length < 10 && told.at(-1) !== '57014')
      told.push(await pool.query({ text: 'select pg_sleep(30)' }).catch((error) => sqlState(error)))
    assert.equal(told.at(-1), '57014')
  })

  test('who finds every connection busy is told so after the bound', async () => {
    await using pool = testPool({ connectionsMax: 1, connectMs: 200 })
    let busy = await pool.client().catch(() => undefined)
    // A busy machine may take longer than the bound to connect.
    while (!busy) busy = await pool.client().catch(() => undefined)
    const startedAt = performance.now()
    await assert.rejects(pool.query({ text: 'select 1' }), (error: Error) => {
      return error instanceof DatabaseUnavailableError && /busy/.test(error.message)
    })
    assert.ok(performance.now() - startedAt >= 190)
    busy.release()
    await pool.query({ text: 'select 1' })
  })

  test('a silent partition is noticed within the bound, and all its connections are replaced after it', async () => {
    await using proxy = await startTcpProxy(server)
    await using pool = testPool({
      url: `postgres://postgres@127.0.0.1:${proxy.port}/postgres`,
      statementMs: 800,
      connectMs: 2_000,
    })
    const before = await Promise.all([pidOf(pool, 0.05), pidOf(pool, 0.05), pidOf(pool, 0.05)])
    assert.deepEqual(pool.counts(), { total: 3, idle: 3, waiting: 0 })

    proxy.blackHole()
    const startedAt = performance.now()
    await assert.rejects(pool.query({ text: 'select 1' }), isUnavailable)
    assert.ok(performance.now() - startedAt < ENDLESS_MS, 'an open connection')
    const retriedAt = performance.now()
    await assert.rejects(pool.query({ text: 'select 1' }), isUnavailable)
    assert.ok(performance.now() - retriedAt < ENDLESS_MS, 'a new connection')

    proxy.heal()
    const afterwards = await Promise.all([pidOf(pool), pidOf(pool), pidOf(pool)])
    assert.deepEqual(
      afterwards.filter((pid) => before.includes(pid)),
      [],
    )
  })

  test('a connection that the server ended is not used again, and the process lives', async () => {
    const errors: Error[] = []
    await using pool = testPool({ connectionsMax: 1, statementMs: 60_000, onError: (error) => errors.push(error) })
    await using killer = testPool()

    const idle = await pidOf(pool)
    await killer.query({ text: 'select pg_terminate_backend($1, 1000)', values: [idle] })
    await until(() => errors.length > 0)
    assert.equal(errors.length, 1)

    const client = await pool.client()
    const { rows } = await client.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
    await killer.query({ text: 'select pg_terminate_backend($1, 1000)', values: [rows[0]!.pid] })
    await assert.rejects(client.query({ text: 'select 1' }), isUnavailable)
    client.release()

    const running = assert.rejects(pool.query({ text: 'select pg_sleep(50)' }), isUnavailable)
    const kill = `select pg_terminate_backend(pid, 1000) from pg_stat_activity where query = 'select pg_sleep(50)'`
    await until(async () => (await killer.query({ text: kill })).rows.length > 0)
    await running
    assert.notEqual(await pidOf(pool), rows[0]!.pid)
  })

  test('a connection given back inside a transaction is dropped, and a client given back is dead', async () => {
    await using pool = testPool({ connectionsMax: 1 })
    const client = await pool.client()
    const { rows } = await client.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
    await client.query({ text: 'begin' })
    client.release()
    assert.notEqual(await pidOf(pool), rows[0]!.pid)
    await assert.rejects(client.query({ text: 'select 1' }), /given back/)
  })

  test('an error of a statement costs no connection', async () => {
    await using pool = testPool({ connectionsMax: 1 })
    const pid = await pidOf(pool)
    await assert.rejects(pool.query({ text: 'select 1/0' }), (error) => sqlState(error) === '22012')
    assert.equal(await pidOf(pool), pid)
  })

  test('a wrong database is the caller’s mistake, a stopped server is an outage', async () => {
    await using wrong = testPool({ url: server.adminUrl('nowhere') })
    await assert.rejects(
      wrong.query({ text: 'select 1' }),
      (error) => sqlState(error) === '3D000' && !isUnavailable(error),
    )
    await using nobody = testPool({ url: 'postgres://postgres@127.0.0.1:1/postgres' })
    await assert.rejects(nobody.query({ text: 'select 1' }), isUnavailable)
  })

  test('off this machine a server without TLS is refused', async () => {
    // Any address that is not loopback would do; the proxy is reached under a name that tlsOf() does not know.
    await using proxy = await startTcpProxy(server)
    await using pool = testPool({ url: `postgres://postgres@0.0.0.0:${proxy.port}/postgres` })
    await assert.rejects(pool.query({ text: 'select 1' }), /does not support SSL/)
  })

  test('close waits for a running statement, and not for ever for a client that nobody gives back', async () => {
    const pool = testPool()
    await using watcher = testPool()
    let isDone = false
    const text = `select 'yes' as done from pg_sleep(0.5)`
    const running = pool.query<{ done: string }>({ text }).finally(() => (isDone = true))
    const look = { text: 'select 1 from pg_stat_activity where query = $1', values: [text] }
    await until(async () => isDone || (await watcher.query(look)).rows.length > 0)
    await pool.close()
    assert.deepEqual((await running).rows, [{ done: 'yes' }])
    await assert.rejects(pool.query({ text: 'select 1' }), isUnavailable)

    const forgetful = testPool()
    const forgotten = await forgetful.client()
    const startedAt = performance.now()
    await forgetful.close()
    assert.ok(performance.now() - startedAt < ENDLESS_MS)
    forgotten.release()
  })
})

function testPool(options: Partial<PoolOptions> = {}): Pool & AsyncDisposable {
  const onError = () => {}
  const pool = openPool({
    url: server.adminUrl(),
    applicationName: 'pool-test',
    connectionsMax: 3,
    onError,
    ...options,
  })
  return Object.assign(pool, { [Symbol.asyncDispose]: () => pool.close() })
}

async function pidOf(pool: Pool, seconds = 0): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>({
    text: 'select pg_backend_pid() as pid from pg_sleep($1)',
    values: [seconds],
  })
  return rows[0]!.pid
}

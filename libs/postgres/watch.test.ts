import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { storeTroubleOf } from '@loci/contract/store-trouble.ts'
import { isUnavailable } from './errors.ts'
import type { Pool } from './pool.ts'
import { openPool } from './pool.ts'
import { startPair } from './testing/standby.ts'
import { startThrowaway, type Throwaway } from './testing/throwaway.ts'
import { execute, transaction } from './transaction.ts'
import { listPartitionGaps, probeSpace, readOldestSnapshot, readProblem, requirePrimary, SPACE_PROBE } from './watch.ts'

let server: Throwaway
let admin: Pool
before(async () => {
  server = await startThrowaway({ settings: { max_prepared_transactions: '2' } })
  admin = open('postgres')
  await admin.query({
    text: `create role nobody_special login;
      create schema loci; grant usage on schema loci to nobody_special;
      create table loci.log (at timestamptz not null default now(), n int) partition by range (at);
      grant select, insert on loci.log to nobody_special`,
  })
})
after(async () => {
  await admin.close()
  await server.remove()
})

const open = (role: string, keepPartitions?: () => Promise<void>) =>
  openPool({
    ...{ url: server.url(role, 'postgres'), applicationName: 'watch-test', connectionsMax: 4, onError: () => {} },
    ...(keepPartitions ? { keepPartitions } : {}),
  })

const burn = (transactions: number) =>
  admin.query({
    text: `do $$ begin for i in 1..${transactions} loop perform txid_current(); commit; end loop; end $$`,
  })

// Mutant: `usesysid is not null` turned round, which shows the snapshots of autovacuum alone.
test('a role without privileges sees the oldest snapshot that anybody holds, and when it is given back', async () => {
  await using app = disposable(open('nobody_special'))
  const holder = await admin.client()
  await holder.query({ text: 'begin isolation level repeatable read' })
  await holder.query({ text: 'select 1' })
  await burn(50)
  const held = await readOldestSnapshot(app.pool)
  assert.ok(held && held.transactions >= 50, JSON.stringify(held))
  await burn(50)
  const later = await readOldestSnapshot(app.pool)
  assert.equal(later?.xmin, held.xmin)
  assert.ok((later?.transactions ?? 0) >= 100)
  await holder.query({ text: 'commit' })
  holder.release()
  assert.notEqual((await readOldestSnapshot(app.pool))?.xmin, held.xmin)
})

// Mutant: pg_prepared_xacts left out of it.
test('a prepared transaction that nobody ends counts too', async () => {
  await using app = disposable(open('nobody_special'))
  const session = await admin.client()
  for (const text of ['begin', 'select txid_current()', `prepare transaction 'forgotten'`])
    await session.query({ text })
  session.release()
  await burn(50)
  const held = await readOldestSnapshot(app.pool)
  assert.ok(held && held.transactions >= 50, JSON.stringify(held))
  await admin.query({ text: `rollback prepared 'forgotten'` })
  assert.notEqual((await readOldestSnapshot(app.pool))?.xmin, held.xmin)
})

// Mutants: SPACE_PROBE without its order by; work_mem of the server.
test('the probe of space goes through a file', async () => {
  await using app = disposable(open('nobody_special'))
  await probeSpace(app.pool)
  const plan = await transaction(app.pool, async (sql) => {
    await sql.query({ text: `set local work_mem = '64kB'` })
    return sql.query<{ 'QUERY PLAN': string }>({ text: `explain (analyze, timing off) ${SPACE_PROBE}` })
  })
  assert.match(plan.rows.map((row) => row['QUERY PLAN']).join('\n'), /external merge {2}Disk/)
})

// Mutant: the hour ahead not looked at.
test('a table without a partition for now or the next hour is named', async () => {
  assert.deepEqual(await listPartitionGaps(admin), ['log'])
  await admin.query({
    text: `do $$ begin execute format('create table loci.log_old partition of loci.log for values from (%L) to (%L)',
      now() - interval '1 day', now() + interval '30 minutes'); end $$`,
  })
  assert.deepEqual(await listPartitionGaps(admin), ['log'], 'it ends within the hour')
  await admin.query({
    text: `do $$ begin execute format('create table loci.log_new partition of loci.log for values from (%L) to (%L)',
      now() + interval '40 minutes', now() + interval '2 hours'); end $$`,
  })
  assert.deepEqual(await listPartitionGaps(admin), [])
})

// Found with the partition of the present hours dropped: every write was a 500 for up to an hour, and readiness said
// ok. Mutants: hasMended() without its call; the repeat left out in transaction(), execute() or query().
test('a write that finds no partition makes it and is done again, once', async () => {
  await admin.query({ text: 'create table loci.gap (at timestamptz not null, n int) partition by range (at)' })
  await admin.query({ text: 'grant select, insert on loci.gap to nobody_special' })
  const insert = (n: number) => ({ text: 'insert into loci.gap values (now(), $1)', values: [n] })
  let made = 0
  await using mending = disposable(
    open('nobody_special', async () => {
      made += 1
      await admin.query({ text: 'create table if not exists loci.gap_all partition of loci.gap default' })
    }),
  )
  await using bare = disposable(open('nobody_special'))
  await assert.rejects(execute(bare.pool, insert(0)), /no partition of relation/)
  const writes: (() => Promise<unknown>)[] = [
    () => execute(mending.pool, insert(1)),
    () => mending.pool.query(insert(2)),
    () => transaction(mending.pool, (sql) => sql.query(insert(3))),
  ]
  for (const write of writes) {
    await write()
    await admin.query({ text: 'drop table loci.gap_all' })
  }
  await Promise.all(Array.from({ length: 8 }, (_, n) => execute(mending.pool, insert(n))))
  assert.ok(made >= 4 && made <= 3 + 8, `made ${made} times`)
  assert.deepEqual((await admin.query({ text: 'select count(*) as count from loci.gap' })).rows, [{ count: 8 }])

  let tried = 0
  await using failing = disposable(
    open('nobody_special', async () => {
      tried += 1
    }),
  )
  await admin.query({ text: 'drop table loci.gap_all' })
  await assert.rejects(execute(failing.pool, insert(1)), /no partition of relation/)
  assert.equal(tried, 1, 'once, and the failure is told')
})

function disposable(pool: Pool): AsyncDisposable & { pool: Pool } {
  return { pool, [Symbol.asyncDispose]: () => pool.close() }
}

// Mutant: requirePrimary() that asks for transaction_read_only, which a role can turn off for itself.
test('nothing that serves requests reads from a standby, or before a recovery is over', async () => {
  await using pair = await startPair({ isSynchronous: false })
  const url = pair.standby.adminUrl()
  const options = { url, applicationName: 'watch-test', connectionsMax: 1, onError: () => {} }
  await using plain = disposable(openPool(options))
  const seen = await readProblem(plain.pool)
  assert.match(seen ?? '', /from a standby nothing is read/)
  await using serving = disposable(openPool({ ...options, verify: requirePrimary }))
  const told = await serving.pool.query({ text: 'select 1' }).catch((error: unknown) => error)
  assert.deepEqual([isUnavailable(told), storeTroubleOf(told)], [true, 'read_only'])
  await pair.promote()
  await serving.pool.query({ text: 'select 1' })
})

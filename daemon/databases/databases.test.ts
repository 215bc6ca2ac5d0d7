import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { runJob } from '@loci/chassis/jobs.ts'
import { testLog } from '@loci/chassis/testing/server.ts'
import { auditDatabase } from '@loci/postgres/durability.ts'
import { sqlState } from '@loci/postgres/errors.ts'
import { openPool, type Pool } from '@loci/postgres/pool.ts'
import { PATIENT, testDatabase, testPool } from '@loci/postgres/testing/database.ts'
import { purgeSome } from '../feed/purge/store.ts'
import { takeLease } from '../feed/store.ts'
import { expireEntries } from '../kv/store.ts'
import { SCHEMA } from '../schema.ts'
import { testAuthority } from '../testing/authority.ts'
import { fullConsistency } from '../testing/consistency.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant, path, putAll } from '../testing/tenant.ts'
import { backingOff, dueJobs, workDue } from './due.ts'
import { claimDue, listTotals } from './store.ts'

let daemon: TestDaemon
let pool: Pool
before(async () => {
  daemon = await testDaemon()
  pool = testPool(daemon.database.appUrl, 4)
})
after(async () => {
  await pool?.close()
  await daemon?.[Symbol.asyncDispose]()
})

const TABLE = `create table loci.letters (instance_id text not null, id int not null, text text not null, primary key (instance_id, id));
  alter table loci.letters owner to loci_owner; grant select, insert, update, delete on loci.letters to loci_app`
const CLOSED = (using: string) => `alter table loci.letters enable row level security;
  alter table loci.letters force row level security; create policy one_instance on loci.letters using (${using})`
const OWN = `instance_id = nullif(current_setting('loci.instance', true), '')`

// Mutants: `and t.name <> 'letters'` in purge_some; a list of names in open_tables.
test('a new table of tenants is erased, walled off and checked without being named anywhere', async () => {
  await using cell = await testDaemon()
  await using authority = await testAuthority(cell)
  const [own, other] = [await authority.addInstance(), await authority.addInstance()]
  const boundary = async () => {
    const report = await own.call(own.root(), 'GET /v1/kv/consistency')
    const { checks } = report.json<{ checks: { name: string; checked: number; failed: number }[] }>()
    return checks.find(({ name }) => name === 'namespace_boundary')
  }
  const before = (await boundary())?.checked as number

  await cell.sql(TABLE)
  const { problems } = await auditDatabase(authority.pool, 'daemon')
  assert.match(problems.join(), /the table loci\.letters is not closed by row security/, 'the start refuses it open')

  await cell.sql(CLOSED('true'))
  for (const { svc } of [own, other]) await cell.sql(`insert into loci.letters values ($1, 1, 'dear')`, [svc])
  assert.deepEqual(await boundary(), { name: 'namespace_boundary', checked: before + 1, failed: 1 }, 'a hole is found')
  await cell.sql(`drop policy one_instance on loci.letters; ${CLOSED(OWN)}`)
  assert.deepEqual(await boundary(), { name: 'namespace_boundary', checked: before + 1, failed: 0 })

  await own.change({ state: 'deleted' })
  const lease = await takeLease(authority.pool, 'test', 60_000)
  assert.ok(lease)
  await purgeSome(authority.pool, lease.fence, { instanceId: own.svc, generation: 2 }, 1_000)
  assert.deepEqual(await cell.sql('select instance_id from loci.letters'), [{ instance_id: other.svc }])
})

test('every table of tenants can be erased by the serving role, or says why it is kept', async () => {
  const rows = await daemon.sql<{ name: string; isKept: boolean; isErasable: boolean }>(
    `select name, is_kept as "isKept", has_table_privilege('loci_app', 'loci.' || name, 'select, delete') as "isErasable"
     from loci.tenant_tables()`,
  )
  assert.deepEqual(
    rows.filter(({ isKept }) => isKept).map(({ name }) => name),
    ['deletions', 'usage_minutes'],
  )
  assert.deepEqual(
    rows.filter(({ isKept, isErasable }) => !isKept && !isErasable),
    [],
  )
})

/** Functions that write into a table of tenants before they have called enter_database(), and do not say why. */
async function notEntering(): Promise<string[]> {
  const tables = new Set(
    (await daemon.sql<{ name: string }>('select name from loci.tenant_tables()')).map(({ name }) => name),
  )
  const functions = await daemon.sql<{ name: string; body: string; comment: string | null }>(
    `select proname as name, prosrc as body, obj_description(oid, 'pg_proc') as comment
     from pg_proc where pronamespace = 'loci'::regnamespace order by 1`,
  )
  return functions
    .filter(({ name, comment }) => name !== 'enter_database' && !comment?.startsWith('without enter_database: '))
    .filter(({ body }) => {
      const text = body.replaceAll(/--[^\n]*/g, '')
      const writes = [...text.matchAll(/\b(?:insert\s+into|update|delete\s+from)\s+loci\.(%|\w+)/gi)]
      const first = writes.find(([, table = '']) => table === '%' || tables.has(table))
      const entered = text.indexOf('loci.enter_database(')
      return first !== undefined && (entered < 0 || entered > first.index)
    })
    .map(({ name }) => name)
}

// Mutants: kv_expire without enter_database(); below, three that do not enter.
test('every function that writes rows of tenants enters its database first', async () => {
  assert.deepEqual(await notEntering(), [])
  const body = (statement: string) => `returns void language plpgsql as $$ begin ${statement}; end $$`
  await daemon.sql(`
    create function loci.bad_1() ${body('delete from loci.entries e where true')};
    create function loci.bad_2(p_table text) ${body(`execute format('update loci.%I set at = null', p_table)`)};
    create function loci.bad_3() ${body(`insert into loci.verified values ('a'); perform loci.enter_database('a', '{}', '{}', 0)`)};
    create function loci.good() ${body(`perform loci.enter_database('a', '{}', '{}', 0); insert into loci.verified values ('a')`)}`)
  assert.deepEqual(await notEntering(), ['bad_1', 'bad_2', 'bad_3'])
  await daemon.sql('drop function loci.bad_1, loci.bad_2, loci.bad_3, loci.good')
})

// Mutant: enter_database without its look at erasing_since.
test('nobody writes into a database that is being erased, and other databases go on', async () => {
  const tenant = await addTenant(daemon)
  await putAll(tenant, 'old', { a: 1 })
  await daemon.sql(`update loci.databases set erasing_since = now() where instance_id = $1`, [tenant.instanceId])
  const put = (db: string) => tenant.call(`PUT ${path('b')}`, { value: 1 }, { db })
  const refused = await put('old')
  assert.deepEqual([refused.status, refused.error.code, refused.headers['retry-after']], [409, 'INVALID_STATE', '1'])
  assert.equal((await tenant.call(`DELETE ${path('a')}`, undefined, { db: 'old' })).status, 409)
  assert.equal((await put('new')).status, 200)
  const keys = await daemon.sql('select database, key from loci.entries where instance_id = $1 order by 1', [
    tenant.instanceId,
  ])
  assert.deepEqual(keys, [
    { database: 'new', key: 'b' },
    { database: 'old', key: 'a' },
  ])
})

// Mutants: `databases = i.databases` in enter_database (the fourth is made); add_totals with p_records alone.
test('the number of databases and the totals are exact, whoever writes at once', async () => {
  const tenant = await addTenant(daemon, { databases: 3 })
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  // On a busy machine some of eighteen wait longer than they may, and ask again as they are told to.
  const write = async (db: string, key: string) => {
    for (;;) {
      const answer = await tenant.call(`PUT ${path(key)}`, { value: key, ttlMs: 60_000 }, { db })
      if (answer.status !== 503) return answer
    }
  }
  const made = await Promise.all(names.flatMap((db) => ['1', '2', '3'].map((key) => write(db, key))))
  const open = await daemon.sql<{ name: string }>('select name from loci.databases where instance_id = $1 order by 1', [
    tenant.instanceId,
  ])
  assert.equal(made.filter(({ status }) => status === 200).length, 9)
  assert.deepEqual(
    new Set(made.filter(({ status }) => status !== 200).map(({ error }) => error.code)),
    new Set(['QUOTA_EXCEEDED']),
  )
  const db = open[0]?.name as string
  await Promise.all([write(db, '1'), tenant.call(`DELETE ${path('2')}`, undefined, { db }), write(db, 'four')])
  await daemon.sql(`update loci.entries set value = 'x' where instance_id = $1 and database = $2 and key = '3'`, [
    tenant.instanceId,
    db,
  ])
  assert.equal((await write(db, '3')).status, 200, 'damaged, and written over')

  const [row] = await daemon.sql(
    `select i.databases::int, (select count(*) from loci.databases where instance_id = i.id)::int as heads,
       (select sum(kv_keys) from loci.databases where instance_id = i.id)::int as keys,
       (select sum(kv_bytes) from loci.databases where instance_id = i.id)::int as bytes from loci.instances i where i.id = $1`,
    [tenant.instanceId],
  )
  const { keys, bytes, ...counted } = row as { keys: number; bytes: number }
  assert.deepEqual(counted, { databases: 3, heads: 3 })
  assert.deepEqual((await listTotals(pool, [tenant.instanceId])).get(tenant.instanceId), { records: keys, bytes })
  assert.equal(await fullConsistency(tenant.call), 'consistent')
})

// Two replicas that wrote into new databases of one instance at once waited for each other for a second, and one was
// told 503. Mutant: `for update` without `skip locked` in the second look of enter_database.
test('whoever makes a database never waits for one that was made meanwhile', async () => {
  const tenant = await addTenant(daemon)
  const enter = `select name, outcome from loci.enter_database($1, '{new-1,new-2}', '{new-1,new-2}', 10)`
  const [counting, making, holding] = await Promise.all([pool.client(), pool.client(), pool.client()])
  const pid = (await making.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })).rows[0]?.pid
  await counting.query({ text: 'begin' })
  await counting.query({
    text: 'select from loci.instances where id = $1 for no key update',
    values: [tenant.instanceId],
  })
  const made = making.query({ text: enter, values: [tenant.instanceId] }).then(
    () => 'entered',
    (error) => sqlState(error),
  )
  const isWaiting = async () =>
    (await daemon.sql('select from pg_locks where pid = $1 and not granted', [pid])).length > 0
  while (!(await isWaiting())) await new Promise(setImmediate)
  await daemon.sql(`insert into loci.databases (instance_id, name, created_at) values ($1, 'new-1', now())`, [
    tenant.instanceId,
  ])
  await holding.query({ text: 'begin' })
  await holding.query({ text: `select loci.enter_database($1, '{new-1}', '{}', 10)`, values: [tenant.instanceId] })
  await counting.query({ text: 'rollback' })
  assert.equal(await made, '40001', 'at once, while the other still holds what was made')
  await holding.query({ text: 'rollback' })
  const { rows } = await making.query({ text: enter, values: [tenant.instanceId] })
  assert.deepEqual(rows, [
    { name: 'new-1', outcome: 'open' },
    { name: 'new-2', outcome: 'open' },
  ])
  for (const client of [counting, making, holding]) client.release()
})

// Rows by process number closed a circle: a new database locks the instance's row and then totals, a kept answer the
// other way round. Mutant: `for update` without `skip locked` in add_totals (the second waits until its lock timeout).
test('whoever counts never waits for another who counts', async () => {
  const tenant = await addTenant(daemon)
  await putAll(tenant, 'a', { x: 1 })
  const clients = await Promise.all([1, 2, 3].map(() => pool.client()))
  for (const client of clients) {
    await client.query({ text: 'begin' })
    await client.query({ text: 'select loci.add_totals($1, 1, 10)', values: [tenant.instanceId] })
    await client.query({ text: 'select loci.add_totals($1, 1, 10)', values: [tenant.instanceId] })
  }
  for (const client of clients) {
    await client.query({ text: 'commit' })
    client.release()
  }
  const totals = (await listTotals(pool, [tenant.instanceId])).get(tenant.instanceId)
  assert.deepEqual(totals, { records: 7, bytes: 62 })
  const [row] = await daemon.sql('select count(*)::int as n from loci.instance_totals where instance_id = $1', [
    tenant.instanceId,
  ])
  assert.deepEqual(row, { n: 3 })
})

/** Nobody else works on what is due in it. */
async function cellWithoutDaemon() {
  const database = await testDatabase({ schema: SCHEMA })
  const open = (url: string) =>
    openPool({ ...PATIENT, url, applicationName: 't', connectionsMax: 3, onError: () => {} })
  const [app, admin] = [open(database.appUrl), open(database.adminUrl)]
  return {
    app,
    sql: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await admin.query<Row>({ text, values })).rows,
    async [Symbol.asyncDispose]() {
      await Promise.all([app.close(), admin.close()])
      await database[Symbol.asyncDispose]()
    },
  }
}

// Mutants: claimDue() ordered by `at` alone; its answer as PostgreSQL returned it.
test('due work is claimed from one organization after the other, so that the many of one make no other late', async () => {
  await using cell = await cellWithoutDaemon()
  const add = (svc: string, org: string, databases: number, minutes: number) =>
    cell.sql(
      `with added as (insert into loci.instances (id, organization_id, tenant_id, service_type, plan, state, generation, limits, config, change_seq)
          values ($1, $2, 'ten', 'memory', 'pro', 'active', 1, '{}', '{}', 1))
        insert into loci.due select $1, 'db-' || n, 'cycle', now() - make_interval(mins => $4, secs => -n / 1000.0) from generate_series(1, $3) n`,
      [svc, org, databases, minutes],
    )
  await add('svc-1', 'many', 60, 60)
  await add('svc-2', 'many', 30, 50)
  await add('svc-3', 'few', 2, 1)
  await add('svc-4', 'one', 1, 2)
  const claimed: string[] = []
  for (let times = 0; times < 2; times += 1)
    claimed.push(
      ...(await claimDue(cell.app, 'cycle', 4)).map(({ instanceId, database }) => `${instanceId} ${database}`),
    )
  const turns = [claimed.slice(0, 3), claimed.slice(3, 4), claimed.slice(4, 6), claimed.slice(6)]
  assert.deepEqual(
    turns.map((turn) => turn.toSorted()),
    [
      ['svc-1 db-1', 'svc-3 db-1', 'svc-4 db-1'],
      ['svc-1 db-2'],
      ['svc-1 db-3', 'svc-3 db-2'],
      ['svc-1 db-4', 'svc-1 db-5'],
    ],
  )
})

// Mutants: claimDue without `skip locked`, or without moving the row.
test('due work is claimed once, comes back when its worker dies, and one failure does not stop the rest', async () => {
  await using cell = await cellWithoutDaemon()
  const { app } = cell
  const put = (database: string, kind: string) =>
    cell.sql(`insert into loci.due values ('svc', $1, $2, now() - interval '1 minute')`, [database, kind])
  for (const database of ['a', 'b', 'c', 'd']) await put(database, 'index')
  await put('later', 'index')
  await cell.sql(`update loci.due set at = now() + interval '1 hour' where database = 'later'`)
  await put('other', 'advice')

  const holder = await app.client()
  await holder.query({ text: 'begin' })
  const first = await claimDue(holder, 'index', 2)
  const second = await claimDue(app, 'index', 10)
  await holder.query({ text: 'commit' })
  holder.release()
  assert.deepEqual([...first, ...second].map(({ database }) => database).sort(), ['a', 'b', 'c', 'd'])
  assert.deepEqual(await claimDue(app, 'index', 10), [], 'nobody claims them again at once')
  await cell.sql(`update loci.due set at = at - interval '5 seconds' where kind = 'index'`)

  const done: string[] = []
  const handle = async (_: unknown, { database }: { database: string }) => {
    if (database === 'b') throw new Error('in trouble')
    done.push(database)
  }
  await assert.rejects(workDue(app, { index: handle }, 1_000), /due work 'index' failed/)
  assert.deepEqual(done.sort(), ['a', 'c', 'd'])
  const rows = await cell.sql(`select database from loci.due where kind = 'advice' and at < now()`)
  assert.equal(rows.length, 1, 'what has no handler here is left alone')
})

// Mutants: backingOff() without postponeDue(): always 5 s; without failures.delete(): 10 min after the success.
test('dear work that fails is due later each time, up to ten minutes, and after a success soon again', async () => {
  await using cell = await cellWithoutDaemon()
  const { app } = cell
  let isBroken = true
  const index = backingOff('index', async () => {
    if (isBroken) throw new Error('in trouble')
  })
  const put = `insert into loci.due (instance_id, database, kind, at) values ('svc', 'a', 'index', now())
    on conflict (instance_id, database, kind) do update set at = now()`
  const delays: number[] = []
  for (let n = 0; n < 11; n += 1) {
    isBroken = n !== 9
    await cell.sql(put)
    // One round: with no time left it claims once.
    const worked = workDue(app, { index }, 0)
    if (isBroken) await assert.rejects(worked, /due work 'index' failed/)
    else await worked
    const [row] = await cell.sql<{ inS: number }>(
      `select extract(epoch from at - now())::float8 as "inS" from loci.due where kind = 'index'`,
    )
    delays.push(row?.inS ?? 0)
  }
  // Read a moment later: never more than it was put to, and less by what the machine took.
  for (const [n, most] of [5, 10, 20, 40, 80, 160, 320, 600, 600, 5, 5].entries()) {
    const delay = delays[n] ?? 0
    assert.ok(delay <= most && (most < 40 || delay > most / 2), `failure ${n + 1}: ${delay} s`)
  }
})

// It waited up to 1.5 s after each half second of work, for everyone. Mutant: `msMax: DUE_MS` in dueJobs().
test('a database whose work fails each time does not make the others wait longer than a backlog does', async () => {
  await using cell = await cellWithoutDaemon()
  const { app } = cell
  const put = () =>
    cell.sql(
      `insert into loci.due (instance_id, database, kind, at) values ('svc', 'failing', 'index', now())
        on conflict (instance_id, database, kind) do update set at = now()`,
    )
  await put()
  const [job] = dueJobs(app, { index: () => Promise.reject(new Error('in trouble')) })
  assert.ok(job)
  const stopping = new AbortController()
  const waits: number[] = []
  const wait = async (ms: number) => {
    waits.push(ms)
    if (waits.length === 20) stopping.abort()
    await put()
  }
  await runJob({ ...job, atStart: true, wakeup: { wake() {}, wait } }, testLog().log, stopping.signal)
  // Half a second, more or less by half.
  assert.ok(Math.max(...waits) <= 750, `${waits.map(Math.round)}`)
})

// Mutant: kv_expire that only deletes the due row.
test('the expiry of a database is due until nothing in it expires, and an earlier one comes first', async () => {
  const tenant = await addTenant(daemon)
  const put = (key: string, ttlMs: number) => tenant.call(`PUT ${path(key)}`, { value: 1, ttlMs }, { db: 'brief' })
  const due = () =>
    daemon.sql<{ inS: number }>(
      `select round(extract(epoch from at - now()))::int as "inS" from loci.due where instance_id = $1`,
      [tenant.instanceId],
    )
  await put('late', 3_600_000)
  await put('soon', 1_000_000)
  await put('between', 2_000_000)
  const [row] = await due()
  assert.ok(row && Math.abs(row.inS - 1_000) < 60, JSON.stringify(row))
  await tenant.call(`DELETE ${path('soon')}`, undefined, { db: 'brief' })
  await expireEntries(pool, { instanceId: tenant.instanceId, database: 'brief' })
  const [next] = await due()
  assert.ok(next && Math.abs(next.inS - 2_000) < 60, JSON.stringify(next))
  for (const key of ['late', 'between']) await tenant.call(`DELETE ${path(key)}`, undefined, { db: 'brief' })
  await expireEntries(pool, { instanceId: tenant.instanceId, database: 'brief' })
  assert.deepEqual(await due(), [])
})

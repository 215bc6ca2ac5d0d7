import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { OPERATIONS } from '@loci/contract/operations.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT, testPool } from '@loci/postgres/testing/database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { CANARY, fill } from '../../testing/filled.ts'
import { rowsOf } from '../../testing/listening-cell.ts'
import { eraseWithin } from './erasing.ts'
import { beginErasure } from './store.ts'

let daemon: TestDaemon
let authority: TestAuthority
before(async () => {
  daemon = await testDaemon({ settings: { databaseStatementMs: 1_750 } })
  authority = await testAuthority(daemon)
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

interface Listed {
  name: string
  records: number
  slots: number
  keys: number
  bytes: number
}

function operatorOf(own: TestInstance) {
  const token = own.root({ ops: Object.keys(OPERATIONS), ks: ['*/*'] })
  const call = (line: string, body?: unknown, db?: string) =>
    own.call(token, line, { ...(body === undefined ? {} : { body }), headers: db ? { 'x-loci-database': db } : {} })
  const list = async (query = '') => {
    const answer = await call(`GET /v1/databases${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<{ databases: Listed[]; nextCursor: string | null }>()
  }
  return { call, list, names: async () => (await list()).databases.map(({ name }) => name) }
}

async function countsOf(own: TestInstance) {
  const [row] = await daemon.sql(
    `select i.databases, i.keyed_answers as answers, i.keyed_bytes as "answerBytes",
      (select coalesce(sum(t.records), 0)::int from loci.instance_totals t where t.instance_id = i.id) as records,
      (select coalesce(sum(t.bytes), 0)::int from loci.instance_totals t where t.instance_id = i.id) as bytes
    from loci.instances i where i.id = $1`,
    [own.svc],
  )
  return row
}

// Mutants: `and t.name <> 'records'` in db_erase_some; db_leave without add_totals; db_erase_some that leaves
// instances.databases; the condition on the database gone from its delete (the neighbour loses its rows); any line of
// database_bytes left out.
test('a deleted database is gone from every table, is counted no more, and its neighbour has lost nothing', async () => {
  const own = await authority.addInstance()
  const { call, names } = operatorOf(own)
  assert.equal((await call('PUT /v1/kv/entries/a', { value: 'kept' }, 'kept')).status, 200)
  assert.equal((await call('POST /v1/memory/records', { content: 'kept' }, 'kept')).status, 200)
  const counted = await countsOf(own)
  const kept = await rowsOf(daemon, own.svc)
  await fill(daemon, authority, own)
  assert.deepEqual(await names(), ['default', 'kept'])

  const answer = await call('DELETE /v1/databases/default')
  assert.equal(answer.status, 200, answer.text)
  const { receipt, ...said } = answer.json<{ receipt: string }>()
  assert.deepEqual(said, { deleted: true, name: 'default', ledgered: 'cell' })

  assert.deepEqual(await names(), ['kept'])
  assert.deepEqual(await countsOf(own), counted)
  const tables = await daemon.sql<{ name: string }>('select name from loci.database_tables()')
  assert.ok(tables.length > 15, `${tables.length} tables`)
  const left = await rowsOf(daemon, own.svc)
  for (const { name } of tables)
    assert.equal(left[name], (kept[name] ?? 0) + (name === 'events' ? 1 : 0), `rows of ${name}`)
  const [last] = await daemon.sql(`select type, database from loci.events where instance_id = $1 order by seq desc`, [
    own.svc,
  ])
  assert.deepEqual(last, { type: 'database.deleted', database: 'default' })
  const [entry] = await daemon.sql(
    `select id, subject from loci.audit where chain = $1 and action = 'database.erase'`,
    [own.svc],
  )
  assert.deepEqual(entry, { id: receipt, subject: 'default' })
  assert.deepEqual(
    await daemon.sql(`select 1 from loci.due where instance_id = $1 and database = 'default'`, [own.svc]),
    [],
  )
  assert.equal((await call('GET /v1/kv/consistency?mode=full')).json<{ status: string }>().status, 'consistent')
  assert.equal((await call('DELETE /v1/databases/default')).error.code, 'NOT_FOUND')
  assert.equal((await call('GET /v1/kv/entries/a', undefined, 'kept')).status, 200)
})

/** By what loci.database_bytes() counts each table with rows of databases: sums in the head, or the table itself. */
const COUNTED = {
  advice_passed: 'loci.advice_passed',
  advice_snapshots: 'loci.advice_snapshots',
  advice_weights: 'loci.advice_weights',
  clears: 'w.week_bytes',
  configs: 'loci.configs',
  cycle_decisions: 'cyc_week_bytes',
  cycles: 'cyc_bytes',
  entries: 'kv_bytes',
  evictions: 'w.week_bytes',
  projections: 'prj_bytes',
  records: 'mem_bytes',
  segments: 'mem_index_bytes',
  slot_versions: 'w.week_bytes',
  working_memory: 'wm_bytes',
}
/** What a database holds without being charged for it. */
const UNCOUNTED = {
  advice_tools: 'a row for each tool, made from what is counted',
  contexts: 'a number for each context of the records, whose bytes have its name',
  events: 'bounded by their own number, for a day',
  idempotency: 'counted in the row of the instance',
  tombstones: 'no content: what was deleted must not cost',
  verified: 'one row for each domain',
}

// Mutant: events_by_database left out of the migrations.
test('every table with rows of databases is counted in what a database holds, or says why not, and has an index by database', async () => {
  const tables = await daemon.sql<{ name: string; is_led: boolean }>('select name, is_led from loci.database_tables()')
  assert.deepEqual(
    tables.map(({ name }) => name).sort(),
    Object.keys({ ...COUNTED, ...UNCOUNTED }).sort(),
    'a new table: count it in loci.database_bytes(), or say why not',
  )
  const [{ source } = { source: '' }] = await daemon.sql<{ source: string }>(
    `select prosrc as source from pg_proc where oid = 'loci.database_bytes'::regproc`,
  )
  for (const [name, by] of Object.entries(COUNTED)) assert.ok(source.includes(by), `${name} is counted by ${by}`)
  assert.deepEqual(
    tables.filter(({ is_led: isLed }) => !isLed),
    [],
    'an erasure walks over all rows of the instance there',
  )
  const bare = await daemon.sql(
    `select i.inhrelid::regclass::text as name from pg_inherits i where i.inhparent = 'loci.events'::regclass and not exists
      (select from pg_index x join pg_inherits p on p.inhrelid = x.indexrelid
        where x.indrelid = i.inhrelid and p.inhparent = 'loci.events_by_database'::regclass)`,
  )
  assert.deepEqual(bare, [], 'hours of events without the index')
})

// Mutant: enter_database without the number of the ledger.
test('a write after the deletion begins a new life, behind the numbers of the one that ended', async () => {
  const own = await authority.addInstance()
  const { call, list } = operatorOf(own)
  for (const key of ['a', 'b']) assert.equal((await call(`PUT /v1/kv/entries/${key}`, { value: 1 }, 'ada')).status, 200)
  assert.equal((await call('POST /v1/memory/records', { content: 'tea' }, 'ada')).status, 200)
  assert.equal((await call('PUT /v1/working-memory/slots/a', { value: 1 }, 'ada')).status, 200)
  assert.equal((await call('POST /v1/cognitive/cycles', { focus: 'tea' }, 'ada')).status, 200)
  assert.equal((await call('DELETE /v1/databases/ada')).status, 200)
  assert.deepEqual(await countsOf(own), { databases: 0, answers: 0, answerBytes: 0, records: 0, bytes: 0 })
  assert.equal((await call('PUT /v1/kv/entries/new', { value: 2 }, 'ada')).status, 200)
  const { entries } = (await call('GET /v1/kv/entries', undefined, 'ada')).json<{ entries: { key: string }[] }>()
  assert.deepEqual(
    entries.map(({ key }) => key),
    ['new'],
  )
  const [{ keys } = { keys: 0 }] = (await list()).databases
  assert.equal(keys, 1)
  const [row] = await daemon.sql(
    `select h.seq > l.seq as "isBehind" from loci.databases h join loci.deletions l on l.instance_id = h.instance_id and l.database = h.name
     where h.instance_id = $1`,
    [own.svc],
  )
  assert.deepEqual(row, { isBehind: true })
})

/** What of a filled database can be read, by its line; `found`: whether an answer has something of it. */
const READS = [
  ...['GET /v1/kv/entries/plan', 'GET /v1/kv/entries', `GET /v1/working-memory/slots/${CANARY}`],
  ...['GET /v1/working-memory/slots', `GET /v1/working-memory/slots/${CANARY}/history`],
  ...['GET /v1/working-memory/evictions', 'GET /v1/working-memory/config', 'GET /v1/cognitive/config'],
  ...['GET /v1/working-memory/settings', 'GET /v1/cognitive/settings'],
  ...['GET /v1/memory/records', 'GET /v1/cognitive/cycles'],
]

// Mutants: look_into or look_into_each without its look at erasing_since; withDatabase() without look_into.
test('from the beginning of the erasure on nothing of a database is read and nobody writes to it', async () => {
  const own = await authority.addInstance()
  const { call, names } = operatorOf(own)
  await fill(daemon, authority, own)
  const recall = { query: CANARY, abstain: false }
  const cycles = (await call('GET /v1/cognitive/cycles')).json<{ cycles: { id: string }[] }>()
  const records = (await call('GET /v1/memory/records?limit=1')).json<{ records: { id: string }[] }>()
  const lines = [
    ...READS,
    `GET /v1/memory/records/${records.records[0]?.id}`,
    `GET /v1/cognitive/cycles/${cycles.cycles[0]?.id}`,
  ]
  for (const line of lines) assert.match((await call(line)).text, new RegExp(CANARY), `${line} before`)
  assert.match((await call('POST /v1/memory/recall', recall)).text, new RegExp(CANARY))

  const pool = testPool(daemon.database.appUrl)
  const place = { instanceId: own.svc, database: 'default' }
  try {
    assert.equal((await beginErasure(pool, place, { actor: 'test', requestId: 'req_test' })).outcome, 'begun')
    for (const line of lines) {
      const { status, text } = await call(line)
      assert.ok(status === 200 || status === 404, `${line}: ${status}`)
      // The path of a slot is repeated to who asked for it.
      assert.doesNotMatch(text.replaceAll(`slots/${CANARY}`, ''), new RegExp(CANARY), line)
    }
    assert.doesNotMatch((await call('POST /v1/memory/recall', recall)).text, new RegExp(CANARY))
    assert.deepEqual(await names(), [])
    const refused = await call('PUT /v1/kv/entries/b', { value: 1 })
    assert.deepEqual([refused.status, refused.error.code, refused.headers['retry-after']], [409, 'INVALID_STATE', '1'])
    assert.equal((await call('GET /v1/kv/consistency?mode=full')).json<{ status: string }>().status, 'consistent')
    assert.equal(await eraseWithin(pool, place, 60_000), true)
  } finally {
    await pool.close()
  }
  assert.equal((await call('PUT /v1/kv/entries/b', { value: 1 })).status, 200)
})

test('what cannot be erased in time is 202, and is erased by due work as soon as it can be', async () => {
  const own = await authority.addInstance()
  const { call, names } = operatorOf(own)
  assert.equal((await call('PUT /v1/kv/entries/a', { value: 1 }, 'ada')).status, 200)
  const holder = openPool({
    ...PATIENT,
    ...{ url: daemon.database.adminUrl, applicationName: 'test', connectionsMax: 1, onError: () => {} },
  })
  const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>()
  const { promise: isOver, resolve: release } = Promise.withResolvers<void>()
  const held = transaction(holder, async (sql) => {
    await sql.query({ text: `select from loci.entries where instance_id = $1 for update`, values: [own.svc] })
    hold()
    await isOver
  })
  try {
    await isHeld
    const { status, json } = await call('DELETE /v1/databases/ada')
    assert.equal(status, 202)
    const { deleted, erasing } = json<{ deleted: boolean; erasing: boolean }>()
    assert.deepEqual([deleted, erasing], [false, true])
    assert.deepEqual(await names(), [])
  } finally {
    release()
    await held
    await holder.close()
  }
  await eventually(
    async () => (await daemon.sql('select from loci.databases where instance_id = $1', [own.svc])).length === 0,
    60_000,
  )
})

test('the list is paged by name, and only an operator of the service sees it', async () => {
  const [own, other] = [await authority.addInstance(), await authority.addInstance()]
  const { call, list } = operatorOf(own)
  for (const db of ['c', 'a', 'b']) assert.equal((await call('PUT /v1/kv/entries/k', { value: 1 }, db)).status, 200)
  const first = await list('?limit=2')
  assert.deepEqual([first.databases.map(({ name }) => name), first.nextCursor], [['a', 'b'], 'b'])
  const second = await list(`?limit=2&cursor=${first.nextCursor}`)
  assert.deepEqual([second.databases.map(({ name }) => name), second.nextCursor], [['c'], null])
  assert.ok(first.databases.every(({ keys, bytes }) => keys === 1 && bytes > 0))
  assert.deepEqual(await operatorOf(other).names(), [])
  assert.equal((await operatorOf(other).call('DELETE /v1/databases/a')).status, 404)
  const plain = own.root({ ops: ['kv:read', 'kv:delete'], ks: ['*/*'] })
  for (const line of ['GET /v1/databases', 'DELETE /v1/databases/a'])
    assert.equal((await own.call(plain, line)).error.code, 'OPERATOR_REQUIRED')
  assert.equal((await list()).databases.length, 3)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPool, type Sql } from '@loci/postgres/pool.ts'
import { PATIENT, testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../schema.ts'

const RECORDS = 20_000
const PIECE = 1_000
const INSTANCE = 'svc_1'
/** Calls after which a connection keeps one plan for all values. */
const SETTLED = 8

const mac = (text: string) => Buffer.from(text).toString('hex').padEnd(32, '0')
const write = (n: number, { key = 'null', source = 'null', supersedes = 'null', isPlain = true } = {}) =>
  `select outcome from loci.mem_write_acts('${INSTANCE}', 10, array[null::int], array[${isPlain ? 1 : null}::int], array[1], array[0], array[1],
    array['d'], array['mem_new${n}'], array[${key}::text], array[${source}::text], array['${mac(`context ${n}`)}'], array['${mac(`value ${n}`)}'],
    array[${!isPlain}], array[${supersedes}::text], array['{}'], array[null::timestamptz], array[null::float8], null, null, '{}', '{}', '{}', '{}', '{}')`
/** Two records in one call. */
const writeTwo = (n: number, { keys = 'null, null', sources = 'null, null' } = {}) =>
  `select outcome from loci.mem_write_acts('${INSTANCE}', 10, array[null, null]::int[], array[1, 2], array[1, 2], array[0, 0], array[1, 1],
    array['d', 'd'], array['mem_new${n}', 'mem_other${n}'], array[${keys}]::text[], array[${sources}]::text[],
    array['${mac(`context ${n}`)}', '${mac(`other ${n}`)}'], array['${mac(`value ${n}`)}', '${mac(`second ${n}`)}'], array[false, false],
    array[null, null]::text[], array['{}', '{}'], array[null, null]::timestamptz[], array[null, null]::float8[], null, null, '{}', '{}', '{}', '{}', '{}')`
const PLACED = `'{}', '{}', '{}', '{}', '{}', '{}', '{}'`

/** What each call may fetch of the records, and the call itself. */
const CALLS: [name: string, rows: number, text: (n: number) => string][] = [
  ['store', 2, (n) => write(n)],
  ['store one by one', 2, (n) => write(n, { isPlain: false })],
  ['store with a source event', 2, (n) => write(n, { source: `'event ${n}'` })],
  // Looked for, and then read.
  ['store what is known', 3, (n) => write(n, { source: `'source 12345'` })],
  // The former one is looked for, read, and read again to be closed.
  ['store under a key', 5, (n) => write(n, { key: `'key 12346'` })],
  ['store two', 4, (n) => writeTwo(n)],
  ['store two with source events', 4, (n) => writeTwo(n, { sources: `'event ${n}', 'more ${n}'` })],
  // One of the two is known: both are stored one by one.
  ['store two of which one is known', 5, (n) => writeTwo(n, { sources: `'source 12345', 'event ${n}'` })],
  ['store two of which one is under a key', 7, (n) => writeTwo(n, { keys: `'key 12346', null` })],
  ['supersede', 4, (n) => write(n, { supersedes: `'mem_12345'`, isPlain: false })],
  ['get', 1, () => `select intact from loci.mem_get_each('${INSTANCE}', array['d'], array['mem_12345'])`],
  ['list', 11, () => `select intact from loci.mem_list('${INSTANCE}', 'd', 9007199254740991, 5, 1000000)`],
  ['list upwards', 11, () => `select intact from loci.mem_list_up('${INSTANCE}', 'd', 100, 5, 1000000)`],
  ['read by number', 3, () => `select intact from loci.mem_get_numbered('${INSTANCE}', 'd', array[9, 9999, 19999])`],
  ['read a range', 10, () => `select loci.mem_range('${INSTANCE}', 'd', 10001, 10010)`],
  ['tell a range', 10, () => `select loci.mem_range_marks('${INSTANCE}', 'd', '{10001}', '{10010}')`],
  ['verify', 10, () => `select rows from loci.mem_verify('${INSTANCE}', 'd', 10000, 10)`],
  // The tail, and again for its texts.
  ['begin a recall', 20, () => `select seq from loci.mem_index('${INSTANCE}', 'd', 0, null, 256)`],
  [
    'publish segments',
    10,
    () => `select loci.mem_index_commit('${INSTANCE}', 'd', '{}', 0, ${RECORDS}, ${RECORDS - 10}, ${PLACED})`,
  ],
  // The record, and again as one of those that say the same.
  ['find the places of one', 2, () => `select seqs from loci.mem_places('${INSTANCE}', 'd', 'mem_12345', 500)`],
  ['find what is over', 1, () => `select seqs from loci.mem_places('${INSTANCE}', 'd', null, 500)`],
  ['when the next is over', 1, () => `select loci.mem_expiry_next('${INSTANCE}', 'd')`],
  [
    'erase',
    2,
    () => `select outcome from loci.mem_erase('${INSTANCE}', 'd', array[12345]::bigint[], 'erased', ${PLACED})`,
  ],
]

// Mutants: records_by_id with instance and database in front: to supersede, to read by number, a range and to verify
// fetch thousands; mem_get_numbered without `offset 0`; mem_not_plain that joins the records of the call with those of
// the database.
test('a plan that was made while memory was empty finds one record among many without reading the others', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const pool = openPool({
    url: database.appUrl,
    applicationName: 'loci-test',
    connectionsMax: 1,
    ...PATIENT,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
  const owner = openPool({
    url: database.adminUrl,
    applicationName: 'loci-test',
    connectionsMax: 1,
    ...PATIENT,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
  const admin = (text: string) => owner.query({ text })
  // What autovacuum would do after a minute is what must not be needed.
  await admin(`alter table loci.records set (autovacuum_enabled = false)`)
  await admin(`insert into loci.instances (id, organization_id, tenant_id, service_type, plan, state, generation, limits, config, change_seq, databases)
    values ('${INSTANCE}', 'org_1', 'ten_1', 'memory', 'pro', 'active', 1, '{}', '{}', 1, 1)`)
  await admin(`insert into loci.databases (instance_id, name, created_at) values ('${INSTANCE}', 'd', now())`)
  const client = await pool.client()
  try {
    let n = 0
    for (let times = 0; times < SETTLED; times += 1) for (const [, , text] of CALLS) await rolledBack(client, text(++n))
    for (let from = 1; from <= RECORDS; from += PIECE)
      await admin(`insert into loci.records (instance_id, database, seq, id, changed_seq, key, source_event_id, context, position,
          value_mac, body, created_at, valid_from, digest)
        select '${INSTANCE}', 'd', g, 'mem_' || g, g, case when g % 2 = 0 then 'key ' || g end, case when g % 2 = 1 then 'source ' || g end,
          1, g, int8send(g) || int8send(g), '{}', now(), now(), '\\x00' from generate_series(${from}, ${from + PIECE - 1}) g`)
    await admin('update loci.records r set digest = loci.record_digest(r) where r.seq between 12340 and 12350')
    await admin(
      `update loci.databases set seq = ${RECORDS}, mem_indexed_through = ${RECORDS - 10}, mem_indexed_at = ${RECORDS}`,
    )
    for (const [name, most, text] of CALLS) {
      const rows = await rolledBack(client, text(++n))
      assert.ok(rows <= most, `${name}: ${rows} rows were fetched, ${most} are enough`)
    }
  } finally {
    client.release()
    await Promise.all([pool.close(), owner.close()])
  }
})

/** How many records the statement has fetched. */
async function rolledBack(sql: Sql, text: string): Promise<number> {
  await sql.query({ text: 'begin' })
  const before = await fetched(sql)
  await sql.query({ text })
  const after = await fetched(sql)
  await sql.query({ text: 'rollback' })
  return after - before
}

/** Since the connection has last told the server: never between two statements of a transaction. */
async function fetched(sql: Sql): Promise<number> {
  const { rows } = await sql.query<{ fetched: number }>({
    text: `select (idx_tup_fetch + seq_tup_read)::int as fetched from pg_stat_xact_user_tables where relname = 'records'`,
  })
  return rows[0]?.fetched ?? 0
}

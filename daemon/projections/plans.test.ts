import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPool, type Sql } from '@loci/postgres/pool.ts'
import { PATIENT, testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../schema.ts'

const ROWS = 4_000
const PIECE = 1_000
const INSTANCE = 'svc_1'
/** Calls after which a connection keeps one plan for all values. */
const SETTLED = 8

const mac = (text: string) => Buffer.from(text).toString('hex').padEnd(32, '0')
const write = (n: number, kind: string, { id = `new ${n}`, key = `new ${n}`, target = '' } = {}) =>
  `select outcome from loci.prj_write('${INSTANCE}', 10, array[null::int], array['d'], array['crm'], array['${id}'], array[true], array[false],
    array['${kind}'], array['${mac(key)}'], array['${mac('content')}'], array['support'], array['{}'], ${target ? `array[${target}]` : 'null'}, null,
    null, null, null, null, null, null, null)`
const tail = (after: number, limit: number) =>
  `select seq from loci.advice_tail('${INSTANCE}', 'd', ${after}, ${limit}, 4194304, 'default', null)`
const evidence = `select refs from loci.advice_evidence('${INSTANCE}', 'd', 'support', null, null, array['t1', 't2'], 5, '{50,50}', 100000, 100000, '{}', false, 10, 1048576)`

/** What each call may fetch of projections and of weights, and the call itself. */
const CALLS: [name: string, rows: number, text: (n: number) => string][] = [
  ['tell', 1, (n) => write(n, 'event')],
  ['tell again', 2, (n) => write(n, 'event', { id: 'told 2345', key: '2345' })],
  ['tell another under an id that is there', 2, (n) => write(n, 'event', { id: 'told 2345' })],
  // What is taken back is read, and read again to be marked.
  ['retract', 4, (n) => write(n, 'retraction', { target: `'told 2346'` })],
  // And the one that never ends of two thousand that say the same.
  ['retract what others say too', 6, (n) => write(n, 'retraction', { target: `'told 2347'` })],
  ['retract what has not come', 2, (n) => write(n, 'retraction', { target: `'to come ${n}'` })],
  ['read events for a cycle', 10, () => `select seq from loci.prj_pending('${INSTANCE}', 'd', 10, 1048576)`],
  // It is found, read, and read again to be written.
  [
    'forget',
    3,
    () =>
      `select loci.prj_forget(set_config('loci.instance', '${INSTANCE}', true), 'd', '\\x${mac('2347')}', 0, 500, null)`,
  ],
  // One leaves, with its weight; one takes back what is there, and stays.
  ['erase what is over', 9, () => `select loci.prj_expire('${INSTANCE}', 'd', 500, 'wait')`],
  ['verify', 10, () => `select rows from loci.prj_verify('${INSTANCE}', 'd', 2000, 10)`],
  // The last one that is known; of ten the lengths, then the content; and the mark of the last. One of the first takes
  // another back: its length, then it itself, and what it had added.
  ['fold on', 26, () => tail(ROWS - 20, 256)],
  ['fold a page', 22, () => tail(1_000, 10)],
  // The loops of a function read ahead.
  ['evidence', 150, () => evidence],
]

// Mutants: an equality in place of a range in order in prj_insert() (by key), prj_replace(), prj_let_go(),
// prj_is_needed(), prj_pass(), advice_projection() and advice_tail() (both marks, the length of what is taken back);
// clock_timestamp() in the loop of prj_expire(); no index projections_by_record or projections_by_said.
test('a plan that was made while nothing was told finds one projection among many without reading the others', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const options = {
    applicationName: 'loci-test',
    connectionsMax: 1,
    // The end of the database may overtake that of its connections, and a statement that needs one fails by itself.
    onError: () => {},
    statementMs: 60_000,
    connectMs: 20_000,
  }
  const pool = openPool({ ...PATIENT, url: database.appUrl, ...options })
  const owner = openPool({ ...PATIENT, url: database.adminUrl, ...options })
  const admin = (text: string) => owner.query({ text })
  // What autovacuum would do after a minute is what must not be needed.
  for (const table of ['projections', 'advice_weights'])
    await admin(`alter table loci.${table} set (autovacuum_enabled = false)`)
  await admin(`insert into loci.instances (id, organization_id, tenant_id, service_type, plan, state, generation, limits, config, change_seq, databases)
    values ('${INSTANCE}', 'org_1', 'ten_1', 'memory', 'pro', 'active', 1, '{}', '{}', 1, 1)`)
  await admin(
    `insert into loci.databases (instance_id, name, created_at, prj_awaited) values ('${INSTANCE}', 'd', now(), 1)`,
  )
  const client = await pool.client()
  try {
    let n = 0
    for (let times = 0; times < SETTLED; times += 1) for (const [, , text] of CALLS) await rolledBack(client, text(++n))
    for (let from = 1; from <= ROWS; from += PIECE) await fill(admin, from)
    await admin(`update loci.databases set seq = ${ROWS}`)
    await admin(`insert into loci.advice_snapshots (instance_id, database, seq, erased_at, head, bytes)
      values ('${INSTANCE}', 'd', 500, 0, '\\x00', 0)`)
    const wrong: string[] = []
    for (const [name, most, text] of CALLS) {
      const rows = await rolledBack(client, text(++n))
      if (rows > most) wrong.push(`${name}: ${rows} rows were fetched, ${most} are enough`)
    }
    assert.deepEqual(wrong, [])
  } finally {
    client.release()
    await Promise.all([pool.close(), owner.close()])
  }
})

/** Every other one is an event, which only the last ten cycles have left; one in two hundred has a time that ends. */
async function fill(admin: (text: string) => Promise<unknown>, from: number): Promise<void> {
  const numbers = `generate_series(${from}, ${from + PIECE - 1}) g`
  await admin(`insert into loci.projections (instance_id, database, seq, partner, id, class, key_mac, content_mac, task_class, body, is_pending,
      created_at, expires_at, leaves_at, takes_back, record_id, said_mac, digest)
    select '${INSTANCE}', 'd', g, 'crm', 'told ' || g, case when g % 2 = 1 then 'event' else 'tool_outcome' end,
      decode(rpad(encode(g::text::bytea, 'hex'), 32, '0'), 'hex'), '\\x${mac('content')}', 'support',
      case when g not in (${ROWS - 2}, ${ROWS - 4}) then '{"evidence_refs":["a"]}' end,
      g % 2 = 1 and g > ${ROWS - 20}, now(), case when g % 200 = 0 then now() + interval '1 day' end,
      case when g in (${ROWS - 2}, ${ROWS - 4}) then now() - interval '1 second' end,
      case when g = ${ROWS - 2} then 100 end, case when g % 2 = 1 and g <= ${ROWS - 20} then 'mem_1' end,
      case when g % 2 = 1 then decode(rpad(encode(g::text::bytea, 'hex'), 32, '0'), 'hex') end, '\\x00' from ${numbers}`)
  await admin(
    `update loci.projections p set digest = loci.prj_digest(p) where p.seq between ${from} and ${from + PIECE - 1}`,
  )
  await admin(`insert into loci.advice_weights (instance_id, database, seq, place, tool, task_class, outcome, t, u, attempt, expected)
    select '${INSTANCE}', 'd', g, 0, 't' || g % 7, 'support', 'success', g, g, 1, 1 from ${numbers} where g % 2 = 0`)
}

/** How many rows the statement has fetched. */
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
    text: `select sum(idx_tup_fetch + seq_tup_read)::int as fetched from pg_stat_xact_user_tables
      where relname in ('projections', 'advice_weights')`,
  })
  return rows[0]?.fetched ?? 0
}

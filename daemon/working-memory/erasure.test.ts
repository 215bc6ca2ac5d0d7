import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPool, type Sql } from '@loci/postgres/pool.ts'
import { PATIENT, testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../schema.ts'
import { cyclesOf } from '../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant } from '../testing/tenant.ts'

const INSTANCE = 'svc_1'
const VERSIONS = 20_000
/** Calls after which a connection keeps one plan for all values. */
const SETTLED = 8

// Mutant: no index slot_versions_by_value: it fetches 20,002.
test('an erasure fetches of the slot history only what says its value, also by a plan that was made while it was empty', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const options = { applicationName: 'loci-test', connectionsMax: 1, ...PATIENT, onError: () => {} } // Its statement fails.
  const [pool, owner] = [database.appUrl, database.adminUrl].map((url) =>
    openPool({ ...PATIENT, url, ...options }),
  ) as [ReturnType<typeof openPool>, ReturnType<typeof openPool>]
  const admin = (text: string) => owner.query({ text })
  await admin(`insert into loci.instances (id, organization_id, tenant_id, service_type, plan, state, generation, limits, config, change_seq, databases)
    values ('${INSTANCE}', 'org_1', 'ten_1', 'memory', 'pro', 'active', 1, '{}', '{}', 1, 1)`)
  await admin(`insert into loci.databases (instance_id, name, created_at) values ('${INSTANCE}', 'd', now())`)
  await admin(`insert into loci.working_memory (instance_id, database, version, evictions, keys, texts, versions, expires, metas, digests, weeks,
    week_bytes, digest) values ('${INSTANCE}', 'd', 1, 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '\\x00')`)
  const client = await pool.client()
  try {
    for (let times = 0; times < SETTLED; times += 1) await erasedBy(client, 3)
    // What autovacuum would do after a minute is what must not be needed.
    await admin(`do $$ declare v regclass; begin for v in select inhrelid from pg_inherits where inhparent = 'loci.slot_versions'::regclass
      loop execute format('alter table %s set (autovacuum_enabled = false)', v); end loop; end $$`)
    // Two say each value.
    await admin(`insert into loci.slot_versions (instance_id, database, key, version, at, text, meta, digest, value_mac)
      select '${INSTANCE}', 'd', 'k' || g % 50, g, now() - g % 8 * interval '1 day', '{}', '{}', '\\x00', int8send(g / 2) || int8send(0)
      from generate_series(2, ${VERSIONS + 1}) g`)

    const { erased, fetched } = await erasedBy(client, 5_000)

    assert.equal(erased, 2)
    // Each is found, and read again to be deleted.
    assert.ok(fetched <= 4, `${fetched} rows were fetched`)
  } finally {
    client.release()
    await Promise.all([pool.close(), owner.close()])
  }
})

async function erasedBy(sql: Sql, value: number): Promise<{ erased: number; fetched: number }> {
  await sql.query({ text: 'begin' })
  await sql.query({ text: `select set_config('loci.instance', '${INSTANCE}', true)` })
  const before = await fetchedBy(sql)
  const { rows } = await sql.query<{ erased: number }>({
    name: 'wm_erase',
    text: `select erased from loci.wm_erase($1, $2, '{}', int8send($3) || int8send(0), 1000)`,
    values: [INSTANCE, 'd', value],
  })
  const fetched = (await fetchedBy(sql)) - before
  await sql.query({ text: 'rollback' })
  return { erased: rows[0]?.erased ?? -1, fetched }
}

async function fetchedBy(sql: Sql): Promise<number> {
  const { rows } = await sql.query<{ fetched: number }>({
    text: `select coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::int as fetched from pg_stat_xact_user_tables where relname like 'slot_versions%'`,
  })
  return rows[0]?.fetched ?? 0
}

// Mutants: `content` of another value in the steps of createPlan(), or in those of stepsOf() for a cycle.
test('each way to write a slot leaves versions that an erasure of its value finds', async () => {
  await using daemon = await testDaemon()
  const ada = await addTenant(daemon)
  const SAID = 'Ada lives in Elm Street 5'
  const { call: ask } = cyclesOf(ada, 'ways')
  const call = async (path: string, body?: object) => {
    const answer = await ask(path, body)
    assert.equal(answer.status, 200, `${path}: ${answer.status} ${JSON.stringify(answer.error)}`)
    return answer.json<{ undo?: { token: string }; version: number; checked: { place: string; erased: number }[] }>()
  }
  const loose = { ephemeral: true }
  // First: what says the same as a slot that was put takes no place.
  await call('POST /v1/cognitive/cycles', { observations: [{ content: SAID, key: 'home' }] })
  const { version } = await call('PUT /v1/working-memory/slots/put', { value: SAID, ...loose })
  await call('PUT /v1/working-memory/slots/put', { value: 'something else', ...loose })
  await call('POST /v1/working-memory/slots/restore', { key: 'put', version })
  await call('PUT /v1/working-memory/slots/patched', { value: 'before', ...loose })
  await call('PATCH /v1/working-memory/slots/patched', { value: SAID.toUpperCase() })
  const put = { op: 'put', key: 'batch', value: `  ${SAID}`, ...loose }
  await call('POST /v1/working-memory/slots/batch', { operations: [put] })
  const { undo } = await call('POST /v1/working-memory/slots/clear')
  await call('POST /v1/working-memory/slots/restore', { undoToken: undo?.token })
  const [record] = await daemon.sql<{ id: string }>('select id from loci.records')
  const written = await daemon.sql(`select from loci.slot_versions where lower(text) like '%elm street 5%'`)

  const { checked } = await call(`DELETE /v1/memory/records/${record?.id}`)

  const erased = checked.find(({ place }) => place === 'slot_versions')?.erased
  assert.equal(erased, written.length)
  // Of the cycle, put, restored, patched, in a batch, and all four slots undone.
  assert.equal(written.length, 9)
  assert.deepEqual(await daemon.sql(`select from loci.slot_versions where lower(text) like '%elm street 5%'`), [])
})

// Mutants: eraseRoutes() that does not count what thinSlots erased; wm_thin that erases one page of those that are left
// and reports it as all.
test('a value that a slot was given thousands of times is erased from each version, in transactions of a thousand', async () => {
  await using daemon = await testDaemon()
  const ada = await addTenant(daemon)
  const { call, get } = cyclesOf(ada, 'often')
  await call('PUT /v1/working-memory/slots/state', { value: 'idle', ephemeral: true })
  const stored = await call('POST /v1/memory/records', { content: 'Idle' })
  const SAME = 2_500
  await daemon.sql(`insert into loci.slot_versions select instance_id, database, key, version + g, at, text, meta, expires, digest, value_mac
    from loci.slot_versions, generate_series(1, ${SAME - 1}) g`)
  await daemon.sql(`create table loci.erasing as select 0::bigint as xid, 0 as rows;
    grant all on loci.erasing to loci_app;
    create function loci.count_erased() returns trigger language plpgsql as $$ begin
      insert into loci.erasing select txid_current(), count(*) from old_rows; return null; end $$;
    create trigger counted after delete on loci.slot_versions referencing old table as old_rows for each statement
      execute function loci.count_erased()`)

  const erased = await call(`DELETE /v1/memory/records/${stored.json<{ id: string }>().id}`)

  const { checked } = erased.json<{ checked: { place: string; erased: number }[] }>()
  assert.equal(checked.find(({ place }) => place === 'slot_versions')?.erased, SAME)
  assert.deepEqual(
    await daemon.sql('select sum(rows)::int as rows from loci.erasing where xid > 0 group by xid order by min(xid)'),
    [{ rows: 1_000 }, { rows: 1_000 }, { rows: 500 }],
  )
  assert.deepEqual(await daemon.sql('select from loci.slot_versions'), [])
  assert.equal((await get<{ slots: unknown[] }>('/v1/working-memory/slots')).slots.length, 0)
})

/** A slot that was given the value of a record so often that an erasure takes transactions of its own for it. */
async function saidOften(daemon: TestDaemon, versions: number) {
  const { call } = cyclesOf(await addTenant(daemon), 'often')
  await call('PUT /v1/working-memory/slots/state', { value: 'idle', ephemeral: true })
  const stored = await call('POST /v1/memory/records', { content: 'Idle' })
  await daemon.sql(`insert into loci.slot_versions select instance_id, database, key, version + g, at, text, meta, expires, digest, value_mac
    from loci.slot_versions, generate_series(1, ${versions - 1}) g`)
  const { id } = stored.json<{ id: string }>()
  return { erase: () => call(`DELETE /v1/memory/records/${id}`) }
}

/** Makes the audit entry of an erasure fail, as long as a number of the sequence is asked for. */
async function failErasures(daemon: TestDaemon, state: string, times: number): Promise<void> {
  await daemon.sql(`create sequence loci.tries; grant all on loci.tries to loci_app;
    create function loci.fail_erasure() returns trigger language plpgsql as $$ begin
      if new.action = 'memory.erase' and nextval('loci.tries') <= ${times} then raise exception using errcode = '${state}'; end if;
      return new; end $$;
    create trigger failing before insert on loci.audit for each row execute function loci.fail_erasure()`)
}

// Mutant: erasingEverywhere() that takes the lines out of `thinned` where it reads them.
test('the receipt counts every version, also when the transaction of the erasure was repeated', async () => {
  await using daemon = await testDaemon()
  const { erase } = await saidOften(daemon, 2_500)
  await failErasures(daemon, '40001', 1)

  const erased = await erase()

  assert.equal(erased.status, 200, erased.text)
  const { checked } = erased.json<{ checked: { place: string; erased: number }[] }>()
  assert.equal(checked.find(({ place }) => place === 'slot_versions')?.erased, 2_500)
  const [entry] = await daemon.sql(
    `select detail->>'slot_versions' as versions from loci.audit where action = 'memory.erase'`,
  )
  assert.deepEqual(entry, { versions: '2500' })
})

// Mutants: erase() that throws the cause, whatever was erased before; erase() that never throws it.
test('a DELETE that fails after it has erased versions does not say that nothing was done', async () => {
  for (const [versions, told] of [
    [3, [503, 'STORE_UNAVAILABLE']],
    [2_500, [500, 'OUTCOME_UNKNOWN']],
  ] as const) {
    await using daemon = await testDaemon()
    const { erase } = await saidOften(daemon, versions)
    await failErasures(daemon, '53100', 1)

    const failed = await erase()

    assert.deepEqual([failed.status, failed.error.code], told, failed.text)
    const [left] = await daemon.sql('select count(*)::int as versions from loci.slot_versions')
    assert.equal(left?.versions === versions, told[0] === 503)
    assert.equal((await erase()).status, 200)
    assert.deepEqual(await daemon.sql('select from loci.slot_versions'), [])
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

const RIGHTS = {
  ops: ['wm:read', 'wm:write', 'wm:delete', 'memory:write', 'cycles:run', 'kv:write', 'system:read'],
  ks: ['working-memory/*', 'memory/*', 'cognitive/*', 'kv/*'],
}
const TABLES = ['events', 'slot_versions', 'evictions', 'clears', 'cycle_decisions', 'audit']

/** As a pause of a day, an old backup or a step of the clock leave it: nothing reaches to now. */
async function dropPartitions(daemon: TestDaemon, tables = TABLES): Promise<void> {
  const rows = await daemon.sql<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
     where p.relname = any($1)`,
    [tables],
  )
  for (const { name } of rows) await daemon.sql(`drop table loci.${name}`)
}

/** A write of each table: slots and their history, a clear, memory, a cycle, an audit entry. */
async function writeEverything(daemon: TestDaemon, ada: TestTenant, n: number): Promise<string[]> {
  const token = ada.mint(RIGHTS)
  const operator = ada.mint({ ops: ['operator', ...RIGHTS.ops], ks: RIGHTS.ks })
  const answers = [
    await ada.call('PUT /v1/working-memory/slots/a', { value: n }, { token }),
    await ada.call('PUT /v1/working-memory/slots/b', { value: n }, { token }),
    await ada.call('POST /v1/working-memory/slots/clear', undefined, { token: operator }),
    await ada.call('POST /v1/memory/records', { content: `tea number ${n}` }, { token }),
    await ada.call('POST /v1/cognitive/cycles', { observations: [{ content: `a cup ${n}` }] }, { token }),
    await daemon.admin(`POST /admin/services/${n % 2 ? 'disable' : 'enable'}`, { services: ['mcp'] }),
  ]
  return answers.map(({ status, text }) => (status < 300 ? 'done' : `${status} ${text.slice(0, 300)}`))
}

// Found by dropping the partition of the present hours: POST records, PUT slot and POST cycles were 500 until somebody
// called keep_event_partitions(). Mutants: poolOpener() of app.ts without keepPartitions; keepPartitions without the
// slots' or the audit's.
test('a write that finds no partition of today makes it and succeeds, in every table that has some', async () => {
  await using daemon = await testDaemon()
  const ada = await addTenant(daemon)
  const done = ['done', 'done', 'done', 'done', 'done', 'done']
  assert.deepEqual(await writeEverything(daemon, ada, 1), done)
  for (const table of TABLES) {
    await dropPartitions(daemon, [table])
    assert.deepEqual(await writeEverything(daemon, ada, TABLES.indexOf(table) + 2), done, table)
  }
  await dropPartitions(daemon)
  assert.deepEqual(await writeEverything(daemon, ada, 9), done)
  assert.match((await daemon.get('/metrics')).text, /^loci_postgres_failures_total\{kind="partition"\} [1-9]/m)
})

// Mutants: store.jobs left out of app.ts; 23514 an internal error.
test('a gap that cannot be closed is 503 with its reason, and readiness says degraded until it is', async () => {
  await using daemon = await testDaemon()
  const ada = await addTenant(daemon)
  const put = () => ada.call('PUT /v1/working-memory/slots/a', { value: 1 }, { token: ada.mint(RIGHTS) })
  const status = async () => (await daemon.get('/v1/lifecycle/status')).json<{ state: string; reasons: string[] }>()
  await daemon.sql('revoke execute on function loci.keep_event_partitions() from loci_app')
  await dropPartitions(daemon, ['events'])

  const refused = await put()
  assert.deepEqual([refused.status, refused.error.code], [503, 'STORE_UNAVAILABLE'])
  assert.match(refused.error.message, /no partition/)
  assert.equal((await ada.call('PUT /v1/kv/entries/a', { value: 1 })).status, 200, 'others go on')
  await eventually(async () => (await status()).state === 'degraded')
  assert.deepEqual((await status()).reasons, ['postgres partitions: no partition for now in events: writes fail'])
  const all = (await daemon.get('/v1/health/all')).json<{
    status: string
    checks: Record<string, { status: string }>
  }>()
  assert.deepEqual([all.status, all.checks.postgres?.status], ['degraded', 'partition'])

  await daemon.sql('grant execute on function loci.keep_event_partitions() to loci_app')
  assert.equal((await put()).status, 200)
  await eventually(async () => (await status()).state === 'ready')
})

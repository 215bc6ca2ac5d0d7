import assert from 'node:assert/strict'
import { appendFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrate, readMigrations, schemaState } from './migrate.ts'
import type { Pool } from './pool.ts'
import { openPool } from './pool.ts'
import { testDatabase } from './testing/database.ts'
import { until } from './testing/until.ts'

const FIXTURE = join(import.meta.dirname, 'testing/migrations')
const log = () => {}

test('an empty database gets every migration in order, and the second run does nothing', async () => {
  await using fixture = await emptyDatabase()
  const names = ['0001-notes', '0002-note-heads', '0003-notes-by-body']
  assert.deepEqual(await migrate(fixture.options(log)), { applied: names, version: 3 })
  assert.deepEqual(await migrate(fixture.options(log)), { applied: [], version: 3 })
  const { rows } = await fixture.app.query({
    text: 'select version, name, serves from loci.migrations order by version',
  })
  assert.deepEqual(
    rows.map((row) => `${row.version} ${row.name} ${row.serves}`),
    ['1 notes 1', '2 note-heads 1', '3 notes-by-body 1'],
  )
})

test('two migrations at once: one applies, the other waits and finds nothing to do', async () => {
  await using fixture = await emptyDatabase()
  // It goes on when the other has said that it waits.
  const slow = 'do $$ begin while not exists (select from public.go) loop perform pg_sleep(0.02); end loop; end $$;'
  fixture.write('0004-slow.sql', `-- serves: 0001\n${slow}\n`)
  await fixture.admin.query({ text: 'create table public.go (at int); grant select on public.go to public' })
  const lines: string[] = []
  const migrating = Promise.all([1, 2].map(() => migrate(fixture.options((line) => lines.push(line)))))
  await until(() => lines.some((line) => line.startsWith('waiting for another migration')))
  await fixture.admin.query({ text: 'insert into public.go values (1)' })
  const results = await migrating
  assert.deepEqual(results.map((result) => result.applied.length).toSorted(), [0, 4])
  assert.match(lines.join('\n'), /waiting for another migration \(process \d+, role loci_daemon_owner, loci-migrate\)/)
})

test('a file changed after it was applied is refused', async () => {
  await using fixture = await emptyDatabase()
  await migrate(fixture.options(log))
  appendFileSync(join(fixture.directory, '0002-note-heads.sql'), '-- changed\n')
  await assert.rejects(migrate(fixture.options(log)), /0002-note-heads was changed after it was applied: restore/)
  assert.equal((await schemaState(fixture.app, fixture.directory)).state, 'incompatible')
})

test('a gap, a bad name and a missing or impossible first line are refused', async () => {
  await using fixture = await emptyDatabase()
  fixture.write('0005-late.sql', '-- serves: 0001\n')
  assert.throws(() => readMigrations(fixture.directory), /expected migration 0004/)
  fixture.write('0004-x.sql', 'select 1')
  assert.throws(() => readMigrations(fixture.directory), /first line must be/)
  fixture.write('0004-x.sql', '-- serves: 0009\nselect 1')
  assert.throws(() => readMigrations(fixture.directory), /at most 0004/)
  fixture.write('0004-x.sql', '-- serves: 0001\nselect 1')
  fixture.write('new.sql', '-- serves: 0001\nselect 1')
  assert.throws(() => readMigrations(fixture.directory), /rename it/)
})

test('a migration that fails leaves nothing behind and names itself', async () => {
  await using fixture = await emptyDatabase()
  fixture.write('0004-broken.sql', '-- serves: 0001\ncreate table loci.half (id int);\nselect 1/0;\n')
  await assert.rejects(migrate(fixture.options(log)), /0004-broken failed: division by zero/)
  const { rows } = await fixture.app.query({ text: `select to_regclass('loci.half') as half` })
  assert.deepEqual(rows, [{ half: null }])
  assert.equal((await schemaState(fixture.app, fixture.directory)).version, 3)
})

test('a table that is in use makes the migration step back and come again', async () => {
  await using fixture = await emptyDatabase()
  await migrate(fixture.options(log))
  fixture.write('0004-column.sql', '-- serves: 0001\nalter table loci.note_heads add column kind text;\n')
  const reader = await fixture.app.client()
  await reader.query({
    text: 'begin; set local idle_in_transaction_session_timeout = 0; select * from loci.note_heads',
  })
  const lines: string[] = []
  const migrating = migrate(fixture.options((line) => lines.push(line)))
  await until(() => lines.length > 0)
  await reader.query({ text: 'rollback' })
  reader.release()
  assert.deepEqual((await migrating).applied, ['0004-column'])
  assert.match(lines[0] ?? '', /locked for a second/)
})

test('a half-built index is reported instead of recorded', async () => {
  await using fixture = await emptyDatabase()
  await migrate(fixture.options(log))
  await fixture.admin.query({
    text: `update pg_index set indisvalid = false where indexrelid = 'loci.notes_by_body'::regclass`,
  })
  fixture.write('0004-same.sql', '-- serves: 0001\n-- no transaction\nselect 1;\n')
  await assert.rejects(migrate(fixture.options(log)), /drop index concurrently loci.notes_by_body/)
})

test('code knows whether a schema is behind, current, ahead or too new for it', async () => {
  await using fixture = await emptyDatabase()
  const state = async () => {
    const { state, version, required } = await schemaState(fixture.app, FIXTURE)
    return [state, version, required]
  }
  assert.deepEqual(await state(), ['behind', 0, 3])
  await migrate(fixture.options(log))
  assert.deepEqual(await state(), ['current', 3, 3])
  fixture.write('0004-newer.sql', '-- serves: 0003\nselect 1;\n')
  await migrate(fixture.options(log))
  assert.deepEqual(await state(), ['ahead', 4, 3])
  const older: string[] = []
  const result = await migrate({ ...fixture.options((line) => older.push(line)), directory: FIXTURE })
  assert.deepEqual(result, { applied: [], version: 4 })
  assert.match(older[0] ?? '', /newer than this release/)
  fixture.write('0005-break.sql', '-- serves: 0005\nselect 1;\n')
  await migrate(fixture.options(log))
  assert.deepEqual(await state(), ['incompatible', 5, 3])
})

/** A database without migrations, and a copy of the fixture's files that a test may change. */
async function emptyDatabase() {
  const none = mkdtempSync(join(tmpdir(), 'loci-migrate-'))
  const database = await testDatabase({ migrations: none })
  const directory = mkdtempSync(join(tmpdir(), 'loci-migrate-'))
  cpSync(FIXTURE, directory, { recursive: true })
  const open = (url: string) => openPool({ url, applicationName: 'migrate-test', connectionsMax: 2, onError: () => {} })
  const app: Pool = open(database.appUrl)
  const admin: Pool = open(database.adminUrl)
  await admin.query({ text: 'drop schema loci cascade' })
  return {
    app,
    admin,
    directory,
    options: (log: (line: string) => void) => ({
      ownerUrl: database.ownerUrl,
      program: 'daemon' as const,
      directory,
      log,
    }),
    write: (file: string, text: string) => writeFileSync(join(directory, file), text),
    async [Symbol.asyncDispose]() {
      await Promise.all([app.close(), admin.close()])
      await database[Symbol.asyncDispose]()
      for (const one of [none, directory]) rmSync(one, { recursive: true })
    },
  }
}

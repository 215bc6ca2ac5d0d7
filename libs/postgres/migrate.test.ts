import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { migrate, schemaState } from './migrate.ts'
import { readMigrations, schemaIn } from './migrations.ts'
import type { Pool } from './pool.ts'
import { openPool } from './pool.ts'
import { PATIENT, testDatabase } from './testing/database.ts'
import { until } from './testing/until.ts'

const FIXTURE = schemaIn(join(import.meta.dirname, 'testing'))
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
  appendFileSync(join(fixture.schema.migrations, '0002-note-heads.sql'), '-- changed\n')
  await assert.rejects(migrate(fixture.options(log)), /0002-note-heads was changed after it was applied: restore/)
  assert.equal((await schemaState(fixture.app, fixture.schema)).state, 'incompatible')
})

// Mutants: withIncluded() that reads the file alone; a checksum of the file without what it includes.
test('an included file is part of its migration, and is not changed after it was applied either', async () => {
  await using fixture = await emptyDatabase()
  const shared = (column: string) => fixture.write('../shared.sql', `create table loci.shared (${column} int);\n`)
  shared('id')
  fixture.write(
    '0004-shared.sql',
    `-- serves: 0001\n-- include: ../shared.sql\ncomment on table loci.shared is 'without row-level security: a test';\n`,
  )
  assert.equal((await migrate(fixture.options(log))).version, 4)
  shared('other')
  await assert.rejects(migrate(fixture.options(log)), /0004-shared was changed after it was applied: restore/)
})

test('a gap, a bad name and a missing or impossible first line are refused', async () => {
  await using fixture = await emptyDatabase()
  fixture.write('0005-late.sql', '-- serves: 0001\n')
  assert.throws(() => readMigrations(fixture.schema), /expected migration 0004/)
  fixture.write('0004-x.sql', 'select 1')
  assert.throws(() => readMigrations(fixture.schema), /first line must be/)
  fixture.write('0004-x.sql', '-- serves: 0009\nselect 1')
  assert.throws(() => readMigrations(fixture.schema), /at most 0004/)
  fixture.write('0004-x.sql', '-- serves: 0001\nselect 1')
  fixture.write('new.sql', '-- serves: 0001\nselect 1')
  assert.throws(() => readMigrations(fixture.schema), /rename it/)
})

test('a migration that fails leaves nothing behind and names itself', async () => {
  await using fixture = await emptyDatabase()
  fixture.write('0004-broken.sql', '-- serves: 0001\ncreate table loci.half (id int);\nselect 1/0;\n')
  await assert.rejects(migrate(fixture.options(log)), /0004-broken failed: division by zero/)
  const { rows } = await fixture.app.query({ text: `select to_regclass('loci.half') as half` })
  assert.deepEqual(rows, [{ half: null }])
  assert.equal((await schemaState(fixture.app, fixture.schema)).version, 3)
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
  await until(() => lines.some((line) => line.includes('it waited for loci.note_heads')))
  const { rows } = await reader.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
  await reader.query({ text: 'rollback' })
  reader.release()
  assert.deepEqual((await migrating).applied, ['0004-column'])
  // Mutant: pg_blocking_pids of another session than the one that migrates; nobody is named.
  const holder = `process ${rows[0]?.pid}, role `
  assert.ok(lines.some((line) => line.startsWith('0004-column waits for loci.note_heads (') && line.includes(holder)))
  assert.ok(
    lines.some((line) => /trying again \(\d of 8\); it waited for loci.note_heads/.test(line)),
    lines.join('\n'),
  )
})

// Mutants: refuseSkipped() not called; releasesBetween() without `one !== from`, and without `one !== to`.
test('a release that was skipped is named, and refused while a program runs', async () => {
  await using fixture = await emptyDatabase()
  await migrate(fixture.options(log))
  const next = '-- serves: 0003\n-- release: 0.2.0\ncreate table loci.next (n int);\n'
  const more = '-- serves: 0004\ncreate table loci.more (n int);\n'
  const after = '-- serves: 0005\n-- release: 0.3.0\ncreate table loci.after (n int);\n'
  fixture.write('0004-next.sql', next)
  fixture.write('0005-more.sql', more)
  fixture.write('0006-after.sql', after)
  const running = openPool({
    ...PATIENT,
    url: fixture.url,
    ...{ applicationName: 'loci-daemon', connectionsMax: 1, onError: () => {} },
  })
  await running.query({ text: 'select 1' })
  await assert.rejects(
    migrate(fixture.options(log)),
    /the database is of release 0\.1\.0, this is 0\.3\.0, and 0\.2\.0 was skipped while programs run \(loci-daemon with 1 connection\): migrate with 0\.2\.0 and replace/,
  )
  assert.equal((await schemaState(fixture.app, fixture.schema)).version, 3)

  for (const file of ['0005-more.sql', '0006-after.sql']) rmSync(join(fixture.schema.migrations, file))
  assert.equal((await migrate(fixture.options(log))).version, 4)
  // The rest of its own release, and the one after it.
  fixture.write('0005-more.sql', more)
  fixture.write('0006-after.sql', after)
  assert.equal((await migrate(fixture.options(log))).version, 6)
  await running.close()
})

test('a release may be skipped when no program runs', async () => {
  await using fixture = await emptyDatabase()
  await migrate(fixture.options(log))
  fixture.write('0004-next.sql', '-- serves: 0003\n-- release: 0.2.0\ncreate table loci.next (n int);\n')
  fixture.write('0005-after.sql', '-- serves: 0004\n-- release: 0.3.0\ncreate table loci.after (n int);\n')
  assert.equal((await migrate(fixture.options(log))).version, 5)
})

test('a release that is no version is refused', async () => {
  await using fixture = await emptyDatabase()
  fixture.write('0004-next.sql', '-- serves: 0003\n-- release: next\nselect 1;\n')
  await assert.rejects(migrate(fixture.options(log)), /"-- release: next" must name a version like 1\.2\.3/)
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
  const result = await migrate({ ...fixture.options((line) => older.push(line)), schema: FIXTURE })
  assert.deepEqual(result, { applied: [], version: 4 })
  assert.match(older[0] ?? '', /newer than this release/)
  fixture.write('0005-break.sql', '-- serves: 0005\nselect 1;\n')
  await migrate(fixture.options(log))
  assert.deepEqual(await state(), ['incompatible', 5, 3])
})

// Mutants: migrate applies no functions (42883); applies them also when nothing is pending (the older release wins).
test('functions are made with the newest migration, and an older release leaves those of a newer one alone', async () => {
  await using fixture = await emptyDatabase()
  await migrate(fixture.options(log))
  const count = async () =>
    (await fixture.app.query<{ n: number }>({ text: `select loci.count_notes('svc') as n` })).rows[0]?.n
  assert.equal(await count(), 0)
  fixture.edit((text) => text.replace('select count(*)', 'select 7 + count(*)'))
  fixture.write('0004-functions.sql', '-- serves: 0003\n')
  assert.deepEqual((await migrate(fixture.options(log))).applied, ['0004-functions'])
  assert.equal(await count(), 7)
  await migrate({ ...fixture.options(log), schema: FIXTURE })
  assert.equal(await count(), 7)
})

// Mutant: requireDigest() without its last sentence.
test('an edited function without a new number is refused, with the lines that the next one needs', async () => {
  await using fixture = await emptyDatabase()
  const before = readMigrations(fixture.schema).length
  fixture.edit((text) => `${text}-- edited\n`)
  const edited = /functions\.sql was edited after .*0003-notes-by-body\.sql: .*; else add 0004-functions\.sql with/
  assert.throws(() => readMigrations(fixture.schema), edited)
  await assert.rejects(migrate(fixture.options(log)), edited)
  writeFileSync(join(fixture.schema.migrations, '0004-more.sql'), '-- serves: 0003\n')
  assert.throws(
    () => readMigrations(fixture.schema),
    /0004-more\.sql: the newest migration needs the line "-- functions: /,
  )
  fixture.write('0004-more.sql', '-- serves: 0003\n')
  assert.equal(readMigrations(fixture.schema).length, before + 1)
})

test('a numbered file neither makes nor calls a function', async () => {
  await using fixture = await emptyDatabase()
  fixture.write(
    '0004-x.sql',
    '-- serves: 0003\ncreate or replace function loci.f() returns int language sql as $$ select 1 $$;\n',
  )
  assert.throws(() => readMigrations(fixture.schema), /0004-x\.sql creates a function/)
  fixture.write('0004-x.sql', `-- serves: 0003\nselect loci.count_notes ('svc');\n`)
  assert.throws(() => readMigrations(fixture.schema), /0004-x\.sql calls loci\.count_notes\(\)/)
  fixture.write('0004-x.sql', '-- serves: 0003\ndrop function loci.count_notes(text);\n')
  assert.equal(readMigrations(fixture.schema).length, 4)
})

// Mutant: the functions after the commit of the migration: version 4 and its table are there.
test('a function that fails takes its migration with it and names its file', async () => {
  await using fixture = await emptyDatabase()
  await migrate(fixture.options(log))
  fixture.edit((text) => text.replace('bigint', 'no_type'))
  fixture.write('0004-half.sql', '-- serves: 0001\ncreate table loci.half (id int);\n')
  await assert.rejects(
    migrate(fixture.options(log)),
    /0004-half failed: .*notes\/functions\.sql: type "no_type" does not exist/,
  )
  const { rows } = await fixture.app.query({ text: `select to_regclass('loci.half') as half` })
  assert.deepEqual(rows, [{ half: null }])
  assert.equal((await schemaState(fixture.app, fixture.schema)).version, 3)
})

/** A database without migrations, and a copy of the fixture's files that a test may change. */
async function emptyDatabase() {
  const none = mkdtempSync(join(tmpdir(), 'loci-migrate-'))
  const database = await testDatabase({ schema: { migrations: none, functions: [] } })
  const directory = mkdtempSync(join(tmpdir(), 'loci-migrate-'))
  for (const folder of ['migrations', 'notes'])
    cpSync(join(import.meta.dirname, 'testing', folder), join(directory, folder), { recursive: true })
  const schema = schemaIn(directory)
  const functions = schema.functions[0] as string
  const open = (url: string) =>
    openPool({ ...PATIENT, url, applicationName: 'migrate-test', connectionsMax: 2, onError: () => {} })
  const app: Pool = open(database.appUrl)
  const admin: Pool = open(database.adminUrl)
  await admin.query({ text: 'drop schema loci cascade' })
  return {
    app,
    admin,
    schema,
    url: database.appUrl,
    options: (log: (line: string) => void) => ({
      ownerUrl: database.ownerUrl,
      program: 'daemon' as const,
      schema,
      log,
    }),
    /** With the digest of the functions below its first line. */
    write: (file: string, text: string) => {
      const digest = createHash('sha256').update(readFileSync(functions)).digest('hex')
      const carrying = text.replace(/^(-- serves: .*\n)/, `$1-- functions: ${digest}\n`)
      writeFileSync(join(schema.migrations, file), carrying)
    },
    edit: (change: (text: string) => string) => writeFileSync(functions, change(readFileSync(functions, 'utf8'))),
    async [Symbol.asyncDispose]() {
      await Promise.all([app.close(), admin.close()])
      await database[Symbol.asyncDispose]()
      for (const one of [none, directory]) rmSync(one, { recursive: true })
    },
  }
}

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { explainDatabaseError, wrongDatabase } from './first-contact.ts'
import { migrate } from './migrate.ts'
import { schemaIn } from './migrations.ts'
import { openPool } from './pool.ts'
import { prepareDatabase } from './prepare.ts'
import { type TestDatabase, testDatabase } from './testing/database.ts'

const SCHEMA = schemaIn(join(import.meta.dirname, 'testing'))
let cell: TestDatabase
before(async () => {
  cell = await testDatabase({ schema: SCHEMA, program: 'daemon' })
})
after(() => cell?.[Symbol.asyncDispose]())

const pool = (url: string) => openPool({ url, applicationName: 'test', connectionsMax: 1, onError: () => {} })
const prepare = async (
  url: string,
  program: 'daemon' | 'management',
  onWaiting: (reason: string) => void = () => {},
) => {
  const sql = pool(url)
  try {
    return await prepareDatabase({
      sql,
      program,
      schema: SCHEMA,
      sealingKeys: [],
      signal: new AbortController().signal,
      onWaiting,
    })
  } finally {
    await sql.close()
  }
}

// It was "migration 0001-… was changed after it was applied: restore the file". Mutant: wrongDatabase() returns
// undefined.
test('the database of the other program is named as such, by migrate and by serve', async () => {
  const options = { ownerUrl: cell.ownerUrl, schema: SCHEMA, log: () => {} }
  const isDaemons = `'${cell.name}', which is the database of a daemon (a cell): management has a database of its own, such as loci_control`
  await assert.rejects(migrate({ ...options, program: 'management' }), (error: Error) =>
    error.message.startsWith(`LOCI_DATABASE_OWNER_URL leads to ${isDaemons}`),
  )
  assert.deepEqual(await migrate({ ...options, program: 'daemon' }), { applied: [], version: 3 })
  const served = await prepare(cell.appUrl, 'management')
  assert.deepEqual(served, { refused: [`LOCI_DATABASE_URL leads to ${isDaemons}. Nothing was changed`] })
  const sql = pool(cell.appUrl)
  assert.equal(await wrongDatabase(sql, 'daemon', 'LOCI_DATABASE_URL'), undefined)
  await sql.close()
})

test('migrate with the login that serves, and serve with the login that migrates, name the one to use', async () => {
  await assert.rejects(
    migrate({ ownerUrl: cell.appUrl, program: 'daemon', schema: SCHEMA, log: () => {} }),
    /^Error: LOCI_DATABASE_OWNER_URL connects as loci_daemon, which may not change the schema: use loci_daemon_owner/,
  )
  const asOwner = await prepare(cell.ownerUrl, 'daemon')
  assert.ok(asOwner !== 'stopped' && asOwner.refused)
  assert.match(asOwner.refused[0] ?? '', /^LOCI_DATABASE_URL connects as loci_daemon_owner, .*: use loci_daemon$/)
  assert.ok(!asOwner.refused.join().includes('give them to loci_owner'))
})

test('while it waits it says why, and says it again', async () => {
  const sql = pool('postgres://loci_daemon@127.0.0.1:1/none')
  const stop = new AbortController()
  const reasons: string[] = []
  const onWaiting = (reason: string) => {
    reasons.push(reason)
    if (reasons.length === 3) stop.abort()
  }
  const outcome = await prepareDatabase({
    sql,
    program: 'daemon',
    schema: SCHEMA,
    sealingKeys: [],
    signal: stop.signal,
    onWaiting,
    repeatMs: 0,
  })
  assert.equal(outcome, 'stopped')
  await sql.close()
  assert.equal(new Set(reasons).size, 1)
  assert.match(reasons[0] ?? '', /ECONNREFUSED.*is PostgreSQL running there\? LOCI_DATABASE_URL says where to look/)
})

test('a certificate, a password, a database and a right that fail each name the setting', () => {
  const explained = (code: string, message = 'it failed') =>
    explainDatabaseError(
      new Error('wrapped', { cause: Object.assign(new Error(message), { code }) }),
      'management',
      'LOCI_DATABASE_URL',
    )
  for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])
    assert.match(explained(code), new RegExp(`does not verify \\(${code}\\): LOCI_DATABASE_CA names the file`))
  assert.match(explained('28P01'), /the password in LOCI_DATABASE_URL/)
  assert.match(explained('3D000'), /the name of the database in LOCI_DATABASE_URL/)
  const denied = Object.assign(new Error('permission denied for database "loci_cell"'), { code: '42501' })
  assert.match(
    explainDatabaseError(denied, 'management', 'LOCI_DATABASE_URL'),
    /may not enter, perhaps that of another program\. management connects as loci_management /,
  )
})

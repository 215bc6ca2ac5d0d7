import assert from 'node:assert/strict'
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPool } from './pool.ts'
import { rolesSql } from './roles.ts'
import { testDatabase } from './test-database.ts'

// A server of its own: roles belong to the whole server, and these tests damage them.
delete process.env.TEST_POSTGRES_URL
const migrations = join(import.meta.dirname, 'testing/migrations')

test('the roles script can run again, and takes back what it must not find', async () => {
  await using fixture = await openRoles()
  const { admin, database } = fixture
  const script = rolesSql({ database: database.name })
  await admin.query({ text: script })
  await admin.query({ text: 'alter role loci_app createdb; grant loci_owner to loci_app' })
  await admin.query({ text: script })
  const { rows } = await admin.query({
    text: `select rolname as role, rolcanlogin as login, rolcreatedb or rolsuper or rolbypassrls as strong,
             pg_has_role(rolname, 'loci_owner', 'member') as owner
           from pg_roles where rolname like 'loci\\_%' order by 1`,
  })
  assert.deepEqual(rows, [
    { role: 'loci_app', login: true, strong: false, owner: false },
    { role: 'loci_owner', login: true, strong: false, owner: true },
    { role: 'loci_search', login: false, strong: false, owner: false },
  ])
})

test('a password may hold any character', async () => {
  const password = `it's \\ a "$roles$" %s;--`
  await using fixture = await openRoles()
  await fixture.admin.query({ text: rolesSql({ database: fixture.database.name, appPassword: password }) })
  const { rows } = await fixture.admin.query<{ stored: string }>({
    text: `select rolpassword as stored from pg_authid where rolname = 'loci_app'`,
  })
  const [, rounds, salt, key] = /^SCRAM-SHA-256\$(\d+):(.+)\$(.+):/.exec(rows[0]!.stored) ?? []
  const salted = pbkdf2Sync(password, Buffer.from(salt!, 'base64'), Number(rounds), 32, 'sha256')
  const clientKey = createHmac('sha256', salted).update('Client Key').digest()
  assert.equal(createHash('sha256').update(clientKey).digest('base64'), key)
})

test('the script refuses to run in another database', async () => {
  await using fixture = await openRoles()
  await assert.rejects(fixture.admin.query({ text: rolesSql({ database: 'other' }) }), /connect to the database/)
})

test('loci_owner can hand a function to loci_search and still replace it', async () => {
  await using fixture = await openRoles()
  const define = `create or replace function loci.find() returns int language sql as 'select 1'`
  await fixture.owner.query({
    text: `${define}; grant usage, create on schema loci to loci_search;
           alter function loci.find() owner to loci_search; revoke create on schema loci from loci_search; ${define}`,
  })
})

test('loci_app can neither create anything nor become another role', async () => {
  await using fixture = await openRoles()
  for (const text of [
    'create schema mine',
    'create table public.mine (id int)',
    'create table loci.mine (id int)',
    'create temporary table mine (id int)',
    'set role loci_owner',
    'set role loci_search',
  ]) {
    await assert.rejects(fixture.app.query({ text }), { code: '42501' }, text)
  }
})

async function openRoles() {
  const database = await testDatabase({ migrations })
  const open = (url: string) => openPool({ url, applicationName: 'roles-test', connectionsMax: 1, onError: () => {} })
  const [admin, owner, app] = [open(database.adminUrl), open(database.ownerUrl), open(database.appUrl)]
  return {
    database,
    admin,
    owner,
    app,
    async [Symbol.asyncDispose]() {
      await Promise.all([admin.close(), owner.close(), app.close()])
      await database[Symbol.asyncDispose]()
    },
  }
}

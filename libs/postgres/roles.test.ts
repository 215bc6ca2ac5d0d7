import assert from 'node:assert/strict'
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { auditDatabase } from './durability.ts'
import { schemaIn } from './migrations.ts'
import { openPool } from './pool.ts'
import { rolesSql } from './roles.ts'
import { changeUrl } from './testing/change-url.ts'
import { PATIENT, testDatabase } from './testing/database.ts'

// A server of its own: roles belong to the whole server, and these tests damage them.
delete process.env.TEST_POSTGRES_URL
const schema = schemaIn(join(import.meta.dirname, 'testing'))

test('the roles script can run again, and takes back what it must not find', async () => {
  await using fixture = await openRoles()
  const { admin, database } = fixture
  const script = rolesSql({ database: database.name, program: 'daemon' })
  await admin.query({ text: script })
  await admin.query({
    text: 'alter role loci_app login createdb; grant loci_owner to loci_app; grant loci_owner to loci_daemon',
  })
  await admin.query({ text: script })
  const { rows } = await admin.query({
    text: `select rolname as role, rolcanlogin as login, rolcreatedb or rolsuper or rolbypassrls as strong,
             pg_has_role(rolname, 'loci_owner', 'member') as owner
           from pg_roles where rolname like 'loci\\_%' order by 1`,
  })
  assert.deepEqual(rows, [
    { role: 'loci_app', login: false, strong: false, owner: false },
    { role: 'loci_daemon', login: true, strong: false, owner: false },
    { role: 'loci_daemon_owner', login: true, strong: false, owner: true },
    { role: 'loci_owner', login: false, strong: false, owner: true },
  ])
})

test('a password may hold any character', async () => {
  const password = `it's \\ a "$roles$" %s;--`
  await using fixture = await openRoles()
  await fixture.admin.query({
    text: rolesSql({ database: fixture.database.name, program: 'daemon', appPassword: password }),
  })
  const { rows } = await fixture.admin.query<{ stored: string }>({
    text: `select rolpassword as stored from pg_authid where rolname = 'loci_daemon'`,
  })
  const [, rounds, salt, key] = /^SCRAM-SHA-256\$(\d+):(.+)\$(.+):/.exec(rows[0]!.stored) ?? []
  const salted = pbkdf2Sync(password, Buffer.from(salt!, 'base64'), Number(rounds), 32, 'sha256')
  const clientKey = createHmac('sha256', salted).update('Client Key').digest()
  assert.equal(createHash('sha256').update(clientKey).digest('base64'), key)
})

test('the script refuses to run in another database', async () => {
  await using fixture = await openRoles()
  const other = rolesSql({ database: 'other', program: 'daemon' })
  await assert.rejects(fixture.admin.query({ text: other }), /connect to the database/)
  const wrong = rolesSql({ database: fixture.database.name, program: 'management' })
  await assert.rejects(fixture.admin.query({ text: wrong }), /belongs to another program/)
})

test('what the owner’s login makes belongs to loci_owner', async () => {
  await using fixture = await openRoles()
  await fixture.owner.query({ text: `create function loci.find() returns int language sql as 'select 1'` })
  const { rows } = await fixture.admin.query({
    text: `select pg_get_userbyid(proowner) as owner from pg_proc where proname = 'find'`,
  })
  assert.deepEqual(rows, [{ owner: 'loci_owner' }])
})

test('who serves requests can neither create anything nor become another role', async () => {
  await using fixture = await openRoles()
  for (const text of [
    'create schema mine',
    'create table public.mine (id int)',
    'create table loci.mine (id int)',
    'create temporary table mine (id int)',
    'set role loci_owner',
  ]) {
    await assert.rejects(fixture.app.query({ text }), { code: '42501' }, text)
  }
})

// Mutant: `grant connect … to loci_app` in grantsSql(), as it was: the cell's login reads the control database.
test('on a server with both databases the logins of one program do not open the database of the other', async () => {
  await using cell = await testDatabase({ schema })
  await using control = await testDatabase({ schema, program: 'management' })
  const cases = [
    [cell, 'loci_daemon', 'loci_management'],
    [control, 'loci_management', 'loci_daemon'],
  ] as const
  for (const [database, own, other] of cases) {
    for (const suffix of ['', '_owner']) {
      assert.equal(await connects(database.adminUrl, `${own}${suffix}`), 'connected')
      assert.match(await connects(database.adminUrl, `${other}${suffix}`), /permission denied for database/)
    }
    for (const role of ['loci_app', 'loci_owner'])
      assert.match(await connects(database.adminUrl, role), /is not permitted to log in/)
  }
})

test('a login that opens a database of the other program is a reason not to start', async () => {
  await using cell = await testDatabase({ schema })
  await using control = await testDatabase({ schema, program: 'management' })
  const audit = async (url: string, program: 'daemon' | 'management') => {
    const pool = openPool({ ...PATIENT, url, applicationName: 'roles-test', connectionsMax: 1, onError: () => {} })
    return (await auditDatabase(pool, program).finally(() => pool.close())).problems
  }
  assert.deepEqual(await audit(cell.appUrl, 'daemon'), [])
  assert.deepEqual(await audit(control.appUrl, 'management'), [])
  await using fixture = await openRoles()
  await fixture.admin.query({ text: `grant connect on database ${control.name} to loci_daemon` })
  assert.deepEqual(await audit(cell.appUrl, 'daemon'), [
    `the role loci_daemon may also connect to ${control.name}, which belongs to another program of loci: ` +
      `connect as loci_daemon, or revoke connect on database ${control.name} from loci_daemon`,
  ])
})

async function connects(url: string, user: string): Promise<string> {
  const pool = openPool({
    ...PATIENT,
    url: changeUrl(url, { user, password: 'test' }),
    applicationName: 'roles-test',
    connectionsMax: 1,
    onError: () => {},
  })
  try {
    await pool.query({ text: 'select 1' })
    return 'connected'
  } catch (error) {
    return (error as Error).message
  } finally {
    await pool.close()
  }
}

async function openRoles() {
  const database = await testDatabase({ schema })
  const open = (url: string) =>
    openPool({ ...PATIENT, url, applicationName: 'roles-test', connectionsMax: 1, onError: () => {} })
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

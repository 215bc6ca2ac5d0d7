import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { auditDatabase } from './durability.ts'
import { schemaIn } from './migrations.ts'
import { openPool } from './pool.ts'
import { testDatabase } from './testing/database.ts'

const schema = schemaIn(join(import.meta.dirname, 'testing'))

test('a sound database seen by the application has no problems', async () => {
  await using fixture = await openAudit()
  const audit = await auditDatabase(fixture.app, 'daemon')
  assert.deepEqual(audit.problems, [])
  assert.deepEqual(audit.warnings, [])
  assert.match(audit.facts.serverVersion, /^\d+/)
  const { serverVersion: _, ...rest } = audit.facts
  assert.deepEqual(rest, { fsync: 'on', synchronousCommit: 'on', fullPageWrites: 'on', dataChecksums: 'on' })
})

test('a superuser, the owner and a member of the owner are refused', async () => {
  await using fixture = await openAudit()
  const asAdmin = await auditDatabase(fixture.admin, 'daemon')
  assert.match(asAdmin.problems.join('\n'), /is superuser: connect as loci_daemon/)
  const asOwner = await auditDatabase(fixture.owner, 'daemon')
  assert.match(
    asOwner.problems.join('\n'),
    /connects as loci_daemon_owner, which owns the tables .*: use loci_daemon$/m,
  )
  assert.match(asOwner.problems.join('\n'), /may truncate, reference or put triggers on migrations/)

  // In a role of its own: roles are shared by every test of the server.
  const role = `audit_${fixture.name}`
  await fixture.admin.query({ text: `create role ${role}; grant loci_owner to ${role}` })
  const client = await fixture.admin.client()
  await client.query({ text: `set session authorization ${role}` })
  const asMember = await auditDatabase(client, 'daemon')
  client.release(new Error('its role has changed'))
  await fixture.admin.query({ text: `drop role ${role}` })
  assert.match(asMember.problems.join('\n'), /is a member of loci_owner, which owns .*: revoke loci_owner from audit_/)
})

test('every table is closed by row security or says in its comment why not, partitions too', async () => {
  await using fixture = await openAudit()
  await fixture.owner.query({
    text: `create table loci.open (id int);
      create table loci.parted (id int) partition by range (id);
      comment on table loci.parted is 'without row-level security: numbers';
      create table loci.parted_1 partition of loci.parted for values from (0) to (9);
      create table loci.unforced (id int);
      alter table loci.unforced enable row level security;
      create policy one on loci.unforced using (true);
      create materialized view loci.copied as select 1 as id;
      grant truncate on loci.open to loci_app`,
  })
  const audit = await auditDatabase(fixture.app, 'daemon')
  assert.deepEqual(
    audit.problems.map((problem) => problem.replace(/: .*/, '')),
    [
      'the table loci.copied is not closed by row security',
      'the table loci.open is not closed by row security',
      'the table loci.unforced is not closed by row security',
      'this role may truncate, reference or put triggers on open',
    ],
  )
  assert.match(audit.problems[2]!, /: add a migration with alter table loci.unforced force row level security$/)
  await fixture.owner.query({ text: `comment on table loci.parted is 'numbers'` })
  const strict = await auditDatabase(fixture.app, 'daemon')
  assert.match(strict.problems.join('\n'), /loci\.parted is not[\s\S]*loci\.parted_1 is not/)
})

test('a commit that does not wait for the disk is a problem', async () => {
  await using fixture = await openAudit()
  await fixture.admin.query({ text: `alter database ${fixture.name} set synchronous_commit = off` })
  const audit = await auditDatabase(fixture.app, 'daemon')
  assert.match(audit.problems.join('\n'), /synchronous_commit is off: set it to on/)
})

async function openAudit() {
  const database = await testDatabase({ schema })
  const open = (url: string) => openPool({ url, applicationName: 'audit-test', connectionsMax: 1, onError: () => {} })
  const [admin, owner, app] = [open(database.adminUrl), open(database.ownerUrl), open(database.appUrl)]
  return {
    name: database.name,
    admin,
    owner,
    app,
    async [Symbol.asyncDispose]() {
      await Promise.all([admin.close(), owner.close(), app.close()])
      await database[Symbol.asyncDispose]()
    },
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaIn } from '../migrations.ts'
import type { Sql } from '../pool.ts'
import { openPool } from '../pool.ts'
import { testDatabase, testServer } from './database.ts'

const schema = schemaIn(import.meta.dirname)

test('databases made at once come from one template and do not see each other', async () => {
  const databases = await Promise.all([1, 2, 3].map(() => testDatabase({ schema })))
  const [one, two] = databases
  await as(one!.appUrl, (sql) => sql.query({ text: `insert into loci.note_heads values ('i', 1)` }))
  const count = (url: string) =>
    as(
      url,
      async (sql) => (await sql.query<{ n: number }>({ text: 'select count(*) as n from loci.note_heads' })).rows[0]?.n,
    )
  assert.equal(await count(one!.ownerUrl), 1)
  assert.equal(await count(two!.adminUrl), 0)

  for (const database of databases) await database[Symbol.asyncDispose]()

  await assert.rejects(count(one!.adminUrl), { code: '3D000' })
  const { adminUrl } = await testServer()
  const left = await as(adminUrl, (sql) =>
    sql.query({
      text: `select datname from pg_database where datname = any($1)`,
      values: [databases.map((d) => d.name)],
    }),
  )
  assert.deepEqual(left.rows, [])
})

test('a clone is as closed as the database that the roles script makes', async () => {
  await using database = await testDatabase({ schema })
  const { rows } = await as(database.adminUrl, (sql) =>
    sql.query({
      text: `select unnest(datacl)::text as acl from pg_database where datname = current_database() order by 1`,
    }),
  )
  const acl = rows.map((row) => String(row.acl).replace(/\/.*/, ''))
  assert.deepEqual(
    acl.filter((entry) => !entry.startsWith('postgres=')),
    ['loci_daemon=c', 'loci_daemon_owner=c', 'loci_owner=CT'],
  )
})

async function as<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const pool = openPool({ url, applicationName: 'test-database-test', connectionsMax: 1, onError: () => {} })
  return work(pool).finally(() => pool.close())
}

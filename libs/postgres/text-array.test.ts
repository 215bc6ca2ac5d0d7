import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { sqlState } from './errors.ts'
import { schemaIn } from './migrations.ts'
import { openPool } from './pool.ts'
import { PATIENT, testDatabase } from './testing/database.ts'
import { textArray } from './text-array.ts'

const schema = schemaIn(join(import.meta.dirname, 'testing'))

const LISTS: (string | null)[][] = [
  [],
  [''],
  [null],
  ['null', 'NULL', null, '{}', '"', '\\', ',', ' a ', '{"a":["\\"b\\""]}'],
  ['Ünïcode 海边 حديقة 🫖', '\u0001\u001f', "it's", 'x'.repeat(300_000), null],
]

// Mutants: the length of a text in characters; a null written as an empty text; no dimension where there is one.
test('a list of texts arrives in PostgreSQL as it does when it is sent as text', async () => {
  await using database = await testDatabase({ schema })
  const pool = openPool({
    ...PATIENT,
    url: database.adminUrl,
    applicationName: 'test',
    connectionsMax: 1,
    onError: () => {},
  })
  const text = `select $1::text[] is not distinct from $2::text[] as same, cardinality($1::text[]) as count, array_to_json($1::text[]) as list`
  for (const list of LISTS) {
    const { rows } = await pool.query({ text, values: [textArray(list), list] })
    assert.deepEqual(rows, [{ same: true, count: list.length, list }])
  }
  // What no text may hold is refused, whichever way it comes.
  for (const values of [[textArray(['a\0b'])], [['a\0b']]])
    await assert.rejects(pool.query({ text: 'select $1::text[]', values }), (error) => sqlState(error) === '22021')
  await pool.close()
})

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { jsonbBytes } from './jsonb-size.ts'
import { schemaIn } from './migrations.ts'
import { openPool } from './pool.ts'
import { PATIENT, testDatabase } from './testing/database.ts'

const VALUES = [
  ...[0, -0, 1, -1, 1.5, -2.25, 123456789, 1e20, 1e21, 1.5e21, -1e22, 1e308, Number.MAX_VALUE, 2 ** 53],
  ...[1e-6, 1e-7, -1.25e-7, 5e-324, 2.2250738585072014e-308, 123.456e-10, 0.1, 1 / 3],
  ...['', 'a', 'ä€💥', '"\\/\b\f\n\r\t', '\u0001\u001f\u007f', '\u2028'],
  ...[true, false, null, [], {}, [[]], [{}], [1, 2, 3], { a: 1, b: [null, { 'ä"': 'x' }] }],
]

// Mutant: `return text.length` for every number: 1e308 has 6 bytes and not 309.
test('a value has as many bytes as the server says of its jsonb', async () => {
  await using database = await testDatabase({ schema: schemaIn(join(import.meta.dirname, 'testing')) })
  const pool = openPool({
    ...PATIENT,
    url: database.adminUrl,
    applicationName: 'test',
    connectionsMax: 1,
    onError: () => {},
  })
  try {
    for (const value of [...VALUES, VALUES]) {
      const { rows } = await pool.query<{ bytes: number }>({
        text: 'select octet_length($1::jsonb::text) as bytes',
        values: [JSON.stringify(value)],
      })
      assert.equal(jsonbBytes(value), rows[0]?.bytes, JSON.stringify(value))
    }
  } finally {
    await pool.close()
  }
})

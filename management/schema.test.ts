import { test } from 'node:test'
import { testDatabase } from '@loci/postgres/testing/database.ts'
import { requireSameFunctions } from '@loci/postgres/testing/functions.ts'
import { SCHEMA } from './schema.ts'

// Mutants: a function made by a numbered file (readMigrations refuses it; made by hand in a database, this does); one
// renamed in its functions.sql alone.
test('the database has the functions of the files, and no other', async () => {
  await using database = await testDatabase({ schema: SCHEMA, program: 'management' })
  await requireSameFunctions(database, SCHEMA)
})

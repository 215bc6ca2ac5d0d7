// Holds the functions of a database against functions.sql, in both directions.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Schema } from '../migrations.ts'
import { openPool } from '../pool.ts'
import type { TestDatabase } from './database.ts'

export async function requireSameFunctions({ adminUrl }: TestDatabase, { functions }: Schema): Promise<void> {
  const pool = openPool({ url: adminUrl, applicationName: 'functions', connectionsMax: 1, onError: () => {} })
  const { rows } = await pool.query<{ name: string; body: string }>({
    text: `select p.proname as name, p.prosrc as body from pg_proc p where p.pronamespace = 'loci'::regnamespace order by 1`,
  })
  await pool.close()
  const made = functions.flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/^create or replace function loci\.(\w+)[^$]*\$\$(.*?)\$\$/gms),
  ])
  const written = made
    .map(([, name, body]) => ({ name, body }))
    .sort((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1))
  assert.deepEqual(
    rows.map(({ name }) => name),
    written.map(({ name }) => name),
    'a function without a file is dropped by a numbered migration once no served release calls it',
  )
  assert.deepEqual(rows, written)
}

// The data model on one page: applies a program's migrations to an empty database and dumps the result.
// `node scripts/schema.ts` writes <program>/schema.sql; with `--check` it compares, shows the difference and exits 1.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { SCHEMA as CELL } from '@loci/daemon/schema.ts'
import { SCHEMA as CONTROL } from '@loci/management/schema.ts'
import type { DatabaseProgram } from '@loci/postgres/roles.ts'
import { testDatabase } from '@loci/postgres/testing/database.ts'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { normaliseDump } from './schema/dump.ts'

const top = path.dirname(import.meta.dirname)
const check = process.argv.includes('--check')
const programs = (['daemon', 'management'] as const).filter((program) =>
  existsSync(path.join(top, program, 'migrations')),
)

if (programs.length > 0) {
  // Always a server of our own: pg_dump must be of the server's version, and only then do we know where it is.
  await using server = await startThrowaway()
  process.env.TEST_POSTGRES_URL = server.adminUrl()
  // The server's programs may be linked into a directory on PATH one by one; pg_dump stands beside the real ones.
  const pgDump = path.join(path.dirname(realpathSync(path.join(server.binDirectory, 'pg_ctl'))), 'pg_dump')
  for (const program of programs) {
    const file = `${program}/schema.sql`
    const schema = await dumpSchema(program, pgDump)
    if (!check) {
      writeFileSync(path.join(top, file), schema)
      console.log(`wrote ${file}`)
    } else if (!isCurrent(file, schema)) {
      console.log(`${file} is not what the migrations make; run: node scripts/schema.ts`)
      process.exitCode = 1
    }
  }
} else {
  console.log('no program has migrations')
}

async function dumpSchema(program: DatabaseProgram, pgDump: string): Promise<string> {
  await using database = await testDatabase({ schema: program === 'daemon' ? CELL : CONTROL, program })
  // Without the parts of what is partitioned by time: they depend on the day, and the schema must not.
  const parts = ['--exclude-table', 'loci.*_2[0-9][0-9][0-9][0-9][0-9]*']
  const parameters = ['--schema-only', '--no-owner', ...parts, '--dbname', database.adminUrl]
  const dump = execFileSync(pgDump, parameters, { encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 })
  const head = `-- Made by scripts/schema.ts from ${program}/migrations, without functions (functions.sql). Do not edit: run it again.\n\n`
  return head + normaliseDump(dump)
}

function isCurrent(file: string, schema: string): boolean {
  const full = path.join(top, file)
  const present = existsSync(full) ? readFileSync(full, 'utf8') : ''
  if (present === schema) return true
  const labels = ['--label', file, '--label', 'the migrations']
  const known = existsSync(full) ? full : '/dev/null'
  const diff = spawnSync('diff', ['-u', ...labels, known, '-'], { input: schema, encoding: 'utf8' })
  console.log(diff.stdout)
  return false
}

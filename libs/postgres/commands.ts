// The commands of a program that prepare its database: `migrate` and `roles-sql`.

import { migrate } from './migrate.ts'
import type { Schema } from './migrations.ts'
import { type DatabaseProgram, rolesSql } from './roles.ts'

interface CommandOptions<Setting extends string> {
  program: DatabaseProgram
  schema: Schema
  /** What its database is usually called. */
  database: string
  /** Settings of the program that these commands do without. */
  without: Setting[]
  out(text: string): void
  err(text: string): void
}

interface CommandConfig {
  values: { databaseOwnerUrl?: string | undefined; databaseCa?: string | undefined }
}

export function databaseCommands<Setting extends string>(options: CommandOptions<Setting>) {
  const { program, schema, database: usual, without, out, err } = options
  return {
    migrate: {
      summary: `bring the database to this version’s schema, as loci_${program}_owner`,
      needs: ['databaseOwnerUrl' as const],
      without,
      async run({ values: { databaseOwnerUrl, databaseCa } }: CommandConfig) {
        const { version } = await migrate({
          ownerUrl: databaseOwnerUrl as string,
          ...(databaseCa ? { ca: databaseCa } : {}),
          program,
          schema,
          log: (line) => err(`${line}\n`),
        })
        out(`schema ${version}\n`)
        return 0
      },
    },
    'roles-sql': {
      summary:
        'print the SQL with which a database administrator prepares a database: roles-sql <database> [login] | psql',
      without,
      async run(_config: unknown, [database = usual, login]: string[]) {
        out(rolesSql({ database, program, ...(login ? { login } : {}) }))
        return 0
      },
    },
  }
}

import pg from 'pg'

/** Not idempotent, and alone in its call: Postgres creates a database outside of any transaction. */
export function databaseSql(database: string): string {
  return `create database ${pg.escapeIdentifier(database)} encoding 'UTF8' template template0`
}

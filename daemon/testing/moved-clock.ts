// A database whose clock is ahead: whatever asks it for the time unqualified, as all of our SQL does, finds the
// functions of a schema that stands before pg_catalog. The clock of the process is not moved; the daemon asks the
// database.

import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT, type TestDatabase } from '@loci/postgres/testing/database.ts'

export interface MovedClock {
  /** Into the future, in milliseconds. */
  move(byMs: number): Promise<void>
  close(): Promise<void>
}

/** Before anybody else connects to the database. */
export async function moveClockOf({ name, adminUrl }: Pick<TestDatabase, 'name' | 'adminUrl'>): Promise<MovedClock> {
  const admin = openPool({
    url: adminUrl,
    applicationName: 'loci-test-clock',
    connectionsMax: 1,
    ...PATIENT,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
  const run = (text: string) => admin.query({ text })
  await run('create schema moved')
  await run(`create table moved.clock (ahead interval not null)`)
  await run(`insert into moved.clock values ('0')`)
  await run('grant usage on schema moved to public')
  await run('grant select on moved.clock to public')
  for (const clock of ['clock_timestamp', 'now'])
    await run(`create function moved.${clock}() returns timestamptz language sql
      as 'select pg_catalog.${clock}() + ahead from moved.clock'`)
  await run(`alter database ${name} set search_path = moved, pg_catalog, public`)
  // Those that have a search path of their own.
  await run(`do $$ declare v_function text; begin
    for v_function in select oid::regprocedure::text from pg_proc where pronamespace = 'loci'::regnamespace and proconfig::text like '%search_path%' loop
      execute format('alter function %s set search_path = moved, pg_catalog, pg_temp', v_function);
    end loop; end $$`)
  return {
    async move(byMs) {
      await run(`update moved.clock set ahead = ahead + ${byMs} * interval '1 millisecond'`)
    },
    close: () => admin.close(),
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPool, type Sql } from '@loci/postgres/pool.ts'
import { PATIENT, testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../../schema.ts'
import { readingSegments } from './reading.ts'

const due = { instanceId: 'svc_1', database: 'd' }

// Mutants: readingSegments() that asks at once, without `await null`; groupsOf() that makes one group; read() that
// gives a group up of which one cannot be read.
test('segments that are asked for together share calls, and one that cannot be read hides no other', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  // A connection may be ended with its database, after the test: a statement that needs it fails by itself.
  const open = (url: string) =>
    openPool({ url, applicationName: 'loci-test', connectionsMax: 4, ...PATIENT, onError: () => {} })
  const [pool, owner] = [open(database.appUrl), open(database.adminUrl)]
  try {
    await owner.query({
      text: `insert into loci.segments (instance_id, database, id, from_seq, through_seq, items, format, encoded, body, digest)
        select $1, $2, g, 10 * g, 10 * g + 9, 10, 1, 0, int4send(g), '\\x00' from generate_series(1, 6) g`,
      values: [due.instanceId, due.database],
    })
    const calls: unknown[] = []
    const counted: Sql = {
      afterCommit: pool.afterCommit,
      query: (statement) => {
        calls.push(statement.values?.at(-1))
        return pool.query(statement)
      },
    }
    const read = readingSegments(counted, due)
    const readAll = (ids: number[], items = 4_096) =>
      Promise.all(ids.map(async (id) => (await read({ id, items }))?.body.readInt32BE()))
    assert.deepEqual(await readAll([1, 2, 3, 4, 5, 6]), [1, 2, 3, 4, 5, 6])
    assert.deepEqual(calls.splice(0), [
      [1, 2, 3, 4],
      [5, 6],
    ])
    // Another turn; one that is larger than a call; one that is not there.
    assert.deepEqual(await readAll([6, 9, 1], 20_000), [6, undefined, 1])
    assert.deepEqual(calls.splice(0), [[6], [9], [1]])
    // A segment that fails like a row on a bad page.
    await owner.query({
      text: `alter function loci.mem_segments rename to real_segments;
        create function loci.mem_segments(p_instance text, p_database text, p_ids bigint[])
        returns table (id bigint, body text, digest bytea) language plpgsql as $$
        begin
          if 3 = any (p_ids) then raise exception 'invalid page' using errcode = 'XX001'; end if;
          return query select * from loci.real_segments(p_instance, p_database, p_ids);
        end $$;
        grant execute on function loci.mem_segments to public`,
    })
    assert.deepEqual(await readAll([2, 3, 4]), [2, undefined, 4])
  } finally {
    await Promise.all([pool.close(), owner.close()])
  }
})

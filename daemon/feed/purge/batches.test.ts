import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestDaemon } from '../../testing/daemon.ts'
import { isToldDeleted, listeningCell, rowsOf, until, withEntry } from '../../testing/listening-cell.ts'

const addEntries = (cell: TestDaemon, svc: string, count: number) =>
  cell.sql(
    `insert into loci.entries select instance_id, database, 'k' || n, value, version, created_at, updated_at, null, digest
     from loci.entries, generate_series(1, $2) n where instance_id = $1`,
    [svc, count],
  )

test('a large instance is erased in batches, and a small one need not wait for it', async () => {
  await using it = await listeningCell()
  const { cell, authority, feed } = it
  const [large, small] = [await withEntry(authority), await withEntry(authority)]
  await addEntries(cell, large.svc, 20_000)
  await large.change({ state: 'deleted' })
  const startedAt = performance.now()
  await small.change({ state: 'deleted' })
  const [ofSmall, ofLarge] = [
    await until(isToldDeleted(feed, small.svc, 2)),
    await until(isToldDeleted(feed, large.svc, 2)),
  ]
  const smallMs = ofSmall.at - startedAt
  assert.ok(smallMs < 5_000 || ofSmall.at < ofLarge.at, `${smallMs} ms`)
  assert.equal((await rowsOf(cell, large.svc)).entries, 0)
})

// Mutants: the log line of the purger without `service`; its catch taken away.
test('an instance that cannot be erased is named in the log, and the others are erased', async () => {
  await using it = await listeningCell()
  const { cell, authority, feed } = it
  const [stuck, other] = [await withEntry(authority), await withEntry(authority)]
  await cell.sql(`create function public.refuse() returns trigger language plpgsql as
    $$begin if old.instance_id = '${stuck.svc}' then raise 'stuck'; end if; return old; end$$;
    create trigger refuse before delete on loci.entries for each row execute function public.refuse()`)
  await stuck.change({ state: 'deleted' })
  await other.change({ state: 'deleted' })

  await cell.logged(({ message, service }) => /^erasing an instance/.test(String(message)) && service === stuck.svc)
  await until(isToldDeleted(feed, other.svc, 2))
  await cell.sql('drop trigger refuse on loci.entries')
  await until(isToldDeleted(feed, stuck.svc, 2))
})

// A batch that times out takes longer than a slice. Mutant: each slice begins with the largest batch, as before.
test('batches that fail slowly become smaller from one turn to the next, until the instance is erased', async () => {
  await using it = await listeningCell()
  const { cell, authority, feed } = it
  const own = await withEntry(authority)
  await addEntries(cell, own.svc, 40)
  await cell.sql(`create function public.slow() returns trigger language plpgsql as
    $$begin if (select count(*) from gone) > 8 then perform pg_sleep(1.1); raise 'too many at once'; end if; return null; end$$;
    create trigger slow after delete on loci.entries referencing old table as gone
    for each statement execute function public.slow()`)
  await own.change({ state: 'deleted' })
  await cell.logged(({ message, service }) => /^erasing a batch/.test(String(message)) && service === own.svc)
  await until(isToldDeleted(feed, own.svc, 2))
})

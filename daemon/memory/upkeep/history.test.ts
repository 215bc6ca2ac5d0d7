import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { memoryOf, type TestMemory } from '../../testing/records.ts'
import { addTenant, type TestTenant } from '../../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

const facts = (n: number) =>
  Array.from({ length: n }, (_, at) => ({
    content: `The violin number ${at} is in room${at}`,
    contextId: `chat ${at % 7}`,
  }))

async function indexed(db: string, through: number): Promise<void> {
  await eventually(async () => {
    const [head] = await daemon.sql('select mem_indexed_through as at from loci.databases where name = $1', [db])
    return Number(head?.at) >= through
  })
}

const due = (db: string, kind: string) =>
  daemon.sql(
    `insert into loci.due (instance_id, database, kind, at) values ($1, $2, $3, now())
      on conflict (instance_id, database, kind) do update set at = now()`,
    [tenant.instanceId, db, kind],
  )

/** What a restore to another moment leaves: other records under the numbers of those that were there. */
const rewrite = (db: string) =>
  daemon.sql(
    `with other as (update loci.records r set body = replace(r.body, 'violin', 'trumpet'),
        id = left(r.id, -1) || case right(r.id, 1) when '0' then '1' else '0' end where r.database = $1 returning r.seq)
      select count(*) from other`,
    [db],
  )
const seal = (db: string) =>
  daemon.sql(`update loci.records r set digest = loci.record_digest(r) where r.database = $1`, [db])

const found = async (memory: TestMemory, query: string) =>
  (await memory.recall({ query, minScore: 1 })).results.filter(({ content }) => content.includes(query)).length

// Mutants: isSameHistory() that compares lives alone: the tail still has violins; knownAs() that answers what it has.
test('texts that were read before a restore are not used after it', async () => {
  const memory = memoryOf(tenant, 'tail')
  await memory.storeAll(facts(20))
  assert.equal(await found(memory, 'violin'), 10)
  await rewrite('tail')
  await seal('tail')
  assert.deepEqual([await found(memory, 'trumpet'), await found(memory, 'violin')], [10, 0])
})

// Mutant: segmentKey() that answers the id.
test('a segment of an earlier history is not used under the id of another', async () => {
  const memory = memoryOf(tenant, 'segments')
  await memory.storeAll(facts(260))
  await indexed('segments', 256)
  assert.equal(await found(memory, 'violin'), 10)
  const before = await daemon.sql(
    `select id, from_seq from loci.segments where database = 'segments' order by from_seq`,
  )
  await rewrite('segments')
  await seal('segments')
  await daemon.sql(`update loci.segments set format = 0 where database = 'segments'`)
  await due('segments', 'index')
  await eventually(async () => {
    const [{ count } = {}] = await daemon.sql(
      `select count(*)::int as count from loci.segments where database = 'segments' and (format = 0 or id = any ($1))`,
      [before.map(({ id }) => id)],
    )
    return count === 0
  })
  for (const { id, from_seq } of before)
    await daemon.sql(`update loci.segments set id = $1 where database = 'segments' and from_seq = $2`, [id, from_seq])
  assert.deepEqual([await found(memory, 'trumpet'), await found(memory, 'violin')], [10, 0])
})

// Mutant: halvesOf() that never has a higher half: no segment is built, or none of its records is found.
test('a database that has counted beyond 2^32 is indexed and recalled', async () => {
  const memory = memoryOf(tenant, 'far')
  await memory.storeAll(facts(10))
  await daemon.sql(`update loci.databases set seq = seq + 8589934592 where name = 'far'`)
  await memory.storeAll(facts(300).map((fact) => ({ ...fact, content: `${fact.content} upstairs` })))
  await indexed('far', 8_589_934_592 + 250)
  const { results } = await memory.recall('Which violin is in room42 upstairs?')
  assert.equal(results[0]?.content, 'The violin number 42 is in room42 upstairs')
  const { id } = results[0] as { id: string }
  assert.equal((await memory.call(`DELETE /v1/memory/records/${id}`)).status, 200)
  assert.ok((await memory.contents('room42 upstairs')).every((content) => !content.includes('room42 upstairs')))
})

// Mutant: mem_unplace() that deletes nothing.
test('the name of a context goes with its last record, and begins again with the next', async () => {
  const memory = memoryOf(tenant, 'contexts')
  const names = () =>
    daemon.sql(`select number::int, records from loci.contexts where database = 'contexts' order by number`)
  const bytes = async () =>
    (await daemon.sql(`select mem_index_bytes::int as bytes from loci.databases where name = 'contexts'`))[0]?.bytes
  const [one, other] = await memory.storeAll([
    { content: 'The kettle whistles', contextId: 'a' },
    { content: 'The kettle is red', contextId: 'a' },
    { content: 'The door is open', contextId: 'b' },
  ])
  // Numbers grow and may leave gaps.
  const [first, second] = await names()
  assert.deepEqual([first?.records, second?.records], [2, 1])
  const held = await bytes()
  await memory.call(`DELETE /v1/memory/records/${one?.id}`)
  await memory.call(`DELETE /v1/memory/records/${other?.id}`)
  assert.deepEqual(await names(), [second])
  // Less the name, more two tombstones.
  assert.equal(await bytes(), Number(held) - 100 + 2 * 150)
  await memory.store({ content: 'The kettle is gone', contextId: 'a' })
  const [left, again] = await names()
  assert.deepEqual([left, again?.records], [second, 1])
  assert.ok(Number(again?.number) > Number(second?.number))
})

// Mutants: mem_places() that takes what is over of all segments; sweepingRecords() that fails with its first timeout,
// or forgets the limit: on a busy machine it begins again and again.
test('records that end together leave a segment at a time, and fewer at once where time runs out', async () => {
  const memory = memoryOf(tenant, 'ending')
  await memory.storeAll(facts(800))
  await indexed('ending', 500)
  await daemon.sql('create table if not exists public.ended (at bigint, of text)')
  await daemon.sql(`create or replace function public.note_end() returns trigger security definer language plpgsql as $$
    begin
      if old.database <> 'ending' then return old; end if;
      insert into public.ended values (txid_current(), tg_table_name);
      if (select count(*) from public.ended e where e.at = txid_current() and e.of = 'records') > 20 then
        raise exception 'as if it took too long' using errcode = '57014';
      end if;
      return old;
    end $$`)
  for (const table of ['records', 'segments'])
    await daemon.sql(
      `create trigger note_end before delete on loci.${table} for each row execute function public.note_end()`,
    )
  await daemon.sql(
    `update loci.records r set expires_at = date_trunc('milliseconds', now()) where r.database = 'ending' and r.seq % 8 = 0`,
  )
  await seal('ending')
  await due('ending', 'records')
  const left = async () =>
    (
      await daemon.sql(
        `select count(*)::int as count from loci.records where database = 'ending' and expires_at is not null`,
      )
    )[0]?.count
  await eventually(async () => (await left()) === 0, 240_000)
  const steps = await daemon.sql(`select count(*) filter (where of = 'segments')::int as segments,
      count(*) filter (where of = 'records')::int as records from public.ended group by at`)
  for (const { segments, records } of steps.filter((step) => Number(step.records) > 0))
    assert.ok(Number(segments) <= 1 && Number(records) <= 20, `${segments} segments and ${records} records at once`)
  assert.equal((await memory.list('?limit=200')).records.length, 200)
  await eventually(async () => {
    const rows = await daemon.sql(`select 1 from loci.due where database = 'ending' and kind = 'records'`)
    return rows.length === 0
  })
})

// Mutants of mem_index: v_bytes_max of 1e9; is_closed_cut by the count alone; `over (order by w.seq)`.
test('of records that ended after the time of a recall 4 MiB are read, the first to end first', async () => {
  await memoryOf(tenant, 'closed').store({
    content: 'The violin number 0 is in room0',
    occurredAt: '2026-01-01T00:00:00Z',
  })
  const asOf = '2026-03-01T00:00:00Z'
  // Of 60 KB each: the 70th begins below 4 MiB and ends above. Those with the lower numbers end later.
  const end = (from: number, through: number) =>
    daemon.sql(
      `insert into loci.records select (jsonb_populate_record(r, jsonb_build_object('seq', 1000 - g, 'changed_seq', 1000 - g, 'id', 'mem_' || g,
         'body', left(r.body, -1) || ',"metadata":{"of":"' || repeat('y', 60000) || '"}}', 'valid_to', $2::timestamptz + g * interval '1 day'))).*
       from loci.records r, generate_series($3::int, $4::int) g where r.database = $1 and r.seq = 1`,
      ['closed', asOf, from, through],
    )
  const read = async () => {
    await seal('closed')
    const [index] = await daemon.sql<{ closed: string; cut: boolean }>(
      'select i.closed, i.is_closed_cut as cut from loci.mem_index($1, $2, 0, $3, 256) i',
      [tenant.instanceId, 'closed', asOf],
    )
    return { seqs: (JSON.parse(index?.closed as string) as [number][]).map(([seq]) => seq), cut: index?.cut }
  }
  const first = (count: number) => Array.from({ length: count }, (_, n) => 1_000 - count + n)
  await end(1, 69)
  assert.deepEqual(await read(), { seqs: first(69), cut: false })
  await end(70, 75)
  assert.deepEqual(await read(), { seqs: first(70), cut: true })
})

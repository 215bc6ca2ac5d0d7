// P25: whoever follows the events of an instance misses none and sees them in the order of their commits, in whatever
// way transactions that append at the same time overlap, on whichever replica. The mutant numbers by a sequence and is
// caught by the same stream.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { enterInstance } from '../databases/store.ts'
import { type TestAuthority, testAuthority } from '../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { openEvents } from '../testing/event-stream.ts'
import { appendEvents } from './store.ts'

const EVERYTHING = { ops: ['events:read', 'wm:write'], ks: ['*/*'] }
const BLOCKED =
  'select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0'

async function cell() {
  const daemon = await testDaemon()
  const replica = await testDaemon({ replicaOf: daemon })
  const authority = await testAuthority(daemon)
  return {
    daemon,
    replica,
    authority,
    async [Symbol.asyncDispose]() {
      await authority[Symbol.asyncDispose]()
      await replica[Symbol.asyncDispose]()
      await daemon[Symbol.asyncDispose]()
    },
  }
}

/**
 * Two transactions at a time, both begun before either commits; the second commits first wherever it can. A stream
 * reads between the two commits. Returns what it never showed, and whether what it showed was in order.
 */
async function interleaved(
  { daemon, authority }: { daemon: TestDaemon; authority: TestAuthority },
  rounds: number,
  withinMs: number,
): Promise<{ missed: string[]; isInOrder: boolean }> {
  const own = await authority.addInstance()
  const pool = testPool(daemon.database.appUrl, 2)
  const stream = await openEvents(daemon, own.root(EVERYTHING))
  const [first, second] = [await pool.client(), await pool.client()]
  const written: string[] = []
  const keysOf = () => stream.events.map(({ data }) => data.data.key as string)
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const client of [first, second]) {
        await client.query({ text: 'begin; set local lock_timeout = 0' })
        await enterInstance(client, own.svc)
      }
      await appendEvents(first, own.svc, [{ type: 't', database: 'd', domain: 'memory', data: { key: `${round}a` } }])
      let isWritten = false
      const event = { type: 't', database: 'd', domain: 'memory', data: { key: `${round}b` } }
      const writing = appendEvents(second, own.svc, [event]).then(() => (isWritten = true))
      await eventually(async () => isWritten || (await daemon.sql(BLOCKED)).length > 0)
      const overtakes = isWritten
      if (overtakes) {
        await second.query({ text: 'commit' })
        await stream.until(({ data }) => data.data.key === `${round}b`)
      }
      await first.query({ text: 'commit' })
      await writing
      if (!overtakes) await second.query({ text: 'commit' })
      written.push(`${round}a`, `${round}b`)
    }
    await eventually(() => written.every((key) => keysOf().includes(key)), withinMs).catch(() => undefined)
  } finally {
    first.release()
    second.release()
    stream.close()
    await pool.close()
  }
  const seen = keysOf()
  return {
    missed: written.filter((key) => !seen.includes(key)),
    isInOrder: isRising(stream.events.map(({ id }) => id)),
  }
}

function isRising(ids: (string | undefined)[]): boolean {
  return ids.every((id, at) => at === 0 || Number(id) > Number(ids[at - 1]))
}

test('transactions that overlap in every round: a stream misses none and reorders none', async () => {
  await using own = await cell()
  assert.deepEqual(await interleaved(own, 40, 60_000), { missed: [], isInOrder: true })
})

test('the mutant, numbers from a sequence, is caught by the same test', async () => {
  await using own = await cell()
  await own.daemon.sql(`create sequence loci.mutant; grant usage on sequence loci.mutant to loci_app;
    drop table loci.event_heads;
    create view loci.event_heads as select instance_id, max(seq) as seq from loci.events group by instance_id;
    grant select on loci.event_heads to loci_app;
    create or replace function loci.append_events(p_instance text, p_events jsonb) returns void language sql as $$
      insert into loci.events (instance_id, seq, at, type, database, domain, data)
        select p_instance, nextval('loci.mutant'), clock_timestamp(), e->>'type', e->>'database', e->>'domain', e->'data'
        from jsonb_array_elements(p_events) e
    $$`)
  const { missed } = await interleaved(own, 8, 0)
  assert.ok(missed.length >= 4, `missed ${missed.length}`)
})

test('writers on both replicas at once: every stream of both shows every write once, in the order of the databases', async () => {
  await using own = await cell()
  const { daemon, replica, authority } = own
  const instance = await authority.addInstance()
  const token = instance.root(EVERYTHING)
  const streams = [await openEvents(daemon, token), await openEvents(replica, token)]
  const write = async (at: TestDaemon, writer: number) => {
    for (let n = 0; n < 25; n += 1) {
      const answer = await at.ask(`PUT /v1/working-memory/slots/w${writer}`, {
        body: { value: n },
        headers: { 'x-loci-capability': token, 'x-loci-database': `d${writer % 3}` },
      })
      assert.equal(answer.status, 200, answer.text)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer % 2 ? daemon : replica, writer)))
  for (const stream of streams) {
    await eventually(() => stream.events.length >= 200)
    const { events } = stream
    assert.deepEqual(
      events.map(({ id }) => Number(id)),
      Array.from({ length: 200 }, (_, at) => at + 1),
    )
    for (const database of ['d0', 'd1', 'd2']) {
      const versions = events
        .filter(({ data }) => data.database === database)
        .map(({ data }) => String(data.data.version))
      assert.ok(isRising(versions), `${database}: ${versions}`)
    }
    stream.close()
  }
  assert.equal(streams[0]?.text, streams[1]?.text)
})

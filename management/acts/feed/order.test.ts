// P25: nothing of a feed is missed by a reader that remembers only how far it has read, in whatever order transactions
// that take their numbers at the same time commit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { Client, Sql } from '@loci/postgres/pool.ts'
import { testManagement } from '../../testing/management.ts'
import { publish, readFeed } from './store.ts'

const ROUNDS = 100
const BLOCKED =
  'select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0'

interface Feed {
  write(sql: Sql, key: string): Promise<unknown>
  /** What came after; remembers how far. */
  read(): Promise<string[]>
  /** Does a writer wait for another? */
  isBlocked(): Promise<boolean>
}

/**
 * Two transactions at a time, both begun before either commits. The second commits first wherever it can; where it has
 * to wait for the first, it cannot, and that is what keeps the order.
 */
async function missedBy(feed: Feed, first: Client, second: Client): Promise<string[]> {
  const written: string[] = []
  const seen = new Set<string>()
  const look = async () => {
    for (const key of await feed.read()) seen.add(key)
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const [a, b] = [`${round}a`, `${round}b`]
    written.push(a, b)
    for (const client of [first, second]) await client.query({ text: 'begin; set local lock_timeout = 0' })
    await feed.write(first, a)
    let isWritten = false
    const writing = feed.write(second, b).then(() => (isWritten = true))
    await eventually(async () => isWritten || (await feed.isBlocked()))
    await look()
    const overtakes = isWritten
    if (overtakes) await second.query({ text: 'commit' })
    await look()
    await first.query({ text: 'commit' })
    await look()
    await writing
    if (!overtakes) await second.query({ text: 'commit' })
    await look()
  }
  return written.filter((key) => !seen.has(key))
}

test('200 interleaved transactions on one cell: a reader that polls by seq misses none', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const { epoch, next } = await cell.feed()
  let after = next
  const feed: Feed = {
    write: (sql, key) =>
      publish(sql, cell.id, {
        kind: 'revocation',
        key,
        body: { svc: '*', jti: key, expires_at: new Date().toISOString() },
      }),
    async read() {
      const page = await readFeed(management.pool, { cellId: cell.id, after, epoch })
      assert.equal(page.full, false)
      after = page.next
      return page.items.map(({ key }) => key)
    },
    isBlocked: async () => (await management.sql(BLOCKED)).length > 0,
  }

  assert.deepEqual(await inTwoSessions(management.pool, (first, second) => missedBy(feed, first, second)), [])
})

test('the mutant, numbers from a sequence, is caught by the same test', async () => {
  await using management = await testManagement()
  await management.sql('create table loci.twin (seq bigserial primary key, key text not null)')
  await management.sql(
    'grant select, insert on loci.twin to loci_app; grant usage on sequence loci.twin_seq_seq to loci_app',
  )
  let after = 0
  const feed: Feed = {
    write: (sql, key) => sql.query({ text: 'insert into loci.twin (key) values ($1)', values: [key] }),
    async read() {
      const { rows } = await management.pool.query<{ seq: number; key: string }>({
        text: 'select seq, key from loci.twin where seq > $1 order by seq',
        values: [after],
      })
      after = rows.at(-1)?.seq ?? after
      return rows.map(({ key }) => key)
    },
    isBlocked: async () => (await management.sql(BLOCKED)).length > 0,
  }

  const missed = await inTwoSessions(management.pool, (first, second) => missedBy(feed, first, second))

  assert.ok(missed.length > ROUNDS / 2, `missed ${missed.length}`)
})

async function inTwoSessions<T>(
  pool: { client(): Promise<Client> },
  work: (first: Client, second: Client) => Promise<T>,
): Promise<T> {
  const first = await pool.client()
  const second = await pool.client()
  try {
    return await work(first, second)
  } finally {
    first.release()
    second.release()
  }
}

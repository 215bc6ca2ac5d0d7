// A daemon that listens to a feed, for the tests of what the feed brings about.

import assert from 'node:assert/strict'
import { type TestAuthority, type TestInstance, testAuthority } from './authority.ts'
import { type TestDaemon, testDaemon } from './daemon.ts'
import { type TestFeed, testFeed } from './feed.ts'

/** A daemon that listens to a feed of its own, on a database of its own. */
export async function listeningCell() {
  const feed = await testFeed()
  const cell = await testDaemon({ settings: feed.settings })
  const authority = await testAuthority(cell, feed)
  return {
    feed,
    cell,
    authority,
    async [Symbol.asyncDispose]() {
      await authority[Symbol.asyncDispose]()
      await feed[Symbol.asyncDispose]()
      await cell[Symbol.asyncDispose]()
    },
  }
}

/** Rows of an instance in every table that names one, from the catalog: a later table can not be forgotten. */
export async function rowsOf(cell: TestDaemon, svc: string): Promise<Record<string, number>> {
  const tables = await cell.sql<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'instance_id'
     where c.relnamespace = 'loci'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const rows = await cell.sql<{ n: number }>(`select count(*)::int as n from loci.${name} where instance_id = $1`, [
      svc,
    ])
    counts[name] = rows[0]?.n ?? 0
  }
  return counts
}

export async function withEntry(authority: TestAuthority): Promise<TestInstance> {
  const made = await authority.addInstance()
  assert.equal((await made.call(made.root(), 'PUT /v1/kv/entries/a', { body: { value: 1 } })).status, 200)
  return made
}

export async function until<Value>(look: () => Promise<Value | undefined | false>, withinMs = 60_000): Promise<Value> {
  for (const endsAt = performance.now() + withinMs; ; ) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > endsAt) throw new Error(`not within ${withinMs} ms: ${look}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

export const isToldDeleted = (feed: TestFeed, svc: string, generation: number) => async () =>
  feed.reports.find(({ observed }) =>
    observed.some((one) => one.svc === svc && one.state === 'deleted' && one.generation === generation),
  )

// P25: whoever follows the events of an organization and remembers only how far it has read misses none, in whatever
// order transactions that append at the same time commit. The mutant numbers by a sequence and is caught by the same
// readers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { Client } from '@loci/postgres/pool.ts'
import { useOrganization } from '../../access/store.ts'
import { openEvents } from '../../testing/event-stream.ts'
import { type TestManagement, type TestParty, testManagement } from '../../testing/management.ts'
import { appendEvent } from './store.ts'

const ROUNDS = 60
const BLOCKED =
  'select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0'

/**
 * Two transactions at a time, both begun before either commits. The second commits first wherever it can; where it has
 * to wait for the first, it cannot, and that is what keeps the order.
 */
async function missedBy(
  management: TestManagement,
  own: TestParty,
  streamMs: number,
): Promise<{ pulled: string[]; streamed: string[] }> {
  const stream = await openEvents(management.url, own.apiKey)
  const [first, second] = [await management.pool.client(), await management.pool.client()]
  const written: string[] = []
  const seen = new Set<string>()
  let after = await ended(own)
  const look = async () => {
    const page = (await own.ask(`GET /api/v1/events?after=${after}`)).json<{
      events: { subject: string }[]
      next: number
    }>()
    for (const { subject } of page.events) seen.add(subject)
    after = page.next
  }
  const append = (client: Client, subject: string) =>
    appendEvent(client, { organizationId: own.organizationId, type: 'test', subject, data: {} })
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const [a, b] = [`${round}a`, `${round}b`]
      written.push(a, b)
      for (const client of [first, second]) {
        await client.query({ text: 'begin; set local lock_timeout = 0' })
        await useOrganization(client, own.organizationId)
      }
      await append(first, a)
      let isWritten = false
      const writing = append(second, b).then(() => (isWritten = true))
      await eventually(async () => isWritten || (await management.sql(BLOCKED)).length > 0)
      const overtakes = isWritten
      if (overtakes) await second.query({ text: 'commit' })
      await look()
      await first.query({ text: 'commit' })
      await look()
      await writing
      if (!overtakes) await second.query({ text: 'commit' })
      await look()
    }
    const isStreamed = (subject: string) => stream.events.some(({ data }) => data.subject === subject)
    await eventually(() => written.every(isStreamed), streamMs).catch(() => undefined)
  } finally {
    first.release()
    second.release()
    stream.close()
  }
  const streamed = new Set(stream.events.map(({ data }) => data.subject))
  return { pulled: written.filter((one) => !seen.has(one)), streamed: written.filter((one) => !streamed.has(one)) }
}

async function ended(own: TestParty): Promise<number> {
  return (await own.ask('GET /api/v1/events?after=0&limit=500')).json<{ next: number }>().next
}

test('120 interleaved transactions of one organization: neither who pulls nor who streams misses one', async () => {
  await using management = await testManagement()
  const own = await management.organization()

  assert.deepEqual(await missedBy(management, own, 60_000), { pulled: [], streamed: [] })
})

test('the mutant, numbers from a sequence, is caught by the same test', async () => {
  await using management = await testManagement()
  const own = await management.organization()
  const head = await ended(own)
  await management.sql(`create sequence loci.mutant start ${head + 1}; grant usage on sequence loci.mutant to loci_app;
    drop table loci.event_heads;
    create view loci.event_heads as select organization_id, max(seq) as seq from loci.events group by organization_id;
    grant select on loci.event_heads to loci_app;
    create or replace function loci.event_append(p_organization text, p_id text, p_at timestamptz, p_type text, p_subject text, p_data jsonb)
    returns bigint language sql as $$
      insert into loci.events (organization_id, seq, id, type, at, subject, data)
        values (p_organization, nextval('loci.mutant'), p_id, p_type, p_at, p_subject, p_data) returning seq
    $$`)

  const { pulled } = await missedBy(management, own, 0)

  assert.ok(pulled.length > ROUNDS / 2, `missed ${pulled.length}`)
})

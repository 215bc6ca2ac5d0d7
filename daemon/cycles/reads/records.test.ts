// What is read of the records that a cycle's recall has found.

import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { testAuthority } from '../../testing/authority.ts'
import { testDaemon } from '../../testing/daemon.ts'

// Mutant: cycle_records() whose subquery hands on the row (`select i as r from loci.records i`) and not its columns.
test('of records beyond the bound in bytes no body is read', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance()
  // Too long for the row, and not to be compressed into it.
  const records = Array.from({ length: 3 }, () => ({ content: randomBytes(6_000).toString('hex') }))
  const token = instance.root({ ops: ['memory:write'], ks: ['*/*'] })
  const headers = { 'idempotency-key': randomUUID() }
  const body = { records }
  // On a busy machine again, by the same key.
  for (let status = 0; status !== 200; ) {
    const answer = await instance.call(token, 'POST /v1/memory/records/batch', { body, headers })
    status = answer.status
    assert.ok(status === 200 || status === 409 || status >= 500, answer.text)
  }
  const stored = await daemon.sql<{ seq: string }>('select seq from loci.records where instance_id = $1 order by seq', [
    instance.svc,
  ])
  const seqs = stored.map(({ seq }) => Number(seq))
  const client = await authority.pool.client()
  const pieces = async () => {
    const text = `select coalesce(sum(s.idx_tup_fetch), 0)::int as count from pg_stat_xact_all_tables s
      join pg_class c on c.reltoastrelid = s.relid where c.oid = 'loci.records'::regclass`
    return (await client.query<{ count: number }>({ text })).rows[0]?.count ?? 0
  }
  const read = async (asked: number[], bytesMax: number) => {
    await client.query({ text: 'begin' })
    const before = await pieces()
    const text = `select loci.cycle_records($1, 'default', 1000, now(), $2::bigint[], $3) as records`
    const { rows } = await client.query<{ records: string }>({ text, values: [instance.svc, asked, bytesMax] })
    const count = (await pieces()) - before
    await client.query({ text: 'commit' })
    return { pieces: count, seqs: (JSON.parse(rows[0]?.records ?? '') as { seq: number }[]).map(({ seq }) => seq) }
  }
  const [first = 0, second = 0] = seqs
  const one = await read([first], 1_000_000)
  assert.ok(one.pieces > 2, 'its body stands outside of the row')
  // The first is always within the bound; that the second is not is known by its size.
  assert.deepEqual(await read(seqs, 1), one)
  assert.deepEqual(await read(seqs, 20_000), { pieces: 2 * one.pieces, seqs: [first, second] })
  client.release()
})

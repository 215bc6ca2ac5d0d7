// Bytes that an instance writes in a day, whatever becomes of them: its part of the write-ahead log.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'

const MIB = 2 ** 20
const LIMITS = {
  databases: 10,
  records: 100_000,
  bytes: 100 * MIB,
  streams: 1,
  requests_per_second: 5_000,
  burst: 10_000,
}

async function writtenIn(daemon: TestDaemon, instanceId: string): Promise<number> {
  const [row] = await daemon.sql<{ written: number }>(
    'select coalesce(sum(written), 0)::int as written from loci.instance_totals where instance_id = $1',
    [instanceId],
  )
  return row?.written ?? 0
}

// Mutants: kv_save_head that hands over no p_written (an overwrite counts nothing); v_written set, not added to, in
// kv_write_open (a batch counts once); wm_apply whose written is v_history alone; config_write and advice policies with
// the net number; countWritten() left out (a refused batch counts nothing); the line of unique_violation left out of
// prj_write_plain.
test('every write counts its bytes, also what overwrites as much as there was, and what was taken back', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance({ limits: LIMITS })
  const token = own.root({ ops: [...OPERATION_NAMES], ks: ['*/*'] })
  const authorization = `Bearer ${await partnerToken(authority, own, ['event'])}`
  const call = (line: string, body?: unknown) => own.call(token, line, { body })
  const told = (first: string, second: string, also = '') =>
    daemon.ask('POST /v1/partner/projections', {
      body: [first, second].map((id) => ({
        ...{ projection_class: 'event', source_event_id: id, run_id: 'r', task_class: 't', ttl_ms: 60_000 },
        payload: { text: long + also },
      })),
      headers: { authorization },
    })
  const long = 'x'.repeat(4_000)
  const counts = async (
    line: string,
    times: number,
    status: number,
    act: () => Promise<{ status: number; text: string }>,
  ) => {
    const before = await writtenIn(daemon, own.svc)
    const answer = await act()
    assert.equal(answer.status, status, answer.text)
    const written = (await writtenIn(daemon, own.svc)) - before
    assert.ok(written >= times * long.length, `${line}: ${written} bytes`)
    assert.ok(written <= times * (long.length + 2_000), `${line}: ${written} bytes`)
  }
  const operations = ['a', 'b', 'c'].map((key) => ({ op: 'put', key, value: long }))
  for (const round of ['first', 'again', 'once more']) {
    const is = (line: string) => `${line}, ${round}`
    await counts(is('entry'), 1, 200, () => call('PUT /v1/kv/entries/a', { value: long }))
    await counts(is('batch'), 3, 200, () => call('POST /v1/kv/entries/batch', { operations }))
    // The slot stands in its document and in its history.
    await counts(is('slot'), 2, 200, () => call('PUT /v1/working-memory/slots/a', { value: long }))
    await counts(is('record'), 1, 200, () => call('POST /v1/memory/records', { content: `${long} ${round}`, key: 'k' }))
    await counts(is('records'), 2, 200, () =>
      call('POST /v1/memory/records/batch', {
        records: ['d', 'e'].map((key) => ({ key, content: `${long}${key} ${round}` })),
      }),
    )
    await counts(is('config'), 1, 200, () => call('PUT /v1/cognitive/config', { unknown: long }))
    const rules = Array.from({ length: 4 }, () => ({ effect: 'deny', tool: 't', reason: 'x'.repeat(1_000) }))
    await counts(is('policy'), 1, 200, () => call('PUT /v1/advice/policies/p', { rules }))
    await counts(is('projections'), 2, 200, () => told(`1 ${round}`, `2 ${round}`))
  }
  // What comes before the refused one was written.
  await counts('records that were refused', 1, 404, () => {
    const records = [{ content: `${long} once` }, { content: 'new', supersedes: newId('mem') }]
    return call('POST /v1/memory/records/batch', { records })
  })
  await counts('projections that were refused', 1, 409, () => told('3', '1 first', 'y'))
  await counts('projections that are there', 2, 200, () => told('1 first', '2 first'))
  const before = await writtenIn(daemon, own.svc)
  assert.equal((await call('POST /v1/cognitive/cycles', {})).status, 200)
  assert.ok((await writtenIn(daemon, own.svc)) > before + long.length, 'a cycle')
})

// Mutants: mem_erase without p_written; with the number of segments instead of their bytes.
test('a memory that is deleted counts the segment that is written anew without it', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance({ limits: LIMITS })
  const token = own.root({ ops: [...OPERATION_NAMES], ks: ['*/*'] })
  const records = Array.from({ length: 60 }, (_, n) => ({
    content: `Room ${n} has ${n} chairs and a lamp number ${n}.`,
  }))
  const stored = await own.call(token, 'POST /v1/memory/records/batch', { body: { records } })
  const [{ id: first }, { id: second }] = stored.json<{ records: [{ id: string }, { id: string }] }>().records
  await daemon.sql(`update loci.due set at = now() where kind = 'index' and instance_id = $1`, [own.svc])
  const segment = async () => {
    const [row] = await daemon.sql<{ bytes: number; items: number }>(
      'select octet_length(body) as bytes, items from loci.segments where instance_id = $1',
      [own.svc],
    )
    return row ?? { bytes: 0, items: 0 }
  }
  await eventually(async () => (await segment()).items === 60)
  for (const [id, left] of [
    [first, 59],
    [second, 58],
  ] as const) {
    const before = await writtenIn(daemon, own.svc)
    assert.equal((await own.call(token, `DELETE /v1/memory/records/${id}`)).status, 200)
    const { bytes, items } = await segment()
    assert.equal(items, left)
    const written = (await writtenIn(daemon, own.svc)) - before
    assert.ok(bytes > 1_000 && written >= bytes && written < bytes + 100, `${written} for a segment of ${bytes}`)
  }
})

// Mutants: the line of written bytes left out of quota.ts; requireRoom() of deletions too; traces_today() that keeps no
// traces_written (a new day begins used up); `written ?? 0` in tracesMax().
test('who has written the bytes of a day writes nothing until midnight, which the refusal names; deletions go on', async () => {
  const today = () => new Date().toISOString().slice(0, 10)
  for (let began = ''; began !== today(); ) {
    began = today()
    // At midnight it begins again.
    await usesUpDay().catch((error) => assert.notEqual(today(), began, error))
  }

  async function usesUpDay(): Promise<void> {
    await using daemon = await testDaemon()
    await using authority = await testAuthority(daemon)
    const own = await authority.addInstance({ limits: { ...LIMITS, bytes_written_per_day: MIB } })
    const other = await authority.addInstance({ limits: LIMITS })
    const token = own.root({ ops: [...OPERATION_NAMES], ks: ['*/*'] })
    const call = (line: string, body?: unknown) => own.call(token, line, { body })
    const { id } = (await call('POST /v1/memory/records', { content: 'The door is green.' })).json<{ id: string }>()
    for (const key of ['a', 'b', 'c'])
      assert.equal((await call(`PUT /v1/working-memory/slots/${key}`, { value: 'open' })).status, 200)

    const value = 'x'.repeat(100_000)
    let puts = 0
    while (puts < 20 && (await call('PUT /v1/kv/entries/a', { value })).status === 200) puts += 1
    assert.ok(puts >= 9 && puts <= 11, `${puts} times 100,000 bytes of 1,048,576`)
    const more = other.root({ ks: ['kv/*'] })
    for (let n = 0; n < 12; n += 1)
      assert.equal((await other.call(more, 'PUT /v1/kv/entries/a', { body: { value } })).status, 200, 'without a bound')

    for (const [line, body] of [
      ['PUT /v1/kv/entries/a', { value: 1 }],
      ['POST /v1/kv/entries/batch', { operations: [{ op: 'put', key: 'b', value: 1 }] }],
      ['PUT /v1/working-memory/slots/b', { value: 'open' }],
      ['POST /v1/memory/records', { content: 'The door is red.' }],
      ['PUT /v1/cognitive/config', { decay: 0.5 }],
      ['PUT /v1/working-memory/config', { capacity: 5 }],
      ['PUT /v1/advice/policies/p', { rules: [] }],
      ['POST /v1/cognitive/cycles', {}],
    ] as const) {
      const answer = await call(line, body)
      assert.deepEqual([line, answer.status], [line, 403], answer.text)
      const { error } = answer.json<{ error: { code: string; message: string; details: { resetsAt: string } } }>()
      assert.equal(error.code, 'QUOTA_EXCEEDED', line)
      assert.match(error.message, /the 1048576 written bytes .*after midnight UTC/)
      assert.equal(error.details.resetsAt, new Date(Date.parse(today()) + 86_400_000).toISOString())
    }
    for (const [line, body] of [
      ['GET /v1/kv/entries/a', undefined],
      ['POST /v1/kv/entries/batch', { operations: [{ op: 'delete', key: 'a' }] }],
      ['DELETE /v1/kv/entries/a', undefined],
      ['DELETE /v1/working-memory/slots/a', undefined],
      ['POST /v1/working-memory/slots/clear', undefined],
      [`DELETE /v1/memory/records/${id}`, undefined],
    ] as const) {
      const answer = await call(line, body)
      assert.ok(answer.status === 200 || answer.status === 404, `${line}: ${answer.text}`)
    }
    assert.deepEqual(await daemon.sql('select key from loci.entries where instance_id = $1', [own.svc]), [])

    await daemon.sql('update loci.instances set traces_on = traces_on - 1 where id = $1', [own.svc])
    await eventually(async () => (await call('PUT /v1/kv/entries/a', { value: 1 })).status === 200)
    assert.equal((await call('PUT /v1/kv/entries/a', { value })).status, 200)
    const [left] = await daemon.sql<{ written: number }>('select written::int from loci.traces_today($1)', [own.svc])
    assert.ok((left?.written ?? 0) > 100_000 && (left?.written ?? 0) < 110_000, `${left?.written} bytes of the new day`)
  }
})

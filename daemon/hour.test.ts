// One free instance that tries for an hour: what it can leave in the cell's database, and in the memory of a replica.
// Its plan lets it do 20 small things a second, 72,000 in the hour; here each kind is done until it is refused, or
// often enough to see that it leaves nothing more. Rows are found in the catalog, by every column that says whose they
// are. docs/operations/left-behind.md states the bounds.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { seal } from '@loci/capability/capability.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { testAuthority } from './testing/authority.ts'
import { type TestDaemon, testDaemon } from './testing/daemon.ts'

const MIB = 2 ** 20
/** Of docs/operations/left-behind.md. */
const RECORD_BYTES_MAX = 500
const INSTANCE_BYTES_MAX = 64 * 1024
const REVOCATION_BYTES_MAX = 3_000
const CONFIG_PUT_BYTES_MAX = 2_000
const DELETED_BYTES_MAX = 3_000
const EVENT_BYTES_MAX = 1_000
const MEMORY_BYTES_MAX = 12 * MIB

const LIMITS = { databases: 3, records: 600, bytes: 128 * 1024, requests_per_second: 5_000, burst: 10_000, streams: 2 }

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Of all rows of an instance, with what indexes add. */
async function bytesIn(daemon: TestDaemon, svc: string): Promise<number> {
  const tables = await daemon.sql<{ name: string; owner: string }>(
    `select c.relname as name, a.attname as owner from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'loci'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and (a.attname in ('instance_id', 'chain', 'svc') or (c.relname = 'instances' and a.attname = 'id')) and not a.attisdropped`,
  )
  assert.ok(tables.length >= 9, tables.map(({ name }) => name).join())
  let sum = 0
  for (const { name, owner } of tables) {
    const [row] = await daemon.sql<{ bytes: number; rows: number }>(
      `select coalesce(sum(pg_column_size(t.*) + 28), 0)::int as bytes, count(*)::int as rows from loci.${name} t where t.${owner} = $1`,
      [svc],
    )
    const { bytes = 0, rows = 0 } = row ?? {}
    // Index entries: of the short key of an entry, and elsewhere at most the columns of the row once more.
    sum += name === 'entries' ? bytes + 150 * rows : 2 * bytes
  }
  return sum
}

// Mutant: requireRoom() left out of the batch: what is kept of keyed batches is never too much.
test('what one instance leaves in the cell is its bytes, so much for each record, and a little that does not grow', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance({ limits: LIMITS, plan: 'free' })
  const token = instance.root({ ks: ['kv/*'] })
  const call = async (line: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await instance.call(token, line, { body, headers })
    assert.ok([200, 403, 404, 429].includes(answer.status), answer.text)
    return answer.status
  }
  const bytes = () => bytesIn(daemon, instance.svc)

  // Small records in as many databases as it gets, nearly as many as there may be.
  const started = await bytes()
  const operations = Array.from({ length: 100 }, (_, at) => ({ op: 'put', key: `${at}`, value: 1 }))
  for (const database of ['a', 'b', 'c', 'd'])
    await call('POST /v1/kv/entries/batch', { operations }, { 'x-loci-database': database })
  const each = ((await bytes()) - started) / 300
  assert.ok(each <= RECORD_BYTES_MAX, `${Math.round(each)} bytes for each record`)

  // Everything else that leaves something, until its bytes are used up and long after.
  const kept: number[] = []
  for (let n = 0; n < 200; n += 1) {
    const headers = { 'x-loci-database': 'a', 'idempotency-key': randomBytes(127).toString('hex') }
    const value = randomBytes(n).toString('hex')
    const operations = Array.from({ length: 20 }, (_, at) => ({ op: 'put', key: `${at}`, value }))
    kept.push(await call('POST /v1/kv/entries/batch', { operations }, headers))
    const here = { 'x-loci-database': 'a' }
    await call('PUT /v1/kv/entries/ttl', { value: n, ttlMs: 1 }, here)
    await call('DELETE /v1/kv/entries/1', undefined, here)
    await call('PUT /v1/kv/entries/1', { value: randomBytes(500).toString('hex') }, here)
    if (n % 10 === 0) for (const path of ['health', 'consistency?mode=full']) await call(`GET /v1/kv/${path}`)
  }
  assert.deepEqual([kept[0], kept.at(-1)], [200, 403], 'what is kept of keyed batches uses up the bytes')
  const most = LIMITS.bytes + LIMITS.records * RECORD_BYTES_MAX + INSTANCE_BYTES_MAX
  const left = await bytes()
  assert.ok(left <= most, `${left} bytes, at most ${most}`)

  // What its owner takes back at management leaves an entry in the chain of the instance.
  const expires_at = new Date(Date.now() + 86_400_000).toISOString()
  const revocations = 50
  await authority.publish(
    ...Array.from({ length: revocations }, () => ({
      kind: 'revocation' as const,
      body: { svc: instance.svc, jti: newId('cap'), expires_at },
    })),
  )
  const revoked = ((await bytes()) - left) / revocations
  assert.ok(revoked <= REVOCATION_BYTES_MAX, `${Math.round(revoked)} bytes for each revocation`)
})

// Mutant: a long text in the `detail` of the audit entry of a configuration.
test('what leaves a trace outside the bytes of the plan leaves little: a configuration, a record that was deleted', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance()
  const token = instance.root({ ops: ['operator', 'memory:write', 'memory:delete', 'wm:write'], ks: ['*/*'] })
  const call = async (line: string, body?: unknown) => {
    const answer = await instance.call(token, line, { body })
    assert.equal(answer.status, 200, answer.text)
    return answer.json<{ id: string }>()
  }
  const times = 20
  /** For each of so many acts after the first. */
  const left = async (act: (n: number) => Promise<unknown>) => {
    await act(0)
    const before = await bytesIn(daemon, instance.svc)
    for (let n = 1; n <= times; n += 1) await act(n)
    return ((await bytesIn(daemon, instance.svc)) - before) / times
  }
  const configured = await left(() => call('PUT /v1/cognitive/config', { decay: 0.5 }))
  assert.ok(configured <= CONFIG_PUT_BYTES_MAX, `${Math.round(configured)} bytes for each configuration`)
  const deleted = await left(async (n) => {
    const { id } = await call('POST /v1/memory/records', { content: `Said ${n} ${'and so on '.repeat(500)}` })
    await call(`DELETE /v1/memory/records/${id}`)
  })
  assert.ok(deleted <= DELETED_BYTES_MAX, `${Math.round(deleted)} bytes for each record that was deleted`)
  await call(`PUT /v1/working-memory/slots/${'k'.repeat(256)}`, { value: 1 })
  const [event] = await daemon.sql<{ bytes: number }>(
    'select max(2 * (pg_column_size(e.*) + 28))::int as bytes from loci.events e where e.instance_id = $1',
    [instance.svc],
  )
  assert.ok((event?.bytes ?? 0) > 200 && (event?.bytes ?? 0) <= EVENT_BYTES_MAX, `${event?.bytes} bytes for an event`)
})

// Before, only the rate bounded them: 144 MB in an hour on the plan free. Mutants: requireRoom() left out of
// replaceConfig(), or of a clear that finds nothing; the line of events or of acts left out of quota.ts; traces_today()
// that never begins a new day.
test('what is left behind in a day has a bound that follows the plan: then nothing is written until midnight, and deletions go on', async () => {
  const today = () => new Date().toISOString().slice(0, 10)
  for (const [column, text] of [
    ['traces_events', '10000 events'],
    ['traces_acts', '1000 audited acts'],
  ] as const)
    for (let began = ''; began !== today(); ) {
      began = today()
      // At midnight it begins again.
      await usesUpDay(column, text).catch((error) => assert.notEqual(today(), began, error))
    }

  async function usesUpDay(column: string, text: string): Promise<void> {
    await using daemon = await testDaemon()
    await using authority = await testAuthority(daemon)
    const instance = await authority.addInstance({ limits: LIMITS, plan: 'free' })
    const token = instance.root({ ops: [...OPERATION_NAMES], ks: ['*/*'] })
    const call = (line: string, body?: unknown) => instance.call(token, line, { body })
    const { id } = (await call('POST /v1/memory/records', { content: 'The door is green.' })).json<{ id: string }>()
    assert.equal((await call('PUT /v1/working-memory/slots/a', { value: 'open' })).status, 200)

    // As if it had done so much since midnight, and a replica reads it anew.
    await daemon.sql(`update loci.instances set ${column} = ${column} - 10000 where id = $1`, [instance.svc])
    await eventually(async () => (await call('PUT /v1/kv/entries/a', { value: 1 })).status === 403)
    for (const [line, body] of [
      ['PUT /v1/kv/entries/a', { value: 1 }],
      ['PUT /v1/working-memory/slots/b', { value: 'open' }],
      ['POST /v1/memory/records', { content: 'The door is red.' }],
      ['PUT /v1/cognitive/config', { decay: 0.5 }],
      ['PUT /v1/working-memory/config', { capacity: 5 }],
      ['PUT /v1/advice/policies/p', { rules: [] }],
      ['POST /v1/cognitive/cycles', {}],
    ] as const) {
      const answer = await call(line, body)
      assert.deepEqual([line, answer.status], [line, 403], answer.text)
      const { error } = answer.json<{ error: { code: string; message: string } }>()
      assert.equal(error.code, 'QUOTA_EXCEEDED', line)
      assert.match(error.message, new RegExp(`the ${text} .*after midnight UTC`))
    }
    assert.equal((await call(`GET /v1/memory/records/${id}`)).status, 200)
    assert.equal((await call(`DELETE /v1/memory/records/${id}`)).status, 200)
    assert.equal((await call('POST /v1/working-memory/slots/clear')).status, 200)
    assert.equal((await call('POST /v1/working-memory/slots/clear')).status, 403, 'there was nothing to clear')

    await daemon.sql('update loci.instances set traces_on = traces_on - 1 where id = $1', [instance.svc])
    assert.equal((await call('PUT /v1/cognitive/config', { decay: 0.5 })).status, 200)
    assert.equal((await call('PUT /v1/kv/entries/a', { value: 1 })).status, 200)
  }
})

// Measured: 7 MiB. Mutant: keep() of cache.ts without its loop, so that every chain stays (18 MiB).
test('what one instance leaves in the memory of a replica is bounded, whatever it sends', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance()
  const delegation = instance.delegation({ ks: ['kv/*'] })
  const heap = async () => {
    daemon.lines.length = 0
    // What sockets leave behind goes with the ticks after.
    for (let n = 0; n < 5; n += 1) {
      await sleep(50)
      collect()
    }
    return process.memoryUsage().heapUsed
  }
  const act = async (from: number, to: number) => {
    for (let n = from; n < to; n += 1) {
      // A chain of 7 KB, another one each time: its holder can make as many as he likes without asking anybody.
      const ks = Array.from({ length: 75 }, (_, at) => `kv/${String(at).padStart(3, '0')}${'x'.repeat(55)}`)
      const token = seal(delegation, { ks: [...ks, 'kv/default'], jti: `${n}`.padStart(150, 'x') })
      const read = await instance.call(token, 'GET /v1/kv/entries/a', { headers: { 'x-loci-database': 'default' } })
      assert.ok(read.status === 200 || read.status === 404, read.text)
      if (n % 10 > 0) continue
      const value = randomBytes(60_000).toString('hex')
      const headers = { 'idempotency-key': randomBytes(127).toString('hex') }
      const body = { operations: [{ op: 'put', key: 'a', value }] }
      assert.equal((await instance.call(instance.root(), 'POST /v1/kv/entries/batch', { body, headers })).status, 200)
    }
  }
  await act(0, 100)
  const before = await heap()
  await act(100, 3_000)
  const grown = (await heap()) - before
  assert.ok(grown <= MEMORY_BYTES_MAX, `${Math.round(grown / MIB)} MiB`)
})

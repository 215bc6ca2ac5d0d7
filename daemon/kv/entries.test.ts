import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant, type ListAnswer, listAll, path, putAll, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let ada: TestTenant

before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
})
after(() => daemon[Symbol.asyncDispose]())

const keysOf = (list: { entries: { key: string }[] }) => list.entries.map(({ key }) => key)

test('every JSON value comes back as it was put, with version, times and digest', async () => {
  const values = [
    null,
    false,
    0,
    0.1,
    9007199254740991,
    'ä € \u2028 "',
    '\u{1f4a5}',
    [1, [2, { a: null }]],
    { b: 1, a: { c: [] } },
    '',
    'x'.repeat(100_000),
  ]
  for (const [at, value] of values.entries()) {
    const put = await ada.call(`PUT ${path(`k${at}`)}`, { value }, { db: 'values' })
    const got = await ada.call(`GET ${path(`k${at}`)}`, undefined, { db: 'values' })
    assert.deepEqual([put.status, got.json()], [200, put.json()])
    assert.deepEqual(got.json().value, value)
    assert.equal(got.json().expiresAt, null)
  }
})

test('keys are 1 to 256 bytes without control characters', async () => {
  for (const key of ['user:ada', 'a/b', 'ä€', 'a b', '100%', 'x?y#z', '..', 'k'.repeat(256), '€'.repeat(85)]) {
    assert.equal((await ada.call(`PUT ${path(key)}`, { value: key }, { db: 'keys' })).json().key, key)
    assert.equal((await ada.call(`GET ${path(key)}`, undefined, { db: 'keys' })).json().value, key)
  }
  for (const key of ['k'.repeat(257), '€'.repeat(86), 'a\nb', '\u0001', '\u007f', '\u0085']) {
    assert.equal((await ada.call(`PUT ${path(key)}`, { value: 1 }, { db: 'keys' })).status, 400, JSON.stringify(key))
  }
})

test('each write raises the version, also after a deletion, and If-Match writes only over the version it names', async () => {
  const put = (value: unknown, ifMatch?: string) =>
    ada.call(`PUT ${path('k')}`, { value }, { db: 'cas', ...(ifMatch ? { headers: { 'if-match': ifMatch } } : {}) })
  assert.deepEqual([(await put(1, '*')).status, (await put(1, '"1"')).status], [412, 412])
  const first = (await put('first')).json<{ version: number; createdAt: string }>()
  const second = (await put('second', `"${first.version}"`)).json<{ version: number; createdAt: string }>()
  const stale = await put('third', `"${first.version}"`)
  assert.ok(second.version > first.version)
  assert.equal(second.createdAt, first.createdAt)
  assert.deepEqual(
    [stale.status, stale.error.code, stale.error.details],
    [412, 'VERSION_CONFLICT', { currentVersion: second.version }],
  )
  assert.equal((await put('fourth', '*')).status, 200)
  const deletedStale = await ada.call(`DELETE ${path('k')}`, undefined, {
    db: 'cas',
    headers: { 'if-match': `"${first.version}"` },
  })
  const deleted = await ada.call(`DELETE ${path('k')}`, undefined, { db: 'cas' })
  assert.deepEqual([deletedStale.status, deleted.status], [412, 200])
  assert.equal((await ada.call(`DELETE ${path('k')}`, undefined, { db: 'cas' })).status, 404)
  assert.ok((await put('again')).json<{ version: number }>().version > second.version)
  for (const bad of ['3', '"x"', '"1.5"', ''])
    assert.equal(
      (await ada.call(`PUT ${path('k')}`, { value: 1 }, { db: 'cas', headers: { 'if-match': bad } })).status,
      400,
      bad,
    )
})

test('of twenty simultaneous writes over one version exactly one wins', async () => {
  const { version } = (await ada.call(`PUT ${path('race')}`, { value: 0 }, { db: 'race' })).json<{ version: number }>()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      ada.call(`PUT ${path('race')}`, { value: at }, { db: 'race', headers: { 'if-match': `"${version}"` } }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(19).fill(412)])
})

test('an entry is gone when its time is over: by key, in the list, in the count, and for If-Match', async () => {
  const brief = (await ada.call(`PUT ${path('brief')}`, { value: 1, ttlMs: 300 }, { db: 'ttl' })).json()
  await ada.call(`PUT ${path('lasting')}`, { value: 1, ttlMs: 600_000 }, { db: 'ttl' })
  const endsAt = Date.parse(brief.expiresAt as string)
  for (;;) {
    const askedAt = Date.now()
    const { status } = await ada.call(`GET ${path('brief')}`, undefined, { db: 'ttl' })
    if (status === 404) break
    assert.ok(status === 200 && askedAt < endsAt, 'it is there up to its time and not longer')
  }
  assert.ok(Date.now() >= endsAt, 'and not shorter')
  assert.deepEqual(keysOf(await listAll(ada, 'ttl')), ['lasting'])
  const health = (await ada.call('GET /v1/kv/health')).json<{ databases: { name: string; keys: number }[] }>()
  assert.equal(health.databases.find(({ name }) => name === 'ttl')?.keys, 1)
  assert.equal(
    (await ada.call(`PUT ${path('brief')}`, { value: 2 }, { db: 'ttl', headers: { 'if-match': '*' } })).status,
    412,
  )
  assert.equal((await ada.call(`DELETE ${path('brief')}`, undefined, { db: 'ttl' })).status, 404)
  for (const ttlMs of [0, -1, 1.5, 'soon', 1e15])
    assert.equal((await ada.call(`PUT ${path('k')}`, { value: 1, ttlMs }, { db: 'ttl' })).status, 400)
})

test('lists come in order of code points, by prefix, in pages that hold every key once', async () => {
  const keys = ['B', 'a1', 'b%', 'b1', 'b2', 'c', 'ä', '\ufb01', '\u{1f4a5}']
  await putAll(ada, 'list', Object.fromEntries(keys.toReversed().map((key) => [key, key])))
  assert.deepEqual(keysOf(await listAll(ada, 'list')), keys)
  for (const limit of [1, 2, 4, 9]) {
    const { pages, ...list } = await listAll(ada, 'list', `limit=${limit}`)
    assert.deepEqual([keysOf(list), pages], [keys, Math.ceil(keys.length / limit)])
  }
  assert.deepEqual(keysOf(await listAll(ada, 'list', 'prefix=b')), ['b%', 'b1', 'b2'])
  assert.deepEqual(keysOf(await listAll(ada, 'list', 'prefix=b%25')), ['b%'])
  assert.deepEqual(keysOf(await listAll(ada, 'list', 'prefix=b&limit=1')), ['b%', 'b1', 'b2'])
  assert.deepEqual(keysOf(await listAll(ada, 'list', `prefix=${encodeURIComponent('\u{1f4a5}')}`)), ['\u{1f4a5}'])
  assert.deepEqual(keysOf(await listAll(ada, 'list', `prefix=${encodeURIComponent('\u{10ffff}')}`)), [])
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=1e2',
    'limit=',
    'limit=1&limit=2',
    'cursor=invented',
    'cursor=',
    'cursor=awA',
  ]) {
    assert.equal((await ada.call(`GET /v1/kv/entries?${query}`)).status, 400, query)
  }
})

test('databases, and tenants, do not see each other', async () => {
  const bob = await addTenant(daemon)
  await putAll(ada, 'one', { k: 'hers' })
  for (const [tenant, db] of [
    [ada, 'two'],
    [bob, 'one'],
  ] as const) {
    assert.equal((await tenant.call(`GET ${path('k')}`, undefined, { db })).status, 404)
    assert.equal((await tenant.call(`DELETE ${path('k')}`, undefined, { db })).status, 404)
    assert.deepEqual(keysOf(await listAll(tenant, db)), [])
  }
  const narrow = ada.mint({ ks: ['kv/two'] })
  assert.equal(
    (await ada.call(`GET ${path('k')}`, undefined, { db: 'one', token: narrow })).error.code,
    'DATABASE_MISMATCH',
  )
  // The credential's only database is meant when none is named.
  await ada.call(`PUT ${path('implied')}`, { value: 1 }, { token: narrow })
  assert.deepEqual(keysOf(await listAll(ada, 'two')), ['implied'])
})

test('a batch is all or nothing, and deletes only with the right to', async () => {
  await putAll(ada, 'batch', { old: 1 })
  const batch = (operations: unknown[], token?: string) =>
    ada.call('POST /v1/kv/entries/batch', { operations }, { db: 'batch', ...(token ? { token } : {}) })
  const done = await batch([
    { op: 'put', key: 'new', value: 2, ttlMs: 60_000 },
    { op: 'delete', key: 'old' },
    { op: 'delete', key: 'never' },
  ])
  assert.deepEqual(
    done.json<{ results: { op: string; deleted?: boolean }[] }>().results.map(({ op, deleted }) => [op, deleted]),
    [
      ['put', undefined],
      ['delete', true],
      ['delete', false],
    ],
  )
  assert.deepEqual(keysOf(await listAll(ada, 'batch')), ['new'])
  assert.equal(
    (
      await batch([
        { op: 'put', key: 'good', value: 1 },
        { op: 'explode', key: 'bad' },
      ])
    ).status,
    400,
  )
  assert.equal(
    (
      await batch([
        { op: 'put', key: 'good', value: 1 },
        { op: 'put', key: 'big', value: 'x'.repeat(256 * 1024) },
      ])
    ).status,
    413,
  )
  assert.equal(
    (await batch(Array.from({ length: 101 }, (_, at) => ({ op: 'put', key: `k${at}`, value: at })))).status,
    400,
  )
  const refused = await batch(
    [
      { op: 'put', key: 'good', value: 1 },
      { op: 'delete', key: 'new' },
    ],
    ada.mint({ ops: ['kv:write'] }),
  )
  assert.deepEqual(
    [refused.status, refused.error.code, refused.error.details],
    [403, 'OPERATION_NOT_ALLOWED', { operation: 'kv:delete' }],
  )
  assert.deepEqual(keysOf(await listAll(ada, 'batch')), ['new'])
  assert.deepEqual((await batch([])).json(), { results: [] })
})

test('a batch with a known Idempotency-Key is answered from the store and writes nothing again', async () => {
  const send = (value: number, options: { token?: string; db?: string; key?: string } = {}) =>
    ada.call(
      'POST /v1/kv/entries/batch',
      { operations: [{ op: 'put', key: 'k', value }] },
      {
        db: options.db ?? 'again',
        ...(options.token ? { token: options.token } : {}),
        headers: { 'idempotency-key': options.key ?? 'key-1' },
      },
    )
  const first = await send(1)
  await putAll(ada, 'again', { k: 'since' })
  for (const options of [{}, { token: ada.mint() }, { key: '"key-1"' }]) {
    const again = await send(1, options)
    assert.deepEqual([again.status, again.json(), again.headers['idempotent-replayed']], [200, first.json(), 'true'])
  }
  assert.equal((await send(2)).error.code, 'IDEMPOTENCY_KEY_REUSED')
  assert.equal((await ada.call(`GET ${path('k')}`, undefined, { db: 'again' })).json().value, 'since')
  assert.equal((await send(2, { db: 'elsewhere' })).headers['idempotent-replayed'], undefined)
  for (const key of ['', 'k'.repeat(256), 'a b']) assert.equal((await send(1, { key })).status, 400, key)
  const answers = await Promise.all(Array.from({ length: 10 }, () => send(7, { key: 'together' })))
  assert.equal(new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text)).size, 1)
  assert.ok(answers.every(({ status }) => status === 200 || status === 409))
})

test('a value of 256 KiB is stored and a larger one refused; a body without a value, or with an unknown field, is 400', async () => {
  assert.equal((await ada.call(`PUT ${path('k')}`, { value: 'x'.repeat(256 * 1024 - 2) }, { db: 'size' })).status, 200)
  assert.equal(
    (await ada.call(`PUT ${path('k')}`, { value: 'x'.repeat(256 * 1024 - 1) }, { db: 'size' })).error.code,
    'PAYLOAD_TOO_LARGE',
  )
  for (const body of [{}, [], 'null', { ttlMs: 1 }, { value: 1, key: 'other' }])
    assert.equal(
      (await ada.call(`PUT ${path('k')}`, body, { db: 'size', headers: { 'content-type': 'application/json' } }))
        .status,
      400,
    )
  assert.deepEqual(Object.keys((await ada.call(`GET ${path('k')}`, undefined, { db: 'size' })).json()), [
    'key',
    'value',
    'version',
    'createdAt',
    'updatedAt',
    'expiresAt',
    'digest',
  ])
})

test('databases, records and bytes end with the plan; reads and deletions go on', async () => {
  const small = await addTenant(daemon, { databases: 2, records: 3, bytes: 400 })
  for (const db of ['one', 'two'])
    assert.equal((await small.call(`PUT ${path('a')}`, { value: 1 }, { db })).status, 200)
  const third = await small.call(`PUT ${path('a')}`, { value: 1 }, { db: 'three' })
  assert.deepEqual([third.status, third.error.code], [403, 'QUOTA_EXCEEDED'])
  assert.equal(
    (await small.call(`PUT ${path('big')}`, { value: 'x'.repeat(500) }, { db: 'one' })).error.code,
    'QUOTA_EXCEEDED',
  )
  assert.equal((await small.call(`PUT ${path('b')}`, { value: 1 }, { db: 'one' })).status, 200)
  assert.equal((await small.call(`PUT ${path('c')}`, { value: 1 }, { db: 'one' })).error.code, 'QUOTA_EXCEEDED')
  assert.equal((await small.call(`GET ${path('a')}`, undefined, { db: 'one' })).status, 200)
  assert.equal((await small.call(`DELETE ${path('a')}`, undefined, { db: 'one' })).status, 200)
  assert.equal((await small.call(`PUT ${path('c')}`, { value: 1 }, { db: 'one' })).status, 200)
})

test('health writes, commits and reads back, and shows what the keyspaces cover, also when nothing else may', async () => {
  const eve = await addTenant(daemon)
  await putAll(eve, 'mine', { one: 1, two: 2 })
  await putAll(eve, 'other', { one: 1 })
  const health = (
    await eve.call('GET /v1/kv/health', undefined, { token: eve.mint({ ops: ['system:read'], ks: ['kv/mine'] }) })
  ).json<Record<string, never> & { probe: Record<string, number> }>()
  assert.deepEqual(
    {
      status: health.status,
      engine: health.engine,
      durability: health.durability,
      replication: health.replication,
      databases: health.databases,
    },
    {
      status: 'ok',
      engine: 'postgresql',
      durability: { fsync: 'on', synchronousCommit: 'on', dataChecksums: 'on' },
      replication: [],
      databases: [{ name: 'mine', keys: 2, bytes: 8 }],
    },
  )
  assert.ok(Object.values(health.probe).every((ms) => ms > 0))
  const [probe] = await daemon.sql<{ count: string }>('select count(*)::text from loci.probes where instance_id = $1', [
    eve.instanceId,
  ])
  assert.equal(probe?.count, '1')
  assert.equal(
    (await eve.call('GET /v1/kv/health', undefined, { token: eve.mint({ ops: ['kv:read'] }) })).error.code,
    'OPERATION_NOT_ALLOWED',
  )
  // On a busy machine again.
  const ask = async () => [await eve.call('GET /v1/kv/health')].find(({ status }) => status !== 503)
  const all = await Promise.all(Array.from({ length: 20 }, () => eventually(ask)))
  assert.deepEqual([...new Set(all.map((answer) => answer.json().status))], ['ok'])
})

test('a read-only store is degraded, and reads go on', async () => {
  const database = new URL(daemon.database.adminUrl.replace('@/', '@localhost/')).pathname.slice(1)
  await daemon.sql(`alter database ${database} set default_transaction_read_only = on`)
  await using replica = await testDaemon({ replicaOf: daemon })
  try {
    const call = (line: string) => replica.ask(line, { headers: { 'x-loci-capability': ada.mint() } })
    const health = (await call('GET /v1/kv/health')).json<{ status: string; probe: object }>()
    assert.deepEqual([health.status, health.probe], ['degraded', { writeMs: null, commitMs: null, readMs: null }])
    assert.equal((await call('GET /v1/kv/entries?limit=1')).status, 200)
    assert.equal((await call('GET /v1/kv/consistency?mode=full')).status, 200)
    assert.equal((await call(`DELETE ${path('x')}`)).error.code, 'STORE_UNAVAILABLE')
  } finally {
    await daemon.sql(`alter database ${database} reset default_transaction_read_only`)
  }
})

test('under row-level security a read, a prefix list and a write touch only the rows they need, through the primary key', async () => {
  const plan = await addTenant(daemon)
  await putAll(
    plan,
    'plan',
    Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`${at % 7}:${String(at).padStart(5, '0')}`, at])),
  )
  const pool = testPool(daemon.database.appUrl)
  const client = await pool.client()
  const counted = async () => {
    const { rows } = await client.query<{ scans: number; fetched: number }>({
      text: `select coalesce(sum(seq_scan), 0)::int as scans, coalesce(sum(idx_tup_fetch), 0)::int as fetched from pg_stat_xact_user_tables where relid = 'loci.entries'::regclass`,
    })
    return rows[0] as { scans: number; fetched: number }
  }
  const touched = async (text: string) => {
    await client.query({ text: 'begin' })
    // What earlier transactions of the session did and have not handed in yet is in here too.
    const before = await counted()
    await client.query({ text, values: [plan.instanceId] })
    const { scans, fetched } = await counted()
    await client.query({ text: 'rollback' })
    return { scans: scans - before.scans, fetched: fetched - before.fetched }
  }
  // More often than it takes Postgres to turn to a generic plan.
  for (let round = 0; round < 8; round += 1) {
    assert.deepEqual(await touched(`select * from loci.kv_get($1, 'plan', '3:00003')`), { scans: 0, fetched: 1 })
    const list = await touched(`select * from loci.kv_list($1, 'plan', '3:0000', '3:0001', null, 101, 4194304)`)
    assert.deepEqual(list, { scans: 0, fetched: 1 })
    assert.deepEqual(await touched(`select * from loci.kv_list($1, 'plan', '', null, '3:00003', 50, 4194304)`), {
      scans: 0,
      fetched: 50,
    })
    const back = await touched(`select * from loci.kv_list_as($1, 'plan', '', null, '3:00003', true, true, 3, 4194304)`)
    assert.deepEqual(back, { scans: 0, fetched: 3 })
    const walk = await touched(`select key from loci.kv_walk($1, 'plan', '3:', null, 10, 100, '{}')`)
    assert.deepEqual(walk, { scans: 0, fetched: 10 })
  }
  for (let round = 0; round < 8; round += 1) {
    // Each leaves a dead row behind, for it is rolled back.
    const write = await touched(
      `select * from loci.kv_write($1, 10, '{plan}', '{put}', '{3:00003}', '{1}', '{null}', '{null}')`,
    )
    assert.ok(write.scans === 0 && write.fetched <= 3 + round, JSON.stringify(write))
  }
  client.release()
  await pool.close()
})

test('the list of a page says where it goes on only when there is more', async () => {
  await putAll(ada, 'exact', { a: 1, b: 2 })
  const page = (await ada.call('GET /v1/kv/entries?limit=2', undefined, { db: 'exact' })).json<ListAnswer>()
  assert.deepEqual([keysOf(page), page.nextCursor], [['a', 'b'], null])
})

test('a page of large values ends at a megabyte and goes on by its cursor', async () => {
  const keys = Array.from({ length: 24 }, (_, n) => `large-${String(n).padStart(2, '0')}`)
  for (const key of keys) await ada.call(`PUT ${path(key)}`, { value: 'x'.repeat(250_000) }, { db: 'large' })
  const first = await ada.call('GET /v1/kv/entries?limit=1000', undefined, { db: 'large' })
  assert.ok(first.text.length < 1_500_000, `${first.text.length} bytes`)
  const { pages, ...list } = await listAll(ada, 'large', 'limit=1000')
  assert.deepEqual([keysOf(list), pages], [keys, 5])
})

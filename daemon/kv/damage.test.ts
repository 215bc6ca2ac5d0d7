import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wholeAnswer } from '../testing/consistency.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant, listAll, path, putAll, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let ada: TestTenant
let bob: TestTenant

before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
  bob = await addTenant(daemon)
})
after(() => daemon[Symbol.asyncDispose]())

interface Report {
  status: string
  issues: { type: string; database: string; ref: string | null }[]
  summary: { rows: number; bytes: number; issues: number }
  checks: { name: string; checked: number; failed: number }[]
  rootDigest: string
  coverage: { complete: boolean; nextCursor: string | null; rowsTotal: number }
}

async function consistency(tenant: TestTenant, mode = 'full', token?: string): Promise<Report> {
  const answer = await wholeAnswer(() =>
    tenant.call(`GET /v1/kv/consistency?mode=${mode}`, undefined, token ? { token } : {}),
  )
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Report>()
}

const found = ({ issues }: Report, db: string) =>
  issues.filter(({ database }) => database === db).map(({ type, ref }) => `${type} ${ref}`)
const where = 'where instance_id = $1 and database = $2'

const FIELDS: [string, string][] = [
  ['value', `value = '"forged"'`],
  ['version', 'version = version + 1'],
  ['created_at', `created_at = created_at - interval '1 microsecond'`],
  ['updated_at', `updated_at = updated_at + interval '1 microsecond'`],
  ['expires_at in the future', `expires_at = now() + interval '1 day'`],
  ['expires_at in the past', `expires_at = now() - interval '1 day'`],
  ['expires_at without end', `expires_at = 'infinity'`],
  ['digest', `digest = set_bit(digest, 77, 1 - get_bit(digest, 77))`],
  ['digest cut', 'digest = substr(digest, 1, 10)'],
]

for (const [name, edit] of FIELDS) {
  test(`an entry whose ${name} was edited is never served, is named, and hides nobody`, async () => {
    const db = `edit-${name.replaceAll(/[^a-z]/g, '')}`
    await putAll(ada, db, { a: 1, b: 2, c: 3 })
    await daemon.sql(`update loci.entries set ${edit} ${where} and key = 'b'`, [ada.instanceId, db])

    const single = await ada.call(`GET ${path('b')}`, undefined, { db })
    const list = await listAll(ada, db)

    assert.deepEqual([single.status, single.error.code, single.error.details], [500, 'DATA_DAMAGED', { ref: 'b' }])
    assert.deepEqual(
      list.entries.map(({ key }) => key),
      ['a', 'c'],
    )
    assert.deepEqual(list.damaged, [{ ref: 'b', reason: 'digest_mismatch' }])
    assert.ok(found(await consistency(ada), db).includes('digest_mismatch b'))
  })
}

test('the sweeper leaves a damaged entry whose expiry seems over', async () => {
  await putAll(ada, 'sweep', { a: 1, b: 2 })
  await daemon.sql(`update loci.entries set expires_at = now() - interval '1 day' ${where} and key = 'b'`, [
    ada.instanceId,
    'sweep',
  ])
  await daemon.sql(`select loci.kv_expire($1, h.name, 100) from loci.databases h where h.instance_id = $1`, [
    ada.instanceId,
  ])
  assert.equal((await ada.call(`GET ${path('b')}`, undefined, { db: 'sweep' })).error.code, 'DATA_DAMAGED')
})

test('a row moved to another tenant, database or key is served to nobody, and missed where it was', async () => {
  await putAll(ada, 'from', { moved: 'secret', key: 'k', stays: 1 })
  await putAll(bob, 'from', { own: 1 })
  await daemon.sql(`update loci.entries set instance_id = $3 ${where} and key = 'moved'`, [
    ada.instanceId,
    'from',
    bob.instanceId,
  ])
  await daemon.sql(`update loci.entries set key = 'other' ${where} and key = 'key'`, [ada.instanceId, 'from'])

  const bobs = await bob.call(`GET ${path('moved')}`, undefined, { db: 'from' })
  const bobsList = await listAll(bob, 'from')

  assert.equal(bobs.error.code, 'DATA_DAMAGED')
  assert.ok(!`${bobs.text}${JSON.stringify(bobsList)}`.includes('secret'))
  assert.deepEqual(
    bobsList.entries.map(({ key }) => key),
    ['own'],
  )
  assert.equal((await ada.call(`GET ${path('other')}`, undefined, { db: 'from' })).error.code, 'DATA_DAMAGED')
  assert.ok(found(await consistency(ada), 'from').includes('missing null'))
  assert.deepEqual(found(await consistency(bob), 'from'), ['digest_mismatch moved', 'surplus null'])

  await daemon.sql(`update loci.entries set database = 'nowhere' ${where} and key = 'own'`, [bob.instanceId, 'from'])
  assert.deepEqual(found(await consistency(bob), 'nowhere'), ['digest_mismatch own', 'surplus null'])
})

test('a row that vanished is missed, an old version put back is noticed, and so are wrong counters', async () => {
  await putAll(ada, 'gone', { a: 1, b: 2 })
  await daemon.sql(`delete from loci.entries ${where} and key = 'a'`, [ada.instanceId, 'gone'])
  assert.deepEqual(found(await consistency(ada), 'gone'), ['missing null'])

  await putAll(ada, 'stale', { a: 1, b: 2 })
  await daemon.sql(`create table public.kept as select * from loci.entries ${where} and key = 'a'`, [
    ada.instanceId,
    'stale',
  ])
  await putAll(ada, 'stale', { a: 'new' })
  await daemon.sql(`delete from loci.entries ${where} and key = 'a'`, [ada.instanceId, 'stale'])
  await daemon.sql('insert into loci.entries select * from public.kept')
  assert.deepEqual(found(await consistency(ada), 'stale'), ['set_mismatch null'])

  await putAll(ada, 'counted', { a: 1 })
  for (const edit of [
    'kv_bytes = kv_bytes + 1',
    'kv_set_a = kv_set_a + 1',
    'kv_set_b = 1 - kv_set_b',
    'kv_keys = 9',
    'seq = 0',
  ]) {
    await daemon.sql(
      `create table public.head as select * from loci.databases where instance_id = $1 and name = 'counted'`,
      [ada.instanceId],
    )
    await daemon.sql(`update loci.databases set ${edit} where instance_id = $1 and name = 'counted'`, [ada.instanceId])
    assert.equal(found(await consistency(ada), 'counted').length, 1, edit)
    await daemon.sql(`delete from loci.databases where instance_id = $1 and name = 'counted'`, [ada.instanceId])
    await daemon.sql('insert into loci.databases select * from public.head')
    await daemon.sql('drop table public.head')
  }
  assert.deepEqual(found(await consistency(ada), 'counted'), [])
})

test('a damaged entry can be written again or deleted, not by version, and the sums come right with the next full check', async () => {
  const db = 'repair'
  await putAll(bob, db, { a: 1, b: 2, c: 3, d: 4 })
  await daemon.sql(`update loci.entries set value = '"much longer than it was"' ${where} and key = 'a'`, [
    bob.instanceId,
    db,
  ])
  await daemon.sql(
    `update loci.entries set digest = sha256(digest), version = 9007199254740993 ${where} and key = 'b'`,
    [bob.instanceId, db],
  )

  const byVersion = await bob.call(`PUT ${path('a')}`, { value: 'new' }, { db, headers: { 'if-match': '"1"' } })
  const put = await bob.call(`PUT ${path('a')}`, { value: 'new' }, { db })
  const deleted = await bob.call(`DELETE ${path('b')}`, undefined, { db })

  assert.deepEqual([byVersion.status, byVersion.error.code], [500, 'DATA_DAMAGED'])
  assert.deepEqual([put.status, deleted.status, deleted.json().version], [200, 200, 0])
  const list = await listAll(bob, db)
  assert.deepEqual(
    list.entries.map(({ key, value }) => [key, value]),
    [
      ['a', 'new'],
      ['c', 3],
      ['d', 4],
    ],
  )
  assert.deepEqual(found(await consistency(bob), db), [])
  const [head] = await daemon.sql<{ unsettled: boolean; keys: string; bytes: string }>(
    `select kv_unsettled as unsettled, kv_keys::text as keys, kv_bytes::text as bytes from loci.databases where instance_id = $1 and name = $2`,
    [bob.instanceId, db],
  )
  assert.deepEqual(head, { unsettled: false, keys: '3', bytes: '10' })
  await daemon.sql(`delete from loci.entries ${where} and key = 'c'`, [bob.instanceId, db])
  assert.deepEqual(found(await consistency(bob), db), ['missing null'])
})

test('what an incremental check has seen it leaves out until something is written', async () => {
  const carol = await addTenant(daemon)
  await putAll(carol, 'one', { a: 1, b: 2 })
  await putAll(carol, 'two', { a: 1 })
  assert.deepEqual(
    [(await consistency(carol)).status, (await consistency(carol, 'incremental')).summary.rows],
    ['consistent', 0],
  )
  await putAll(carol, 'two', { b: 2 })
  const report = await consistency(carol, 'incremental')
  assert.deepEqual(
    [report.status, report.summary.rows, report.checks.find(({ name }) => name === 'counters')],
    ['consistent', 2, { name: 'counters', checked: 1, failed: 0 }],
  )
})

test('a check lists only what the keyspaces cover, and its digest changes with what it covers alone', async () => {
  const dave = await addTenant(daemon)
  await putAll(dave, 'mine', { a: 1 })
  await putAll(dave, 'other', { a: 1, b: 2 })
  const token = dave.mint({ ops: ['system:read'], ks: ['kv/mine'] })
  const first = await consistency(dave, 'full', token)
  await putAll(dave, 'other', { c: 3 })
  const second = await consistency(dave, 'full', token)
  assert.deepEqual([first.summary.rows, first.rootDigest], [1, second.rootDigest])
  assert.notEqual((await consistency(dave)).rootDigest, first.rootDigest)
})

test('a database larger than one call is verified by cursor to its end, and an invented cursor is 400', async () => {
  const erin = await addTenant(daemon)
  await daemon.sql(
    `insert into loci.entries (instance_id, database, key, value, version, created_at, updated_at, digest)
     select $1, 'large', 'k' || n, n, n, now(), now(), loci.entry_digest($1, 'large', 'k' || n, n::text, n, now(), now(), null) from generate_series(1, 25000) n`,
    [erin.instanceId],
  )
  await daemon.sql(
    `insert into loci.databases (instance_id, name, created_at, seq, kv_keys, kv_bytes, kv_set_a, kv_set_b)
     select $1, 'large', now(), 25000, count(*), sum(octet_length(key) + octet_length(value)), bit_xor(loci.digest_part(digest, 1)), bit_xor(loci.digest_part(digest, 9)) from loci.entries where instance_id = $1`,
    [erin.instanceId],
  )
  const walk = async (mode = 'full') => {
    const reports: Report[] = []
    for (let cursor = ''; ; ) {
      const answer = await erin.call(`GET /v1/kv/consistency?mode=${mode}${cursor}`)
      assert.equal(answer.status, 200, answer.text)
      const report = answer.json<Report>()
      reports.push(report)
      if (report.coverage.nextCursor === null) return reports
      assert.equal(report.status === 'consistent', false)
      cursor = `&cursor=${report.coverage.nextCursor}`
    }
  }
  const good = await walk()
  assert.ok(good.length > 1)
  assert.equal(good.at(-1)?.status, 'consistent')
  assert.equal(
    good.reduce((sum, { summary }) => sum + summary.rows, 0),
    25_000,
  )
  // Mutants: rowsIn() that counts what is passed over; a position without `rowsTotal`.
  assert.ok(good.every(({ coverage }) => coverage.rowsTotal === 25_000))
  assert.deepEqual(
    (await walk('incremental')).map(({ coverage }) => coverage.rowsTotal),
    [0],
  )
  const small = { token: erin.mint({ ops: ['kv:write'], ks: ['kv/*'] }), headers: { 'x-loci-database': 'a-small' } }
  assert.equal((await erin.call('PUT /v1/kv/entries/k', { value: 1 }, small)).status, 200)
  await daemon.sql('delete from loci.verified where instance_id = $1', [erin.instanceId])
  const changed = await walk('incremental')
  assert.ok(changed.length > 1)
  assert.ok(changed.every(({ coverage }) => coverage.rowsTotal === 25_001))

  await daemon.sql(`delete from loci.entries where instance_id = $1 and key = 'k17'`, [erin.instanceId])
  // On whichever page: a slow machine has a page more behind the end of these rows.
  const bad = await walk()
  const types = bad.flatMap(({ issues }) => issues.map(({ type }) => type))
  assert.deepEqual([bad.at(-1)?.status, types], ['inconsistent', ['missing']])

  const cursor = good[0]?.coverage.nextCursor as string
  for (const query of [
    'cursor=invented',
    `cursor=${cursor.slice(0, -2)}AA`,
    `mode=incremental&cursor=${cursor}`,
    'mode=thorough',
  ]) {
    assert.equal(
      (await erin.call(`GET /v1/kv/consistency?${query.includes('mode') ? '' : 'mode=full&'}${query}`)).status,
      400,
      query,
    )
  }
  assert.equal((await ada.call(`GET /v1/kv/consistency?mode=full&cursor=${cursor}`)).status, 400)
})

test('pages stay whole when a damaged row stands at their end', async () => {
  const frank = await addTenant(daemon)
  await putAll(frank, 'pages', Object.fromEntries('abcdefgh'.split('').map((key) => [key, 1])))
  await daemon.sql(`update loci.entries set value = '2' ${where} and key in ('b', 'c', 'h')`, [
    frank.instanceId,
    'pages',
  ])
  for (const limit of [1, 2, 3, 5, 8]) {
    const list = await listAll(frank, 'pages', `limit=${limit}`)
    assert.deepEqual(list.entries.map(({ key }) => key).join(''), 'adefg', `limit ${limit}`)
    assert.deepEqual(
      list.damaged?.map(({ ref }) => ref),
      ['b', 'c', 'h'],
    )
  }
})

test('an entry that cannot be read is named by its key, and everything around it is listed and verified', async () => {
  const grace = await addTenant(daemon)
  await putAll(grace, 'large', { a: 1, 'a/ü': 2, rotten: 3, 'rotten\u{1f4a5}': 4, rottenly: 5, z: 6 })
  await putAll(grace, 'other', { k: 'other' })
  // Two rows that fail like rows on a bad page; the real thing is `npm run test:system -- rot`.
  await daemon.sql(
    `alter function loci.entry_digest rename to real_digest;
     create function loci.entry_digest(i text, d text, k text, v text, n bigint, c timestamptz, u timestamptz, e timestamptz) returns bytea language plpgsql as $$
     begin
       if k in ('rotten', 'rottenly') then raise exception 'invalid page' using errcode = 'XX001'; end if;
       return loci.real_digest(i, d, k, v, n, c, u, e);
     end $$`,
  )
  const damaged = ['rotten', 'rottenly'].map((ref) => ({ ref, reason: 'page_unreadable' }))

  for (const limit of [1, 2, 3, 6, 7, 1000]) {
    const list = await listAll(grace, 'large', `limit=${limit}`)
    assert.deepEqual(
      list.entries.map(({ key }) => key),
      ['a', 'a/ü', 'rotten\u{1f4a5}', 'z'],
      `limit ${limit}`,
    )
    assert.deepEqual(
      new Set(list.damaged?.map(({ ref }) => ref)),
      new Set(damaged.map(({ ref }) => ref)),
      `limit ${limit}`,
    )
  }
  assert.deepEqual((await listAll(grace, 'large', 'prefix=a')).damaged, [])
  assert.deepEqual(
    (await listAll(grace, 'large', 'prefix=rotten')).entries.map(({ key }) => key),
    ['rotten\u{1f4a5}'],
  )
  assert.deepEqual((await listAll(grace, 'large', 'prefix=rotten')).damaged, damaged)
  const single = await grace.call(`GET ${path('rotten')}`, undefined, { db: 'large' })
  assert.deepEqual([single.error.code, single.error.details], ['DATA_DAMAGED', { ref: 'rotten' }])
  const report = await consistency(grace)
  assert.deepEqual(
    [report.status, found(report, 'large'), found(report, 'other')],
    ['inconsistent', ['page_unreadable rotten', 'page_unreadable rottenly'], []],
  )
  const put = await grace.call(`PUT ${path('rotten')}`, { value: 1 }, { db: 'large' })
  assert.deepEqual([put.status, put.error.code], [500, 'DATA_DAMAGED'])
  assert.equal((await grace.call(`PUT ${path('new')}`, { value: 1 }, { db: 'large' })).status, 200)
})

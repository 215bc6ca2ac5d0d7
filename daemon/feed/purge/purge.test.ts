import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { commitActs } from '../../kv/store.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { testFeed } from '../../testing/feed.ts'
import { CANARY, fill } from '../../testing/filled.ts'
import { isToldDeleted, listeningCell, rowsOf, until } from '../../testing/listening-cell.ts'
import { readReport } from '../reports/store.ts'
import { leaveLease, takeLease } from '../store.ts'
import { finishPurge, listPurges, purgeSome } from './store.ts'

/** Of the cell's database, without a management: what the test says is put into it as the feed would. */
let daemon: TestDaemon
let authority: TestAuthority
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

function credentialOf({ svc, org, ten }: TestInstance) {
  return {
    ...{ id: newId('ptr'), svc, org, ten, partner: CANARY, database: 'default', projection_classes: ['event'] },
    digest: createHash('sha256').update(svc).digest('hex'),
    routes: ['projections'],
    state: 'active' as const,
    expires_at: null,
  }
}

/** What stays: counts that leave with their report, and the ledger itself. */
const STAYS = ['deletions', 'usage_minutes']

// Mutants: `and t.name <> 'entries'` in purge_some; report without `purged_at is not null`.
test('a deleted instance is erased from every table, and only then reported, with its entry in the ledger', async () => {
  await using it = await listeningCell()
  const { cell, authority, feed } = it
  const own = await authority.addInstance()
  const other = await authority.addInstance()
  for (const one of [own, other]) await fill(cell, authority, one)
  const before = await rowsOf(cell, own.svc)
  for (const [table, rows] of Object.entries(before))
    if (table !== 'deletions') assert.ok(rows > 0, `fill() puts nothing into ${table}`)
  // A minute that begins meanwhile is one more row of usage.
  const rowsOfOther = async () => ({ ...(await rowsOf(cell, other.svc)), usage_minutes: 0 })
  const others = await rowsOfOther()
  const chain = () => cell.sql(`select count(*)::int as n from loci.audit where chain = $1`, [own.svc])

  await own.change({ state: 'deleted', config: { note: CANARY } })

  const report = await until(isToldDeleted(feed, own.svc, 2))
  const left = Object.entries(await rowsOf(cell, own.svc)).filter(([table]) => !STAYS.includes(table))
  assert.deepEqual(
    left.filter(([, rows]) => rows > 0),
    [],
  )
  assert.deepEqual(await rowsOfOther(), others, 'the neighbour has lost nothing')
  assert.deepEqual(
    report.deletions.map(({ svc, database }) => ({ svc, database })),
    [{ svc: own.svc, database: undefined }],
  )
  await until(async () => (await cell.sql('select 1 from loci.deletions where reported_at is null')).length === 0)
  assert.deepEqual(
    await chain(),
    [{ n: 5 }],
    'its chain stays and says what was done: configured twice, cleared, a memory deleted, erased',
  )
  const [row] = await cell.sql('select config, databases::int from loci.instances where id = $1', [own.svc])
  assert.deepEqual(row, { config: {}, databases: 0 })
  assert.equal((await own.call(own.root(), 'GET /v1/kv/entries')).status, 401)
})

test('an unfinished deletion is not reported; the next holder of the lease continues, and the old one does nothing', async () => {
  const { pool } = authority
  const own = await authority.addInstance()
  const operations = Array.from({ length: 30 }, (_, at) => ({ op: 'put', key: `k${at}`, value: at }))
  await own.call(own.root(), 'POST /v1/kv/entries/batch', { body: { operations } })
  await own.change({ state: 'deleted' })
  const purge = (await listPurges(pool, 10)).find(({ instanceId }) => instanceId === own.svc)
  assert.ok(purge)
  const isReported = async () => (await readReport(pool, 0)).observed.some(({ svc }) => svc === own.svc)
  const first = await takeLease(pool, 'test', 60_000)
  assert.ok(first)

  assert.equal(await purgeSome(pool, first.fence, purge, 12), 12)
  // The holder is killed here: nothing but the tables knows how far it had come.
  await leaveLease(pool, 'test')
  const second = await takeLease(pool, 'test', 60_000)
  assert.ok(second && second.fence > first.fence)

  assert.equal(await purgeSome(pool, first.fence, purge, 12), undefined)
  assert.equal(await finishPurge(pool, first.fence, purge), undefined)
  assert.equal(await isReported(), false)
  assert.deepEqual(
    (await listPurges(pool, 10)).filter(({ instanceId }) => instanceId === own.svc),
    [purge],
  )
  assert.equal(await purgeSome(pool, second.fence, purge, 12), 12)
  const rest = await purgeSome(pool, second.fence, purge, 12)
  assert.ok(rest !== undefined && rest < 12)
  assert.equal(await finishPurge(pool, second.fence, purge), 'gone')
  assert.equal(await isReported(), true)
  assert.equal(await finishPurge(pool, second.fence, purge), undefined, 'once')
  assert.equal(await purgeSome(pool, second.fence, purge, 12), undefined)
})

// Mutant: leave the look at the state out of kv_write, or set the context in claimKey() without entering.
test('a replica that does not know of the deletion yet writes nothing while the instance is erased', async () => {
  const own = await authority.addInstance()
  const token = own.root()
  assert.equal((await own.call(token, 'PUT /v1/kv/entries/a', { body: { value: 1 } })).status, 200)
  // Without a number: no replica hears of it.
  await daemon.sql(`update loci.instances set state = 'deleted', generation = 2 where id = $1`, [own.svc])
  const lease = await takeLease(authority.pool, 'test', 60_000)
  assert.ok(lease)
  const purge = { instanceId: own.svc, generation: 2 }
  await purgeSome(authority.pool, lease.fence, purge, 100)

  const batch = { body: { operations: [] }, headers: { 'idempotency-key': 'late' } }
  const late = [
    await own.call(token, 'PUT /v1/kv/entries/a', { body: { value: 1 } }),
    await own.call(token, 'DELETE /v1/kv/entries/a'),
    await own.call(token, 'POST /v1/kv/entries/batch', batch),
    await own.call(token, 'POST /v1/kv/entries/batch', { body: { operations: [{ op: 'put', key: 'b', value: 1 }] } }),
  ]
  assert.deepEqual(
    late.map(({ status, error }) => [status, error.code]),
    late.map(() => [401, 'UNAUTHENTICATED']),
  )
  for (const path of ['health', 'consistency?mode=full'])
    assert.notEqual((await own.call(token, `GET /v1/kv/${path}`)).status, 500, path)
  const left = Object.entries(await rowsOf(daemon, own.svc)).filter(([table, n]) => n > 0 && !STAYS.includes(table))
  assert.deepEqual(left, [])
  await finishPurge(authority.pool, lease.fence, purge)
})

// Mutant: purge_some without pg_advisory_xact_lock: it does not wait, and the write of the open transaction stays.
test('erasing waits for a write that is under way', async () => {
  const own = await authority.addInstance()
  // The first write of a database locks the instance's row, which the feed waits for as well.
  assert.equal((await own.call(own.root(), 'PUT /v1/kv/entries/first', { body: { value: 1 } })).status, 200)
  const writer = openPool({
    ...PATIENT,
    url: daemon.database.appUrl,
    applicationName: 'w',
    connectionsMax: 1,
    onError: () => {},
  })
  const client = await writer.client()
  const write = { database: 'default', op: 'put' as const, key: 'k', value: '1', ttlMs: null, ifMatch: null }
  const statement = `select outcome from loci.kv_write($1, 10, '{default}', '{put}', '{k}', '{1}', '{null}', '{null}')`
  await client.query({ text: 'begin' })
  await client.query({ text: statement, values: [own.svc] })
  await own.change({ state: 'deleted' })
  const lease = await takeLease(authority.pool, 'test', 60_000)
  assert.ok(lease)
  const erasing = purgeSome(authority.pool, lease.fence, { instanceId: own.svc, generation: 2 }, 100)
  const waits = `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`
  let isOver = false
  void erasing.finally(() => (isOver = true)).catch(() => undefined)
  await until(async () => isOver || (await daemon.sql(waits)).length > 0)
  await client.query({ text: 'commit' })
  client.release()

  assert.ok(((await erasing) ?? 0) > 3, 'both entries, their database and its totals')
  assert.equal((await rowsOf(daemon, own.svc)).entries, 0, 'the one that was under way, too')
  const act = { writes: [write], databasesMax: 10 }
  const [alone] = await commitActs(writer, own.svc, [{ ...act, isWhole: false }])
  assert.equal(alone?.outcome === 'written' && alone.writes[0]?.outcome, 'gone')
  const [whole] = await commitActs(writer, own.svc, [{ ...act, isWhole: true }])
  assert.equal(whole?.outcome === 'refused' && whole.write.outcome, 'gone')
  const scope = [own.svc, write.database, 'POST /x', 'holder', 'key']
  const claim = { scope, fingerprint: Buffer.alloc(32), sealedWith: 'test', request: null }
  const [keyed] = await commitActs(writer, own.svc, [{ ...act, isWhole: true, claim }])
  assert.equal(keyed?.outcome === 'refused' && keyed.write.outcome, 'gone')
  const [empty] = await commitActs(writer, own.svc, [{ writes: [], databasesMax: 10, isWhole: true, claim }])
  assert.equal(empty?.outcome === 'refused' && empty.write.outcome, 'gone')
  await finishPurge(authority.pool, lease.fence, { instanceId: own.svc, generation: 2 })
  await writer.close()
})

// Mutants: apply what is named again while the old one is being erased; no resync after it was made again.
test('an instance that is created again while it is erased waits for the end, and starts empty with its credentials', async () => {
  await using it = await listeningCell()
  const { cell, authority, feed } = it
  const own = await authority.addInstance()
  await fill(cell, authority, own)
  const blocker = openPool({
    ...PATIENT,
    url: cell.database.appUrl,
    applicationName: 'b',
    connectionsMax: 1,
    onError: () => {},
  })
  const client = await blocker.client()
  await client.query({ text: 'begin' })
  await client.query({ text: 'select loci.enter_instance($1)', values: [own.svc] })

  await own.change({ state: 'deleted' })
  await own.change({ state: 'active' })
  const state = async () =>
    (await cell.sql('select state, generation from loci.instances where id = $1', [own.svc]))[0] as object
  assert.deepEqual(await state(), { state: 'deleted', generation: 2 })
  assert.equal((await own.call(own.root(), 'GET /v1/kv/entries')).status, 401)
  await client.query({ text: 'commit' })
  client.release()
  await blocker.close()

  await until(async () =>
    feed.reports.find(({ observed }) => observed.some((one) => one.svc === own.svc && one.generation === 3)),
  )
  assert.deepEqual(await state(), { state: 'active', generation: 3 })
  // The report goes up as soon as it is stored; the replica reads it at its next beat.
  const list = await until(async () => {
    const answer = await own.call(own.root(), 'GET /v1/kv/entries')
    return answer.status === 200 && answer
  })
  assert.deepEqual(list.json(), { entries: [], nextCursor: null })
  assert.ok(
    feed.reports.some(({ deletions }) => deletions.some(({ svc }) => svc === own.svc)),
    'the ledger has its first life',
  )
  await until(async () => (await rowsOf(cell, own.svc)).partner_credentials === 1)
})

test('a deleted instance is created again by a higher generation only, and gets its credentials only then', async () => {
  await using it = await listeningCell()
  const { cell, authority, feed } = it
  const own = await authority.addInstance()
  const body = { ...(await bodyOf(cell, own)), state: 'active' as const }
  await own.change({ state: 'deleted' })
  await until(isToldDeleted(feed, own.svc, 2))

  for (const generation of [1, 2]) await authority.publish({ kind: 'instance', body: { ...body, generation } })
  await authority.publish({ kind: 'partner_credential', body: credentialOf(own) })
  assert.equal((await own.call(own.root(), 'GET /v1/kv/entries')).status, 401)
  assert.equal((await rowsOf(cell, own.svc)).partner_credentials, 0)

  await authority.publish({ kind: 'instance', body: { ...body, generation: 3 } })
  assert.equal((await own.call(own.root(), 'GET /v1/kv/entries')).status, 200)
  await until(async () => (await rowsOf(cell, own.svc)).partner_credentials === 1)
})

async function bodyOf(cell: TestDaemon, { org, ten, svc, limits }: TestInstance) {
  const [row] = await cell.sql<{ generation: number }>('select generation from loci.instances where id = $1', [svc])
  return {
    ...{ org, ten, svc, limits, service_type: 'memory', plan: 'pro', state_reason: null, config: {} },
    generation: row?.generation ?? 1,
  }
}

// Mutants: no eraseAgain() (the second case stays); a deleted item of the feed that changes only the state (both stay).
for (const backup of ['of the whole cell', 'of the tables of the tenant alone'] as const)
  test(`a restored backup ${backup} is erased again by the next full resync`, async () => {
    await using base = await testDaemon()
    await using feed = await testFeed()
    const own = await (async () => {
      await using first = await testDaemon({ replicaOf: base, settings: feed.settings })
      await using authority = await testAuthority(first, feed)
      const made = await authority.addInstance()
      await fill(first, authority, made)
      await base.sql(
        `create schema backup; create table backup.entries as table loci.entries; create table backup.databases as table loci.databases;
         create table backup.instances as table loci.instances`,
      )
      await made.change({ state: 'deleted' })
      await until(isToldDeleted(feed, made.svc, 2))
      return made
    })()

    if (backup === 'of the whole cell')
      await base.sql('delete from loci.instances; insert into loci.instances table backup.instances')
    await base.sql(
      `insert into loci.entries table backup.entries; insert into loci.databases table backup.databases; update loci.cell set feed_epoch = null`,
    )
    assert.ok(Number((await rowsOf(base, own.svc)).entries) > 0)
    const reportsBefore = feed.reports.length
    await using _restored = await testDaemon({ replicaOf: base, settings: feed.settings })

    await until(async () => (await rowsOf(base, own.svc)).entries === 0)
    // In one report or in two.
    await until(async () => {
      const reports = feed.reports.slice(reportsBefore)
      const names = (list: { svc: string }[]) => list.some(({ svc }) => svc === own.svc)
      return reports.some(({ deletions }) => names(deletions)) && reports.some(({ observed }) => names(observed))
    })
  })

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKeyPair } from '@loci/capability/jws.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { type TestAuthority, testAuthority } from '../../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { type TestFeed, testFeed } from '../../testing/feed.ts'
import { readReport, saveUses } from './store.ts'

interface ListeningCell {
  feed: TestFeed
  cell: TestDaemon
  authority: TestAuthority
  [Symbol.asyncDispose](): Promise<void>
}

/** A daemon that listens to a feed of its own, on a database of its own. */
async function listeningCell(): Promise<ListeningCell> {
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

const observedIn = (reports: TestFeed['sent'], svc: string, generation: number) =>
  reports.find(({ observed }) => observed.some((one) => one.svc === svc && one.generation === generation))

// Mutant: without reporter.wake() after a page it takes the rest of the 5 s beat.
test('a new instance is reported right after its page, not at the next interval', async () => {
  await using it = await listeningCell()
  const tookMs: number[] = []
  for (let round = 0; round < 20; round += 1) {
    const own = await it.authority.addInstance()
    await eventually(() => observedIn(it.feed.reports, own.svc, 1))
    const startedAt = performance.now()
    it.feed.publish({ kind: 'instance', body: { ...bodyOf(own), generation: 2, plan: `plan-${round}` } })
    const report = await eventually(() => it.feed.reports.find((one) => observedIn([one], own.svc, 2)))
    tookMs.push(report.at - startedAt)
  }
  tookMs.sort((a, b) => a - b)
  // Each round begins just after a report. Idle 20 to 60 ms; a loaded machine may take its time, but not most of a
  // beat.
  assert.ok((tookMs[10] as number) < 2_500, `${tookMs.map(Math.round)} ms`)
})

function bodyOf({ org, ten, svc, limits }: Awaited<ReturnType<TestAuthority['addInstance']>>) {
  return {
    ...{ org, ten, svc, limits, service_type: 'memory', plan: 'pro', state: 'active' as const, state_reason: null },
    ...{ generation: 1, config: {} },
  }
}

test('many changes at once need a few reports', async () => {
  await using it = await listeningCell()
  const own = await it.authority.addInstance()
  await eventually(() => observedIn(it.feed.reports, own.svc, 1))
  const before = it.feed.sent.length
  for (let generation = 2; generation <= 40; generation += 1)
    it.feed.publish({ kind: 'instance', body: { ...bodyOf(own), generation } })
  await eventually(() => observedIn(it.feed.reports, own.svc, 40))
  assert.ok(it.feed.sent.length - before < 20, String(it.feed.sent.length - before))
})

// Mutants: startOver() without unknown.clear(), or without observedSince = 0.
test('an instance that management does not know stays, and is reported again after every full resync', async () => {
  await using it = await listeningCell()
  const { feed, authority } = it
  const known = await authority.addInstance()
  const lost = await authority.addInstance()
  await eventually(() => observedIn(feed.reports, lost.svc, 1))
  // The control database is restored from before the second one was made.
  feed.unknown.add(lost.svc)
  feed.restore()
  feed.publish({ kind: 'instance', body: { ...bodyOf(known), generation: 7 } })
  await eventually(() => observedIn(feed.reports, known.svc, 7))
  await eventually(() => feed.sent.filter((report) => observedIn([report], lost.svc, 1)).length > 1)
  const { unknown } = await eventually(() => feed.reports.find((report) => report.unknown.length > 0))
  const described = { service_type: 'memory', plan: 'pro', generation: 1, state: 'active' }
  assert.deepEqual(unknown, [{ svc: lost.svc, org: lost.org, ten: lost.ten, ...described }])
  assert.equal((await lost.call(lost.root(), 'GET /v1/kv/entries')).status, 200, 'nothing was dropped')

  const reportsBefore = feed.reports.length
  feed.unknown.delete(lost.svc)
  feed.restore()
  feed.publish({ kind: 'instance', body: { ...bodyOf(known), generation: 3 } })

  const report = await eventually(() => observedIn(feed.reports.slice(reportsBefore), lost.svc, 1))
  assert.ok(observedIn([report], known.svc, 7), 'its own generation, which is higher than what management says')
})

// Mutant: markKnown() that does nothing: an adopted instance is not reported until the next full resync.
test('an instance that management has adopted is reported like any other', async () => {
  await using it = await listeningCell()
  const { feed, authority } = it
  const lost = await authority.addInstance()
  await eventually(() => observedIn(feed.reports, lost.svc, 1))
  feed.unknown.add(lost.svc)
  feed.restore()
  await eventually(() => feed.reports.some(({ unknown }) => unknown.length > 0))
  feed.unknown.delete(lost.svc)
  feed.publish({ kind: 'instance', body: { ...bodyOf(lost), generation: 2 } })
  await eventually(() => observedIn(feed.reports, lost.svc, 2))
})

test('usage reports carry what the instance stores', async () => {
  await using it = await listeningCell()
  const own = await it.authority.addInstance()
  const idle = await it.authority.addInstance()
  const operations = ['a', 'bb', 'ccc'].map((key) => ({ op: 'put', key, value: 'v' }))
  for (const headers of [{}, { 'x-loci-database': 'notes' }]) {
    const token = own.root({ ks: ['kv/*'] })
    const { status, text } = await own.call(token, 'POST /v1/kv/entries/batch', { body: { operations }, headers })
    assert.equal(status, 200, text)
  }
  await it.cell.sql(
    `insert into loci.usage_minutes (instance_id, minute, replica, requests, writes, errors, cycles, evictions, latency)
     select id, date_trunc('minute', now()) - interval '2 minutes', 'r', 5, 2, 1, 3, 4, '{0,5}' from unnest($1::text[]) id`,
    [[own.svc, idle.svc]],
  )
  it.feed.publish({ kind: 'instance', body: { ...bodyOf(idle), generation: 2 } })

  const report = await eventually(() => it.feed.reports.find(({ usage }) => usage.length > 0))
  const held = new Map(report.usage.map(({ svc, records, bytes }) => [svc, { records, bytes }]))
  assert.deepEqual(held.get(own.svc), { records: 6, bytes: 2 * (1 + 2 + 3 + 3 * 3) })
  assert.deepEqual(held.get(idle.svc), { records: 0, bytes: 0 })
  const { errors, cycles, evictions, latency } = report.usage.find(({ svc }) => svc === own.svc) ?? {}
  assert.deepEqual({ errors, cycles, evictions, latency }, { errors: 1, cycles: 3, evictions: 4, latency: [0, 5] })
})

// Mutant: leave out uses.note() in capability-access.ts (no report ever carries the token).
test('the last use of a token is reported with its time, at most once a minute', async () => {
  await using it = await listeningCell()
  const own = await it.authority.addInstance()
  const used = newId('cap')
  const usedBefore = Date.now()
  const call = () => own.call(own.root({ jti: used }), 'GET /v1/kv/entries')
  const failed = own.root({ jti: newId('cap') }, { key: newKeyPair().privateJwk })
  assert.deepEqual([(await call()).status, (await own.call(failed, 'GET /v1/kv/entries')).status], [200, 401])

  const rows = () => it.feed.reports.flatMap(({ last_used }) => last_used)
  const reported = await eventually(() => rows().find(({ credential }) => credential === used))
  const at = Date.parse(reported.at)
  assert.ok(at > usedBefore - 1_000 && at < Date.now() + 1_000, reported.at)

  // The cell marks it as reported only after management has answered.
  const noted = 'select from loci.credential_uses where credential = $1 and told_at is not null'
  await eventually(async () => (await it.cell.sql(noted, [used])).length === 1)
  // Used again: it is saved, and waits for the minute after the report.
  const { pool } = it.authority
  await saveUses(pool, [{ id: used, at: Date.now() }])
  assert.deepEqual((await readReport(pool, 0)).uses, [])
  await it.cell.sql(`update loci.credential_uses set told_at = told_at - interval '2 minutes'`)
  assert.deepEqual(
    (await readReport(pool, 0)).uses.map(({ credential }) => credential),
    [used],
  )
  assert.deepEqual(
    rows().filter(({ credential }) => credential !== used),
    [],
    'what does not verify was not used',
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '@loci/contract/ids.ts'
import { copyDatabase, testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../schema.ts'
import { testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'
import { type TestFeed, testFeed } from '../testing/feed.ts'

const inADay = () => new Date(Date.now() + 86_400_000).toISOString()

const PATIENCE_MS = 60_000

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + PATIENCE_MS
  while (!(await isSo())) {
    assert.ok(performance.now() < endsAt, `not so after ${PATIENCE_MS} ms: ${isSo}`)
    await sleep(20)
  }
}

/** Long enough for a daemon that would serve by itself: it has asked again and again and was told nothing. */
async function silence(feed: TestFeed): Promise<void> {
  const before = feed.unanswered
  await until(() => feed.unanswered > before + 2)
}

// Mutants: IS_RESTORED of feed/store.ts always false; `life` written with any page and not with the last of all; the
// beat without requireOwnLife(); without replayLedger(); the fail-over: the renewal of the lease not looking at the
// life.
test('a restored cell serves nothing before a full resync from management', async () => {
  await using feed = await testFeed()
  await using database = await testDatabase({ schema: SCHEMA })
  const jti = newId('cap')
  const { svc, org, ten, limits, tokens, erased } = await (async () => {
    await using original = await testDaemon({ database, settings: feed.settings })
    await using authority = await testAuthority(original, feed)
    const own = await authority.addInstance()
    const gone = await authority.addInstance()
    const erased = await authority.addInstance()
    const tokens = { good: own.root(), revoked: own.root({ jti }), ofGone: gone.root(), ofErased: erased.root() }
    for (const token of Object.values(tokens))
      assert.equal((await original.get('/v1/kv/health', { 'x-loci-capability': token })).status, 200)
    return { ...gone, tokens, erased: erased.svc }
  })()
  // Erased after the backup, so long ago that the feed does not name it deleted any more: only the ledger has it.
  feed.ledger.push({ svc: erased, generation: 1 })
  await using copy = await copyDatabase(database)
  const body = { svc, org, ten, limits, service_type: 'memory', plan: 'pro', config: {}, state_reason: null }
  feed.publish(
    { kind: 'revocation', body: { svc, jti, expires_at: inADay() } },
    { kind: 'revocation', body: { svc: '*', jti, expires_at: inADay() } },
    { kind: 'instance', body: { ...body, generation: 2, state: 'deleted' } },
  )

  feed.pagesLeft = 0
  await using restored = await testDaemon({ database: copy, settings: feed.settings })
  const ask = (token: string) => restored.get('/v1/kv/health', { 'x-loci-capability': token })
  await silence(feed)
  for (const token of Object.values(tokens)) {
    const answer = await ask(token)
    assert.deepEqual([answer.status, answer.error.code, answer.headers['retry-after']], [503, 'STARTING', '1'])
  }
  const [ready, live] = [await restored.get('/health/ready'), await restored.get('/health/live')]
  assert.deepEqual([ready.status, ready.json(), live.status], [503, { status: 'starting' }, 200])
  await restored.logged(({ message }) => /restored or has failed over/.test(String(message)))

  // One page of many is not everything.
  feed.pageItemsMax = 2
  feed.pagesLeft = 1
  await until(() => feed.pagesLeft === 0)
  await silence(feed)
  assert.equal((await ask(tokens.ofGone)).status, 503)

  feed.pagesLeft = Number.POSITIVE_INFINITY
  await until(async () => (await restored.get('/health/ready')).status === 200)
  assert.equal((await ask(tokens.good)).status, 200)
  assert.deepEqual(
    await Promise.all(
      [tokens.revoked, tokens.ofGone, tokens.ofErased].map(async (token) => (await ask(token)).error.code),
    ),
    ['CAPABILITY_REVOKED', 'UNAUTHENTICATED', 'UNAUTHENTICATED'],
  )
})

test('while management does not answer, a cell with the same database serves', async () => {
  await using feed = await testFeed()
  await using database = await testDatabase({ schema: SCHEMA })
  const token = await (async () => {
    await using first = await testDaemon({ database, settings: feed.settings })
    await using authority = await testAuthority(first, feed)
    return (await authority.addInstance()).root()
  })()

  feed.pagesLeft = 0
  await using second = await testDaemon({ database, settings: feed.settings })
  assert.equal((await second.get('/v1/kv/health', { 'x-loci-capability': token })).status, 200)
})

test('after a fail-over of its database a serving daemon stops, resyncs, and serves again', async () => {
  await using feed = await testFeed()
  await using daemon = await testDaemon({ settings: feed.settings })
  await using authority = await testAuthority(daemon, feed)
  const own = await authority.addInstance()
  const token = own.root()
  const status = async () => (await daemon.get('/v1/kv/health', { 'x-loci-capability': token })).status

  feed.pagesLeft = 0
  await daemon.sql(`update loci.cell set life = replace(life, '.', '.9')`)
  await until(async () => (await status()) === 503)
  await silence(feed)
  const probes = [
    await status(),
    (await daemon.get('/health/ready')).status,
    (await daemon.get('/health/startup')).status,
  ]
  assert.deepEqual(probes, [503, 503, 200])

  feed.pagesLeft = Number.POSITIVE_INFINITY
  await until(async () => (await status()) === 200)
  assert.equal((await daemon.get('/health/ready')).status, 200)
})

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from './errors.ts'
import { openPool, type Pool } from './pool.ts'
import { findServers, type Servers } from './primary.ts'
import { type Pair, startPair } from './testing/standby.ts'
import { until } from './testing/until.ts'

/** As in primary.ts. */
const PROVEN_MS = 4_000
const NOT_PROVEN_MS = PROVEN_MS + 500
const NEVER_MS = 3_600_000

let pair: Pair
beforeEach(async () => {
  pair = await startPair({ isSynchronous: false })
})
afterEach(() => pair[Symbol.asyncDispose]())

/** The standby stands first. */
const bothUrl = (database = 'postgres') =>
  `postgres://postgres@127.0.0.1:${pair.standby.port},127.0.0.1:${pair.primary.port}/${database}`

async function using(servers: Servers | undefined, act: (pool: Pool) => Promise<void>): Promise<void> {
  const own = servers ? { servers } : {}
  const pool = openPool({
    url: bothUrl(),
    applicationName: 'primary-test',
    connectionsMax: 2,
    onError: () => {},
    ...own,
  })
  await act(pool).finally(() => pool.close())
}

const portOf = async (pool: Pool) => {
  const { rows } = await pool.query<{ port: number }>({ text: 'select inet_server_port() as port' })
  return rows[0]?.port
}

// Mutants: ASK that tells a standby's timeline too; take() that asks only before anything is known.
test('the primary is found wherever it stands in the url, and the next one without a restart', async () => {
  await using(undefined, async (pool) => {
    assert.equal(await portOf(pool), pair.primary.port)
    await pair.killPrimary()
    let told: unknown
    await until(async () => {
      told = await portOf(pool).catch((error) => error)
      return told instanceof Error && /no server of the Postgres url is a primary/.test(told.message)
    })
    assert.ok(isUnavailable(told))
    const { message } = told as Error
    assert.match(message, new RegExp(`127.0.0.1:${pair.standby.port}: a standby \\(cluster \\d+\\)`))
    assert.match(message, new RegExp(`127.0.0.1:${pair.primary.port}: connect ECONNREFUSED`))
    await pair.promote()
    await until(async () => (await portOf(pool).catch(() => 0)) === pair.standby.port)
    await pool.query({ text: 'create table taken ()' })
  })
})

// Mutant: primaryOf() without the newest timeline.
test('a server that was the primary, and comes back as one, is not used again', async () => {
  await using(undefined, async (pool) => {
    assert.equal(await portOf(pool), pair.primary.port)
    await pair.killPrimary()
    await pair.promote()
    await until(async () => (await portOf(pool).catch(() => 0)) === pair.standby.port)
    await pair.primary.start()
    // Both say that they are primaries now; the word of each is asked for at least once.
    const ends = performance.now() + 2_500
    while (performance.now() < ends) assert.equal(await portOf(pool), pair.standby.port)
    await pair.standby.stop()
    await until(async () => {
      const told = await portOf(pool).catch((error: Error) => error.message)
      assert.notEqual(told, pair.primary.port)
      return /timeline 2 was seen, and an older one is not served/.test(String(told))
    })
  })
})

// The beat is never: only the age of what was said is left. Mutant: PROVEN_MS = an hour (the old one answers).
test('a primary that stood still while another was promoted answers nothing when it goes on', async () => {
  const servers = findServers({ url: bothUrl() }, undefined, NEVER_MS)
  await using(servers, async (pool) => {
    assert.equal(await portOf(pool), pair.primary.port)
    const goOn = pair.primary.pause()
    await sleep(NOT_PROVEN_MS)
    await pair.promote()
    goOn()
    await until(async () => {
      const port = await portOf(pool).catch(() => 0)
      assert.notEqual(port, pair.primary.port)
      return port === pair.standby.port
    })
  })
})

// Mutant: join() without its listener: the transaction reads from the old server.
test('what runs on a server that is no longer the primary is broken off, and the change is told', async () => {
  const changes: string[] = []
  const servers = findServers(
    { url: bothUrl() },
    (now, before) => changes.push(`${before.to.port}/${before.timeline} ${now.to.port}/${now.timeline}`),
    NEVER_MS,
  )
  await using(servers, async (pool) => {
    const client = await pool.client()
    await client.query({ text: 'begin' })
    const sleeping = assert.rejects(client.query({ text: 'select pg_sleep(1)' }), isUnavailable)
    await pair.promote()
    await assert.rejects(servers.find(), /since a moment/)
    await sleeping
    await assert.rejects(client.query({ text: 'select 1' }), /primary of PostgreSQL is another server now|broke/)
    client.release()
    assert.deepEqual(changes, [`${pair.primary.port}/1 ${pair.standby.port}/2`])
  })
})

// Mutants: isSettled always true; promotedAt long ago.
test('who was promoted is used when no word about another can hold any more, also by who has just started', async () => {
  await using(undefined, async (pool) => {
    assert.equal(await portOf(pool), pair.primary.port)
    await pair.killPrimary()
    const startedAt = performance.now()
    await pair.promote()
    const first = async (open: (act: (one: Pool) => Promise<void>) => Promise<void>) => {
      await open((one) => until(async () => (await portOf(one).catch(() => 0)) === pair.standby.port))
      return performance.now() - startedAt
    }
    const both = await Promise.all([first((act) => act(pool)), first((act) => using(undefined, act))])
    for (const ms of both) assert.ok(ms >= PROVEN_MS, `${both}`)
  })
})

test('a login that is refused is told as that, and servers of two clusters are not mixed', async () => {
  const open = (url: string) => openPool({ url, applicationName: 'primary-test', connectionsMax: 1, onError: () => {} })
  const stranger = open(bothUrl('nowhere'))
  await assert.rejects(stranger.query({ text: 'select 1' }), /database "nowhere" does not exist/)
  await stranger.close()
  await using(undefined, async (pool) => {
    assert.equal(await portOf(pool), pair.primary.port)
  })
  const other = await startPair({ isSynchronous: false })
  const mixed = open(`postgres://postgres@127.0.0.1:${pair.primary.port},127.0.0.1:${other.primary.port}/postgres`)
  await assert.rejects(mixed.query({ text: 'select 1' }), /belong to different clusters/)
  await mixed.close()
  await other[Symbol.asyncDispose]()
})

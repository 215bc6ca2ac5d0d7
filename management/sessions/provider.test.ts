import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startIdentityProvider } from '../testing/identity-provider.ts'
import { testManagement } from '../testing/management.ts'
import { type Browser, exchange, obtainCode, signInWorld } from '../testing/sign-in.ts'
import { createProvider } from './provider.ts'

const refresh = (browser: Browser, url?: string) =>
  browser.ask('POST /api/auth/refresh', { body: {}, ...(url ? { url } : {}) })

const AGAIN = `update loci.sessions set refresh_asked_at = refresh_asked_at - interval '31 seconds'`

// Mutant: GRANT_REFUSED matching every error.
test('a refusal that is not about the grant logs nobody out', async () => {
  await using world = await signInWorld()
  const { management, provider } = world
  const browser = await world.signIn()
  for (const fault of ['forbidden', 'unauthorized', 'empty'] as const) {
    Object.assign(provider, { fault, faultAt: '/token' })
    const answer = await refresh(browser)
    assert.deepEqual([answer.status, answer.error.code], [503, 'IDENTITY_PROVIDER_UNAVAILABLE'], fault)
    await management.sql(AGAIN)
  }
  provider.fault = 'none'
  assert.equal((await refresh(browser)).status, 200)
})

// Mutant: `statusOf(error) === 401` without the look at the cause of an error.
test('a 401 of userinfo is no session, with a challenge or without; a 403 of a gateway before it says nothing', async () => {
  await using world = await signInWorld()
  const { provider } = world
  const browser = await world.signIn()
  for (const [fault, status] of [
    ['forbidden', 503],
    ['unauthorized', 401],
  ] as const) {
    Object.assign(provider, { fault, faultAt: '/me' })
    assert.equal((await browser.ask('GET /api/auth/session')).status, status, fault)
  }
  provider.fault = 'none'
  assert.equal((await browser.ask('GET /api/auth/session')).status, 200)
})

// Mutants: giveUpRefresh() in place of keepUnchecked() (the refresh token is used up, and the session ends); the key
// that is missing as PROVIDER_TOKEN_UNUSABLE.
test('a token whose key cannot be fetched opens nothing, and logs nobody out', async () => {
  for (const fault of ['error', 'garbage', 'empty'] as const) {
    await using world = await signInWorld()
    const { management, provider } = world
    // Each knows the keys of before, and asks once in a minute.
    await using first = await testManagement({ replicaOf: management })
    await using second = await testManagement({ replicaOf: management })
    const browser = await world.signIn()
    assert.equal((await refresh(browser, first.url)).status, 200)
    const before = { access: browser.access, handle: browser.refresh }
    provider.rotateKeys({ keep: false })
    Object.assign(provider, { fault, faultAt: '/jwks' })
    for (let times = 0; times < 2; times += 1) {
      const answer = await refresh(browser, first.url)
      assert.deepEqual([answer.status, answer.error.code], [503, 'IDENTITY_PROVIDER_UNAVAILABLE'], answer.text)
      assert.equal(answer.headers['set-cookie'], undefined)
    }
    provider.fault = 'none'
    assert.equal((await browser.ask('GET /api/auth/token')).status, 200)
    assert.equal((await refresh(browser, second.url)).status, 200)
    assert.notDeepEqual({ access: browser.access, handle: browser.refresh }, before)
  }
})

test('a code whose token cannot be checked now opens nothing, and its refresh token does not stay usable', async () => {
  await using world = await signInWorld()
  const { management, provider } = world
  Object.assign(provider, { fault: 'error', faultAt: '/jwks' })
  const { answer } = await exchange(management, await obtainCode(provider))
  assert.deepEqual([answer.status, answer.error.code], [503, 'IDENTITY_PROVIDER_UNAVAILABLE'])
  while (!provider.calls.some(({ what, status }) => what === 'POST /token/revocation' && status === 200))
    await new Promise((resolve) => setTimeout(resolve, 5))
  assert.deepEqual(await management.sql('select from loci.sessions'), [])
})

// Mutant: the second look at the age left out of key-set.ts: the second token is read with the old keys, and too old.
test('keys that are older than a day check nothing, however often the provider is asked for new ones', async () => {
  await using provider = await startIdentityProvider()
  let aheadMs = 0
  const { issuer, client, audience } = provider
  const settings = { issuer, clientId: client.id, clientSecret: client.secret, audience }
  const asked = createProvider(settings, () => Date.now() + aheadMs)
  const exchangeOne = async () => {
    const { code, redirect_uri: redirectUri, code_verifier: verifier } = await obtainCode(provider)
    return asked.exchange({ code, redirectUri, verifier })
  }
  assert.equal((await exchangeOne()).subject, 'alice')
  Object.assign(provider, { fault: 'error', faultAt: '/jwks' })
  aheadMs = 25 * 3_600_000
  for (let times = 0; times < 3; times += 1)
    await assert.rejects(exchangeOne, { code: 'IDENTITY_PROVIDER_UNAVAILABLE' }, String(times))
})

// Mutant: `missed` never looked at.
test('who signs out while a provider was never heard waits for one silence, not for two', async () => {
  await using world = await signInWorld()
  const browser = await world.signIn()
  await using late = await testManagement({ replicaOf: world.management })
  world.provider.fault = 'silent'
  const before = world.provider.heard.length
  const answer = await browser.ask('POST /api/auth/logout', { body: {}, url: late.url })
  assert.deepEqual([answer.status, answer.json().sign_out_url], [200, null])
  assert.deepEqual(world.provider.heard.slice(before), ['GET /.well-known/openid-configuration'])
})

// Mutant: refresh() that does not look at `refreshing`.
test('tabs of one process that wait for a slow provider wait as one', async () => {
  await using world = await signInWorld()
  const { management, provider } = world
  const browser = await world.signIn()
  const queries = async () => {
    // A session of the server tells what it did a second after it did it.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    const [row] = await management.sql<{ count: string }>(
      `select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()`,
    )
    return Number(row?.count)
  }
  provider.delayMs = 1_500
  const before = await queries()
  const answers = await Promise.all(Array.from({ length: 60 }, () => refresh(browser.tab())))
  for (const { status } of answers) assert.equal(status, 200)
  const asked = (await queries()) - before
  // Each tab by itself would look 20 times a second: 1,800.
  assert.ok(asked < 1_000, String(asked))
})

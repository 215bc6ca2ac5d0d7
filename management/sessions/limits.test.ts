import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Browser, exchange, obtainCode, SAME_ORIGIN, signInWorld } from '../testing/sign-in.ts'
import { pruneSessions } from './store.ts'

const refresh = (browser: Browser) => browser.ask('POST /api/auth/refresh', { body: {} })

/** As many more of the one session that there is, each a second younger. */
const MORE = `insert into loci.sessions (id, user_id, salt, generation, access_expires_at, created_at, idle_ends_at, ends_at)
  select id || n, user_id, salt, generation, access_expires_at, created_at, idle_ends_at + n * interval '1 second', ends_at
  from loci.sessions, generate_series(1, $1::int) n`

// Mutant: listBeyond() that answers nothing.
test('a person has 100 sessions at a time: one more ends the one that was not used for longest, and says why', async () => {
  await using world = await signInWorld()
  const { management, provider } = world
  const oldest = await world.signIn()
  await management.sql(MORE, [98])
  const other = await world.signIn()
  assert.equal((await oldest.ask('GET /api/auth/token')).status, 200)
  const newest = await world.signIn()
  assert.equal((await oldest.ask('GET /api/auth/token')).status, 401)
  const { status, error } = await refresh(oldest)
  assert.deepEqual([status, error.details], [401, { reason: 'too_many_sessions' }])
  assert.match(error.message, /more than 100 browsers/)
  for (const browser of [other, newest]) assert.equal((await browser.ask('GET /api/auth/token')).status, 200)
  assert.ok(provider.calls.some(({ what }) => what === 'POST /token/revocation'))
  const bob = await world.signIn('bob')
  assert.equal((await bob.ask('GET /api/auth/token')).status, 200)
})

// Mutant: sessions_forget_beyond left out.
test('who signs in and out for ever leaves 100 rows behind', async () => {
  await using world = await signInWorld()
  const { management } = world
  const browser = await world.signIn()
  await management.sql(MORE, [150])
  await management.sql(`update loci.sessions set ended_at = now(), end_reason = 'signed_out' where sealed is null`)
  await browser.ask('POST /api/auth/logout', { body: {} })
  await world.signIn()
  assert.equal((await management.sql('select from loci.sessions')).length, 101)
})

// Mutant: `surplus` left out of saveRefresh().
test('a session has 20 access tokens at a time, however often it is refreshed', async () => {
  await using world = await signInWorld()
  const browser = await world.signIn()
  const tabs: Browser[] = [browser.tab()]
  for (let times = 0; times < 21; times += 1) {
    world.provider.accessTokenS += 1
    assert.equal((await refresh(browser)).status, 200)
    tabs.push(browser.tab())
  }
  assert.equal((await world.management.sql('select from loci.session_tokens')).length, 20)
  for (const [at, tab] of tabs.entries())
    assert.equal((await tab.ask('GET /api/auth/token')).status, at < 2 ? 401 : 200, String(at))
})

// Mutant: the statement that ends what has expired left out.
test('a session that has expired is ended, its refresh token revoked, and its row removed a day later', async () => {
  await using world = await signInWorld()
  const { management, provider } = world
  await world.signIn()
  const kept = await world.signIn('bob')
  const ofAlice = `user_id = (select id from loci.users where subject = 'alice')`
  await management.sql(`update loci.sessions set idle_ends_at = now() - interval '1 second' where ${ofAlice}`)
  await management.sql(`update loci.session_tokens set expires_at = now() - interval '1 second'
    where session_id in (select id from loci.sessions where ${ofAlice})`)
  await pruneSessions(management.pool, 10)
  const rows = () =>
    management.sql<{ reason: string | null; sealed: string | null }>(
      `select end_reason as reason, sealed from loci.sessions where ${ofAlice}`,
    )
  assert.equal((await rows())[0]?.reason, 'expired')
  assert.equal((await management.sql('select from loci.session_tokens')).length, 1)
  // By the job, every five seconds.
  while ((await rows())[0]?.sealed !== null) await new Promise((resolve) => setTimeout(resolve, 100))
  assert.ok(provider.calls.some(({ what, status }) => what === 'POST /token/revocation' && status === 200))
  await pruneSessions(management.pool, 10)
  assert.equal((await rows()).length, 1)
  await management.sql(`update loci.sessions set ended_at = now() - interval '25 hours' where ${ofAlice}`)
  await pruneSessions(management.pool, 10)
  assert.equal((await rows()).length, 0)
  assert.equal((await kept.ask('GET /api/auth/token')).status, 200)
})

// Mutant: `failures.isOver(address)` left out of attempts.ts.
test('codes that fail count against their address, and beyond the limit no provider is asked', async () => {
  await using world = await signInWorld({ unauthenticatedPerMinute: 5 })
  const { management, provider } = world
  const good = await obtainCode(provider)
  const guess = { code: 'x'.repeat(30), redirect_uri: good.redirect_uri, code_verifier: 'x'.repeat(43) }
  for (let times = 0; times < 5; times += 1) assert.equal((await exchange(management, guess)).answer.status, 401)
  for (let times = 0; times < 3; times += 1) {
    const { answer } = await exchange(management, guess)
    assert.deepEqual([answer.status, answer.error.code], [429, 'RATE_LIMITED'])
  }
  assert.equal(provider.tokenRequests, 6)
  const page = await management.ask('POST /cli-login', {
    headers: { ...SAME_ORIGIN, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'user_code=BBBB-BBBB',
  })
  assert.equal(page.status, 429)
})

// Mutants: attempts.slowed() that lets its error pass; countMissing() that counts nothing; a poll whose refusal is not
// counted; a refresh whose refusal is not counted.
test('cookies and device codes that fail count against their address, and good ones from there are never slowed', async () => {
  await using world = await signInWorld({ unauthenticatedPerMinute: 3 })
  const { management } = world
  const browser = await world.signIn()
  const over = await world.signIn()
  const login = (await management.ask('POST /api/v1/cli-logins', { body: {} })).json<{ id: string }>()
  const poll = `POST /api/v1/cli-logins/${login.id}/poll`
  assert.equal((await over.tab().ask('POST /api/auth/logout', { body: {} })).status, 200)
  const failing = [
    ['GET /api/auth/token', 401],
    ['GET /api/auth/session', 401],
    ['GET /api/auth/get-session', 200],
    ['POST /api/auth/refresh', 401],
    [poll, 404],
  ] as const
  const ask = (line: string) => {
    const cookie = 'loci_access_token=x.y.z; loci_refresh_token=x'
    const body = line === poll ? { body: { device_code: 'x'.repeat(43) } } : line.startsWith('POST') ? { body: {} } : {}
    return management.ask(line, { ...body, headers: { cookie } })
  }
  for (const [line, status] of failing.slice(0, 3)) assert.equal((await ask(line)).status, status, line)
  for (const [line] of failing) {
    const { status, error } = await ask(line)
    assert.deepEqual([status, error.code], [429, 'RATE_LIMITED'], line)
  }
  assert.equal((await refresh(over)).status, 429)
  for (const line of ['token', 'session', 'get-session'])
    assert.equal((await browser.ask(`GET /api/auth/${line}`)).status, 200, line)
  assert.equal((await refresh(browser)).status, 200)
  assert.equal((await management.ask(poll, { body: login })).status, 202)
  assert.equal((await management.ask('GET /api/auth/session')).status, 401)
})

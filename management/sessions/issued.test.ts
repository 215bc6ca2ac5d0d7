// What a session made: it names its session, ends with it where that is asked for, and needs a sign-in of the last ten
// minutes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import type { TestManagement, TestParty } from '../testing/management.ts'
import { type Browser, type SignInWorld, signInWorld } from '../testing/sign-in.ts'

const KEYS = 'POST /api/v1/api-keys'
const LOGOUT = 'POST /api/auth/logout'

async function startScene(): Promise<SignInWorld & { party: TestParty }> {
  const world = await signInWorld()
  return { ...world, party: await world.management.organization({ email: 'alice@example.test' }) }
}

interface Key {
  id: string
  secret: string
  session_id: string | null
}

async function makeKey(browser: Browser): Promise<Key> {
  const answer = await browser.ask(KEYS, { body: { name: 'k' } })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<Key>()
}

/** Of a command line that the session approved; its poll delivers the key. */
async function approveLogin({ post }: TestManagement, browser: Browser) {
  const begun = (await post('/api/v1/cli-logins', {})).json<Record<string, string>>()
  const decide = (verb: string) =>
    browser.ask(`POST /api/v1/cli-logins/${begun.id}/${verb}`, { body: { user_code: begun.user_code } })
  return { decide, poll: () => post(`/api/v1/cli-logins/${begun.id}/poll`, begun) }
}

const list = ({ get }: TestManagement, key: string) => get('/api/v1/services', { 'x-api-key': key })
const outcome = ({ status, text }: TestAnswer) => [status, JSON.parse(text).error?.code]

// Mutants: issueApiKey() without the session; deliver() without it; revokeIssued() without denyLoginsOf().
test('API keys and command lines name their session, and end with it where sign-out is asked for that', async () => {
  await using scene = await startScene()
  const { management, party } = scene
  const [browser, other] = [await scene.signIn(), await scene.signIn()]
  const [session] = await management.sql<{ id: string }>('select id from loci.sessions order by created_at limit 1')
  const own = await makeKey(browser)
  assert.equal(own.session_id, session?.id)
  const child = (await management.post('/api/v1/api-keys', { name: 'child' }, { 'x-api-key': own.secret })).json<Key>()
  const fetched = await approveLogin(management, browser)
  assert.equal((await fetched.decide('approve')).status, 200)
  const commandLine = (await fetched.poll()).json<{ api_key: string }>().api_key
  const waiting = await approveLogin(management, browser)
  assert.equal((await waiting.decide('approve')).status, 200)
  const kept = await makeKey(other)
  const listed = (await party.ask('GET /api/v1/api-keys')).json<{ api_keys: Key[] }>().api_keys
  assert.equal(listed.filter(({ session_id }) => session_id === session?.id).length, 2)

  const out = await browser.ask(LOGOUT, { body: { revoke_issued: true } })

  assert.deepEqual(out.json().revoked, {
    session: true,
    refresh_token: true,
    issued: { api_keys: 3, cli_logins: 1, tokens: 0, partner_credentials: 0, invitations: 0, oauth_grants: 0 },
  })
  for (const key of [own.secret, child.secret, commandLine]) assert.equal((await list(management, key)).status, 401)
  assert.deepEqual(outcome(await waiting.poll()), [403, 'FORBIDDEN'])
  assert.equal((await list(management, kept.secret)).status, 200)
  const audited = await management.sql<{ action: string }>(
    `select action from loci.audit where detail->>'session_id' = $1 order by seq`,
    [session?.id],
  )
  assert.deepEqual(
    audited.map(({ action }) => action),
    ['api_key.make', 'cli_login.approve', 'api_key.make', 'cli_login.approve', 'api_key.delete', 'api_key.delete'],
  )
})

test('a sign-out that does not ask for it leaves what the session made, and can be repeated to end it', async () => {
  await using scene = await startScene()
  const { management } = scene
  const browser = await scene.signIn()
  const { secret } = await makeKey(browser)
  const copy = browser.tab()
  assert.deepEqual((await browser.ask(LOGOUT, { body: {} })).json().revoked, { session: true, refresh_token: true })
  assert.equal((await list(management, secret)).status, 200)
  const again = await copy.tab().ask(LOGOUT, { body: { revoke_issued: true } })
  assert.deepEqual(again.json<{ revoked: { issued: object } }>().revoked.issued, {
    ...{ api_keys: 1, cli_logins: 0, tokens: 0, partner_credentials: 0, invitations: 0, oauth_grants: 0 },
  })
  assert.equal((await list(management, secret)).status, 401)
  const nobody = await management.ask(LOGOUT, { body: { revoke_issued: true } })
  assert.equal(nobody.json<{ revoked: { issued: { api_keys: number } } }>().revoked.issued.api_keys, 0)
})

// Mutant: rotateApiKey() keeps the session of before.
test('a secret that a session rotated ends with that session', async () => {
  await using scene = await startScene()
  const { management } = scene
  const [browser, thief] = [await scene.signIn(), await scene.signIn()]
  const { id } = await makeKey(browser)
  const rotated = (await thief.ask(`${KEYS}/${id}/rotate`, { body: { overlap_seconds: 0 } })).json<Key>()
  await browser.ask(LOGOUT, { body: { revoke_issued: true } })
  assert.equal((await list(management, rotated.secret)).status, 200)
  await thief.ask(LOGOUT, { body: { revoke_issued: true } })
  assert.equal((await list(management, rotated.secret)).status, 401)
})

// Mutants: requireFreshSignIn() left out of one of the three routes; `auth_time` not looked at in session_of().
test('a session whose person signed in more than ten minutes ago makes no key and approves nothing', async () => {
  await using scene = await startScene()
  const { management, party } = scene
  const browser = await scene.signIn()
  const { id, secret } = await makeKey(browser)
  const [first, second] = [await approveLogin(management, browser), await approveLogin(management, browser)]
  for (const [column, minutes, status] of [
    ['created_at', 9, 201],
    ['created_at', 11, 403],
    ['auth_time', 11, 403],
    ['auth_time', 9, 201],
  ] as const) {
    await management.sql(`update loci.sessions set created_at = now(), auth_time = null`)
    await management.sql(`update loci.sessions set ${column} = now() - make_interval(mins => ${minutes})`)
    assert.equal((await browser.ask(KEYS, { body: { name: 'k' } })).status, status, `${column} ${minutes}`)
  }
  await management.sql(`update loci.sessions set created_at = now() - interval '11 minutes', auth_time = null`)
  for (const refused of [
    await browser.ask(KEYS, { body: { name: 'k' } }),
    await browser.ask(`${KEYS}/${id}/rotate`, { body: {} }),
    await first.decide('approve'),
  ]) {
    assert.deepEqual(outcome(refused), [403, 'FORBIDDEN'])
    assert.match(refused.error.message, /sign-in of the last 10 minutes/)
    assert.match(String(refused.error.hint), /\/sign-in\/start\?fresh=true in a browser/)
    const { reason, sign_in_url: url } = refused.error.details as Record<string, string>
    assert.deepEqual([reason, new URL(String(url)).search], ['sign_in_too_old', '?fresh=true'])
  }
  // What makes nothing goes on, and so do API keys, whose person is not asked.
  assert.equal((await second.decide('deny')).status, 200)
  assert.equal((await browser.ask('GET /api/v1/services')).status, 200)
  assert.equal((await party.ask(KEYS, { body: { name: 'k' } })).status, 201)
  assert.equal((await management.post('/api/v1/api-keys', { name: 'k' }, { 'x-api-key': secret })).status, 201)
  assert.equal((await makeKey(await scene.signIn())).id.startsWith('key_'), true)
})

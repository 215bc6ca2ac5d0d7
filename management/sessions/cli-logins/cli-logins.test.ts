import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { PEOPLE } from '../../testing/identity-provider.ts'
import type { TestManagement } from '../../testing/management.ts'
import { signInWorld } from '../../testing/sign-in.ts'

const ALICE = PEOPLE[0]?.email as string

interface Begun {
  id: string
  user_code: string
  device_code: string
  verification_url: string
}

const begin = async (management: TestManagement) =>
  (await management.ask('POST /api/v1/cli-logins', { body: {} })).json<Begun>()
const poll = (management: TestManagement, login: Begun) =>
  management.ask(`POST /api/v1/cli-logins/${login.id}/poll`, { body: login })

// Mutant: the comparison of the device code left out of pollLogin().
test('an approved command line gets a key of the person, once, and only by its device code', async () => {
  await using world = await signInWorld()
  const { management } = world
  const acme = await management.organization({ email: ALICE })
  const alice = await world.signIn()
  const login = await begin(management)
  assert.ok(!login.verification_url.includes(login.device_code))
  assert.equal((await poll(management, login)).status, 202)
  const wrongCode = await alice.ask(`POST /api/v1/cli-logins/${login.id}/approve`, { body: { user_code: 'BBBB-BBBB' } })
  assert.equal(wrongCode.status, 404)
  const approved = await alice.ask(`POST /api/v1/cli-logins/${login.id}/approve`, {
    body: { user_code: login.user_code },
  })
  assert.deepEqual([approved.status, approved.json()], [200, { id: login.id, status: 'approved' }], approved.text)
  assert.equal((await poll(management, { ...login, device_code: 'x'.repeat(43) })).status, 404)
  const answers = await Promise.all([1, 2, 3].map(() => poll(management, login)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404, 404])
  const delivered = answers.find(({ status }) => status === 200) as TestAnswer
  const { api_key } = delivered.json<{ api_key: string }>()
  const used = await management.ask('GET /api/v1/organizations', { headers: { [HEADER.apiKey]: api_key } })
  assert.equal(used.json<{ organizations: { id: string }[] }>().organizations[0]?.id, acme.organizationId)
  const [key] = await management.sql<{ user_id: string; days: number }>(
    `select user_id, extract(day from expires_at - created_at)::int as days from loci.api_keys where name = 'command line'`,
  )
  assert.deepEqual(key, { user_id: acme.ownerId, days: 30 })
  const dump = JSON.stringify(await management.sql('select * from loci.cli_logins'))
  for (const secret of [login.device_code, api_key]) assert.ok(!dump.includes(secret))
})

test('a denied one gets 403, a decision is made once, and what is over is gone', async () => {
  await using world = await signInWorld()
  const { management } = world
  await management.organization({ email: ALICE })
  const alice = await world.signIn()
  const login = await begin(management)
  const decide = (verb: string) =>
    alice.ask(`POST /api/v1/cli-logins/${login.id}/${verb}`, { body: { user_code: login.user_code } })
  assert.equal((await decide('deny')).status, 200)
  assert.equal((await decide('approve')).error.code, 'INVALID_STATE')
  assert.equal((await poll(management, login)).status, 403)
  const late = await begin(management)
  await management.sql(`update loci.cli_logins set expires_at = now()`)
  assert.equal((await poll(management, late)).status, 404)
})

test('only a session of our own page decides, and one that left the organization approves nothing', async () => {
  await using world = await signInWorld()
  const { management } = world
  const acme = await management.organization()
  const { ownerId: userId } = await management.member(acme, 'member', { email: ALICE })
  const alice = await world.signIn()
  const login = await begin(management)
  const body = { user_code: login.user_code }
  const line = `POST /api/v1/cli-logins/${login.id}/approve`
  assert.equal((await management.ask(line, { body })).status, 401)
  assert.equal((await acme.ask(line, { body })).status, 403)
  assert.equal(
    (await alice.ask(line, { body, headers: { origin: 'https://evil.example' } })).error.code,
    'ORIGIN_NOT_ALLOWED',
  )
  assert.equal((await alice.ask(line, { body })).status, 200)
  assert.equal((await acme.ask(`DELETE /api/v1/organizations/${acme.organizationId}/members/${userId}`)).status, 200)
  assert.equal((await poll(management, login)).status, 403)
})

test('who begins too often from one address is slowed down', async () => {
  await using world = await signInWorld()
  const statuses: number[] = []
  for (let times = 0; times < 70; times += 1)
    statuses.push((await world.management.ask('POST /api/v1/cli-logins', { body: {} })).status)
  assert.ok(statuses.includes(429) && statuses[0] === 201)
})

// Mutant: POLLED never looked at.
test('a command line that polls faster than its interval is told to slow down, and gets its key all the same', async () => {
  await using world = await signInWorld()
  const { management } = world
  await management.organization({ email: ALICE })
  const alice = await world.signIn()
  const login = await begin(management)
  const polls = await Promise.all(Array.from({ length: 20 }, () => poll(management, login)))
  const slowed = polls.filter(({ status }) => status === 429)
  assert.ok(slowed.length > 0 && polls.some(({ status }) => status === 202))
  assert.deepEqual(slowed[0]?.error.details, { reason: 'slow_down' })
  assert.ok(Number(slowed[0]?.headers['retry-after']) >= 5)
  assert.equal((await poll(management, await begin(management))).status, 202)
  const approval = `POST /api/v1/cli-logins/${login.id}/approve`
  assert.equal((await alice.ask(approval, { body: { user_code: login.user_code } })).status, 200)
  assert.equal((await poll(management, login)).status, 200)
})

// Mutants: makeRoomFor() left out; lockMember() without its lock.
test('a person has 10 keys of command lines: one more ends the oldest, and nobody else is in the way', async () => {
  await using world = await signInWorld()
  const { management } = world
  const acme = await management.organization()
  await management.member(acme, 'viewer', { email: ALICE })
  const alice = await world.signIn()
  const approved = async () => {
    const login = await begin(management)
    const line = `POST /api/v1/cli-logins/${login.id}/approve`
    assert.equal((await alice.ask(line, { body: { user_code: login.user_code } })).status, 200)
    return login
  }
  const keyOf = (answer: TestAnswer) => answer.json<{ api_key: string }>().api_key
  const use = async (key: string) =>
    (await management.ask('GET /api/v1/organizations', { headers: { [HEADER.apiKey]: key } })).status
  const keys: string[] = []
  for (let times = 0; times < 10; times += 1) keys.push(keyOf(await poll(management, await approved())))
  for (const key of keys) assert.equal(await use(key), 200)
  const waiting = [await approved(), await approved(), await approved()]
  keys.push(...(await Promise.all(waiting.map((login) => poll(management, login)))).map(keyOf))
  for (const [at, key] of keys.entries()) assert.equal(await use(key), at < 3 ? 401 : 200, String(at))
  const audited = await management.sql(`select from loci.audit where action = 'api_key.delete'`)
  assert.equal(audited.length, 3)
})

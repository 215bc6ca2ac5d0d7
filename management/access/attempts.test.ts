import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressSet } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createFailures } from '@loci/chassis/failures.ts'
import { SUSPECTS } from '@loci/chassis/limiter.ts'
import { createMisses } from '@loci/chassis/misses.ts'
import type { Arrival } from '@loci/chassis/route.ts'
import { isLoginForm } from '../sessions/cli-logins/cli-logins.ts'
import { signInWorld } from '../testing/sign-in.ts'
import { createAttempts } from './attempts.ts'
import { sessionAccess } from './session.ts'

const PUBLIC_URL = 'http://localhost:4400'
const JWT = `${'e'.repeat(40)}.${'p'.repeat(200)}.${'s'.repeat(86)}`

function arrivalFrom(peer: string, headers: Arrival['headers'] = {}): Arrival {
  const answer = { header() {}, append() {} }
  return { method: 'GET', target: '/api/auth/session', headers, peer, requestId: 'req_x', answer }
}

// Mutants: shareBefore left out of `from` or of slowed(); SUSPECTS for everybody.
test('what comes from an address whose cookies keep failing has the few slots of suspects, and nobody else does', () => {
  const failures = createFailures(3)
  const attempts = createAttempts({ failures, trustedProxies: addressSet(['10.0.0.1']) })
  const { own } = sessionAccess({ publicUrl: PUBLIC_URL, findSession: async () => undefined })
  const shares = (arrival: Arrival) => [attempts.from, attempts.slowed(own)].map((one) => one.shareBefore?.(arrival))
  assert.deepEqual(shares(arrivalFrom('192.0.2.1')), [undefined, undefined])
  for (let i = 0; i < 4; i += 1) attempts.failed('192.0.2.1', new ApiError('UNAUTHENTICATED', 'm'))
  assert.deepEqual(shares(arrivalFrom('192.0.2.1')), [SUSPECTS, SUSPECTS])
  assert.deepEqual(shares(arrivalFrom('10.0.0.1', { 'x-forwarded-for': '192.0.2.1' })), [SUSPECTS, SUSPECTS])
  assert.deepEqual(shares(arrivalFrom('192.0.2.2')), [undefined, undefined])
})

// Mutants: isAccessToken() left out of find(); misses.keep() left out of it.
test('a cookie that is no JWT is not looked for, nor one that was missing a moment ago', async () => {
  const asked: string[] = []
  const findSession = async (digest: string) => {
    asked.push(digest)
    return undefined
  }
  const { find } = sessionAccess({ publicUrl: PUBLIC_URL, findSession })
  const look = (text: string) => find({ cookie: `loci_access_token=${text}` })
  for (const text of ['', 'x', 'x.y', 'x.y.z.w', 'x..z', 'x.y.z!', `x.${'y'.repeat(4_000)}.z`])
    assert.equal(await look(text), undefined)
  assert.equal(asked.length, 0)
  await look(JWT)
  await look(JWT)
  assert.equal(asked.length, 1)
  await look(`${JWT}x`)
  assert.equal(asked.length, 2)
})

test('what is missing is remembered for two seconds', () => {
  const clock = { ms: 0 }
  const misses = createMisses(() => clock.ms)
  misses.keep('a')
  assert.deepEqual([misses.has('a'), misses.has('b')], [true, false])
  clock.ms += 2_000
  assert.equal(misses.has('a'), false)
})

// The table is away: whoever looks there gets another answer than 404. Mutant: isLoginForm() left out of the poll.
test('a poll that cannot be of a sign-in of ours is answered without the database', async () => {
  await using world = await signInWorld()
  const { management } = world
  const begun = (await management.ask('POST /api/v1/cli-logins', { body: {} })).json<{
    id: string
    device_code: string
  }>()
  assert.ok(isLoginForm({ id: begun.id, deviceCode: begun.device_code }))
  await management.sql('alter table loci.cli_logins rename to cli_logins_away')
  for (const [id, device_code] of [
    [begun.id, 'x'],
    [begun.id, `${begun.device_code}x`],
    ['cli_1', begun.device_code],
    [`cli_${'g'.repeat(30)}`, begun.device_code],
  ] as const) {
    const { status, error } = await management.ask(`POST /api/v1/cli-logins/${id}/poll`, { body: { device_code } })
    assert.deepEqual([status, error.code], [404, 'NOT_FOUND'], `${id} ${device_code}`)
  }
  await management.sql('alter table loci.cli_logins_away rename to cli_logins')
  assert.equal((await management.ask(`POST /api/v1/cli-logins/${begun.id}/poll`, { body: begun })).status, 202)
})

// Mutant: `units` left out of /sign-in/start.
test('an address that begins sign-ins without end is refused, and other pages and addresses go on', async () => {
  await using world = await signInWorld()
  const { management } = world
  const asked = await Promise.all(Array.from({ length: 300 }, () => management.ask('GET /sign-in/start')))
  const refused = asked.filter(({ status }) => status === 429)
  assert.ok(refused.length > 0 && refused.length <= 100, `${refused.length} of 300 were refused`)
  assert.equal(refused[0]?.error.code, 'RATE_LIMITED')
  assert.notEqual((await management.ask('GET /sign-in/start', { from: '127.0.0.2' })).status, 429)
  assert.equal((await management.ask('GET /health/ready')).status, 200)
})

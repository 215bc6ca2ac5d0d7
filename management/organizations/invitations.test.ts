import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { PUBLIC_URL, type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

let management: TestManagement
before(async () => {
  management = await testManagement()
})
after(() => management?.[Symbol.asyncDispose]())

interface Invitation {
  id: string
  email: string
  role: string
  token: string
  link: string
  expires_at: string
}

const pathOf = ({ organizationId }: TestParty) => `/api/v1/organizations/${organizationId}/invitations`

async function invite(own: TestParty, email: string, role = 'member'): Promise<Invitation> {
  const answer = await own.ask(`POST ${pathOf(own)}`, { body: { email, role } })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<Invitation>()
}

const listed = async (own: TestParty) =>
  (await own.ask(`GET ${pathOf(own)}`)).json<{ invitations: Invitation[] }>().invitations

const accept = (guest: TestParty, token: string, headers = {}) =>
  guest.ask('POST /api/v1/invitations/accept', { body: { token }, headers })

/** Somebody who is known already, in an organization of their own. */
async function guest(): Promise<TestParty & { email: string }> {
  const email = `${randomUUID()}@example.com`
  return { email, ...(await management.organization({ name: 'Elsewhere', email })) }
}

// `toLowerCase()` makes a k of U+212A. Mutant: the check of ASCII left out of requireEmail().
test('an address outside of ASCII is refused: nobody is taken for somebody else by a sign that looks like a letter', async () => {
  const own = await management.organization()
  for (const email of [
    '\u212aate@example.com',
    'ada@ex\u0430mple.com',
    'ada\u200b@example.com',
    'ad\u00e1@example.com',
  ]) {
    const { status, error } = await own.ask(`POST ${pathOf(own)}`, { body: { email, role: 'viewer' } })
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], email)
  }
  assert.deepEqual(await listed(own), [])
})

test('an invitation shows its link once, in the fragment, uncached; the list and the store do not have it', async () => {
  const own = await management.organization()

  const answer = await own.ask(`POST ${pathOf(own)}`, { body: { email: 'Guest@Example.com', role: 'viewer' } })

  assert.deepEqual([answer.status, answer.headers['cache-control']], [201, 'no-store'])
  const { id, token, link, email, role, expires_at } = answer.json<Invitation>()
  assert.deepEqual([email, role, link], ['guest@example.com', 'viewer', `${PUBLIC_URL}/invitations#${token}`])
  assert.ok(Math.abs(Date.parse(expires_at) - Date.now() - 7 * 86_400_000) < 60_000, expires_at)
  const list = await own.ask(`GET ${pathOf(own)}`)
  assert.ok(list.text.includes(id) && !list.text.includes(token))
  const stored = await management.sql('select to_jsonb(i) as row from loci.invitations i where id = $1', [id])
  const audited = await management.sql('select to_jsonb(a) as row from loci.audit a where subject = $1', [id])
  assert.equal(audited.length, 1)
  assert.ok(!JSON.stringify([stored, audited]).includes(token))
  assert.ok(!management.lines.some((line) => line.includes(token)))
})

test('the person of the invited address joins with the role, once, and the record names the person', async () => {
  const own = await management.organization({ name: 'Acme' })
  const { email, ...joining } = await guest()
  const { token } = await invite(own, email.toUpperCase(), 'admin')

  const accepted = await accept(joining, token)

  assert.equal(accepted.status, 200, accepted.text)
  assert.deepEqual(accepted.json(), { organization_id: own.organizationId, name: 'Acme', role: 'admin' })
  const members = await own.ask(`GET /api/v1/organizations/${own.organizationId}/members`)
  const roles = members.json<{ members: { user_id: string; role: string }[] }>().members
  assert.equal(roles.find(({ user_id }) => user_id === joining.ownerId)?.role, 'admin')
  assert.deepEqual([(await accept(joining, token)).status, (await listed(own)).length], [404, 0])
  const [entry] = await management.sql(
    'select actor, action, subject from loci.audit where chain = $1 order by seq desc limit 1',
    [own.organizationId],
  )
  assert.deepEqual(entry, { actor: joining.ownerId, action: 'invitation.accept', subject: joining.ownerId })
})

test('two who accept at the same moment join once, and a repeat with the same key gets the same answer', async () => {
  const own = await management.organization()
  const { email, ...joining } = await guest()
  const { token } = await invite(own, email)

  const [one, two] = await Promise.all([accept(joining, token), accept(joining, token)])
  assert.deepEqual([one.status, two.status].sort(), [200, 404])

  const third = await guest()
  const again = await invite(own, third.email)
  const headers = { 'idempotency-key': randomUUID() }
  const first = await accept(third, again.token, headers)
  const replay = await accept(third, again.token, headers)
  assert.deepEqual([replay.status, replay.json(), replay.headers['idempotent-replayed']], [200, first.json(), 'true'])
})

test('an invitation for another address is 403 and stays good for the right one', async () => {
  const own = await management.organization()
  const [invited, thief] = [await guest(), await guest()]
  const { token } = await invite(own, invited.email, 'owner')

  const stolen = await accept(thief, token)

  assert.deepEqual([stolen.status, stolen.error.code], [403, 'FORBIDDEN'])
  assert.equal((await accept(invited, token)).status, 200)
})

test('an unknown, withdrawn, replaced or expired invitation is 404, all with the same words', async () => {
  const own = await management.organization()
  const { email, ...joining } = await guest()
  const words = new Set<string>()
  const refused = async (token: string) => {
    const answer = await accept(joining, token)
    assert.deepEqual([answer.status, answer.error.code], [404, 'NOT_FOUND'])
    words.add(answer.error.message)
  }
  await refused('unknown')

  const withdrawn = await invite(own, email)
  assert.deepEqual((await own.ask(`DELETE ${pathOf(own)}/${withdrawn.id}`)).json(), { deleted: true })
  assert.equal((await own.ask(`DELETE ${pathOf(own)}/${withdrawn.id}`)).status, 404)
  await refused(withdrawn.token)

  const first = await invite(own, email)
  const second = await invite(own, email, 'viewer')
  assert.deepEqual(
    (await listed(own)).map(({ id, role }) => [id, role]),
    [[second.id, 'viewer']],
  )
  await refused(first.token)

  await management.sql(`update loci.invitations set expires_at = now() - interval '1 second' where id = $1`, [
    second.id,
  ])
  await refused(second.token)
  assert.deepEqual(await listed(own), [])
  assert.equal(words.size, 1)
})

test('two invitations of one address at the same moment leave one that is good', async () => {
  const own = await management.organization()
  const [one, two] = await Promise.all([invite(own, 'twice@example.com'), invite(own, 'twice@example.com')])
  const open = await listed(own)
  assert.equal(open.length, 1)
  assert.ok([one.id, two.id].includes(open[0]?.id as string))
})

test('a replayed invitation is withheld and names it; a member is not invited again; nonsense is 400', async () => {
  const own = await management.organization()
  const headers = { 'idempotency-key': randomUUID() }
  const ask = () => own.ask(`POST ${pathOf(own)}`, { body: { email: 'once@example.com', role: 'viewer' }, headers })
  const first = (await ask()).json<Invitation>()
  const again = await ask()
  assert.deepEqual([again.status, again.error.code], [409, 'IDEMPOTENCY_REPLAY_WITHHELD'])
  assert.deepEqual(again.error.details, { id: first.id })
  assert.ok(!again.text.includes(first.token))

  const email = `${randomUUID()}@example.com`
  await management.member(own, 'viewer', { email })
  const member = await own.ask(`POST ${pathOf(own)}`, { body: { email, role: 'admin' } })
  assert.deepEqual([member.status, member.error.code], [409, 'INVALID_STATE'])
  for (const body of [
    {},
    [],
    { email: 'a@example.com', role: 'emperor' },
    { email: 'nobody', role: 'viewer' },
    { role: 'viewer' },
    { email: 'a@example.com' },
    { email: `${'x'.repeat(250)}@example.com`, role: 'viewer' },
  ])
    assert.equal((await own.ask(`POST ${pathOf(own)}`, { body })).status, 400, JSON.stringify(body))
  for (const body of [{}, { token: 5 }, []])
    assert.equal((await own.ask('POST /api/v1/invitations/accept', { body })).status, 400)
})

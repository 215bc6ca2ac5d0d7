// How often a person allows and clients ask for tokens, and who can use that up.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { formatSecretToken } from '@loci/contract/secret-token.ts'
import { type TestManagement, type TestParty, testManagement } from '../testing/management.ts'
import {
  askedBy,
  askToken,
  exchangeOf,
  fieldsOf,
  ledTo,
  REDIRECT_URI,
  sendForm,
  type Tokens,
} from '../testing/oauth.ts'
import { type Browser, type SignInWorld, signInWorld } from '../testing/sign-in.ts'

let world: SignInWorld
let management: TestManagement
let acme: TestParty
let alice: Browser
let clientId: string
before(async () => {
  world = await signInWorld()
  management = world.management
  acme = await management.organization({ email: 'alice@example.test' })
  const { id } = await management.cell()
  await management.instance(id, { organization: acme.organizationId, tenant: acme.tenantId })
  alice = await world.signIn()
  const body = { name: 'Notes', redirect_uris: [REDIRECT_URI] }
  clientId = (await acme.ask('POST /api/v1/oauth-clients', { body })).json<{ id: string }>().id
})
after(() => world?.[Symbol.asyncDispose]())

async function tokens(): Promise<Tokens> {
  const asked = askedBy(clientId)
  const code = ledTo(await sendForm(alice, fieldsOf(await alice.ask(asked.line)))).searchParams.get('code') as string
  const answer = await askToken(management.url, exchangeOf(asked, code))
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Tokens>()
}

const refresh = (refresh_token: string, url = management.url) =>
  askToken(url, { grant_type: 'refresh_token', refresh_token, client_id: clientId })

const errorOf = (answer: TestAnswer) => [answer.status, answer.json<{ error: string }>().error]

/** As if so many minutes of it were used up. */
const useUp = (bucket: string) =>
  management.sql(
    `insert into loci.rate_limits (bucket, tat) values ($1, extract(epoch from now() + interval '2 days') * 1000)
     on conflict (bucket) do update set tat = excluded.tat`,
    [bucket],
  )

// Before, twenty grants a second left two audit entries each, beyond every bound of the plan. Mutants: takeAllow() not
// asked; rates.take() left out of takeUse().
test('what a person allows, and each token that a client asks for, are writes of hers and of her organization’s day', async () => {
  const kept = await tokens()
  const page = await alice.ask(askedBy(clientId).line)
  const count = async () =>
    (await management.sql<{ count: number }>('select count(*)::int as count from loci.oauth_grants'))[0]?.count
  for (const bucket of [
    `${acme.organizationId}:all:write:others`,
    `${acme.organizationId}:${acme.ownerId}:write:others`,
  ]) {
    const before = await count()
    await useUp(bucket)
    assert.equal((await sendForm(alice, fieldsOf(page))).status, 429, bucket)
    const denied = ledTo(await sendForm(alice, fieldsOf(page, { decision: 'deny' })))
    assert.equal(denied.searchParams.get('error'), 'access_denied')
    assert.equal((await refresh(kept.refresh_token)).status, 429, bucket)
    assert.equal(await count(), before)
    await management.sql('delete from loci.rate_limits where bucket = $1', [bucket])
  }
  assert.equal((await refresh(kept.refresh_token)).status, 200, 'a refusal used nothing up')
})

// Mutant: takeUse() that takes the rate before it looks for the holder.
test('who knows the id of a grant and no more cannot use up its rate, and invented ids leave nothing behind', async () => {
  const kept = await tokens()
  const [{ id } = { id: '' }] = await management.sql<{ id: string }>(
    'select id from loci.oauth_grants order by id desc limit 1',
  )
  const buckets = () => management.sql(`select bucket from loci.rate_limits where bucket like 'oauth:%' order by 1`)
  const before = await buckets()
  for (let times = 0; times < 30; times += 1) {
    const forged = formatSecretToken('ort', id, randomBytes(32).toString('base64url'))
    assert.deepEqual(errorOf(await refresh(forged)), [400, 'invalid_grant'])
    const invented = formatSecretToken('ort', `oag_${String(times).padStart(26, '0')}`, 'x'.repeat(43))
    assert.deepEqual(errorOf(await refresh(invented)), [400, 'invalid_grant'])
  }
  assert.deepEqual(await buckets(), before)
  assert.equal((await refresh(kept.refresh_token)).status, 200)
})

// Before, an address that was over had no token at all: of a program that many people use all clients ask from one.
// Mutant: `attempts.counted(open)` at /oauth/token.
test('a good refresh token is answered also at an address from which too many others failed', async () => {
  const kept = await tokens()
  await using slow = await testManagement({ replicaOf: management, settings: { unauthenticatedPerMinute: 3 } })
  const answers: number[] = []
  for (let times = 0; times < 6; times += 1) answers.push((await refresh('loci_ort_x', slow.url)).status)
  assert.deepEqual(answers, [400, 400, 400, 429, 429, 429])
  assert.equal((await refresh(kept.refresh_token, slow.url)).status, 200)
})

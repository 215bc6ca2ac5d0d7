import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { attenuate, inspectCapability, seal } from '@loci/capability/capability.ts'
import { newKeyPair } from '@loci/capability/jws.ts'
import { eventually, inTime } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { nowS, type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'

let daemon: TestDaemon
let authority: TestAuthority
let own: TestInstance

before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
  own = await authority.addInstance()
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

const LIST = 'GET /v1/kv/entries'
const until = () => new Date(Date.now() + 86_400_000).toISOString()
const jtiOf = (token: string, link = 0) => inspectCapability(token)[link]?.claims.jti as string

/** `200`, or the status and code of the refusal. */
async function outcome(token: string, line = LIST, options: Parameters<TestInstance['call']>[2] = {}): Promise<string> {
  const answer = await own.call(token, line, options)
  return answer.status < 400 ? String(answer.status) : `${answer.status} ${answer.error.code}`
}

test('a revocation stops a token that was just used, at once on the replica that took it', async () => {
  const token = own.root()
  assert.deepEqual([await outcome(token), await outcome(token)], ['200', '200'])
  await daemon.admin('POST /admin/revocations', { jti: jtiOf(token) })
  assert.equal(await outcome(token), '401 CAPABILITY_REVOKED')
  assert.equal(await outcome(own.root()), '200')
})

test('a revocation reaches the other replica of the cell', async () => {
  await using other = await testDaemon({ replicaOf: daemon })
  const token = own.root()
  const there = async () => (await other.get('/v1/kv/entries', { 'x-loci-capability': token })).status
  assert.equal(await there(), 200)
  await daemon.admin('POST /admin/revocations', { jti: jtiOf(token) })
  // How soon is measured by `test:system -- tokens`; here, that it does.
  await eventually(async () => (await there()) === 401)
})

test('no other encoding of a revoked token is admitted', async () => {
  const token = own.root()
  await outcome(token)
  await daemon.admin('POST /admin/revocations', { jti: jtiOf(token) })
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (const last of alphabet) assert.match(await outcome(token.slice(0, -1) + last), /^401/)
})

test('the jti of any link revokes the chains through it, and no others', async () => {
  const root = own.delegation()
  const agent = attenuate(root)
  const [first, second, direct] = [seal(agent), seal(agent), seal(root)]
  const all = async () => [await outcome(first), await outcome(second), await outcome(direct)]
  assert.deepEqual(await all(), ['200', '200', '200'])
  await daemon.admin('POST /admin/revocations', { jti: jtiOf(first, 2) })
  assert.deepEqual(await all(), ['401 CAPABILITY_REVOKED', '200', '200'])
  await daemon.admin('POST /admin/revocations', { jti: jtiOf(first, 1) })
  assert.deepEqual(await all(), ['401 CAPABILITY_REVOKED', '401 CAPABILITY_REVOKED', '200'])
  await daemon.admin('POST /admin/revocations', { jti: jtiOf(first) })
  assert.equal(await outcome(direct), '401 CAPABILITY_REVOKED')
})

test('a revocation by management counts for its service alone, one by an administrator for the whole cell', async () => {
  const other = await authority.addInstance()
  const jti = newId('cap')
  const [ours, theirs] = [own.root({ jti }), other.root({ jti })]
  await authority.publish({ kind: 'revocation', body: { svc: own.svc, jti, expires_at: until() } })
  assert.deepEqual([await outcome(ours), await outcome(theirs)], ['401 CAPABILITY_REVOKED', '200'])
  await daemon.admin('POST /admin/revocations', { jti })
  assert.equal(await outcome(theirs), '401 CAPABILITY_REVOKED')
})

test('an epoch revokes every root issued up to it, by organization, tenant or service; a child’s own time does not count', async () => {
  const at = nowS() - 600
  for (const kind of ['org', 'ten', 'svc'] as const) {
    const party = await authority.addInstance()
    const from = { nbf: at - 60 }
    const delegation = party.delegation({ iat: at, ...from })
    const late = party.root({ iat: at + 1, ...from })
    assert.deepEqual([await outcome(seal(delegation)), await outcome(late)], ['200', '200'])
    const notBefore = new Date(at * 1000).toISOString()
    const { status } = await daemon.admin('POST /admin/revocations', { [kind]: party[kind], not_before: notBefore })
    assert.equal(status, 200)
    assert.equal(await outcome(seal(delegation)), '401 CAPABILITY_REVOKED', kind)
    assert.equal(await outcome(late), '200', kind)
    assert.equal(await outcome(own.root({ iat: at - 60, ...from })), '200', 'somebody else’s')
  }
})

// Mutant: `sub:` without the organization in isRevoked().
test('an epoch by `sub` revokes what one key or person requested in one organization, and nothing else', async () => {
  const elsewhere = await authority.addInstance()
  const at = nowS() - 600
  const from = { iat: at, nbf: at - 60 }
  const [key, person] = [newId('key'), newId('usr')]
  const tokens = () => [
    seal(own.delegation({ sub: key, ...from })),
    own.root({ sub: key, ...from, iat: at + 1 }),
    own.root({ sub: person, ...from }),
    own.root(from),
    elsewhere.root({ sub: key, ...from }),
  ]
  const outcomes = async () => Promise.all(tokens().map((token) => outcome(token)))
  assert.deepEqual(await outcomes(), ['200', '200', '200', '200', '200'])
  const epoch = { kind: 'sub' as const, not_before: new Date(at * 1000).toISOString(), expires_at: until() }
  await authority.publish({ kind: 'revocation', body: { ...epoch, id: `${own.org}/${key}` } })
  assert.deepEqual(await outcomes(), ['401 CAPABILITY_REVOKED', '200', '200', '200', '200'])
  await authority.publish({ kind: 'revocation', body: { ...epoch, id: `${own.org}/${person}` } })
  assert.deepEqual(await outcomes(), ['401 CAPABILITY_REVOKED', '200', '401 CAPABILITY_REVOKED', '200', '200'])
})

test('a key that is removed takes its tokens with it, used before or not, and does not come back', async () => {
  const { privateJwk: key } = newKeyPair()
  const body = { kid: 'k_removed', x: key.x, retire_at: null }
  await authority.publish({ kind: 'key', body: { ...body, state: 'active' } })
  const [used, fresh] = [own.root({}, { kid: 'k_removed', key }), own.root({}, { kid: 'k_removed', key })]
  assert.equal(await outcome(used), '200')
  for (const state of ['removed', 'active'] as const) {
    await authority.publish({ kind: 'key', body: { ...body, state } })
    assert.deepEqual([await outcome(used), await outcome(fresh)], ['401 UNAUTHENTICATED', '401 UNAUTHENTICATED'])
  }
})

test('a retiring key verifies until its time and not beyond, without a further message', async () => {
  await inTime(async (ms) => {
    const { privateJwk: key } = newKeyPair()
    const kid = `k_retiring_${ms}`
    const retireAt = new Date(Date.now() + ms)
    const body = { kid, x: key.x, state: 'retiring' as const, retire_at: retireAt.toISOString() }
    await authority.publish({ kind: 'key', body })
    const token = own.root({}, { kid, key })
    const before = await outcome(token)
    if (Date.now() >= retireAt.getTime()) return false
    assert.equal(before, '200')
    await sleep(retireAt.getTime() - Date.now() + 5)
    assert.equal(await outcome(token), '401 UNAUTHENTICATED')
    return true
  })
})

test('a token that was used before its end is refused after it', async () => {
  await inTime(async (ms) => {
    const exp = nowS() - 29 + ms / 1_000
    const token = own.root({ exp })
    const before = await outcome(token)
    if (Date.now() >= (exp + 30) * 1_000) return false
    assert.equal(before, '200')
    await sleep((exp + 30) * 1_000 - Date.now() + 5)
    assert.equal(await outcome(token), '401 CAPABILITY_EXPIRED')
    return true
  })
})

// specification 194
test('identity headers must equal the credential’s, one by one', async () => {
  const token = own.root()
  const names = { 'x-loci-organization': own.org, 'x-loci-tenant': own.ten, 'x-loci-service': own.svc }
  assert.equal(await outcome(token, LIST, { headers: names }), '200')
  for (const [name, value] of Object.entries(names)) {
    assert.equal(await outcome(token, LIST, { headers: { [name]: value } }), '200')
    for (const said of [newId('svc'), '', `${value}, ${value}`, value.toUpperCase()])
      assert.equal(await outcome(token, LIST, { headers: { ...names, [name]: said } }), '403 IDENTITY_MISMATCH', said)
  }
})

test('the database is the header’s, else the only one of the credential, else default, and must be covered whole', async () => {
  const wide = own.root({ ks: ['kv/*'] })
  for (const database of ['default', 'acme', 'acme-corp'])
    assert.equal(
      await outcome(wide, 'PUT /v1/kv/entries/where', {
        body: { value: `in ${database}` },
        headers: { 'x-loci-database': database },
      }),
      '200',
    )
  const where = async (ks: string[], database?: string) => {
    const headers: Record<string, string> = database === undefined ? {} : { 'x-loci-database': database }
    const answer = await own.call(own.root({ ks }), 'GET /v1/kv/entries/where', { headers })
    return answer.status === 200 ? answer.json().value : answer.error.code
  }
  assert.equal(await where(['kv/acme']), 'in acme')
  assert.equal(await where(['kv/acme', 'memory/other']), 'in acme', 'other domains do not count')
  assert.equal(await where(['kv/*']), 'in default')
  assert.equal(await where(['kv/acme', 'kv/default']), 'in default')
  assert.equal(await where(['kv/acme', 'kv/acme-corp']), 'DATABASE_MISMATCH')
  assert.equal(await where(['kv/acme'], 'acme-corp'), 'DATABASE_MISMATCH')
  assert.equal(await where(['kv/acme-corp'], 'acme'), 'DATABASE_MISMATCH')
  assert.equal(await where(['memory/*'], 'default'), 'DATABASE_MISMATCH')
  assert.equal(await where([]), 'DATABASE_MISMATCH')
  assert.equal(await where(['*/acme'], 'acme'), 'in acme')
  for (const name of ['*', 'Acme', 'a/b', '..', 'a'.repeat(65), ''])
    assert.equal(await where(['kv/*'], name), 'VALIDATION_ERROR', name)
})

test('operator rights count in a bare root only', async () => {
  const audit = 'GET /v1/audit'
  assert.equal(await outcome(own.root({ ops: ['operator'], ks: ['*/*'] }), audit), '200')
  assert.equal(await outcome(own.root(), audit), '403 OPERATOR_REQUIRED')
  assert.equal(await outcome(seal(own.delegation()), audit), '403 OPERATOR_REQUIRED')
  const deep = own.root({ ops: ['operator'], ks: ['*/*'], del_max: 1 })
  assert.equal(await outcome(deep, audit), '401 UNAUTHENTICATED')
  const keyed = own.delegation({ ops: ['operator'], ks: ['*/*'] })
  assert.equal(await outcome(keyed.chain, audit), '401 UNAUTHENTICATED')
  assert.equal(await outcome(seal(keyed), audit), '401 UNAUTHENTICATED')
})

test('a suspended instance goes on reading and deleting; a refused write names the reason', async () => {
  const party = await authority.addInstance()
  const token = party.root()
  const put = (key: string) => outcome(token, `PUT /v1/kv/entries/${key}`, { body: { value: 1 } })
  for (const [reason, code] of [
    ['unpaid', '402 PAYMENT_REQUIRED'],
    ['plan_not_covered', '402 PLAN_NOT_COVERED'],
    ['suspended', '403 FORBIDDEN'],
  ] as const) {
    await party.change({ state: 'active', state_reason: null })
    assert.equal(await put('kept'), '200')
    await party.change({ state: 'suspended', state_reason: reason })
    assert.equal(await put('more'), code)
    const operations = [{ op: 'put', key: 'more', value: 1 }]
    assert.equal(await outcome(token, 'POST /v1/kv/entries/batch', { body: { operations } }), code)
    assert.equal(await outcome(token, 'GET /v1/kv/entries/kept'), '200')
    assert.equal(await outcome(token, 'GET /v1/kv/health'), '200')
    assert.equal(await outcome(token, 'GET /v1/kv/entries/more'), '404 NOT_FOUND')
    assert.equal(await outcome(token, 'DELETE /v1/kv/entries/kept'), '200')
    assert.equal(await outcome(party.root({ ops: ['operator'], ks: ['*/*'] }), 'GET /v1/audit'), '200')
  }
})

// Mutant: ask for kv:write in the batch route, as its operation says.
test('a suspended instance takes a batch that only deletes', async () => {
  const party = await authority.addInstance()
  const token = party.root()
  const batch = (...operations: object[]) =>
    outcome(token, 'POST /v1/kv/entries/batch', { body: { operations: operations } })
  for (const reason of ['unpaid', 'plan_not_covered', 'suspended']) {
    await party.change({ state: 'active', state_reason: null })
    assert.equal(await batch({ op: 'put', key: 'a', value: 1 }, { op: 'put', key: 'b', value: 1 }), '200')
    await party.change({ state: 'suspended', state_reason: reason })
    assert.match(await batch({ op: 'delete', key: 'a' }, { op: 'put', key: 'c', value: 1 }), /^40[23] /)
    assert.equal(await outcome(token, 'GET /v1/kv/entries/a'), '200', 'all or nothing')
    assert.equal(await batch({ op: 'delete', key: 'a' }, { op: 'delete', key: 'b' }), '200')
    assert.equal(await outcome(token, 'GET /v1/kv/entries/a'), '404 NOT_FOUND')
  }
  const reader = party.root({ ops: ['kv:read', 'kv:write'] })
  const body = { operations: [{ op: 'delete', key: 'a' }] }
  assert.equal(await outcome(reader, 'POST /v1/kv/entries/batch', { body }), '403 OPERATION_NOT_ALLOWED')
})

// Mutant: requireGoesOn() without `access === 'none' ||`.
test('an instance that is off for payment serves nothing, says what to do, and is back when the bill is paid', async () => {
  const party = await authority.addInstance()
  const token = party.root()
  const operations = [{ op: 'delete', key: 'kept' }]
  const all = async () => [
    await outcome(token, 'PUT /v1/kv/entries/kept', { body: { value: 1 } }),
    await outcome(token, 'GET /v1/kv/entries/kept'),
    await outcome(token),
    await outcome(token, 'GET /v1/kv/health'),
    await outcome(party.root({ ops: ['operator'], ks: ['*/*'] }), 'GET /v1/audit'),
    await outcome(token, 'POST /v1/kv/entries/batch', { body: { operations } }),
    await outcome(token, 'DELETE /v1/kv/entries/missing'),
  ]
  const served = ['200', '200', '200', '200', '200', '200', '404 NOT_FOUND']
  assert.deepEqual(await all(), served)
  await party.change({ state: 'suspended', state_reason: 'unpaid_off' })
  assert.deepEqual(
    await all(),
    served.map(() => '402 PAYMENT_REQUIRED'),
  )
  assert.match((await party.call(token, LIST)).error.message, /pay the open bill/)
  await party.change({ state: 'active', state_reason: null })
  assert.deepEqual(await all(), served)
})

test('a deleted instance and one that the cell never had get the same 401', async () => {
  const party = await authority.addInstance()
  const token = party.root()
  assert.equal(await outcome(token), '200')
  await party.change({ state: 'deleted' })
  const gone = await party.call(token, LIST)
  const never = await party.call(own.root({ svc: newId('svc') }), LIST)
  const unheard = newId('svc')
  const unknown = await party.call(own.root({ svc: unheard, aud: unheard }), LIST)
  assert.deepEqual([gone.status, never.status, unknown.status], [401, 401, 401])
  assert.equal(gone.error.message, unknown.error.message)
})

test('a cell without contact to management for too long refuses writes and operators with Retry-After, and nothing else', async () => {
  const operator = own.root({ ops: ['operator'], ks: ['*/*'] })
  const all = async (hours: number) => {
    await daemon.sql(`update loci.cell set feed_heard_at = clock_timestamp() - $1 * interval '1 hour'`, [hours])
    await authority.settle()
    const token = own.root()
    return [
      await outcome(token, 'PUT /v1/kv/entries/stale', { body: { value: 1 } }),
      await outcome(operator, 'GET /v1/audit'),
      await outcome(token, 'GET /v1/kv/entries/stale'),
      await outcome(token, 'GET /v1/system/info'),
      await outcome(token, 'DELETE /v1/kv/entries/stale'),
    ]
  }
  assert.deepEqual(await all(23.9), ['200', '200', '200', '200', '200'])
  await all(0)
  await outcome(own.root(), 'PUT /v1/kv/entries/stale', { body: { value: 1 } })
  assert.deepEqual(await all(24.1), ['503 AUTHORITY_STALE', '503 AUTHORITY_STALE', '200', '200', '200'])
  const refused = await own.call(own.root(), 'PUT /v1/kv/entries/stale', { body: { value: 1 } })
  assert.equal(refused.headers['retry-after'], '60')
  assert.deepEqual(await all(0), ['200', '200', '200', '200', '200'])
})

// Mutant: capabilityOf() without rates.verifying(). 3,000 new chains of five links of one free instance filled a core,
// 93 % of them refused.
test('the rate of the instance is checked before the signatures of a new chain of many links', async () => {
  const limits = { databases: 1, records: 10, bytes: 1e6, streams: 1, requests_per_second: 0.01, burst: 1 }
  const busy = await authority.addInstance({ limits })
  assert.equal((await busy.call(busy.root(), LIST)).status, 200)
  let link = busy.delegation({ del_max: 4 })
  for (let depth = 0; depth < 3; depth += 1) link = attenuate(link)
  const good = seal(link)
  // Whether its last signature is good is not looked at while the instance has no room.
  const forged = `${good.slice(0, -8)}AAAAAAAA`
  for (const token of [good, forged]) assert.equal((await busy.call(token, LIST)).error.code, 'RATE_LIMITED')
  await busy.change({ limits: { ...limits, requests_per_second: 1_000, burst: 1_000_000 } })
  assert.equal((await busy.call(good, LIST)).status, 200)
  assert.equal((await busy.call(forged, LIST)).error.code, 'UNAUTHENTICATED')
})

// A stranger kept a replica from reading revocations, and a revoked token stayed good for as long.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newKeyPair } from '@loci/capability/jws.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'
import { newId } from '@loci/contract/ids.ts'
import { openPool, type Pool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { probeRoutes } from '../testing/probes.ts'

let daemon: TestDaemon
let authority: TestAuthority
let instance: TestInstance
let superuser: Pool
before(async () => {
  daemon = await testDaemon({ settings: { databaseStatementMs: 1_750 } })
  authority = await testAuthority(daemon)
  instance = await authority.addInstance()
  superuser = openPool({
    ...PATIENT,
    url: daemon.database.adminUrl,
    applicationName: 'loci-test-locks',
    connectionsMax: 1,
    onError: () => {},
  })
})
after(async () => {
  await superuser?.close()
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

/**
 * Nobody can read these tables until `work` is done; the rest of the database answers. A beat has failed by then: beats
 * come one after another, so none that read before the lock is still on its way and refreshes the cache.
 */
async function withLocked(tables: string, work: () => Promise<void>): Promise<void> {
  const client = await superuser.client()
  try {
    await untilBeat((hasFailed) => !hasFailed)
    await client.query({ text: 'begin' })
    await client.query({ text: 'set local idle_in_transaction_session_timeout = 0' })
    await client.query({ text: `lock table ${tables} in access exclusive mode` })
    await untilBeat((hasFailed) => hasFailed)
    await work()
  } finally {
    await client.query({ text: 'rollback' })
    client.release()
  }
}

async function untilBeat(isReached: (hasFailed: boolean) => boolean): Promise<void> {
  for (;;) {
    const { reasons } = (await daemon.get('/v1/lifecycle/status')).json<{ reasons: string[] }>()
    if (isReached(reasons.some((reason) => reason.startsWith('postgres')))) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function ageOfAuthority(): Promise<number> {
  const { text } = await daemon.get('/metrics')
  return Number(/^loci_authority_age_seconds (\S+)$/m.exec(text)?.[1])
}

async function untilAge(isReached: (ageS: number) => boolean): Promise<void> {
  while (!isReached(await ageOfAuthority())) await new Promise((resolve) => setTimeout(resolve, 100))
}

/** What is wrong with the authority when PostgreSQL is found to answer again. */
async function reasonsAfterBeat(): Promise<string[]> {
  for (;;) {
    const { reasons } = (await daemon.get('/v1/lifecycle/status')).json<{ reasons: string[] }>()
    if (!reasons.some((reason) => reason.startsWith('postgres:')))
      return reasons.filter((reason) => reason.startsWith('authority:'))
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function outcome(token: string): Promise<string> {
  const answer = await instance.call(token, 'GET /v1/kv/entries')
  return answer.status === 200 ? '200' : `${answer.status} ${answer.error.code}`
}

// Mutants: `isStale()` never true (the revoked ones and the suspended instance are served); `requireValidInDatabase()`
// left out; the answer of a failed look taken for "not revoked".
test('a replica that cannot read authority serves nothing by its stale cache', async () => {
  const tokens = Object.fromEntries(
    ['good', 'jti', 'cell'].map((name) => [name, instance.root({ jti: newId('cap') })]),
  ) as Record<'good' | 'jti' | 'cell', string>
  const jtiOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()).jti
  const other = await authority.addInstance()
  const ended = [await authority.addInstance(), await authority.addInstance(), await authority.addInstance()] as const
  const epochs = [
    ['org', ended[0].org],
    ['ten', ended[1].ten],
    ['sub', `${ended[2].org}/key_1`],
  ] as const
  // Made before the moments that revoke them: one made a second later would be good.
  const ofOther = other.root()
  const ofEnded = ended.map((one) => [one, one.root({ sub: 'key_1' })] as const)
  const late = newKeyPair().privateJwk
  for (const token of Object.values(tokens)) assert.equal(await outcome(token), '200')
  assert.equal((await other.call(ofOther, 'GET /v1/kv/entries')).status, 200)

  await withLocked('loci.subservices', async () => {
    await untilAge((ageS) => ageS > 3.1)
    const revoke = (kind: string, svc: string, value: string, notBefore: Date | null) =>
      daemon.sql(
        `insert into loci.revocations (kind, svc, value, not_before, expires_at, origin, change_seq)
         values ($1, $2, $3, $4, now() + interval '1 day', 'management', 1000)`,
        [kind, svc, value, notBefore],
      )
    await revoke('jti', instance.svc, jtiOf(tokens.jti), null)
    await revoke('jti', '*', jtiOf(tokens.cell), null)
    await revoke('svc', '', other.svc, new Date())
    for (const [kind, value] of epochs) await revoke(kind, '', value, new Date())
    await daemon.sql(
      `insert into loci.signing_keys (kid, x, state, change_seq) values ('k_late', $1, 'active', 1000)`,
      [late.x],
    )
    assert.equal(await outcome(tokens.good), '200', 'the database says so')
    assert.equal(await outcome(tokens.jti), '401 CAPABILITY_REVOKED')
    assert.equal(await outcome(tokens.cell), '401 CAPABILITY_REVOKED')
    assert.equal((await other.call(ofOther, 'GET /v1/kv/entries')).error.code, 'CAPABILITY_REVOKED')
    for (const [one, token] of ofEnded)
      assert.equal((await one.call(token, 'GET /v1/kv/entries')).error.code, 'CAPABILITY_REVOKED')
    // Made since, and nobody's fault: come back.
    assert.equal(await outcome(instance.root({}, { kid: 'k_late', key: late })), '503 AUTHORITY_STALE')
    await daemon.sql(`update loci.instances set state = 'deleted' where id = $1`, [instance.svc])
    assert.equal(await outcome(tokens.good), '401 UNAUTHENTICATED')
    await daemon.sql(`update loci.instances set state = 'active' where id = $1`, [instance.svc])
    await daemon.sql(`update loci.signing_keys set state = 'removed' where kid = $1`, [authority.kid])
    assert.equal(await outcome(tokens.good), '401 UNAUTHENTICATED')
    await daemon.sql(`update loci.signing_keys set state = 'active' where kid = $1`, [authority.kid])
    await daemon.sql(`update loci.cell set life = 'another'`)
    assert.equal(await outcome(tokens.good), '503 AUTHORITY_STALE', 'a restored database cannot say')
    await daemon.sql('update loci.cell set life = null')
    const { state } = (await daemon.get('/v1/lifecycle/status')).json<{ state: string }>()
    assert.equal(state, 'degraded')
  })
  // Mutant: the beat of app.ts reports the feed alone. The authority counts as stale until the job of once a second.
  assert.deepEqual(await reasonsAfterBeat(), [])
  await untilAge((ageS) => ageS < 2)
  assert.equal(await outcome(tokens.good), '200')
})

// Mutant: partner access without authority.isStale(): 200 by what may be a restored database.
test('what cannot be read is refused with 503, partners whenever authority is stale', async () => {
  const token = instance.root()
  assert.equal(await outcome(token), '200')
  await using probes = await testHttpServer(probeRoutes(daemon.daemon.access))
  const headers = { authorization: `Bearer ${await partnerToken(authority, instance, ['event'])}` }
  const ofPartner = async () => (await ask(probes.url, 'POST /probe/partner/advice', { headers })).status
  assert.equal(await ofPartner(), 200)
  await withLocked('loci.subservices, loci.revocations', async () => {
    await untilAge((ageS) => ageS > 3.1)
    // A lock that is not given in time; a database that is gone is STORE_UNAVAILABLE (health.test.ts).
    assert.equal(await outcome(token), '503 OVERLOADED')
    assert.equal(await ofPartner(), 503)
  })
  await untilAge((ageS) => ageS < 2)
  assert.deepEqual([await outcome(token), await ofPartner()], ['200', 200])
})

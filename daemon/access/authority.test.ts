import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKeyPair } from '@loci/capability/jws.ts'
import { AGELESS } from '../testing/ageless.ts'
import { testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'
import {
  type AuthorityChanges,
  createAuthority,
  type Instance,
  type PartnerCredential,
  type Revocation,
} from './authority.ts'
import { findInstance, readChanges } from './store.ts'

const LIMITS = { databases: 1, records: 1, bytes: 1, requests_per_second: 1, burst: 1, streams: 1 }

function instance(state: Instance['state'], plan = 'pro'): Instance {
  const owner = { id: 'svc_1', organizationId: 'org_1', tenantId: 'ten_1', serviceType: 'memory' }
  return { ...owner, plan, state, stateReason: null, heldUntilMs: null, limits: LIMITS }
}

function changes(changeSeq: number, given: Partial<AuthorityChanges> = {}): AuthorityChanges {
  const nothing = { keys: [], revocations: [], instances: [], partnerCredentials: [] }
  return { changeSeq, feedAgeS: null, isRestored: false, life: '', ...nothing, ...given }
}

/** An authority whose loads are answered when the test says so. */
function slowAuthority() {
  const loads: ((found: Instance | undefined) => void)[] = []
  const authority = createAuthority({
    loadInstance: () => new Promise((resolve) => loads.push(resolve)),
    loadPartnerCredential: async () => undefined,
    ...AGELESS,
  })
  return { authority, loads }
}

test('a change that is read while an instance is loaded is not lost', async () => {
  const { authority, loads } = slowAuthority()
  authority.accept(changes(1))
  const first = authority.findInstance('svc_1')
  authority.accept(changes(2, { instances: [instance('deleted')] }))
  loads[0]?.(instance('active'))
  await first
  const second = authority.findInstance('svc_1')
  assert.equal(loads.length, 2, 'what was loaded may be older than what was read: it is not kept')
  loads[1]?.(instance('deleted'))
  assert.equal((await second)?.state, 'deleted')
  assert.equal((authority.findInstance('svc_1') as Instance).state, 'deleted', 'now it is kept')
})

test('a change that is read after an instance was loaded replaces it', async () => {
  const { authority, loads } = slowAuthority()
  authority.accept(changes(1))
  const first = authority.findInstance('svc_1')
  loads[0]?.(instance('active'))
  await first
  authority.accept(changes(2, { instances: [instance('suspended')] }))
  assert.equal((authority.findInstance('svc_1') as Instance).state, 'suspended')
})

// Mutant: isMissed() that answers false. A token of another cell then asks the database with every request.
test('an unknown instance is not looked up again for a second, or until anything changes', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const { authority, loads } = slowAuthority()
  authority.accept(changes(1))
  const first = authority.findInstance('svc_1')
  loads[0]?.(undefined)
  assert.equal(await first, undefined)
  now = 999
  assert.equal(authority.findInstance('svc_1'), undefined, 'without a look')
  assert.equal(loads.length, 1)
  authority.accept(changes(2))
  const second = authority.findInstance('svc_1')
  loads[1]?.(undefined)
  await second
  now = 1_999
  const third = authority.findInstance('svc_1')
  loads[2]?.(instance('active'))
  assert.equal((await third)?.state, 'active')
})

test('loads and changes in any order leave the cache as the database is', async () => {
  await using daemon = await testDaemon()
  await using feed = await testAuthority(daemon)
  const { svc } = await feed.addInstance()
  const authority = createAuthority({
    loadInstance: (id) => findInstance(feed.pool, id),
    loadPartnerCredential: async () => undefined,
    ...AGELESS,
  })
  const catchUp = async () => authority.accept(await readChanges(feed.pool, authority.changeSeq))
  const change = (plan: string) =>
    daemon.sql(
      `with raised as (update loci.cell set change_seq = change_seq + 1 returning change_seq)
       update loci.instances set plan = $2, change_seq = raised.change_seq from raised where id = $1`,
      [svc, plan],
    )
  await catchUp()
  for (let round = 0; round < 100; round += 1) {
    const plan = `plan-${round}`
    await Promise.all([change(plan), authority.findInstance(svc), catchUp(), authority.findInstance(svc)])
    await catchUp()
    assert.equal((await authority.findInstance(svc))?.plan, plan)
  }
})

test('the first change of a cell reaches what was loaded before it', async () => {
  await using daemon = await testDaemon()
  const authority = createAuthority({
    loadInstance: async () => instance('active'),
    loadPartnerCredential: async () => undefined,
    ...AGELESS,
  })
  const catchUp = async () => authority.accept(await readChanges(feed.pool, authority.changeSeq))
  await using feed = { pool: (await testAuthority(daemon)).pool, [Symbol.asyncDispose]: () => feed.pool.close() }
  await daemon.sql('update loci.cell set change_seq = 0')
  await catchUp()
  await authority.findInstance('svc_1')
  await daemon.sql(
    `with raised as (update loci.cell set change_seq = 1)
     insert into loci.instances (id, organization_id, tenant_id, service_type, plan, state, generation, limits, config, change_seq)
     values ('svc_1', 'org_1', 'ten_1', 'memory', 'pro', 'deleted', 1, $1, '{}', 1)`,
    [JSON.stringify(LIMITS)],
  )
  await catchUp()
  assert.equal((await authority.findInstance('svc_1'))?.state, 'deleted')
})

// Mutant: no forgetPartnersOf(): a credential of the first life would still open the second.
test('with every change of an instance its partner credentials are loaded again', async () => {
  let stored: PartnerCredential | undefined = {
    ...{ id: 'ptr_1', instanceId: 'svc_1', organizationId: 'org_1', tenantId: 'ten_1', partner: 'p', database: 'd' },
    ...{ projectionClasses: [], routes: [], digest: Buffer.alloc(32), state: 'active', expiresAt: null },
  }
  const authority = createAuthority({
    loadInstance: async () => undefined,
    loadPartnerCredential: async () => stored,
    ...AGELESS,
  })
  authority.accept(changes(1))
  assert.ok(await authority.findPartnerCredential('ptr_1', () => true))
  stored = undefined
  authority.accept(changes(2, { instances: [{ ...instance('active'), id: 'svc_2' }] }))
  assert.ok(await authority.findPartnerCredential('ptr_1', () => true), 'of another instance')
  authority.accept(changes(3, { instances: [instance('active')] }))
  assert.equal(await authority.findPartnerCredential('ptr_1', () => true), undefined)
})

const STANDING = { isWithdrawn: false, isRestated: false }

test('an epoch is never moved back, and a removed key stays removed', () => {
  const { authority } = slowAuthority()
  const { publicJwk } = newKeyPair()
  const key = { kid: 'k', x: publicJwk.x, retireAt: null }
  const until = new Date(Date.now() + 1e6)
  const epoch = (at: number): Revocation => ({
    kind: 'ten',
    svc: '',
    value: 'ten_1',
    notBefore: new Date(at * 1000),
    expiresAt: until,
    revokedAt: null,
    ...STANDING,
  })
  const isRevoked = (iat: number) =>
    authority.isRevoked({ root: { org: 'org_1', ten: 'ten_1', svc: 'svc_1', iat } as never, jtis: [] })
  authority.accept(changes(1, { keys: [{ ...key, state: 'active' }], revocations: [epoch(100)] }))
  authority.accept(changes(2, { revocations: [epoch(50)] }))
  assert.deepEqual([isRevoked(99), isRevoked(100), isRevoked(101)], [true, true, false])
  assert.ok(authority.findKey('k', Date.now()))
  authority.accept(changes(3, { keys: [{ ...key, state: 'retiring', retireAt: new Date(5_000) }] }))
  assert.ok(authority.findKey('k', 4_999))
  assert.equal(authority.findKey('k', 5_000), undefined)
  authority.accept(changes(4, { keys: [{ ...key, state: 'removed' }] }))
  assert.equal(authority.findKey('k', 0), undefined)
})

// Mutants: forgetCovered() without its minute (the second comes back), or for rows without a time (the third does).
test('an epoch of a service replaces the revocations that it covers, and no others', () => {
  const { authority } = slowAuthority()
  const until = new Date(Date.now() + 1e6)
  const jti = (value: string, revokedAtS: number | null, svc = 'svc_1'): Revocation => ({
    ...{ kind: 'jti', svc, value, notBefore: null, expiresAt: until },
    revokedAt: revokedAtS === null ? null : new Date(revokedAtS * 1000),
    ...STANDING,
  })
  const isRevoked = (value: string, iat: number, svc = 'svc_1') =>
    authority.isRevoked({ root: { org: 'org_1', ten: 'ten_1', svc, iat } as never, jtis: [value] })
  const told = [jti('old', 100), jti('recent', 150), jti('untimed', null), jti('other', 100, 'svc_2')]
  authority.accept(changes(1, { revocations: told }))
  const epoch = { kind: 'svc' as const, svc: '', value: 'svc_1', notBefore: new Date(200_000), expiresAt: until }
  authority.accept(changes(2, { revocations: [{ ...epoch, revokedAt: null, ...STANDING }] }))
  // The first is gone by itself, and refused by the epoch; a token of a later root that bears its jti is another one.
  assert.deepEqual([isRevoked('old', 99), isRevoked('old', 201)], [true, false])
  assert.deepEqual([isRevoked('recent', 201), isRevoked('untimed', 201)], [true, true])
  assert.equal(isRevoked('other', 201, 'svc_2'), true)
})

test('the age of the feed grows between two polls', async () => {
  const { authority } = slowAuthority()
  assert.equal(authority.feedAgeS(), null)
  authority.accept(changes(1, { feedAgeS: 10 }))
  await new Promise((resolve) => setTimeout(resolve, 30))
  const ageS = authority.feedAgeS() as number
  assert.ok(ageS >= 10.02 && ageS < 70, String(ageS))
})

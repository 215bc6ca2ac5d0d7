import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Capability } from '@loci/capability/capability.ts'
import { newKeyPair } from '@loci/capability/jws.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { feedResponse } from '@loci/contract/feed.ts'
import { newId } from '@loci/contract/ids.ts'
import { noActivity } from '../access/activity.ts'
import { readChanges, readCredentialStatus } from '../access/store.ts'
import { nowS, type TestAuthority, testAuthority } from '../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import type { NewItem } from '../testing/feed.ts'
import { finishReport, readReport } from './reports/store.ts'
import { applyPage, leaveLease, takeLease } from './store.ts'
import { addUsage } from './usage/store.ts'

let daemon: TestDaemon
let authority: TestAuthority
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

const DAY_MS = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
const changeSeq = async () => (await readChanges(authority.pool, 0)).changeSeq

test('one replica has the lease; one that lost it changes nothing any more', async () => {
  const { pool } = authority
  await leaveLease(pool, 'test')
  const first = await takeLease(pool, 'a', 600_000)
  assert.ok(first)
  assert.equal(await takeLease(pool, 'b', 600_000), undefined)
  assert.equal((await takeLease(pool, 'a', 1))?.fence, first.fence, 'renewed, not taken anew')
  const second = await eventually(() => takeLease(pool, 'b', 600_000))
  assert.equal(second?.fence, first.fence + 1)
  const before = await daemon.sql('select feed_epoch, feed_after, change_seq from loci.cell')
  const { publicJwk } = newKeyPair()
  const key = { kid: 'k_late', x: publicJwk.x, state: 'active' as const, retire_at: null }
  const items = [{ seq: 9, kind: 'key' as const, key: 'k_late', body: key }]
  assert.equal(await applyPage(pool, { fence: first.fence, epoch: 'late', next: 9, items }), false)
  assert.deepEqual(await daemon.sql('select feed_epoch, feed_after, change_seq from loci.cell'), before)
  assert.deepEqual(await daemon.sql(`select 1 from loci.signing_keys where kid = 'k_late'`), [])
  await leaveLease(pool, 'b')
  assert.ok(await takeLease(pool, 'a', 600_000), 'left, not waited for')
  await leaveLease(pool, 'a')
})

test('a resync that knows less removes nothing', async () => {
  const own = await authority.addInstance()
  const jti = newId('cap')
  const notBefore = new Date(Date.now() - DAY_MS).toISOString()
  await authority.publish(
    { kind: 'revocation', body: { svc: own.svc, jti, expires_at: inDays(9) } },
    { kind: 'revocation', body: { kind: 'ten', id: own.ten, not_before: notBefore, expires_at: inDays(9) } },
  )
  const known = () =>
    daemon.sql(
      'select kind, svc, value, not_before, expires_at from loci.revocations where value = any($1) order by kind',
      [[jti, own.ten]],
    )
  const before = await known()
  const earlier = new Date(Date.now() - 2 * DAY_MS).toISOString()
  await authority.publish(
    { kind: 'revocation', body: { svc: own.svc, jti, expires_at: inDays(1) } },
    { kind: 'revocation', body: { kind: 'ten', id: own.ten, not_before: earlier, expires_at: inDays(1) } },
  )
  await authority.publish()
  assert.deepEqual(await known(), before)
  assert.equal(before.length, 2)
})

test('a resync without news raises no row’s change_seq', async () => {
  const own = await authority.addInstance()
  const item: NewItem = { kind: 'revocation', body: { svc: own.svc, jti: newId('cap'), expires_at: inDays(9) } }
  await authority.publish(item)
  const seqs = () =>
    daemon.sql(
      `select 'i' as of, id, change_seq from loci.instances union all select 'k', kid, change_seq from loci.signing_keys
       union all select 'r', value, change_seq from loci.revocations where value <> 'cap_of_nobody' order by 1, 2`,
    )
  const before = await seqs()
  await authority.publish(item, {
    kind: 'key',
    body: { kid: authority.kid, x: authority.key.x, state: 'active', retire_at: null },
  })
  assert.deepEqual(await seqs(), before)
})

// Management was restored to before a change: each resync sends what it knew. Mutant: `feed_config_due` without the
// generation.
test('a resync with a former configuration makes nothing due', async () => {
  const own = await authority.addInstance()
  const former = { org: own.org, ten: own.ten, svc: own.svc, service_type: 'memory' as const, plan: 'pro' }
  const body = {
    ...former,
    state: 'active' as const,
    state_reason: null,
    limits: own.limits,
    generation: 1,
    config: {},
  }
  const due = () => daemon.sql(`select at from loci.due where instance_id = $1 and kind = 'config'`, [own.svc])
  await own.change({ config: { cognitive: { schedule: { intervalMs: 60_000 } } } })
  await eventually(async () => (await due()).length === 0)
  // No worker takes it, unless the feed puts it forward.
  await daemon.sql(`insert into loci.due (instance_id, database, kind, at) values ($1, '', 'config', '2100-01-01')`, [
    own.svc,
  ])
  await authority.publish({ kind: 'instance', body })
  assert.deepEqual(await due(), [{ at: new Date('2100-01-01') }])
})

test('the feed cannot move an instance to another organization or tenant', async () => {
  const own = await authority.addInstance()
  await own.change({ org: newId('org'), ten: newId('ten') })
  const [row] = await daemon.sql('select organization_id, tenant_id from loci.instances where id = $1', [own.svc])
  assert.deepEqual(row, { organization_id: own.org, tenant_id: own.ten })
})

test('an invalid page is refused as a whole', () => {
  const page = { epoch: 'e', full: false, next: 1, more: false, items: [] as object[] }
  assert.ok(feedResponse.safeParse(page).success)
  const key = { seq: 1, kind: 'key', key: 'k', body: { kid: 'k', x: 'x', state: 'active', retire_at: null } }
  assert.ok(feedResponse.safeParse({ ...page, items: [key] }).success)
  for (const item of [
    { ...key, kind: 'something' },
    { ...key, body: { ...key.body, state: 'trusted' } },
    { ...key, body: { ...key.body, retire_at: 'soon' } },
    { ...key, kind: 'revocation', body: { jti: 'cap_1' } },
    { ...key, kind: 'revocation', body: { kind: 'cell', id: 'x', not_before: inDays(0), expires_at: inDays(1) } },
  ])
    assert.ok(!feedResponse.safeParse({ ...page, items: [key, item] }).success, JSON.stringify(item))
})

test('changes are numbered in commit order: a reader up to a number has everything below it', async () => {
  const { pool } = authority
  let seen = await changeSeq()
  const found = new Set<string>()
  const made = Array.from({ length: 60 }, () => newId('cap'))
  let isDone = false
  const reader = (async () => {
    for (let last = false; ; last = isDone) {
      const changes = await readChanges(pool, seen)
      for (const { value } of changes.revocations) found.add(value)
      seen = changes.changeSeq
      if (last) return
    }
  })()
  const revoke = async (jti: string) => (await daemon.admin('POST /admin/revocations', { jti })).status
  // Sixty at once may wait too long for a connection: 503, and again.
  await Promise.all(made.map((jti) => eventually(async () => (await revoke(jti)) === 200)))
  isDone = true
  await reader
  assert.deepEqual(
    made.filter((jti) => !found.has(jti)),
    [],
  )
})

test('every observed instance is reported, however many came with one page', async () => {
  const since = await changeSeq()
  await daemon.sql(
    `with raised as (update loci.cell set change_seq = change_seq + 10)
     insert into loci.instances (id, organization_id, tenant_id, service_type, plan, state, generation, limits, config, change_seq)
     select 'svc_many_' || n, 'org', 'ten', 'memory', 'pro', 'active', 1, '{}', '{}', $1 + 1 + n / 400
     from generate_series(0, 1199) as n`,
    [since],
  )
  const found: string[] = []
  for (let after = since, more = true; more; ) {
    const page = await readReport(authority.pool, after)
    found.push(...page.observed.map(({ svc }) => svc))
    after = page.observed.at(-1)?.changeSeq ?? after
    more = page.more
  }
  assert.deepEqual([found.length, new Set(found).size], [1_200, 1_200])
})

test('a revocation that is made again while the first is reported is reported too', async () => {
  const { pool } = authority
  const { org } = await authority.addInstance()
  const at = (hour: number) => `2026-01-01T0${hour}:00:00.000Z`
  await daemon.admin('POST /admin/revocations', { org, not_before: at(1) })
  const rows = await readReport(pool, 0)
  await daemon.admin('POST /admin/revocations', { org, not_before: at(2) })
  await finishReport(pool, rows)
  const mine = async () => (await readReport(pool, 0)).revocations.filter(({ value }) => value === org)
  assert.deepEqual(
    (await mine()).map(({ not_before }) => not_before?.toISOString()),
    [at(2)],
  )
  await finishReport(pool, await readReport(pool, 0))
  assert.deepEqual(await mine(), [])
})

test('a revocation is deleted when no token that it names can be valid, and a cell’s own not before it was reported', async () => {
  const jtis = { over: newId('cap'), open: newId('cap'), untold: newId('cap') }
  await daemon.sql(
    `insert into loci.revocations (kind, svc, value, expires_at, origin, reported_at, change_seq) values
      ('jti', 'svc', $1, now() - interval '2 hours', 'management', null, 1),
      ('jti', 'svc', $2, now() + interval '1 minute', 'management', null, 1),
      ('jti', '*', $3, now() - interval '2 hours', 'cell', null, 1)`,
    [jtis.over, jtis.open, jtis.untold],
  )
  const left = async () =>
    (
      await daemon.sql<{ value: string }>('select value from loci.revocations where value = any($1)', [
        Object.values(jtis),
      ])
    )
      .map(({ value }) => value)
      .sort()
  await finishReport(authority.pool, { observed: [], usage: [], revocations: [], deletions: [], uses: [] })
  assert.deepEqual(await left(), [jtis.open, jtis.untold].sort())
  await finishReport(authority.pool, await readReport(authority.pool, 0))
  assert.deepEqual(await left(), [jtis.open])
})

test('usage is reported when its minute is over, once', async () => {
  const { pool } = authority
  const routes = { 'GET /v1/a': 1.5, 'GET /v1/b': 1, 'GET /v1/c': 4, 'GET /v1/d': 2, 'GET /v1/e': 3 }
  const count = {
    instanceId: 'svc_counted',
    requests: 3,
    writes: 1,
    units: 11.5,
    routes,
    ...noActivity(),
    errors: 1,
    latency: [0, 2],
  }
  await addUsage(pool, 'replica', 1, [count])
  await addUsage(pool, 'replica', 2, [{ ...count, latency: [1, 0, 0, 4], routes: { ...routes, 'POST /v1/f': 2.5 } }])
  const mine = async () => (await readReport(pool, 0)).usage.filter(({ svc }) => svc === 'svc_counted')
  assert.deepEqual(await mine(), [])
  await daemon.sql(`update loci.usage_minutes set minute = minute - interval '2 minutes'`)
  const [row] = await mine()
  assert.deepEqual([row?.requests, row?.writes, row?.units, row?.errors], [6, 2, 23, 2])
  assert.deepEqual(row?.latency, [1, 2, 0, 4], 'class by class')
  // The five dearest, and no more. Mutant: the limit left out of addUsage().
  assert.deepEqual(row?.routes, { 'GET /v1/c': 8, 'GET /v1/e': 6, 'GET /v1/d': 4, 'GET /v1/a': 3, 'POST /v1/f': 2.5 })
  await finishReport(pool, await readReport(pool, 0))
  assert.deepEqual(await mine(), [])
})

// Mutant: without `where old.flush < excluded.flush` in addUsage the repeat counts again.
test('counts that are sent again because their outcome was lost are counted once', async () => {
  const { pool } = authority
  const count = { instanceId: newId('svc'), requests: 3, writes: 1, units: 3, routes: {}, ...noActivity() }
  await addUsage(pool, 'unsure', 1, [count])
  await addUsage(pool, 'unsure', 1, [count])
  // Another minute must not make it another count.
  await daemon.sql(`update loci.usage_minutes set minute = minute - interval '2 minutes' where instance_id = $1`, [
    count.instanceId,
  ])
  await addUsage(pool, 'unsure', 1, [count])
  await addUsage(pool, 'unsure', 2, [count])
  const [sum] = await daemon.sql(
    'select sum(requests)::int as requests, sum(writes)::int as writes from loci.usage_minutes where instance_id = $1',
    [count.instanceId],
  )
  assert.deepEqual(sum, { requests: 6, writes: 2 })
})

// Mutant: without the generations in the condition of feed_instances yesterday's state is back.
test('an older generation than the cell has changes nothing', async () => {
  const own = await authority.addInstance({ generation: 5, plan: 'pro' })
  const read = async () =>
    (await daemon.sql('select plan, state, generation from loci.instances where id = $1', [own.svc]))[0]
  const publish = (generation: number, plan: string) =>
    authority.publish({
      kind: 'instance',
      body: {
        ...{ org: own.org, ten: own.ten, svc: own.svc, service_type: 'memory', limits: own.limits, config: {} },
        ...{ generation, plan, state: 'active', state_reason: null },
      },
    })
  await publish(4, 'free')
  assert.deepEqual(await read(), { plan: 'pro', state: 'active', generation: 5 })
  await publish(6, 'free')
  assert.deepEqual(await read(), { plan: 'free', state: 'active', generation: 6 })
})

// Mutants: no dropCovered(); without its minute; of every service.
test('a revocation that an epoch covers is deleted in the cell, and its token stays refused', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const [instance, other] = [await authority.addInstance(), await authority.addInstance()]
  const at = (agoS: number) => new Date(Date.now() - agoS * 1000).toISOString()
  const expires_at = new Date(Date.now() + 86_400_000).toISOString()
  const jti = (name: string, svc: string, revoked_at?: string) =>
    ({ kind: 'revocation', body: { svc, jti: name, expires_at, ...(revoked_at ? { revoked_at } : {}) } }) as const
  await authority.publish(
    jti('old', instance.svc, at(7_200)),
    jti('recent', instance.svc, at(3_630)),
    jti('untimed', instance.svc),
    jti('others', other.svc, at(7_200)),
  )
  await authority.publish({
    kind: 'revocation',
    body: { kind: 'svc', id: instance.svc, not_before: at(3_600), expires_at },
  })

  const rows = await daemon.sql<{ value: string }>(
    `select value from loci.revocations where kind = 'jti' and origin = 'management' order by value`,
  )
  assert.deepEqual(
    rows.map(({ value }) => value),
    ['others', 'recent', 'untimed'],
  )
  const status = async (one: typeof instance, name: string, agoS: number) =>
    (await one.call(one.root({ jti: name, iat: nowS() - agoS, nbf: nowS() - agoS }), 'GET /v1/kv/entries')).status
  assert.deepEqual(
    [
      await status(instance, 'old', 7_300),
      await status(instance, 'recent', 3_640),
      await status(instance, 'untimed', 10),
      await status(other, 'others', 7_300),
      await status(instance, 'new', 10),
    ],
    [401, 401, 401, 401, 200],
  )
})

// Mutants: applyPage() that applies a withdrawn item as any other; withdrawRevocations() that spares what is reported,
// or takes what is not; acceptRevocation() without isWithdrawn, or without isRestated; readCredentialStatus() that
// counts withdrawn rows.
test('what staff withdraw is refused no more, but for what management revoked itself and what came since', async () => {
  const own = await authority.addInstance()
  const iat = nowS() - 600
  const jti = newId('cap')
  const roots = [
    { jti, iat },
    { jti: newId('cap'), iat: iat - 100 },
  ]
  const at = (seconds: number) => new Date((iat + seconds) * 1_000).toISOString()
  /** By what the replica remembers, which is what the database says. */
  const outcomes = async () =>
    Promise.all(
      roots.map(async (root) => {
        const { status } = await own.call(own.root({ ...root, nbf: root.iat }), 'GET /v1/kv/entries')
        const claims = { ...root, org: own.org, ten: own.ten, svc: own.svc } as Capability['root']
        const asked = { root: claims, jtis: [root.jti], kid: authority.kid }
        const { isRevoked } = await readCredentialStatus(authority.pool, asked)
        assert.equal(isRevoked, status === 401)
        return status
      }),
    )
  const expires_at = inDays(9)
  const revoke = (body: object) => daemon.admin('POST /admin/revocations', body)
  const reported = async () => finishReport(authority.pool, await readReport(authority.pool, 0))
  const epoch = (not_before: string, more = {}) =>
    ({ kind: 'revocation', body: { kind: 'svc', id: own.svc, not_before, expires_at, ...more } }) as const
  const withdrawn = { withdrawn: true as const }

  // By jti.
  await revoke({ jti })
  await reported()
  await authority.publish({ kind: 'revocation', body: { svc: '*', jti, expires_at } })
  assert.deepEqual(await outcomes(), [401, 200])
  await authority.publish({ kind: 'revocation', body: { svc: '*', jti, expires_at, ...withdrawn } })
  assert.deepEqual(await outcomes(), [200, 200])

  // By a moment: management's own, the older one, stays.
  await authority.publish(epoch(at(-50)))
  assert.deepEqual(await outcomes(), [200, 401])
  await revoke({ svc: own.svc, not_before: at(0) })
  await reported()
  await authority.publish(epoch(at(0)))
  assert.deepEqual(await outcomes(), [401, 401])
  await authority.publish(epoch(at(-50), withdrawn))
  assert.deepEqual(await outcomes(), [200, 401])
  await authority.publish(epoch(at(-50), withdrawn))
  assert.deepEqual(await outcomes(), [200, 401])
  await authority.publish(epoch(at(0)))
  assert.deepEqual(await outcomes(), [401, 401], 'revoked again by management')
  await authority.publish(epoch(new Date(0).toISOString(), withdrawn))
  assert.deepEqual(await outcomes(), [200, 200])

  // Revoked here again, and not reported yet.
  await revoke({ svc: own.svc, not_before: at(0) })
  await authority.publish(epoch(new Date(0).toISOString(), withdrawn))
  assert.deepEqual(await outcomes(), [401, 401])
  const acts = await daemon.sql(`select subject from loci.audit where action = 'revocation.withdraw' order by seq`)
  assert.deepEqual([...new Set(acts.map(({ subject }) => subject))].sort(), [jti, own.svc].sort())
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'

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

const REVOKE = 'POST /admin/revocations'
const AT = '2026-01-01T00:00:00.000Z'

const entries = () =>
  daemon.sql<{ id: string; action: string; subject: string; request_id: string; actor: string }>(
    `select id, action, subject, request_id, actor from loci.audit where chain = 'cell' order by seq`,
  )
const rows = () =>
  daemon.sql<{ kind: string; svc: string; value: string; not_before: Date | null }>(
    'select kind, svc, value, not_before from loci.revocations order by change_seq',
  )

test('a revocation is kept and has exactly one audit entry, which the answer names', async () => {
  for (const body of [
    { jti: newId('cap') },
    { org: own.org, not_before: AT },
    { ten: own.ten, not_before: AT },
    { svc: own.svc, not_before: '2026-01-01T02:00:00+02:00' },
  ]) {
    const before = await entries()
    const answer = await daemon.admin(REVOKE, body)
    assert.equal(answer.status, 200, answer.text)
    const added = (await entries()).slice(before.length)
    assert.equal(added.length, 1)
    const [kind, value] = Object.entries(body)[0] as [string, string]
    assert.deepEqual(answer.json(), { revoked: true, audit_id: added[0]?.id })
    assert.deepEqual([added[0]?.action, added[0]?.subject], ['revocation.add', value])
    assert.equal(added[0]?.request_id, answer.headers['x-request-id'])
    assert.match(String(added[0]?.actor), /^admin:[0-9a-f]{8}@127\.0\.0\.1$/)
    const last = (await rows()).at(-1)
    assert.deepEqual([last?.kind, last?.svc, last?.value], [kind, '*', value])
    assert.equal(last?.not_before?.toISOString() ?? null, kind === 'jti' ? null : AT)
  }
})

test('a body that names nothing, or too much, is refused and leaves no trace', async () => {
  const before = [await entries(), await rows()]
  for (const body of [
    {},
    { jti: '' },
    { jti: 5 },
    { jti: 'a'.repeat(201) },
    { jti: 'cap_1', not_before: AT },
    { jti: 'cap_1', svc: 'svc_1' },
    { svc: 'svc_1' },
    { svc: 'svc_1', not_before: 'yesterday' },
    { svc: 'svc_1', not_before: 1_700_000_000 },
    { org: 'org_1', ten: 'ten_1', not_before: AT },
    { not_before: AT },
  ])
    assert.equal((await daemon.admin(REVOKE, body)).error.code, 'VALIDATION_ERROR', JSON.stringify(body))
  assert.deepEqual([await entries(), await rows()], before)
})

test('revoking again is an act of its own, and never undoes what was revoked', async () => {
  const { ten } = await authority.addInstance()
  const at = async (not_before: string) => {
    await daemon.admin(REVOKE, { ten, not_before })
    return (await rows()).filter(({ value }) => value === ten).map((row) => row.not_before?.toISOString())
  }
  const count = (await entries()).length
  assert.deepEqual(await at('2026-01-02T00:00:00Z'), ['2026-01-02T00:00:00.000Z'])
  assert.deepEqual(await at('2026-01-01T00:00:00Z'), ['2026-01-02T00:00:00.000Z'])
  assert.deepEqual(await at('2026-01-03T00:00:00Z'), ['2026-01-03T00:00:00.000Z'])
  assert.equal((await entries()).length, count + 3)
})

test('no revocation when its audit entry cannot be written', async () => {
  const jti = newId('cap')
  await daemon.sql('revoke insert on loci.audit from loci_app')
  const refused = await daemon.admin(REVOKE, { jti })
  await daemon.sql('grant insert on loci.audit to loci_app')
  assert.ok(refused.status >= 500)
  assert.deepEqual(
    (await rows()).filter(({ value }) => value === jti),
    [],
  )
  assert.equal((await daemon.admin(REVOKE, { jti })).status, 200)
})

test('thirty at once are thirty rows and thirty entries', async () => {
  const jtis = Array.from({ length: 30 }, () => newId('cap'))
  const count = (await entries()).length
  // They have two connections: who waits too long for one is 503, nothing was done, and asks again.
  const revoke = async (jti: string) => {
    const { status } = await daemon.admin(REVOKE, { jti })
    assert.ok(status === 200 || status === 503, String(status))
    return status === 200
  }
  await Promise.all(jtis.map((jti) => eventually(() => revoke(jti))))
  assert.equal((await entries()).length, count + 30)
  assert.equal((await rows()).filter(({ value }) => jtis.includes(value)).length, 30)
})

// Mutants: AHEAD_MS_MAX of a day; requireRevocable() without isPlaced(); isPlaced() that counts deleted instances.
test('nothing is revoked more than a minute ahead, nor of somebody who has nothing in the cell', async () => {
  const before = [await entries(), await rows()]
  const gone = await authority.addInstance()
  await gone.change({ state: 'deleted' })
  const kinds = ['org', 'ten', 'svc'] as const
  for (const kind of kinds) {
    for (const aheadMs of [61_000, 120_000, 3_000 * 86_400_000]) {
      const not_before = new Date(Date.now() + aheadMs).toISOString()
      assert.equal((await daemon.admin(REVOKE, { [kind]: own[kind], not_before })).error.code, 'VALIDATION_ERROR')
    }
    for (const value of [newId(kind), gone[kind]])
      assert.equal((await daemon.admin(REVOKE, { [kind]: value, not_before: AT })).error.code, 'NOT_FOUND', kind)
  }
  const [audited, revoked] = [await entries(), await rows()]
  const isOther = ({ value }: { value: string }) => value !== 'cap_of_nobody'
  assert.deepEqual(revoked.filter(isOther), (before[1] as typeof revoked).filter(isOther))
  const others = (list: { subject: string }[]) => list.filter(({ subject }) => subject !== 'cap_of_nobody')
  assert.deepEqual(others(audited), others(before[0] as typeof audited))
})

// Mutant: requireRevocable() without countRevokedTokens().
test('a cell keeps at most ten thousand revocations by jti, and says what to do instead', async () => {
  const { seq } = (await daemon.sql<{ seq: number }>('select change_seq::int as seq from loci.cell'))[0] ?? { seq: 0 }
  await daemon.sql(
    `insert into loci.revocations (kind, svc, value, expires_at, origin, reported_at, change_seq)
      select 'jti', '*', 'cap_many_' || g, now() + interval '1 day', 'cell', now(), $1 from generate_series(1, 10000) g`,
    [seq],
  )
  const refused = await daemon.admin(REVOKE, { jti: newId('cap') })
  await daemon.sql(`delete from loci.revocations where value like 'cap_many_%'`)
  assert.equal(refused.error.code, 'INVALID_STATE')
  assert.match(refused.error.message, /svc and not_before/)
  assert.equal((await daemon.admin(REVOKE, { jti: newId('cap') })).status, 200)
})

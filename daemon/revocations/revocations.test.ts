import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'

let daemon: TestDaemon
before(async () => {
  daemon = await testDaemon()
})
after(() => daemon?.[Symbol.asyncDispose]())

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
    { org: newId('org'), not_before: AT },
    { ten: newId('ten'), not_before: AT },
    { svc: newId('svc'), not_before: '2026-01-01T02:00:00+02:00' },
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
  const ten = newId('ten')
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

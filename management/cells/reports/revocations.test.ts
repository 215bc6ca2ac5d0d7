import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { SCOPES } from '@loci/contract/roles.ts'
import { type TestManagement, testManagement } from '../../testing/management.ts'

const DAY_MS = 86_400_000
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString()
const PAST = '2026-01-01T00:00:00.000Z'
const row = (kind: string, value: string, more: object = {}) => ({
  ...{ kind, value, not_before: kind === 'jti' ? null : PAST, expires_at: inMs(DAY_MS), audit_id: newId('aud') },
  ...more,
})
const alarms = async (management: TestManagement) =>
  Number(
    /loci_cell_alarms_total\{.*kind="revocations".*\} (\d+)/.exec((await management.get('/metrics')).text)?.[1] ?? 0,
  )

// Mutants: judge() that believes any of org, ten, svc or jti; AHEAD_MS_MAX of a day; revocationOf() with the row's own
// expires_at; no audit of what was taken, or again with each report.
test('a cell revokes what is placed in it, up to now and no longer than a token lives, and its customer is told once', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const other = await management.cell()
  const service = await management.instance(cell.id)
  const foreign = await management.instance(other.id, { organization: 'Other' })
  const foreignToken = newId('cap')
  await management.sql(
    `insert into loci.tokens (jti, organization_id, tenant_id, service_id, kid, ops, ks, issued_at, expires_at, delegation_depth)
      values ($1, $2, $3, $4, 'k', '{}', '{}', now(), now() + interval '1 day', 0)`,
    [foreignToken, foreign.organizationId, foreign.tenantId, foreign.id],
  )
  const refused = [
    row('svc', foreign.id),
    row('ten', foreign.tenantId),
    row('org', foreign.organizationId),
    row('jti', foreignToken),
    row('svc', newId('svc')),
    row('svc', service.id, { not_before: inMs(61_000) }),
    row('org', service.organizationId, { not_before: inMs(3_000 * DAY_MS) }),
  ]
  const taken = [
    row('svc', service.id, { not_before: inMs(30_000) }),
    row('ten', service.tenantId, { expires_at: inMs(9_000 * DAY_MS) }),
    row('org', service.organizationId),
    row('jti', newId('cap')),
  ]

  for (const revocations of [refused, taken, taken]) assert.equal((await cell.report({ revocations })).status, 200)

  const published = (await cell.pull()).items.flatMap(({ kind, body }) => (kind === 'revocation' ? [body] : []))
  assert.deepEqual(
    published.map((body) => ('jti' in body ? body.jti : body.id)).sort(),
    taken.map(({ value }) => value).sort(),
  )
  const longest = Math.max(...published.map(({ expires_at }) => Date.parse(expires_at)))
  assert.ok(longest < Date.now() + 366 * DAY_MS, new Date(longest).toISOString())
  assert.ok((await other.pull()).items.every(({ kind }) => kind !== 'revocation'))
  const told = await management.sql(
    `select chain, action, subject from loci.audit where actor = $1 order by chain, action`,
    [cell.id],
  )
  const chain = service.organizationId
  assert.deepEqual(told, [
    { chain, action: 'organization.revoke', subject: chain },
    { chain, action: 'service.revoke', subject: service.id },
    { chain, action: 'tenant.revoke', subject: service.tenantId },
    { chain: 'platform', action: 'token.revoke', subject: taken[3]?.value },
  ])
  assert.equal(await alarms(management), refused.length)
})

// Mutants: no alarm about the rate; TOKENS_MAX not asked for; withdrawn ones counted; known ones refused; take() that
// counts nothing.
test('more than a few revocations a minute are an alarm, and a cell has a bound of them by jti', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const tokens = (count: number) => ({ revocations: Array.from({ length: count }, () => row('jti', newId('cap'))) })
  assert.equal((await cell.report(tokens(5))).status, 200)
  assert.equal(await alarms(management), 0)
  assert.equal((await cell.report(tokens(1))).status, 200)
  // Metrics are computed once a second.
  await eventually(async () => (await alarms(management)) === 1)

  await management.sql(
    `insert into loci.revocations (id, cell_id, kind, svc, value, expires_at, origin, created_at)
      select 'rev_' || g, $1, 'jti', '*', 'cap_' || g, now() + interval '1 day', 'cell', now() - interval '1 hour' from generate_series(1, 9993) g`,
    [cell.id],
  )
  const before = await alarms(management)
  const three = tokens(3)
  assert.equal((await cell.report(three)).status, 200)
  const kept = async () =>
    (await management.sql<{ value: string }>('select value from loci.revocations where withdrawn_at is null')).map(
      ({ value }) => value,
    )
  const first = await kept()
  assert.equal(first.length, 10_000)
  const last = three.revocations.filter(({ value }) => first.includes(value))
  assert.equal(last.length, 1)
  // Two refused, and the rate.
  await eventually(async () => (await alarms(management)) === before + 3)

  // A restored cell tells what is known: nothing of it is refused. What staff have withdrawn makes room for another.
  assert.equal((await cell.report({ revocations: [...last, ...last] })).status, 200)
  await management.sql(`update loci.revocations set withdrawn_at = now() where value = 'cap_1'`)
  const back = row('jti', 'cap_2')
  assert.equal((await cell.report({ revocations: [back, row('jti', newId('cap')), ...last] })).status, 200)
  assert.equal((await kept()).length, 10_000)
  assert.equal((await cell.report({ revocations: [row('jti', 'cap_1')] })).status, 200)
  assert.equal((await kept()).length, 10_000)
  // The last one was refused; the rate was an alarm once more.
  await eventually(async () => (await alarms(management)) === before + 5)
})

// Mutants: withdrawRevocation() without publishRevocation(), or without its audit entries; saveCellRevocation() that
// takes the same act again.
test('staff withdraw what a cell revoked: the feed says so, the customer is told, and only another act puts it back', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const staff = await management.organization({ email: 'staff@loci.example', scopes: [...SCOPES, 'staff'] })
  const [bySvc, byJti] = [row('svc', service.id), row('jti', newId('cap'))]
  await cell.report({ revocations: [bySvc, byJti] })
  const { revocations } = (await staff.ask('GET /api/v1/revocations?limit=1')).json<Listed>()
  assert.equal(revocations.length, 1)
  const all = (await staff.ask('GET /api/v1/revocations')).json<Listed>().revocations
  assert.deepEqual(all.map(({ kind, value }) => [kind, value]).sort(), [
    ['jti', byJti.value],
    ['svc', service.id],
  ])
  const bodies = async () =>
    (await cell.pull()).items.flatMap(({ kind, body }) => (kind === 'revocation' ? [body] : []))
  const withdrawnIn = async () => (await bodies()).filter((body) => body.withdrawn === true).length

  for (const { id } of all) assert.equal((await staff.ask(`DELETE /api/v1/revocations/${id}`)).status, 200)
  assert.equal((await staff.ask(`DELETE /api/v1/revocations/${all[0]?.id}`)).status, 200)
  assert.equal((await staff.ask(`DELETE /api/v1/revocations/${newId('rev')}`)).status, 404)

  assert.equal(await withdrawnIn(), 2)
  const [epoch] = (await bodies()).filter((body) => 'not_before' in body)
  assert.equal(epoch && 'not_before' in epoch && epoch.not_before, new Date(0).toISOString())
  const acts = await management.sql(
    `select chain, count(*)::int as acts from loci.audit where action = 'revocation.withdraw' group by 1 order by 1`,
  )
  assert.deepEqual(acts, [
    { chain: service.organizationId, acts: 1 },
    { chain: 'platform', acts: 2 },
  ])
  // A cell that was restored reports its act again, and is told again.
  await cell.report({ revocations: [bySvc, byJti] })
  assert.equal(await withdrawnIn(), 2)
  await cell.report({ revocations: [row('svc', service.id)] })
  assert.equal(await withdrawnIn(), 1)
})

interface Listed {
  revocations: { id: string; kind: string; value: string }[]
}

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { SLOT_RIGHTS, slotPath, slotsOf } from '../testing/slots.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

interface Cleared {
  ok: boolean
  cleared: number
  retained: number
  retainedKeys: string[]
  dryRun: boolean
  undo: { token: string; expiresAt: string } | null
}

const CLEAR = 'POST /v1/working-memory/slots/clear'
const RESTORE = 'POST /v1/working-memory/slots/restore'

// specification 143 144
test('clearing takes what is not pinned, is undone once, and needs the right to delete in that database', async () => {
  const slots = slotsOf(tenant, 'clear')
  await slots.put('kept', { value: 1, pinned: true })
  await slots.put('gone', { value: { a: 1 }, tags: ['t'] })
  const dry = (await slots.call(`${CLEAR}?dryRun=true&includePinned=true`)).json<Cleared>()
  assert.deepEqual([dry.cleared, dry.dryRun, dry.undo, (await slots.list()).count], [2, true, null, 2])
  const body = (await slots.call(CLEAR)).json<Cleared>()
  assert.deepEqual(
    [body.ok, body.cleared, body.retained, body.retainedKeys, body.dryRun],
    [true, 1, 1, ['kept'], false],
  )
  assert.deepEqual(await slots.keys(), ['kept'])
  const undo = { undoToken: body.undo?.token }
  for (const undoToken of ['invented', `${body.undo?.token}x`, `${body.undo?.token.slice(0, -2)}AA`])
    assert.equal((await slots.call(RESTORE, { undoToken })).status, 404)
  assert.equal((await slotsOf(tenant, 'elsewhere').call(RESTORE, undo)).status, 404)
  const restored = await slots.call(RESTORE, undo)
  assert.equal(restored.status, 200, restored.text)
  assert.deepEqual((await slots.get('gone')).json<{ value: object }>().value, { a: 1 })
  assert.equal((await slots.call(RESTORE, undo)).status, 404)
  const rights = { ...SLOT_RIGHTS, ops: ['wm:read', 'wm:write'] }
  const refused = await tenant.call(CLEAR, undefined, { db: 'clear', token: tenant.mint(rights) })
  assert.deepEqual([refused.status, refused.error.code], [403, 'OPERATION_NOT_ALLOWED'])
  const only = tenant.mint({ ...SLOT_RIGHTS, ks: ['working-memory/other'] })
  assert.equal((await tenant.call(CLEAR, undefined, { db: 'clear', token: only })).error.code, 'DATABASE_MISMATCH')
  assert.equal((await slots.list()).count, 2)
})

// Mutant: `there` always empty in restore(): the newer value is written over.
test('an undo never writes over a slot that was written since, and stays usable', async () => {
  const slots = slotsOf(tenant, 'newer')
  for (const key of ['a', 'b']) await slots.put(key, { value: 'old' })
  const { undo } = (await slots.call(CLEAR)).json<Cleared>()
  await slots.put('a', { value: 'new' })
  const refused = await slots.call(RESTORE, { undoToken: undo?.token })
  assert.deepEqual([refused.status, refused.error.code, refused.error.details], [409, 'INVALID_STATE', { keys: ['a'] }])
  assert.deepEqual(await slots.keys(), ['a'])
  await slots.call(`DELETE ${slotPath('a')}`)
  assert.equal((await slots.call(RESTORE, { undoToken: undo?.token })).status, 200)
  assert.deepEqual(
    (await slots.list()).slots.map(({ value }) => value),
    ['old', 'old'],
  )
})

// Mutant: `kept` left out of the outcome: the token stands in loci.idempotency.
test('a repeated clear has the same token, which is stored nowhere, and every clear is in the audit', async () => {
  const slots = slotsOf(tenant, 'repeat')
  await slots.put('a')
  const headers = { 'idempotency-key': 'clear-1' }
  const first = await slots.call(CLEAR, undefined, headers)
  await slots.put('b')
  const again = await slots.call(CLEAR, undefined, headers)
  assert.deepEqual([again.text, again.headers['idempotent-replayed'], await slots.keys()], [first.text, 'true', ['b']])
  const token = first.json<Cleared>().undo?.token as string
  const [seal] = token.split('.').slice(-1) as [string]
  for (const { name } of await daemon.sql<{ name: string }>('select name from loci.tenant_tables()')) {
    const [row] = await daemon.sql<{ found: number }>(
      `select count(*)::int as found from loci.${name} t where t::text like '%' || $1 || '%'`,
      [seal],
    )
    assert.equal(row?.found, 0, name)
  }
  for (const path of [CLEAR, CLEAR, `${CLEAR}?dryRun=true`]) assert.equal((await slots.call(path)).status, 200)
  const audited = await daemon.sql<{ detail: { database: string; cleared: number } }>(
    `select detail from loci.audit where chain = $1 and action = 'slots.clear' and subject = 'repeat' order by seq`,
    [tenant.instanceId],
  )
  assert.deepEqual(
    audited.map(({ detail }) => [detail.database, detail.cleared]),
    [
      ['repeat', 1],
      ['repeat', 1],
      ['repeat', 0],
    ],
  )
})

test('an undo token is good for 24 hours', async () => {
  const slots = slotsOf(tenant, 'late')
  await slots.put('a')
  const { undo } = (await slots.call(CLEAR)).json<Cleared>()
  await daemon.sql(`update loci.clears set at = at - interval '24 hours' where database = 'late'`)
  assert.equal((await slots.call(RESTORE, { undoToken: undo?.token })).status, 404)
})

// Mutant: requireRoom() of what was written in restore() counts it twice: the first undo is 403.
test('an undo that fits the plan is done, and one that does not restores nothing', async () => {
  const own = await addTenant(daemon, { bytes: 32_000 })
  const slots = slotsOf(own, 'tight')
  for (const key of ['a', 'b', 'c', 'd']) await slots.put(key, { value: 'x'.repeat(900) })
  const statuses: number[] = []
  while (statuses.length < 10 && statuses.at(-1) !== 403) {
    const { undo } = (await slots.call(CLEAR)).json<Cleared>()
    statuses.push((await slots.call(RESTORE, { undoToken: undo?.token })).status)
  }
  assert.deepEqual([statuses[0], statuses.at(-1)], [200, 403])
  assert.deepEqual(await slots.keys(), [])
})

// Mutant: `missing` always empty.
test('an undo names what it cannot bring back, and its repeat does too', async () => {
  const slots = slotsOf(tenant, 'dropped')
  for (const key of ['old', 'young']) await slots.put(key)
  const { undo } = (await slots.call(CLEAR)).json<Cleared>()
  // The week of an old version is dropped.
  await daemon.sql(`delete from loci.slot_versions where instance_id = $1 and database = 'dropped' and key = 'old'`, [
    tenant.instanceId,
  ])
  const restore = () => slots.call(RESTORE, { undoToken: undo?.token }, { 'idempotency-key': 'undo-1' })
  const first = await restore()
  const { restored, missing } = first.json<{ restored: number; missing: string[] }>()
  assert.deepEqual([restored, missing, await slots.keys()], [1, ['old'], ['young']])
  assert.equal((await restore()).text, first.text)
})

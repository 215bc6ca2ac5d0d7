// Switches of a cell: what it reports, what staff asks for, and what a customer of it sees.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SCOPES } from '@loci/contract/roles.ts'
import { SUBSERVICE_NAMES } from '@loci/contract/subservices.ts'
import { type TestCell, type TestManagement, type TestParty, testManagement } from '../../testing/management.ts'
import { signInWorld } from '../../testing/sign-in.ts'

let management: TestManagement
let staff: TestParty
before(async () => {
  management = await testManagement()
  staff = await management.organization({ email: 'staff@loci.example', scopes: [...SCOPES, 'staff'] })
})
after(() => management?.[Symbol.asyncDispose]())

interface Listed {
  reported_at: string | null
  subservices: {
    name: string
    enabled: boolean
    required: boolean
    changed_by: string | null
    auto_revert_at: string | null
    wanted: { enabled: boolean; reason: string; by: string; auto_revert_at: string | null; state: string } | null
  }[]
}

const SINCE = '2026-01-01T00:00:00.000Z'
const asIs = (name: string) => ({
  ...{ name, enabled: true, since: SINCE, changed_by: null, reason: null },
  ...{ auto_revert_at: null, told_at: null, outcome: null },
})

async function say(cell: TestCell, changes: Record<string, object> = {}): Promise<void> {
  const switches = SUBSERVICE_NAMES.map((name) => ({ ...asIs(name), ...changes[name] }))
  const { status, body } = await cell.report({ switches })
  assert.equal(status, 200, JSON.stringify(body))
}

const list = async (cell: TestCell) => (await staff.ask(`GET /api/v1/cells/${cell.id}/subservices`)).json<Listed>()
const find = async (cell: TestCell, name: string) =>
  (await list(cell)).subservices.find((one) => one.name === name) ?? assert.fail(`no ${name}`)
const turn = (cell: TestCell, body: object) =>
  staff.ask(`POST /api/v1/cells/${cell.id}/subservices/switch`, { body: { reason: 'too slow', ...body } })
const audited = () =>
  management.sql<{ subject: string; action: string; detail: object }>(
    `select subject, action, detail from loci.audit where chain = 'platform' and action like 'subservice.%' order by at`,
  )

// Mutants: `after: 0` in readWithSwitches(); no wake in publishSwitch(); an audit entry left out.
test('what staff asks for wakes the feed of the cell, is told once, and is shown until the cell has said what became of it', async () => {
  const [cell, other] = [await management.cell(), await management.cell()]
  assert.deepEqual(await list(cell), { cell_id: cell.id, reported_at: null, subservices: [] })
  assert.equal((await turn(cell, { service: 'mcp', enabled: false })).error.code, 'INVALID_STATE')
  await say(cell)
  await say(other)
  const { epoch, next } = await cell.pull()
  const polled = cell.feed({ epoch, after: next, wait: 20 })

  const answer = await turn(cell, { service: 'mcp', enabled: false, auto_revert_ms: 60_000 })

  const expected = { service: 'mcp', previous: true, current: false, changed: true, dry_run: false, instances: 0 }
  assert.deepEqual([answer.status, answer.json()], [200, expected])
  const { switches = [], next: then } = await polled
  const [{ at, by, auto_revert_at, ...command }] = switches as [NonNullable<typeof switches>[number]]
  assert.deepEqual([switches.length, command], [1, { service: 'mcp', enabled: false, reason: 'too slow' }])
  assert.equal(Date.parse(auto_revert_at ?? '') - Date.parse(at), 60_000)
  const pending = await find(cell, 'mcp')
  assert.deepEqual([pending.enabled, pending.wanted?.state, pending.wanted?.by], [true, 'pending', by])
  assert.equal((await cell.feed({ epoch, after: then })).switches, undefined)
  assert.equal((await other.feed()).switches, undefined)
  assert.deepEqual((await cell.feed()).switches, switches, 'a cell that reads everything again is told again')
  assert.deepEqual(
    (await audited()).filter(({ subject }) => subject === cell.id),
    [
      {
        ...{ subject: cell.id, action: 'subservice.disable' },
        detail: { service: 'mcp', reason: 'too slow', auto_revert_ms: 60_000, previous: true },
      },
    ],
  )

  const done = { enabled: false, changed_by: `management:${by}`, reason: 'too slow', auto_revert_at, told_at: at }
  await say(cell, { mcp: { ...done, outcome: 'applied' } })
  const { wanted, ...row } = await find(cell, 'mcp')
  assert.deepEqual([row.enabled, row.auto_revert_at, wanted?.state], [false, auto_revert_at, 'applied'])
  for (const outcome of ['overtaken', 'refused', 'expired']) {
    await say(cell, { mcp: { told_at: at, outcome } })
    assert.deepEqual([(await find(cell, 'mcp')).enabled, (await find(cell, 'mcp')).wanted?.state], [true, outcome])
  }
})

// Mutants: isDryRun not looked at; `enabled` instead of isEnabledSoon(), which forgets what was asked a moment ago.
test('a dry run changes nothing; what a rule forbids is refused, with what was asked for before taken as done', async () => {
  const cell = await management.cell()
  await say(cell)
  const codeOf = async (body: object) => {
    const { status, error } = await turn(cell, body)
    return [status, error?.code]
  }
  const dry = await turn(cell, { service: 'advice', enabled: false, dry_run: true })
  assert.deepEqual(dry.json<{ changed: boolean; dry_run: boolean }>().changed, true)
  assert.equal((await find(cell, 'advice')).wanted, null)
  assert.deepEqual(await codeOf({ service: 'projections', enabled: false, dry_run: true }), [409, 'INVALID_STATE'])
  assert.deepEqual(await codeOf({ service: 'kv', enabled: false }), [409, 'SUBSERVICE_REQUIRED'])
  assert.deepEqual(await codeOf({ service: 'constructor', enabled: false }), [404, 'NOT_FOUND'])

  assert.deepEqual(await codeOf({ service: 'advice', enabled: false }), [200, undefined])
  assert.deepEqual(await codeOf({ service: 'projections', enabled: false }), [200, undefined])
  assert.deepEqual(await codeOf({ service: 'advice', enabled: true }), [409, 'DEPENDENCY_DISABLED'])
  assert.equal((await turn(cell, { service: 'mcp', enabled: true })).json<{ changed: boolean }>().changed, false)
  assert.equal((await find(cell, 'mcp')).wanted, null)
  for (const body of [
    { service: 'mcp', enabled: false, reason: '' },
    { service: 'mcp', enabled: false, reason: undefined },
    { service: 'mcp', enabled: 'no' },
    { service: 'mcp', enabled: false, auto_revert_ms: 0 },
    { service: 'mcp', enabled: false, for_ever: true },
  ])
    assert.equal((await turn(cell, body)).status, 400, JSON.stringify(body))
  assert.equal((await staff.ask('GET /api/v1/cells/x/subservices')).status, 404)
  const nowhere = { body: { service: 'mcp', enabled: false, reason: 'r' } }
  assert.equal((await staff.ask('POST /api/v1/cells/x/subservices/switch', nowhere)).status, 404)
  assert.equal((await audited()).filter(({ subject }) => subject === cell.id).length, 2)
})

// Mutant: switchJson() in the detail of a service.
test('whoever has a service in the cell sees which switches are off and until when, not who did it or why', async () => {
  const [cell, own] = [await management.cell(), await management.organization()]
  const service = await management.instance(cell.id, { organization: own.organizationId, tenant: own.tenantId })
  const read = async () =>
    (await own.ask(`GET /api/v1/services/${service.id}`)).json<{ subservices: Record<string, unknown>[] }>().subservices
  assert.deepEqual(await read(), [])
  const off = { enabled: false, changed_by: 'admin:x@10.0.0.1', reason: 'a secret', auto_revert_at: SINCE }
  await say(cell, { advice: off })

  const subservices = await read()

  assert.equal(subservices.length, SUBSERVICE_NAMES.length)
  assert.deepEqual(
    subservices.find(({ name }) => name === 'advice'),
    { name: 'advice', enabled: false, since: SINCE, auto_revert_at: SINCE },
  )
})

// Mutant: requireFreshSignIn() left out of the route.
test('a session of staff switches only within ten minutes of its sign-in', async () => {
  await using world = await signInWorld({ staffEmails: ['alice@example.test'] })
  const cell = await world.management.cell()
  await say(cell)
  await world.management.organization({ email: 'alice@example.test' })
  const browser = await world.signIn('alice')
  const ask = () =>
    browser.ask(`POST /api/v1/cells/${cell.id}/subservices/switch`, {
      body: { service: 'mcp', enabled: false, reason: 'r' },
    })
  await world.management.sql(`update loci.sessions set created_at = now() - interval '11 minutes', auth_time = null`)
  const refused = await ask()
  assert.deepEqual([refused.status, refused.error.code], [403, 'FORBIDDEN'])
  assert.equal((refused.error.details as { reason: string }).reason, 'sign_in_too_old')
  await world.management.sql(`update loci.sessions set created_at = now()`)
  assert.equal((await ask()).status, 200)
})

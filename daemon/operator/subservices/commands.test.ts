// What staff asks of the switches of a cell, from the feed to the report.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { listeningCell } from '../../testing/listening-cell.ts'

type Cell = Awaited<ReturnType<typeof listeningCell>>

const command = (
  service: string,
  enabled: boolean,
  { ago = 0, revertsIn }: { ago?: number; revertsIn?: number } = {},
) => ({
  ...{ service, enabled, at: new Date(Date.now() - ago).toISOString(), by: 'usr_staff', reason: 'too slow' },
  auto_revert_at: revertsIn === undefined ? null : new Date(Date.now() + revertsIn).toISOString(),
})

/** Of the newest report that names it. */
const reported = ({ feed }: Cell, name: string) =>
  feed.reports.findLast(({ switches }) => switches?.length)?.switches?.find((one) => one.name === name)

/** Once the cell has said what became of this command. */
const told = (it: Cell, { service, at }: { service: string; at: string }) =>
  eventually(() => {
    const one = reported(it, service)
    return one?.told_at === at && one
  })

const audited = async ({ cell }: Cell) =>
  (
    await cell.sql<{ actor: string; action: string; subject: string }>(
      `select actor, action, subject from loci.audit where action like 'subservice.%' order by at, id`,
    )
  ).map(({ actor, action, subject }) => [actor.split(':')[0], action, subject])

const isEnabled = async ({ cell }: Cell, name: string) => {
  const [row] = await cell.sql<{ enabled: boolean }>('select enabled from loci.subservices where name = $1', [name])
  return row?.enabled
}

// Mutants: toldAt not looked at in takeOne(), so that the resync repeats it; `knownSwitches` never set, or not
// forgotten in startOver().
test('a command is carried out once, audited and reported; a full resync neither repeats it nor forgets to report', async () => {
  await using it = await listeningCell()
  const first = await eventually(() => reported(it, 'memory'))
  assert.deepEqual([first.enabled, first.told_at, first.outcome], [true, null, null])
  const one = command('memory', false)

  it.feed.command(one)

  const { since, changed_by, ...row } = await told(it, one)
  const expected = { name: 'memory', enabled: false, reason: 'too slow', auto_revert_at: null, outcome: 'applied' }
  assert.deepEqual(row, { ...expected, told_at: one.at })
  assert.equal(changed_by, 'management:usr_staff')
  const own = await it.authority.addInstance()
  const token = own.root({ ops: ['memory:read'], ks: ['memory/*'] })
  await eventually(async () => (await own.call(token, 'GET /v1/memory/records')).status === 503)
  assert.deepEqual(await audited(it), [['management', 'subservice.disable', 'memory']])

  await it.cell.admin('POST /admin/services/enable', { service: 'memory' })
  const before = it.feed.reports.length
  it.feed.restore()
  await it.feed.applied()
  const again = await eventually(() =>
    it.feed.reports
      .slice(before)
      .findLast(({ switches }) => switches?.length)
      ?.switches?.find(({ name }) => name === 'memory'),
  )
  assert.deepEqual([again.enabled, again.told_at], [true, one.at])
  assert.equal(await isEnabled(it, 'memory'), true)
  assert.deepEqual(await audited(it), [
    ['management', 'subservice.disable', 'memory'],
    ['admin', 'subservice.enable', 'memory'],
  ])
})

// Mutants: `>` instead of `<=` in outcomeOf(); changed_at left out of subservices_switch, so that only a change of the
// position counts.
test('of a command and the cell’s own administrator the later one counts, and both are audited', async () => {
  await using it = await listeningCell()
  await it.cell.admin('POST /admin/services/disable', { service: 'mcp' })
  // It stays where it is, and was decided later all the same.
  await it.cell.sql(`update loci.subservices set since = since - interval '1 hour' where name = 'mcp'`)
  const earlier = command('mcp', true, { ago: 60_000 })

  it.feed.command(earlier)
  assert.equal((await told(it, earlier)).outcome, 'overtaken')
  assert.equal(await isEnabled(it, 'mcp'), false)

  const later = command('mcp', true)
  it.feed.command(later)
  assert.equal((await told(it, later)).outcome, 'applied')
  assert.equal(await isEnabled(it, 'mcp'), true)
  assert.deepEqual(await audited(it), [
    ['admin', 'subservice.disable', 'mcp'],
    ['management', 'subservice.overtaken', 'mcp'],
    ['management', 'subservice.enable', 'mcp'],
  ])
})

// Mutants: autoRevertMs: null in takeOne(); leftMs not looked at in outcomeOf(); the plan left out of takeOne().
test('a command with a time is taken back by itself, one whose time is over does nothing, and the rules of the cell hold', async () => {
  await using it = await listeningCell()
  const [timed, over, against] = [
    command('mcp', false, { revertsIn: 600_000 }),
    command('events', false, { ago: 60_000, revertsIn: -1_000 }),
    command('projections', false),
  ]
  for (const one of [timed, over, against]) it.feed.command(one)
  const timedRow = await told(it, timed)
  assert.equal(timedRow.outcome, 'applied')
  const off = Date.parse(timedRow.auto_revert_at ?? '') - Date.parse(timed.auto_revert_at ?? '')
  assert.ok(Math.abs(off) < 60_000, `${off} ms beside the time that was asked for`)
  assert.equal((await told(it, over)).outcome, 'expired')
  assert.equal((await told(it, against)).outcome, 'refused')
  for (const name of ['events', 'projections']) assert.equal(await isEnabled(it, name), true, name)

  // The time stands in the row, which outlives every process: it comes.
  await it.cell.sql(`update loci.subservices set auto_revert_at = clock_timestamp() where name = 'mcp'`)
  await eventually(() => reported(it, 'mcp')?.enabled === true)
  assert.deepEqual((await audited(it)).at(-1), ['auto-revert', 'subservice.enable', 'mcp'])
})

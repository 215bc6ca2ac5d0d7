// An upgrade as docs/operations/run.md says it: the programs of an earlier commit are replaced one by one by those of
// this checkout, cells before management, under the load of all that writes; nothing fails and nothing is lost. It
// takes the newest commit at which both programs knew an older schema; --from=REV: another one.

import { readdirSync } from 'node:fs'
import { migrateCell, withMigrations } from '../robustness/early-drops.ts'
import { askEveryRoute } from '../robustness/every-route.ts'
import { startLoad } from '../robustness/mixed-load.ts'
import { seedOfRun } from '../robustness/seeded.ts'
import { upgradeUp } from '../robustness/upgraded-up.ts'
import { addCallers, type WorldCaller } from '../world/callers.ts'
import { type HealthProxy, type Seen, startHealthProxy } from '../world/health-proxy.ts'
import { type LociProcess, type ProgramName, runCommand, startProgram, untilReady } from '../world/process.ts'
import { checkOut, type Release, releaseBefore } from '../world/release.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addTenant, mintStaffKey } from '../world/tenants.ts'
import { prepareDatabase, startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const FROM = process.argv.find((arg) => arg.startsWith('--from='))?.slice('--from='.length)
/** How much is acknowledged between two steps. */
const ACKED_EACH = isShort ? 150 : 1_000
const FACT = 'Ada prefers replies in Dutch'
const STEP_MS_MAX = 300_000
/** Told because a busy machine stands still for seconds; an upgrade that holds everybody up is more than that. */
const BUSY = /"code":"(OVERLOADED|STORE_UNAVAILABLE|AUTHORITY_STALE|OUTCOME_UNKNOWN)"/
const BUSY_SHARE_MAX = 0.02
const STAFF_EMAIL = 'writers-0@loci.example'
const SETTINGS = { LOCI_DRAIN_GRACE_MS: '3000', LOCI_QUEUE_MS: '5000', LOCI_STAFF_EMAILS: STAFF_EMAIL }

await reportOn(async (report) => {
  const revision = FROM ?? releaseBefore()
  if (revision === undefined) return report.skip('upgrade', 'this clone has no history to take the release before from')
  report.note(`seed ${SEED}, from ${revision.slice(0, 12)}`)
  await using before = await checkOut(revision)
  const world = await startWorld({
    asShipped: true,
    replicas: 2,
    programs: before.programs,
    settings: SETTINGS,
  })
  const replaced: LociProcess[] = []
  try {
    await upgrade(report, world, before, replaced)
    await tooEarly(report, world, before, replaced)
  } finally {
    await Promise.all(replaced.map((process) => process.stop()))
    await world.stop()
  }
  const port = 20_000 + (process.pid % 10_000)
  const { recalled, copies, wrong } = await upgradeUp(before.root, port, FACT)
  for (const line of wrong) report.note(line)
  report.promise(
    'loci up of this release finds what it held before, and leaves a copy of it',
    wrong.length === 0 && recalled.includes(FACT) && copies.length === 1,
    `recalled ${recalled.includes(FACT)}, copies: ${copies.join(', ') || 'none'}`,
  )
})

interface Counted {
  requests: number
  busy: number
  failures: string[]
}

async function upgrade(report: Report, world: World, before: Release, replaced: LociProcess[]): Promise<void> {
  const counted: Counted = { requests: 0, busy: 0, failures: [] }
  const seen: Seen = (line, status, body) => {
    counted.requests += 1
    if (BUSY.test(body)) counted.busy += 1
    else if (status >= 500) counted.failures.push(`${line}: ${status} ${body.slice(0, 200)}`)
  }
  const [cells, control] = [await startHealthProxy(seen), await startHealthProxy(seen)]
  const around = behind(world, cells, control)
  const further = await world.startManagement()
  const old = { daemons: [...world.daemons], managements: [world.management as LociProcess, further] }
  for (const { url } of old.daemons) await cells.add(url)
  for (const { url } of old.managements) await control.add(url)

  const tenant = await addTenant(world, { name: 'acme', plan: 'enterprise' })
  const party = { instanceId: tenant.serviceId, token: tenant.capability.token }
  const load = await startLoad(around, [party], [{ ...party, token: tenant.partner.token }], SEED, 'up')
  const [caller] = (await addCallers(world, { organizations: 1, each: 1, name: 'writers' })) as [WorldCaller]
  const staffKey = await mintStaffKey(world, caller.organizationId, STAFF_EMAIL)
  const routes = await askEveryRoute(
    {
      world: around,
      caller,
      staffKey,
      tenant: await addTenant(world, { name: 'routes', plan: 'enterprise', of: caller }),
    },
    SEED,
    BUSY,
  )
  const acked = async (what: string) => {
    const [at, asked] = [load.acked(), routes.asked()]
    const until = performance.now() + STEP_MS_MAX
    while ((load.acked() < at + ACKED_EACH || routes.asked() < asked + routes.count) && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 50))
    report.note(
      `${what}: ${load.acked()} acknowledged, ${counted.requests} requests, ${counted.failures.length} failed`,
    )
  }
  try {
    await acked('the release before')
    // Started too early, by an operator or a supervisor: it waits, and serves when the schema is there.
    const waiting = await startProgram('daemon', world.daemonSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
    replaced.push(waiting)
    const told = await readiness(waiting.url)
    await migrated(world, 'daemon')
    await acked('the release before on the new schema of cells')
    await untilReady(waiting.url)
    report.promise(
      'a daemon that starts before migrate waits and says so, and serves afterwards',
      told.startsWith('503 ') && /migrat/.test(told),
      told,
    )
    const again = await before.programs.startProgram('daemon', world.daemonSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
    const isReady = await untilReady(again.url).then(
      () => true,
      () => false,
    )
    report.promise('a daemon of the release before starts on the new schema', isReady, await readiness(again.url))
    await again.stop()

    await cells.add(waiting.url)
    const [first, second] = old.daemons as [LociProcess, LociProcess]
    await leave(cells, second)
    await acked('one old daemon beside a new one')
    // The address that services are told stays the same.
    const address = first.url.slice('http://'.length)
    await leave(cells, first)
    const last = await startProgram('daemon', world.daemonSettings({ LOCI_LISTEN: address }))
    replaced.push(last)
    await untilReady(last.url)
    await cells.add(last.url)
    await acked('new daemons, management of the release before')

    await migrated(world, 'management')
    await acked('management of the release before on its new schema')
    const newer = await startProgram('management', world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
    replaced.push(newer)
    await untilReady(newer.url)
    await control.add(newer.url)
    await leave(control, further)
    await acked('one old management beside a new one')
    await leave(control, old.managements[0] as LociProcess)
    const newest = await startProgram('management', world.managementSettings())
    replaced.push(newest)
    await untilReady(newest.url)
    await control.add(newest.url)
    await acked('this release alone')
  } finally {
    await routes.stop()
  }
  const judged = await load.stop()
  for (const line of [...counted.failures, ...routes.wrong, ...judged.lost, ...judged.wrong, ...judged.old].slice(
    0,
    20,
  ))
    report.note(line)
  report.promise(
    'no request failed while programs of two releases served',
    counted.failures.length === 0 && routes.wrong.length === 0 && counted.busy <= BUSY_SHARE_MAX * counted.requests,
    `${counted.failures.length} of ${counted.requests}, ${counted.busy} refused by a busy machine; ${routes.count} routes that write, each asked ${Math.floor(routes.asked() / routes.count)} times, ${routes.wrong.length} refused`,
  )
  report.promise(
    'what was acknowledged at either release is there, and nothing else',
    judged.lost.length + judged.tookEffect.length + judged.old.length === 0,
    `${Object.entries(judged.acked)
      .map(([what, count]) => `${count} ${what}`)
      .join(
        ', ',
      )}; ${judged.lost.length} lost, ${judged.tookEffect.length} refused and there, ${judged.old.length} of ${judged.reads} reads old`,
  )
  report.promise(
    'chains, sums, heads and histories are whole',
    judged.wrong.length === 0 && judged.consistency.every((state) => state === 'consistent'),
    `${judged.wrong.length} faults; ${judged.consistency.join(', ')}`,
  )
  cells.close()
  control.close()
}

/** Does what a release must not do while the one before it runs, and holds what is told against what it should be. */
async function tooEarly(report: Report, world: World, before: Release, replaced: LociProcess[]): Promise<void> {
  const newest = readdirSync(new URL('../../daemon/migrations', import.meta.url)).length
  const old = await before.programs.startProgram('daemon', world.daemonSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
  replaced.push(old)
  await untilReady(old.url)
  const { capability } = await addTenant({ ...world, daemons: [old] }, { name: 'early', plan: 'enterprise' })
  const asked = () =>
    fetch(`${old.url}/v1/kv/entries`, { headers: { 'x-loci-capability': capability.token } }).then(
      ({ status }) => status,
      () => {
        throw new Error(`it ended: ${old.lines.slice(-5).join(' | ')}`)
      },
    )
  while ((await asked()) !== 200) await new Promise((resolve) => setTimeout(resolve, 100))

  await using jump = await withMigrations(
    ['-- serves: 0003\n-- release: 0.2.0\n', '-- serves: 0003\n-- release: 0.3.0\n'],
    newest,
  )
  const refused = (await migrateCell(world, jump)) ?? 'migrated'
  report.promise(
    'migrate names the release that was skipped, while programs run',
    /is of release 0\.1\.0, this is 0\.3\.0, and 0\.2\.0 was skipped .*loci-daemon/.test(refused),
    refused.split('\n')[0]?.slice(0, 300) ?? '',
  )

  const dropped = '-- serves: 0003\nalter table loci.subservices rename column changed_by to who;\n'
  await using early = await withMigrations([dropped], newest)
  const told = await migrateCell(world, early)
  // Nothing but the programs themselves reads it: functions are made anew with every schema.
  const admin = { headers: { 'x-loci-admin-token': world.adminToken } }
  const { status } = await fetch(`${old.url}/admin/services/status`, admin)
  report.mutant(
    'a column that goes one release too early',
    told === undefined && status >= 500 ? `the release before answers ${status}` : undefined,
  )

  await using later = await withMigrations([dropped, `-- serves: ${String(newest + 1).padStart(4, '0')}\n`], newest)
  const wrong = await migrateCell(world, later)
  const last = await before.programs.startProgram('daemon', world.daemonSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
  replaced.push(last)
  const { code } = await last.exited
  report.promise(
    'a daemon that a schema no longer serves ends with 78 and says which release to start',
    wrong === undefined && code === 78 && last.lines.some((line) => line.includes('start a newer release')),
    `${code}: ${last.lines.findLast((line) => line.includes('newer release'))?.slice(0, 300)}`,
  )
}

/** The same world for who comes through the balancers. */
function behind(world: World, cells: HealthProxy, control: HealthProxy): World {
  return {
    ...world,
    daemons: [{ url: cells.httpUrl }, { url: cells.httpUrl }] as LociProcess[],
    management: { url: control.httpUrl } as LociProcess,
  }
}

async function migrated(world: World, program: ProgramName): Promise<void> {
  await prepareDatabase(world.postgres, program, { runCommand })
}

async function leave(proxy: HealthProxy, process: LociProcess): Promise<void> {
  await process.stop()
  proxy.remove(process.url)
}

async function readiness(url: string): Promise<string> {
  const [ready, lifecycle] = await Promise.all(
    ['/health/ready', '/v1/lifecycle/status'].map((path) => fetch(url + path)),
  )
  return `${ready?.status} ${await lifecycle?.text()}`
}

// deploy/patroni as it stands there: a cell's and the control plane's PostgreSQL on three machines each (network
// namespaces), real Patroni, etcd and PgBouncer with TLS and passwords, under a mixed load of both planes, while the
// machine that leads fails in six ways. Who acknowledged what is held against what the last leader has.

import tls from 'node:tls'
import { type Cluster, startCluster } from '../robustness/ha/cluster.ts'
import { type Fault, inflict } from '../robustness/ha/faults.ts'
import { type Machines, startMachines } from '../robustness/ha/machines.ts'
import { readAfterSwitchover } from '../robustness/ha/pooled.ts'
import { asPostgres } from '../robustness/ha/postgres.ts'
import { haveSoftware } from '../robustness/ha/software.ts'
import { startLoad } from '../robustness/mixed-load.ts'
import { seedOfRun } from '../robustness/seeded.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const HARD: Fault[] = ['kill', 'cut', 'pause', 'disk', 'etcd']
/** Of an odd number, so that each fault meets both clusters in turn. */
const ROUND: Fault[] = HARD.flatMap((fault) => [fault, 'switchover', 'switchover'])
const FAIL_OVERS_MIN = isShort ? 6 : 100
const ROUNDS_MAX = isShort ? 1 : 20
/** How long everybody may take to come back once another machine leads. */
const BACK_MS_MAX = 60_000
const LOGINS = ['loci_daemon', 'loci_daemon_owner', 'loci_management', 'loci_management_owner']
const PASSWORDS = Object.fromEntries(LOGINS.map((name) => [name, `password-of-${name}`]))

await reportOn(async (report) => {
  if (process.getuid?.() !== 0) return report.skip('ha', 'network namespaces need root')
  report.note(`seed ${SEED}; again: npm run test:system -- ha --seed=${SEED}`)
  const software = haveSoftware()
  report.note(software.versions)
  await using machines = startMachines(software)
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), machines.ca])
  const made = { machines, software, logins: PASSWORDS }
  const cell = await startCluster({ ...made, scope: 'cell-1', shift: 0, database: 'loci_cell' })
  const control = await startCluster({ ...made, scope: 'control', shift: 100, database: 'loci_control' })
  const postgres = asPostgres({ cell, control }, PASSWORDS, machines)
  const world = await startWorld({
    asShipped: true,
    replicas: 2,
    postgres,
    settings: { LOCI_DATABASE_CA: machines.ca },
  })
  try {
    await survives(report, world, machines, [cell, control])
    await pooled(report, machines, cell)
    await asynchronous(report, world, machines, cell)
    await staysWithTheOld(report, world, machines, cell)
  } finally {
    await world.stop()
  }
})

async function survives(report: Report, world: World, machines: Machines, clusters: [Cluster, Cluster]): Promise<void> {
  const tenants = []
  for (const name of ['acme', 'globex']) tenants.push(await addTenant(world, { name, plan: 'enterprise' }))
  const parties = tenants.map(({ serviceId, capability }) => ({ instanceId: serviceId, token: capability.token }))
  const partners = tenants.map(({ serviceId, partner }) => ({ instanceId: serviceId, token: partner.token }))
  const load = await startLoad(world, parties, partners, SEED, 'ha')
  const took = new Map<Fault, number[]>()
  const gaps: number[] = []
  const late: string[] = []
  const before = await timelines(clusters)
  let failOvers = 0
  for (let round = 0, turn = 0; round < ROUNDS_MAX && failOvers < FAIL_OVERS_MIN; round += 1) {
    for (const fault of ROUND) {
      turn += 1
      const [hit, other] = turn % 2 === 0 ? clusters.toReversed() : clusters
      const at = performance.now()
      const ms = await inflict(fault, hit as Cluster, [other as Cluster], machines)
      took.set(fault, [...(took.get(fault) ?? []), ms])
      const last = () => (hit === clusters[0] ? load.lastAckAt() : load.lastMadeAt())
      const healedAt = performance.now()
      while (last() < healedAt && performance.now() - healedAt < BACK_MS_MAX) await sleep(50)
      if (last() < healedAt)
        late.push(`${fault} of ${(hit as Cluster).scope}: nothing was acknowledged for ${BACK_MS_MAX} ms`)
      gaps.push(Math.round(performance.now() - at))
      const after = await timelines(clusters)
      failOvers = after.reduce((sum, timeline, n) => sum + timeline - (before[n] as number), 0)
      report.note(`${failOvers}: ${fault} of ${(hit as Cluster).scope}, ${ms} ms; ${load.acked()} acknowledged`)
    }
    // A history of more would take longer to judge than to make.
    if (round === 0) await load.stopSlots()
  }
  const judged = await load.stop()
  for (const line of [...judged.lost, ...judged.tookEffect, ...judged.wrong, ...judged.old].slice(0, 20))
    report.note(line)
  const acked = Object.entries(judged.acked).map(([what, count]) => `${count} ${what}`)
  report.note(
    `acknowledged: ${acked.join(', ')}; ${[...took].map(([fault, ms]) => `${fault} ${spread(ms)}`).join(', ')} ms until another led`,
  )
  report.promise(
    'no acknowledged write of either plane is lost',
    judged.lost.length === 0 && failOvers >= FAIL_OVERS_MIN && Object.values(judged.acked).every((count) => count > 0),
    `${judged.lost.length} lost in ${failOvers} fail-overs (at least ${FAIL_OVERS_MIN})`,
  )
  report.promise('no refused write took effect', judged.tookEffect.length === 0, `${judged.tookEffect.length} did`)
  report.promise(
    'no answer is older than what had been acknowledged before it was asked for',
    judged.old.length === 0 && judged.reads > 0,
    `${judged.old.length} of ${judged.reads} reads`,
  )
  report.promise(
    'chains, sums, heads and histories are whole',
    judged.wrong.length === 0 && judged.consistency.every((state) => state === 'consistent'),
    `${judged.wrong.length} faults; ${judged.consistency.join(', ')}`,
  )
  report.promise(
    'everybody comes back by himself',
    late.length === 0,
    late.join('; ') || `from the fault to the next acknowledged write, with the mending: ${spread(gaps)} ms`,
  )
}

/** PgBouncer keeps connections to a PostgreSQL that comes back as a standby. */
async function pooled(report: Report, machines: Machines, cell: Cluster): Promise<void> {
  const login = { user: 'loci_daemon', password: PASSWORDS.loci_daemon as string, database: 'loci_cell' }
  const reads = await readAfterSwitchover(cell, machines, login)
  const { guarded, guardedAgain, loose, found, early, primary } = reads
  report.promise(
    'a connection through PgBouncer reads nothing from a server that became a standby',
    // The words are PgBouncer's: which of them, depends on what it had tried when it was asked.
    !guarded.startsWith('standby') && ['invalid server parameter', 'bouncer config error'].includes(guardedAgain),
    `${guarded}; a new one: ${guardedAgain}`,
  )
  report.mutant(
    'a PgBouncer that does not compare, and a connection that says nothing',
    loose === 'standby true' ? 'it reads from the standby' : undefined,
  )
  report.promise(
    'a process that starts later finds the primary behind a PgBouncer that was first asked beside a standby',
    found === primary,
    `${found}; ${primary} leads`,
  )
  report.mutant(
    'a connection that says nothing there',
    early === 'invalid server parameter' ? `it is refused: ${early}` : undefined,
  )
}

/** A commit that waits for no standby: what is lost with the machine must be seen. */
async function asynchronous(report: Report, world: World, machines: Machines, cell: Cluster): Promise<void> {
  const tenant = await addTenant(world, { name: 'lazy', plan: 'enterprise' })
  const party = { instanceId: tenant.serviceId, token: tenant.capability.token }
  await runSql(cell.adminUrl(), `alter system set synchronous_commit = 'local'`)
  await runSql(cell.adminUrl(), 'select pg_reload_conf()')
  const load = await startLoad(world, [party], [{ ...party, token: tenant.partner.token }], SEED, 'lazy')
  await sleep(2_000)
  await inflict('cut', cell, [], machines)
  const { lost, acked } = await load.stop()
  report.mutant(
    'commits that wait for no standby',
    lost.length > 0 ? `${lost.length} lost of ${acked.entries} entries and the rest` : undefined,
  )
}

/** A daemon that goes on with the server that it found first. */
async function staysWithTheOld(report: Report, world: World, machines: Machines, cell: Cluster): Promise<void> {
  await using mutant = await plantMutant([
    {
      file: 'libs/postgres/primary.ts',
      from: '    const found = primaryOf(answers, newest)\n',
      to: '    if (current.timeline > 0) return void (provenAt = askedAt)\n    const found = primaryOf(answers, newest)\n',
    },
  ])
  const daemon = await mutant.startProgram('daemon', world.daemonSettings())
  try {
    await untilReady(daemon.url)
    await inflict('kill', cell, [], machines)
    const [real] = world.daemons
    const isRealBack = await isBack((real as LociProcess).url)
    report.mutant(
      'a daemon that stays with the server it found first',
      isRealBack && !(await isBack(daemon.url))
        ? `it did not come back in ${BACK_MS_MAX} ms, as the others had`
        : undefined,
    )
  } finally {
    await daemon.stop()
  }
}

/** Whether it has its PostgreSQL, now or soon. */
async function isBack(url: string): Promise<boolean> {
  for (const until = performance.now() + BACK_MS_MAX; performance.now() < until; await sleep(200)) {
    const answer = await fetch(`${url}/v1/health/all`).catch(() => undefined)
    const health = (await answer?.json().catch(() => undefined)) as
      | { checks?: { postgres?: { status: string } } }
      | undefined
    if (health?.checks?.postgres?.status === 'ok') return true
  }
  return false
}

/** The newest of each cluster: every fail-over begins one. */
function timelines(clusters: Cluster[]): Promise<number[]> {
  const newest = async (cluster: Cluster) => Math.max(...(await cluster.members()).map(({ timeline }) => timeline || 0))
  return Promise.all(clusters.map(newest))
}

function spread(values: number[]): string {
  return values.length === 0 ? 'none' : `${Math.min(...values)} to ${Math.max(...values)} (${values.length})`
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

// The switches of a cell: they reach every replica within a second, survive every kill, keep to their rules, heal by
// themselves, and each change has exactly one audit entry that commits with it.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, auditRows, change, enabledRows, stateOf, untilState } from '../robustness/switches.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SWITCHES = 20
const REACH_MS_MAX = 1_000
const NAMES = ['working_memory', 'cognitive', 'memory', 'projections', 'advice', 'mcp', 'events']
const DEPENDS_ON: Record<string, string[]> = {
  working_memory: ['kv'],
  cognitive: ['kv', 'working_memory'],
  memory: ['kv'],
  projections: ['kv'],
  advice: ['projections'],
}

await reportOn(async (report) => {
  const world = await startWorld({ replicas: 2, management: false })
  try {
    await reachesTheOther(report, world)
    await keepsToTheRules(report, world)
    await needsAddressAndToken(report, world)
    await oneEntryPerChange(report, world)
    await noChangeWithoutItsEntry(report, world)
    await concurrentCalls(report, world)
    await heals(report, world)
    await survivesKills(report, world)
    await mutants(report, world)
  } finally {
    await world.stop()
  }
})

async function reachesTheOther(report: Report, world: World): Promise<void> {
  const reach = await measureReach(world, world.daemons, SWITCHES, 60_000)
  const bound = await report.within(REACH_MS_MAX)
  report.promise(
    'a switch reaches the second replica',
    reach.every((ms) => ms <= bound.ms),
    `${reach.length} switches, at most ${Math.max(...reach)} ms, median ${reach.toSorted((a, b) => a - b)[reach.length >> 1]} ms (${bound.text})`,
  )
}

/** From sending the switch to one replica to seeing it at the other, by a route that does not itself look it up. */
async function measureReach(world: World, daemons: LociProcess[], count: number, giveUpMs: number): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i += 1) {
    const [from, to] = (i % 4 < 2 ? daemons : daemons.toReversed()) as [LociProcess, LociProcess]
    const startedAt = performance.now()
    const action = i % 2 === 0 ? 'disable' : 'enable'
    await change(world, from, action, { services: ['advice'] })
    while (((await stateOf(to, 'advice')) === 'disabled') !== (action === 'disable')) {
      if (performance.now() - startedAt > giveUpMs) break
      await sleep(5)
    }
    times.push(Math.round(performance.now() - startedAt))
  }
  return times
}

async function keepsToTheRules(report: Report, world: World): Promise<void> {
  const [a] = world.daemons as [LociProcess]
  const before = await auditRows(world)
  const kv = await change(world, a, 'disable', { services: ['kv'] })
  const projections = await change(world, a, 'disable', { services: ['projections'] })
  const both = await change(world, a, 'disable', { services: ['projections', 'nothing'], dry_run: true })
  const failed = (answer: Answer, service: string) =>
    answer.body.failed_services?.find((one) => one.service === service)
  const isKept =
    failed(kv, 'kv')?.code === 'SUBSERVICE_REQUIRED' &&
    ['working_memory', 'cognitive', 'memory', 'projections'].every((one) =>
      failed(kv, 'kv')?.dependents.includes(one),
    ) &&
    failed(projections, 'projections')?.code === 'INVALID_STATE' &&
    failed(projections, 'projections')?.dependents.join() === 'advice' &&
    failed(both, 'nothing')?.code === 'NOT_FOUND' &&
    (await auditRows(world)).length === before.length
  report.promise(
    'a required or depended-on sub-service is refused with its dependents',
    isKept,
    `kv: ${failed(kv, 'kv')?.code} ${failed(kv, 'kv')?.dependents}; projections: ${failed(projections, 'projections')?.code} ${failed(projections, 'projections')?.dependents}`,
  )
}

async function needsAddressAndToken(report: Report, world: World): Promise<void> {
  const [a] = world.daemons as [LociProcess]
  const body = { services: ['mcp'] }
  const statuses = [
    (await change(world, a, 'disable', body, { 'x-loci-admin-token': '' })).status,
    (await change(world, a, 'disable', body, { 'x-loci-admin-token': `${world.adminToken}x` })).status,
    (await change(world, a, 'disable', body, { 'x-forwarded-for': '127.0.0.1' })).status,
    (await change(world, a, 'disable', body, { forwarded: 'for=127.0.0.1' })).status,
  ]
  report.promise(
    'no token, a wrong one, or a forwarding header is refused',
    statuses.join() === '401,401,403,403' && (await stateOf(a, 'mcp')) !== 'disabled',
    statuses.join(', '),
  )
}

async function oneEntryPerChange(report: Report, world: World): Promise<void> {
  const [a, b] = world.daemons as [LociProcess, LociProcess]
  const before = await auditRows(world)
  const changes = [
    await change(world, a, 'disable', { services: ['advice', 'projections'], reason: 'test' }),
    await change(world, b, 'enable', { services: ['projections', 'advice'] }),
    await change(world, a, 'disable', { service: 'mcp' }),
    await change(world, b, 'enable', { service: 'mcp' }),
  ]
  const dry = await change(world, a, 'disable', { services: ['events'], dry_run: true })
  const same = await change(world, b, 'enable', { services: ['events', 'mcp'] })
  const known = new Set(before.map(({ id }) => id))
  const added = (await auditRows(world)).filter(({ id }) => !known.has(id))
  const told = changes.flatMap(({ body, requestId }) =>
    (body.updates ?? []).map((update) => `${update.audit_id} ${update.service} ${requestId}`),
  )
  const found = added.map(({ id, subject, request_id }) => `${id} ${subject} ${request_id}`)
  const silent = [...(dry.body.updates ?? []), ...(same.body.updates ?? [])]
  report.promise(
    'each change has exactly one audit entry; dry runs and no-ops have none',
    told.length === 6 && told.toSorted().join() === found.toSorted().join() && silent.every((one) => !one.audit_id),
    `${told.length} changes, ${found.length} entries, ${silent.length} dry or empty`,
  )
}

async function noChangeWithoutItsEntry(report: Report, world: World): Promise<void> {
  const broken = await changeWithoutAudit(world, world.daemons[0] as LociProcess)
  report.promise(
    'no change when its audit entry can not be written',
    broken === undefined,
    broken ?? 'switch unchanged',
  )
}

/** Takes the right to write entries away and tries; undefined when the switch stayed as it was. */
async function changeWithoutAudit(world: World, daemon: LociProcess): Promise<string | undefined> {
  const url = world.postgres.adminUrl('loci_cell')
  await runSql(url, 'revoke insert on loci.audit from loci_app')
  try {
    const { status } = await change(world, daemon, 'disable', { services: ['events'] })
    const [row] = await runSql<{ enabled: boolean }>(url, `select enabled from loci.subservices where name = 'events'`)
    if (status < 500) return `it answered ${status}`
    return row?.enabled ? undefined : `it answered ${status} and the switch was changed all the same`
  } finally {
    await runSql(url, 'grant insert on loci.audit to loci_app')
    await change(world, daemon, 'enable', { services: ['events'] })
  }
}

async function concurrentCalls(report: Report, world: World): Promise<void> {
  const before = await auditRows(world)
  const enabledBefore = await enabledRows(world)
  const answers: Answer[] = []
  const rounds = isShort ? 5 : 20
  for (let round = 0; round < rounds; round += 1) {
    const calls = Array.from({ length: 16 }, (_, i) => {
      const first = (round * 7 + i * 3) % NAMES.length
      const services = NAMES.slice(first, first + 1 + (i % 3))
      return change(world, world.daemons[i % 2] as LociProcess, i % 4 < 2 ? 'disable' : 'enable', { services })
    })
    answers.push(...(await Promise.all(calls)))
  }
  const known = new Set(before.map(({ id }) => id))
  const added = (await auditRows(world)).filter(({ id }) => !known.has(id))
  const updates = answers.flatMap(({ body }) => body.updates ?? [])
  const told = updates.map(({ audit_id }) => audit_id).filter((id) => id !== null)
  const isOneEach =
    told.length === new Set(told).size &&
    told.toSorted().join() ===
      added
        .map(({ id }) => id)
        .toSorted()
        .join()
  const unaudited = updates.filter(({ changed, audit_id }) => changed && audit_id === null).length
  const odd = answers.filter(({ status, retryAfter }) => status !== 200 && !(status === 503 && retryAfter))

  const enabled = await enabledRows(world)
  const torn = NAMES.filter((name) => enabled.has(name) && DEPENDS_ON[name]?.some((other) => !enabled.has(other)))
  const drift = NAMES.filter((name) => {
    const net = added
      .filter(({ subject }) => subject === name)
      .reduce((sum, { action }) => sum + (action === 'subservice.enable' ? 1 : -1), 0)
    return net !== Number(enabled.has(name)) - Number(enabledBefore.has(name))
  })
  const differing: string[] = []
  for (const daemon of world.daemons)
    for (const name of NAMES) {
      await untilState([daemon], name, !enabled.has(name))
      if (((await stateOf(daemon, name)) !== 'disabled') !== enabled.has(name)) differing.push(name)
    }
  report.promise(
    '16 concurrent calls on both replicas leave one state and one entry per change',
    isOneEach &&
      unaudited === 0 &&
      odd.length === 0 &&
      torn.length === 0 &&
      drift.length === 0 &&
      differing.length === 0,
    `${answers.length} calls, ${told.length} changes, ${added.length} entries, ${odd.length} odd answers${odd[0] ? ` (${odd[0].status} ${odd[0].body.error?.code})` : ''}, ${torn.length} broken dependencies, ${drift.length} drifted, ${differing.length} replicas apart`,
  )
  await change(world, world.daemons[0] as LociProcess, 'enable', { services: NAMES })
}

async function heals(report: Report, world: World): Promise<void> {
  const [a, b] = world.daemons as [LociProcess, LociProcess]
  const before = await auditRows(world)
  const revertMs = 1_500
  await change(world, a, 'disable', { services: ['mcp'], auto_revert_ms: revertMs })
  const plainMs = await untilState([a, b], 'mcp', false)
  // Longer: it must arrive at the other before it is over.
  const orphanRevertMs = 5_000
  await change(world, a, 'disable', { services: ['events'], auto_revert_ms: orphanRevertMs })
  const killedAt = performance.now()
  await a.kill()
  // First it must have arrived there, or "not disabled" would be what was before.
  await untilState([b], 'events', true)
  await untilState([b], 'events', false)
  const orphanMs = Math.round(performance.now() - killedAt)
  const known = new Set(before.map(({ id }) => id))
  const added = (await auditRows(world)).filter(({ id }) => !known.has(id))
  const said = added.map(({ action, subject, actor }) => `${action} ${subject} ${actor.split(':')[0]}`).toSorted()
  world.daemons.splice(world.daemons.indexOf(a), 1)
  await world.startDaemon()
  const expected = [
    'subservice.disable events admin',
    'subservice.disable mcp admin',
    'subservice.enable events auto-revert',
    'subservice.enable mcp auto-revert',
  ]
  const bound = await report.within(REACH_MS_MAX)
  report.promise(
    'auto-revert heals by itself, also when the replica that was asked is killed',
    plainMs <= revertMs + bound.ms && orphanMs <= orphanRevertMs + bound.ms && said.join() === expected.join(),
    `after ${revertMs} ms: back on both at ${plainMs} ms; after ${orphanRevertMs} with the first killed: at ${orphanMs} ms; ${said.length} entries for 2 changes and 2 reverts`,
  )
}

async function survivesKills(report: Report, world: World): Promise<void> {
  const [a] = world.daemons as [LociProcess]
  await change(world, a, 'disable', { services: ['advice', 'mcp'] })
  const rows = (await auditRows(world)).length
  const isThere = async () => {
    const states = await Promise.all(
      world.daemons.flatMap((daemon) => ['advice', 'mcp'].map((name) => stateOf(daemon, name))),
    )
    return states.every((state) => state === 'disabled') && (await auditRows(world)).length === rows
  }
  await Promise.all(world.daemons.splice(0).map((daemon) => daemon.kill()))
  await world.startDaemon()
  await world.startDaemon()
  const afterDaemons = await isThere()
  await world.postgres.crash()
  await sleep(500)
  const startedAt = performance.now()
  await world.postgres.start()
  await Promise.all(world.daemons.map(({ url }) => untilReady(url)))
  while ((await change(world, world.daemons[0] as LociProcess, 'disable', { services: ['mcp'] })).status !== 200)
    await sleep(50)
  const backMs = Math.round(performance.now() - startedAt)
  const afterPostgres = await isThere()
  report.promise(
    'a switch survives kill -9 of both daemons and of Postgres',
    afterDaemons && afterPostgres,
    `${afterDaemons ? 'kept' : 'LOST'} after the daemons, ${afterPostgres ? 'kept' : 'LOST'} after Postgres (served again ${backMs} ms after its start)`,
  )
  await change(world, world.daemons[0] as LociProcess, 'enable', { services: ['advice', 'mcp'] })
}

async function mutants(report: Report, world: World): Promise<void> {
  {
    await using mutant = await plantMutant([
      {
        file: 'libs/acts/audit/store.ts',
        from: `const id = newId('aud', now.getTime())\n`,
        to: `const id = newId('aud', now.getTime())\n  if (entry.chain === 'cell') return id\n`,
      },
    ])
    const daemon = await mutant.startProgram('daemon', world.daemonSettings())
    await untilReady(daemon.url)
    const before = (await auditRows(world)).length
    const { body } = await change(world, daemon, 'disable', { services: ['mcp'] })
    await change(world, daemon, 'enable', { services: ['mcp'] })
    const added = (await auditRows(world)).length - before
    report.mutant(
      'no audit entry is written',
      added === 2 ? undefined : `2 changes, ${added} entries, answered ${body.updates?.[0]?.audit_id?.slice(0, 8)}…`,
    )
    await daemon.stop()
  }
  {
    await using mutant = await plantMutant([
      {
        file: 'daemon/operator/subservices/store.ts',
        from: 'const auditId = await appendAudit(sql, {',
        to: 'const auditId = await later({',
      },
      {
        file: 'daemon/operator/subservices/store.ts',
        from: '    return { updates, failures }\n  })\n',
        to: '    return { updates, failures }\n  }).then(async (done) => {\n    for (const entry of queued.splice(0)) await appendAudit(pool, entry)\n    return done\n  })\n',
      },
      {
        file: 'daemon/operator/subservices/store.ts',
        from: 'interface ApplyOptions {',
        to: `const queued: any[] = []\nasync function later(entry: any): Promise<string> {\n  queued.push(entry)\n  return 'later'\n}\n\ninterface ApplyOptions {`,
      },
    ])
    const daemon = await mutant.startProgram('daemon', world.daemonSettings())
    await untilReady(daemon.url)
    report.mutant('the audit entry is written after the commit', await changeWithoutAudit(world, daemon))
    await daemon.stop()
  }
  {
    await using mutant = await plantMutant([
      { file: 'daemon/app.ts', from: 'const BEAT_MS = 300\n', to: 'const BEAT_MS = 600_000\n' },
    ])
    const daemons = await Promise.all([0, 1].map(() => mutant.startProgram('daemon', world.daemonSettings())))
    await Promise.all(daemons.map(({ url }) => untilReady(url)))
    const bound = await report.within(REACH_MS_MAX)
    const worst = Math.max(...(await measureReach(world, daemons, 2, 2 * bound.ms)))
    report.mutant('the switches are read every 10 min', worst > bound.ms ? `not within ${worst} ms` : undefined)
    await Promise.all(daemons.map((daemon) => daemon.stop()))
  }
}

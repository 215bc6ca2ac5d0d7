// Cycles by schedule: among 10^5 databases a thousand have fresh input and a schedule of 10 s. Each cycle runs when it
// is due, those without input cost nothing, a replica that is killed is not missed, and no input is taken in twice.

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '@loci/chassis/testing/request.ts'
import { plainClient } from '../robustness/plain-client.ts'
import {
  addScheduled,
  INTERVAL_MS,
  listCycles,
  putDue,
  type ScheduledCycle,
  startInputs,
  storeOne,
  waiting,
} from '../robustness/scheduled-databases.ts'
import { cpuTime } from '../world/cpu-time.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const IDLE = isShort ? 9_900 : 99_000
/** Of the idle ones, looked at once after the load, as after a change of their configuration. */
const LOOKED_AT = isShort ? 200 : 2_000
const BUSY = isShort ? 100 : 1_000
const INTERVALS = isShort ? 3 : 6
const LAG_MS = 2_000
const RECOVERED_MS = 10_000
const IDLE_CORE_MAX = 0.01
const SETTLED_MS_MAX = 600_000
const WINDOWS = 4
const WINDOW_MS = 5_000
/** Databases whose cycle two replicas claim, and how often one of them looks for the other, for two minutes at most. */
const CLAIMED = 5
const GATE_MS = 20
const GATE_TRIES_MAX = 6_000

const CLAIM: Edit = { file: 'daemon/databases/store.ts', from: `interval '5 seconds'`, to: `interval '0 seconds'` }
const UNGUARDED: Edit = {
  file: 'daemon/cycles/run.ts',
  from: `if (after !== undefined && attempted.state.number !== after) return 'passed'`,
  to: '',
}
const UNASKED: Edit = {
  file: 'daemon/cycles/upkeep/loop.ts',
  from: 'if (!isFresh || number === null) return',
  to: 'if (number === null) return',
}

await reportOn(async (report) => {
  const world = await startWorld({ asShipped: true, replicas: 2 })
  try {
    const tenant = await addTenant(world, { name: 'busy', plan: 'enterprise' })
    await idle(report, world, tenant)
    await busy(report, world, tenant)
    await mutants(report, world, tenant)
  } finally {
    await world.stop()
  }
})

async function idle(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  const before = await coreShare(world)
  await addScheduled(world, tenant, { prefix: 'idle-', count: IDLE - LOOKED_AT })
  await addScheduled(world, tenant, { prefix: 'idle-looked-at-', count: LOOKED_AT, isDue: true })
  await settled(world, tenant, 'idle-')
  const after = await coreShare(world)
  const cycles = await listCycles(world, tenant, 'idle-')
  report.promise(
    'databases with a schedule and without input cost nothing, and have no cycle',
    after - before <= IDLE_CORE_MAX && cycles.length === 0,
    `${IDLE} of them: ${((after - before) * 100).toFixed(2)} % of a core (at most 1 %; the cell at rest ${(before * 100).toFixed(1)} %), ${cycles.length} cycles`,
  )
}

/** What all processes of the cell use at rest: the least of some windows, for now and then something is due. */
async function coreShare(world: World): Promise<number> {
  const shares: number[] = []
  for (let n = 0; n < WINDOWS; n += 1) {
    const [startedAt, used] = [performance.now(), cpuTime(world)]
    await sleep(WINDOW_MS)
    const now = cpuTime(world)
    const us = now.daemonUs + now.postgresUs - used.daemonUs - used.postgresUs
    shares.push(us / 1_000 / (performance.now() - startedAt))
  }
  return Math.min(...shares)
}

async function busy(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  const prefix = 'busy-'
  // More than the machine can run would queue without end, whatever the bound: a slow one is asked for as much less.
  const intervalMs = Math.round((await report.within(INTERVAL_MS)).ms)
  await addScheduled(world, tenant, { prefix, count: BUSY, intervalMs })
  const inputs = startInputs(world, tenant, { prefix, count: BUSY, everyMs: intervalMs })
  await sleep(INTERVALS * intervalMs)
  const killedAt = Date.now()
  const [killed] = world.daemons.splice(0, 1)
  await killed?.kill()
  await sleep(RECOVERED_MS + 2 * intervalMs)
  const endedAt = Date.now()
  await inputs.stop()
  await settled(world, tenant, prefix)
  const cycles = await listCycles(world, tenant, prefix, intervalMs)
  const bound = await report.within(LAG_MS)
  const before = cycles.filter(({ startedAt }) => startedAt.getTime() < killedAt)
  const after = cycles.filter((cycle) => dueAt(cycle) > killedAt + RECOVERED_MS && dueAt(cycle) < endedAt)
  const lag = (part: ScheduledCycle[]) => `p99 ${Math.round(p99(part))} ms of ${part.length} cycles (${bound.text})`
  report.promise(
    'a cycle by schedule runs when it is due',
    p99(before) <= bound.ms && before.length >= BUSY,
    `${BUSY} databases every ${intervalMs} ms: ${lag(before)}`,
  )
  report.promise(
    'ten seconds after a replica was killed the others run its cycles when they are due',
    p99(after) <= bound.ms && after.length >= BUSY,
    lag(after),
  )
  judgeOnce(report, inputs.stored, inputs.refused, cycles)
  await world.startDaemon()
}

function judgeOnce(report: Report, stored: Map<string, number>, refused: string[], cycles: ScheduledCycle[]): void {
  const counts = Map.groupBy(cycles, ({ database }) => database)
  const twice = [...counts].filter(([database, ran]) => ran.length > (stored.get(database) ?? 0))
  for (const line of refused.slice(0, 5)) report.note(line)
  for (const [database, ran] of twice.slice(0, 5))
    report.note(`${database}: ${ran.length} cycles for ${stored.get(database)} inputs`)
  const inputs = [...stored.values()].reduce((sum, count) => sum + count, 0)
  report.promise(
    'every input is taken in, and none by two cycles',
    twice.length === 0 && refused.length === 0 && counts.size === BUSY,
    `${inputs} inputs, ${cycles.length} cycles in ${counts.size} databases, ${twice.length} with more cycles than inputs`,
  )
}

async function mutants(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  for (const daemon of world.daemons.splice(0)) await daemon.stop()
  const unasked = await withReplicas(world, [UNASKED], 1, async () => {
    await putDue(world, tenant, 'idle-looked-at-1')
    await eventually(async () => (await listCycles(world, tenant, 'idle-looked-at-1')).length > 0)
    return listCycles(world, tenant, 'idle-looked-at-1')
  })
  report.mutant('a cycle where nothing came in', unasked.length > 0 ? `${unasked.length} cycles` : undefined)
  for (const [edits, prefix] of [
    [[], 'shared-'],
    [[UNGUARDED], 'twice-'],
  ] as const) {
    const counts = await claimedByTwo(world, tenant, prefix, [...edits])
    const twice = counts.filter((count) => count > 1).length
    const figure = `${twice} of ${counts.length} databases with more cycles than inputs`
    if (prefix === 'shared-')
      report.promise(
        'two replicas that claim one cycle run it once',
        counts.every((count) => count === 1),
        figure,
      )
    else report.mutant('whoever has claimed a cycle runs it, whatever came first', twice > 0 ? figure : undefined)
  }
}

/**
 * Claims that hold for no time, so that replicas take the same row, as they do where one is slower than its claim: both
 * have asked what is due before either runs it. The cycles of each database, which has one input.
 */
async function claimedByTwo(world: World, tenant: WorldTenant, prefix: string, edits: Edit[]): Promise<number[]> {
  const gate = mkdtempSync(join(tmpdir(), 'loci-gate-'))
  const client = plainClient()
  await addScheduled(world, tenant, { prefix, count: CLAIMED })
  try {
    await withReplicas(world, [CLAIM, ...gateOf(gate, prefix), ...edits], 2, async () => {
      // One after the other: two replicas that each wait with another database would wait for each other.
      for (let n = 0; n < CLAIMED; n += 1) {
        const stored = await storeOne(world, client, tenant.capability.token, `${prefix}${n}`, n)
        if (stored !== undefined) throw new Error(`${prefix}${n}: ${stored}`)
        while (!isDoneByTwo(join(gate, `${prefix}${n}`))) await sleep(GATE_MS)
      }
    })
    return await Promise.all(
      Array.from({ length: CLAIMED }, async (_, n) => (await listCycles(world, tenant, `${prefix}${n}`)).length),
    )
  } finally {
    client.close()
    rmSync(gate, { recursive: true })
  }
}

/** Whoever has asked what is due there waits until another process has asked too, and says when it has run. */
function gateOf(directory: string, prefix: string): Edit[] {
  const file = 'daemon/cycles/upkeep/loop.ts'
  const asks = 'const { isFresh, isPressed, number } = await checkDue(sql, due)'
  const runs = 'await cycles.runAfter(number, request)'
  const waits = `
    const { mkdirSync, readdirSync } = await import('node:fs')
    const gate = ${JSON.stringify(directory)} + '/' + due.database
    mkdirSync(gate + '/asked/' + process.pid, { recursive: true })
    const isGated = due.database.startsWith(${JSON.stringify(prefix)})
    for (let tries = 0; isGated && readdirSync(gate + '/asked').length < 2 && tries < ${GATE_TRIES_MAX}; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, ${GATE_MS}))`
  const says = `.finally(() => mkdirSync(gate + '/done/' + process.pid, { recursive: true }))`
  return [
    { file, from: asks, to: asks + waits },
    { file, from: runs, to: runs + says },
  ]
}

function isDoneByTwo(gate: string): boolean {
  const done = join(gate, 'done')
  return existsSync(done) && readdirSync(done).length >= 2
}

/** Replicas of a copy, which alone serve while `work` runs. */
async function withReplicas<Result>(
  world: World,
  edits: Edit[],
  count: number,
  work: () => Promise<Result>,
): Promise<Result> {
  await using copy = await plantMutant(edits)
  for (let n = 0; n < count; n += 1) world.daemons.push(await copy.startProgram('daemon', world.daemonSettings()))
  for (const { url } of world.daemons) await untilReady(url)
  try {
    return await work()
  } finally {
    for (const daemon of world.daemons.splice(0)) await daemon.kill()
  }
}

/** A slow machine takes longer, it does not fail. */
async function settled(world: World, tenant: WorldTenant, prefix: string): Promise<void> {
  const until = Date.now() + SETTLED_MS_MAX
  for (;;) {
    const count = await waiting(world, tenant, prefix)
    if (count === 0) return
    if (Date.now() > until) throw new Error(`${count} databases still wait for a cycle`)
    await sleep(500)
  }
}

function dueAt({ startedAt, lagMs }: ScheduledCycle): number {
  return startedAt.getTime() - lagMs
}

function p99(cycles: ScheduledCycle[]): number {
  const sorted = cycles.map(({ lagMs }) => lagMs).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

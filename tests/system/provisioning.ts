// Every service ends as it was asked, or says why not. Thousands of simulated runs of the real life cycle under lost
// replies, crashes, silent and restored cells and a control database from yesterday; then real processes, two cells and
// kill -9. Nothing is stuck, doubled, orphaned or erased that somebody owns.

import { ask, type Counter, type Customer, command, visit } from '../robustness/provisioning/customers.ts'
import { SABOTAGE } from '../robustness/provisioning/sabotage.ts'
import { type Setting, simulate } from '../robustness/provisioning/simulation.ts'
import {
  listInstanceStates,
  listRemains,
  listServiceStates,
  readBooks,
  type ServiceState,
} from '../robustness/provisioning/tables.ts'
import { seeded, seedOfRun } from '../robustness/seeded.ts'
import { addCallers, type WorldCaller } from '../world/callers.ts'
import { type LociProcess, startProgram, untilReady } from '../world/process.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'
import { addSecondCell, type SecondCell } from '../world/second-cell.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
/**
 * One simulated run and nothing else, such as `278422787` or `unwatched:7`: what the line of a failure says to call.
 */
const only = argument('run')
/** The simulation alone, with so many seeds. */
const seeds = argument('seeds')
const SEED = seedOfRun()
const RUNS = seeds === undefined ? (isShort ? 300 : 2_500) : Number(seeds)
const SETTINGS: Setting[] = ['unwatched', 'watched']
const MUTANT_RUNS_MAX = 500
const MUTANT_CATCHES = isShort ? 3 : 10
const SERVICES = isShort ? 40 : 300
const KILLS = isShort ? 6 : 24
const WIDTH = 8
const CONVERGED_MS_MAX = isShort ? 60_000 : 120_000
const ENDED = ['active', 'suspended', 'failed', 'deleted']
const random = seeded(SEED)

/** What each kind of finding breaks. */
const PROMISES: Record<string, string[]> = {
  '0 stuck: every status moves on within 15 minutes, every operation ends': ['stuck', 'operation', 'unexplained'],
  '0 doubled: one cell at most has a service': ['doubled', 'overfull', 'generation'],
  '0 orphaned: what a cell holds has an owner or is in quarantine': ['orphaned'],
  'nothing is erased that somebody owns, and no report becomes intent': ['erased', 'intent'],
  'a restored cell serves nothing that was erased': ['served'],
  'the quota is exact': ['quota'],
  'every command is taken, and comes true': ['command', 'disagrees', 'unconfirmed'],
}

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- provisioning --seed=${SEED}`)
  if (only !== undefined) {
    tellRun(report, only)
    return
  }
  simulated(report)
  if (seeds !== undefined) return
  mutants(report)
  await realProcesses(report)
})

function argument(name: string): string | undefined {
  const prefix = `--${name}=`
  return process.argv.find((given) => given.startsWith(prefix))?.slice(prefix.length)
}

function tellRun(report: Report, name: string): void {
  const [seed, setting = 'watched'] = name.split(':').reverse() as [string, Setting?]
  const { findings, services, commands, restores } = simulate(Number(seed), {}, setting)
  for (const finding of findings) report.note(finding)
  report.promise(
    `simulated run ${name}`,
    findings.length === 0,
    `${findings.length} findings; ${services} services, ${commands} commands, ${restores} restores`,
  )
}

function simulated(report: Report): void {
  const startedAt = performance.now()
  const broken = new Map<string, number>()
  const totals = { services: 0, commands: 0, restores: 0 }
  for (let run = 0; run < RUNS; run += 1) {
    const seed = SEED + run
    const setting = SETTINGS[run % SETTINGS.length] as Setting
    const { findings, services, commands, restores } = simulate(seed, {}, setting)
    totals.services += services
    totals.commands += commands
    totals.restores += restores
    for (const kind of new Set(findings.map((finding) => finding.split(':')[0] as string)))
      broken.set(kind, (broken.get(kind) ?? 0) + 1)
    if (findings[0]) report.note(`npm run test:system -- provisioning --run=${setting}:${seed}: ${findings[0]}`)
  }
  for (const [promise, kinds] of Object.entries(PROMISES)) {
    const count = kinds.reduce((sum, kind) => sum + (broken.get(kind) ?? 0), 0)
    report.promise(`P7: ${promise}`, count === 0, `${count} of ${RUNS} simulated runs broke it`)
  }
  report.note(
    `${totals.services} services, ${totals.commands} commands, ${totals.restores} restores of the control database, ${seconds(startedAt)}`,
  )
}

function mutants(report: Report): void {
  const startedAt = performance.now()
  for (const [name, sabotage] of Object.entries(SABOTAGE)) {
    let caught = 0
    let runs = 0
    let how = ''
    // The same seeds each time: what a mutant breaks must not depend on luck.
    while (runs < MUTANT_RUNS_MAX && caught < MUTANT_CATCHES) {
      runs += 1
      const [finding] = simulate(runs, sabotage, SETTINGS[runs % SETTINGS.length]).findings
      if (finding === undefined) continue
      caught += 1
      how ||= finding
    }
    report.mutant(name, caught > 0 ? `${caught} of ${runs} runs; ${how}` : undefined)
  }
  report.note(`mutants ${seconds(startedAt)}`)
}

interface Plant {
  world: World
  second: SecondCell
  managements: (LociProcess | undefined)[]
}

async function realProcesses(report: Report): Promise<void> {
  const startedAt = performance.now()
  const world = await startWorld({ replicas: 2 })
  let second: SecondCell | undefined
  const managements: Plant['managements'] = [world.management]
  try {
    second = await addSecondCell(world)
    managements.push(await startOther(world))
    const plant: Plant = { world, second, managements }
    const callers = await addCallers(world, { organizations: 3, each: 3, name: 'customer' })
    report.note(`started ${seconds(startedAt)}`)
    const counter: Counter = { url: () => urlOf(plant), random, taken: 0, repeated: 0, wrong: [] }
    const { customers, kills } = await storm(plant, callers, counter)
    report.note(
      `storm over ${seconds(startedAt)}: ${counter.taken} requests taken, ${counter.repeated} repeated, kill -9 of ${kills}`,
    )
    await convergence(report, plant, customers, counter)
    await erasure(report, plant, customers, counter)
    report.note(`real processes ${seconds(startedAt)}`)
  } finally {
    await managements[1]?.stop()
    await world.stop()
    await second?.postgres.remove()
  }
}

/** Another replica on the same database, with a URL of its own. */
async function startOther(world: World): Promise<LociProcess> {
  const management = await startProgram('management', world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
  await untilReady(management.url)
  return management
}

function urlOf({ managements }: Plant): string {
  const there = managements.filter((management) => management !== undefined)
  return there.length > 0 ? random.pick(there).url : 'http://127.0.0.1:1'
}

async function storm(plant: Plant, callers: WorldCaller[], counter: Counter) {
  let isOver = false
  const killing = kill(plant, () => isOver)
  try {
    const customers = await mapWidth(Array.from({ length: SERVICES }), WIDTH, async (_, at) => {
      // Spread over the time that the kills take.
      await pause(random.below(isShort ? 5_000 : 2_000))
      return visit(counter, callers[at % callers.length] as WorldCaller, `service ${at}`)
    })
    isOver = true
    return { customers, kills: await killing }
  } finally {
    isOver = true
    await killing
  }
}

/** At least so many, one kind after the other, and on as long as the customers are there. */
async function kill(plant: Plant, isOver: () => boolean): Promise<string> {
  const kinds = ['management', 'daemon', 'control', 'other management', 'cell', 'second daemon'] as const
  const counts = new Map<string, number>()
  for (let count = 0; count < KILLS || !isOver(); count += 1) {
    const kind = kinds[count % kinds.length] as (typeof kinds)[number]
    await pause(700 + random.below(800))
    await killOne(plant, kind)
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return [...counts].map(([kind, count]) => `${kind} ${count}`).join(', ')
}

async function killOne(plant: Plant, kind: string): Promise<void> {
  const { world, second, managements } = plant
  const down = 100 + random.below(500)
  if (kind === 'control' || kind === 'cell') {
    const postgres = kind === 'control' ? world.postgres : second.postgres
    await postgres.crash()
    await pause(down)
    await postgres.start()
  } else if (kind === 'management' || kind === 'other management') {
    const at = kind === 'management' ? 0 : 1
    const victim = managements[at]
    managements[at] = undefined
    await victim?.kill()
    await pause(down)
    const extra: Record<string, string> = at === 0 ? {} : { LOCI_LISTEN: '127.0.0.1:0' }
    managements[at] = await startProgram('management', world.managementSettings(extra))
    if (at === 0) world.management = managements[at]
  } else {
    const isSecond = kind === 'second daemon'
    const daemons = isSecond ? second.daemons : world.daemons.filter((daemon) => !second.daemons.includes(daemon))
    const victim = random.pick(daemons)
    for (const list of [world.daemons, second.daemons]) if (list.includes(victim)) list.splice(list.indexOf(victim), 1)
    await victim.kill()
    await (isSecond ? second.startDaemon() : world.startDaemon())
  }
}

async function untilEnded(plant: Plant, isEnded: (states: ServiceState[]) => boolean): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const states = await listServiceStates(plant.world.postgres)
    const ms = performance.now() - startedAt
    if ((isEnded(states) && (await readBooks(plant.world.postgres)).due === 0) || ms > CONVERGED_MS_MAX) return ms
    await pause(250)
  }
}

async function convergence(report: Report, plant: Plant, customers: Customer[], counter: Counter): Promise<void> {
  const control = plant.world.postgres
  const ms = await untilEnded(plant, (states) => states.every(({ status }) => ENDED.includes(status)))
  const states = new Map((await listServiceStates(control)).map((state) => [state.id, state]))
  const books = await readBooks(control)
  const open = [...states.values()].filter(({ status }) => !ENDED.includes(status))
  const unexplained = [...states.values()].filter(({ status, statusReason }) => status === 'failed' && !statusReason)
  for (const { id, status, statusReason } of [...open, ...unexplained].slice(0, 5))
    report.note(`${id} is ${status} (${statusReason})`)
  for (const line of counter.wrong.slice(0, 5)) report.note(line)
  report.promise(
    'real: 0 stuck after the kills, every operation has ended',
    open.length === 0 &&
      unexplained.length === 0 &&
      books.openOperations === 0 &&
      books.withoutDeadline === 0 &&
      books.due === 0,
    `${open.length} of ${states.size} still under way, ${books.openOperations} operations open, ${books.due} due, ${(ms / 1000).toFixed(1)} s after the last command; ${shown(states)}`,
  )
  const different = customers.filter(({ serviceId, word }) => states.get(serviceId)?.status !== word)
  for (const { serviceId, word } of different.slice(0, 5))
    report.note(
      `${serviceId} should be ${word} and is ${states.get(serviceId)?.status} (${states.get(serviceId)?.statusReason})`,
    )
  report.promise(
    'real: every command was taken and came true',
    different.length === 0 && counter.wrong.length === 0,
    `${different.length} of ${customers.length} are not what was said last, ${counter.wrong.length} answers nobody deserved`,
  )
  report.promise(
    'real: the quota is exact against the rows, places against the feeds',
    books.miscounted.length === 0 && books.misplaced === 0 && states.size === customers.length,
    `${books.miscounted.length} counters wrong, ${books.misplaced} cells miscounted, ${states.size} services of ${customers.length} creations`,
  )
  await homes(report, plant, states, books.doubled)
}

async function homes(report: Report, plant: Plant, states: Map<string, ServiceState>, told: number): Promise<void> {
  const cells = [
    { id: plant.world.cellId as string, instances: await listInstanceStates(plant.world.postgres) },
    { id: plant.second.id, instances: await listInstanceStates(plant.second.postgres) },
  ]
  const living = cells.flatMap(({ id, instances }) =>
    instances.filter(({ state, isPurged }) => state !== 'deleted' || !isPurged).map((one) => ({ ...one, cellId: id })),
  )
  const strays = living.filter(({ id, cellId, state, generation }) => {
    const service = states.get(id)
    return service?.cellId !== cellId || service.status !== state || service.generation !== generation
  })
  for (const { id, cellId, state } of strays.slice(0, 5))
    report.note(`${cellId} has ${id} ${state}; it is ${states.get(id)?.status} in ${states.get(id)?.cellId}`)
  const doubled = living.length - new Set(living.map(({ id }) => id)).size
  report.promise(
    'real: 0 doubled, 0 orphaned: each living service is in its cell alone, as it should be',
    strays.length === 0 && doubled === 0 && told === 0,
    `${doubled} in both cells, ${told} told to both, ${strays.length} strays of ${living.length} (${cells.map(({ instances }) => instances.length).join(' and ')} known)`,
  )
}

/** Something in each of a few, then everything is deleted, and nothing of it is left. */
async function erasure(report: Report, plant: Plant, customers: Customer[], counter: Counter): Promise<void> {
  const { world, second } = plant
  const filled = await fill(plant, customers.filter(({ word }) => word === 'active').slice(0, 12), counter)
  const left = customers.filter(({ word }) => word !== 'deleted')
  await mapWidth(left, WIDTH, (customer) => command(counter, customer, 'delete'))
  const ms = await untilEnded(plant, (states) => states.every(({ status }) => status === 'deleted'))
  const states = await listServiceStates(world.postgres)
  const undeleted = states.filter(({ status }) => status !== 'deleted')
  const ids = states.map(({ id }) => id)
  const remains = [...(await listRemains(world.postgres, ids)), ...(await listRemains(second.postgres, ids))]
  for (const { id, status, statusReason } of undeleted.slice(0, 5)) report.note(`${id} is ${status} (${statusReason})`)
  report.promise(
    'real: everything is deleted in the end and no table of a cell holds anything of it',
    undeleted.length === 0 && remains.length === 0 && filled > 0,
    `${undeleted.length} of ${left.length} not deleted, ${remains.join(', ') || 'no rows'} left of ${filled} that held something, ${(ms / 1000).toFixed(1)} s`,
  )
}

async function fill({ world, second }: Plant, customers: Customer[], counter: Counter): Promise<number> {
  const states = new Map((await listServiceStates(world.postgres)).map(({ id, cellId }) => [id, cellId]))
  const written = await mapWidth(customers, 4, async ({ caller, serviceId }) => {
    const path = `/api/v1/tenants/${caller.tenantId}/tokens`
    const { token } = await ask<{ token: string }>(counter, caller, 'POST', path, { service_id: serviceId })
    const daemons =
      states.get(serviceId) === second.id
        ? second.daemons
        : world.daemons.filter((daemon) => !second.daemons.includes(daemon))
    const answer = await fetch(`${daemons[0]?.url}/v1/kv/entries/kept`, {
      method: 'PUT',
      headers: { 'x-loci-capability': token, 'content-type': 'application/json' },
      body: JSON.stringify({ value: `of ${serviceId}` }),
    })
    if (answer.status !== 200) console.log(`       PUT answered ${answer.status} ${await answer.text()}`)
    return answer.status === 200
  })
  return written.filter(Boolean).length
}

function shown(states: Map<string, ServiceState>): string {
  const counts = new Map<string, number>()
  for (const { status } of states.values()) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ')
}

function seconds(startedAt: number): string {
  return `${((performance.now() - startedAt) / 1000).toFixed(1)} s`
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

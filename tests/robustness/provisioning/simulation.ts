// One run: a seed, rules, three hours of faults, a calm in which cells may still be away, and a quiet hour with
// everything back.

import type { Verb } from '@loci/management/provisioning/service-state.ts'
import { seeded } from '../seeded.ts'
import {
  applyPage,
  type Cell,
  copyStored,
  isRestored,
  newCell,
  type Observation,
  observations,
  purge,
  restart,
  type Stored,
  told,
} from './cell.ts'
import { Crashed, commitFaults, noFaults } from './commit-faults.ts'
import { type CellRow, newControlDatabase, Refused, type Tables } from './control.ts'
import type { Tenant } from './entitlements.ts'
import type { Run } from './judge.ts'
import { newJudge } from './judge.ts'
import { bill, claim, create, give, type Model, reconcileService, takeReport } from './model.ts'
import { REAL, type Rules } from './sabotage.ts'
import { newSchedule, newWakeup, type Process, type Wakeup } from './schedule.ts'
import { firstTables } from './tables.ts'

const MINUTE_MS = 60_000
const FAULTY_MS = 150 * MINUTE_MS
/** Fifteen minutes and what it takes to look. */
const CALM_MS = 18 * MINUTE_MS
const QUIET_MS = 45 * MINUTE_MS
const RESYNC_MS = 10 * MINUTE_MS
const START = new Date('2026-01-05T00:00:00Z')
const SERVICES_MAX = 9
const VERBS: Verb[] = ['suspend', 'resume', 'update', 'retry', 'retry', 'delete']

/**
 * `watched`: after a restore of the control database somebody sees to it that no cell is away for long, and a restored
 * cell knows it.
 * `unwatched`: nobody does, the control database is restored again and again, cells are silent meanwhile, a restored
 * cell finds an old place in the feed, and somebody has the key of a cell.
 */
export type Setting = 'watched' | 'unwatched'

export function simulate(seed: number, sabotage: Partial<Rules> = {}, setting: Setting = 'watched'): Run {
  const isWatched = setting === 'watched'
  const random = seeded(seed)
  const schedule = newSchedule(START, (error) => {
    if (!(error instanceof Refused) && !(error instanceof Crashed)) throw error
  })
  const tenants = new Map<string, Tenant>(
    ['t1', 't2', 't3'].map((id): [string, Tenant] => [id, { access: 'full', plan: 1 }]),
  )
  const cells = Array.from({ length: 2 + random.below(2) }, (_, at) => newCell(`c${at + 1}`))
  const judge = newJudge(cells, tenants, () => `at ${((schedule.ms() - START.getTime()) / MINUTE_MS).toFixed(2)} min`)
  const wakeups = { due: newWakeup(), feeds: new Map(cells.map(({ id }): [string, Wakeup] => [id, newWakeup()])) }
  const control = newControlDatabase(firstTables(cells, random), {
    ms: schedule.ms,
    onCommit(tables) {
      judge.onCommit(tables)
      wakeups.due.wake()
      for (const [id, wakeup] of wakeups.feeds)
        if (tables.cells.get(id)?.feedSeq !== cells.find((cell) => cell.id === id)?.stored.after) wakeup.wake()
    },
  })
  const run: Run = { findings: judge.findings, services: 0, commands: 0, restores: 0 }
  let isFaulty = true
  let operations = 0
  const model: Model = {
    control,
    schedule,
    random,
    rules: { ...REAL, ...sabotage },
    judge,
    tenants,
    heardAtMs: (id) => cells.find((cell) => cell.id === id)?.heardAtMs ?? 0,
    faults: (tx) => (isFaulty ? commitFaults(random, tx) : noFaults(random)),
    look(id) {
      if (random.chance(isFaulty ? 0.6 : 1)) schedule.spawn(reconcileService(model, id), random.below(200))
    },
    newOperationId() {
      operations += 1
      return `op${operations}`
    },
    latencyMs: () => random.below(random.chance(0.1) ? 1_500 : 10),
  }

  /** A management process: when it dies another is started, sometimes much later. */
  function* worker(): Process {
    for (;;) {
      if (isFaulty && random.chance(0.06)) {
        const untilMs = schedule.ms() + random.below(random.chance(0.2) ? 25 * MINUTE_MS : MINUTE_MS)
        while (isFaulty && schedule.ms() < untilMs) yield 5_000
      }
      for (const id of claim(model)) {
        if (isFaulty && random.chance(0.05)) break
        try {
          yield* reconcileService(model, id)
        } catch (error) {
          if (error instanceof Crashed) break
          if (!(error instanceof Refused)) throw error
        }
      }
      const next = Math.min(...control.tables.due.values())
      yield random.below(500)
      yield { ms: Math.max(1, Math.min(next - schedule.ms(), MINUTE_MS)), wakeup: wakeups.due }
    }
  }

  /** Of the moments at which services were asked for. */
  const young: Tables[] = []
  function* customers(): Process {
    let last: string | undefined
    while (isFaulty) {
      // Some change their mind within a moment, of the same service.
      const isHasty = random.chance(0.5)
      yield random.below(isHasty ? 3_000 : 6 * MINUTE_MS)
      if (!isFaulty) return
      const ids = isHasty && last ? [last] : [...control.tables.services.keys()]
      try {
        if (run.services < SERVICES_MAX && (ids.length === 0 || random.chance(0.3))) {
          run.services += 1
          yield* create(model, `s${run.services}`, random.pick([...control.tables.tenants]))
          if (!isWatched) young.push(control.snapshot())
        } else if (ids.length > 0) {
          run.commands += 1
          const verb = random.pick(VERBS)
          last = random.pick(ids)
          yield* give(model, last, verb === 'delete' && random.chance(0.5) ? 'resume' : verb)
        }
      } catch (error) {
        if (!(error instanceof Refused) && !(error instanceof Crashed)) throw error
      }
    }
  }

  function* billing(): Process {
    while (isFaulty) {
      yield random.below(8 * MINUTE_MS)
      const tenantId = random.pick([...tenants.keys()])
      if (!isFaulty) return
      if (tenants.get(tenantId)?.access === 'delete') continue
      const access = random.pick([
        'full',
        'full',
        'full',
        'read_only',
        'none',
        random.chance(0.2) ? 'delete' : 'full',
      ] as const)
      yield* untilTaken(() => bill(model, tenantId, { access, plan: 1 + random.below(3) }))
      if (access === 'delete') continue
      // Events of one payment come together.
      yield random.below(800)
      yield* untilTaken(() =>
        bill(model, tenantId, { access: random.pick(['full', 'none']), plan: 1 + random.below(3) }),
      )
    }
  }

  /** The provider delivers until it is answered. */
  function* untilTaken(work: () => Process): Process {
    for (;;) {
      try {
        yield* work()
        return
      } catch (error) {
        if (error instanceof Crashed) return
        if (!(error instanceof Refused)) throw error
        yield random.below(30_000)
      }
    }
  }

  function setCapacity(id: string, capacity: number): void {
    const cell = control.tables.cells.get(id) as CellRow
    control.tables.cells.set(id, { ...cell, capacity })
  }

  function* operator(): Process {
    while (isFaulty) {
      yield random.below(20 * MINUTE_MS)
      if (!isFaulty) return
      const { id } = random.pick(cells)
      const tx = control.begin()
      try {
        yield* tx.lock(`cell ${id}`)
        const { placed } = control.tables.cells.get(id) as CellRow
        setCapacity(id, random.chance(0.5) ? placed : placed + 1 + random.below(4))
      } catch (error) {
        if (!(error instanceof Refused)) throw error
      } finally {
        tx.abort()
      }
    }
  }

  const isAway = (cell: Cell) => cell.silentUntilMs > schedule.ms()
  const isLost = () => isFaulty && random.chance(0.15)

  function* puller(cell: Cell): Process {
    let resyncAtMs = schedule.ms() + RESYNC_MS
    for (;;) {
      yield 1 + random.below(1_000)
      if (!isAway(cell) && !isLost()) {
        const isResync = schedule.ms() >= resyncAtMs
        if (isResync) resyncAtMs = schedule.ms() + RESYNC_MS
        const { epoch, cells: rows } = control.tables
        const row = rows.get(cell.id) as CellRow
        const { stored } = cell
        const isLifeNew = model.rules.noticesRestore && isRestored(cell)
        const isFull = isResync || isLifeNew || stored.epoch !== epoch || stored.after > row.feedSeq
        const items = [...row.items.values()].filter(({ seq }) => isFull || seq > stored.after)
        cell.heardAtMs = schedule.ms()
        yield random.below(50)
        // Another took the cell over meanwhile, or it was restored: what it asked for is not applied.
        if (cell.stored === stored && !isAway(cell)) {
          const page = { epoch, isFull, next: row.feedSeq, items: items.sort((a, b) => a.seq - b.seq) }
          applyPage(cell, page, () => !isFaulty || random.chance(0.97))
          if (items.length > 0) noteApplied(cell)
          schedule.spawn(reporter(cell))
          for (const { svc, state, isPurged } of stored.instances.values())
            if (state === 'deleted' && !isPurged) schedule.spawn(purger(cell, stored, svc), random.below(MINUTE_MS))
        }
      }
      const hasNews = (control.tables.cells.get(cell.id) as CellRow).feedSeq !== cell.stored.after
      const isOther = cell.stored.epoch !== control.tables.epoch
      yield { ms: isFaulty || hasNews || isOther ? 10_000 : MINUTE_MS, wakeup: wakeups.feeds.get(cell.id) as Wakeup }
    }
  }

  function noteApplied(cell: Cell): void {
    for (const instance of cell.stored.instances.values()) judge.onApplied(cell.id, instance)
  }

  /** Somebody asks for everything there is, all the time. */
  function* readers(cell: Cell): Process {
    for (;;) {
      yield MINUTE_MS
      if (model.rules.noticesRestore && isRestored(cell)) continue
      for (const instance of cell.stored.instances.values()) judge.onServed(cell, instance, control.tables)
    }
  }

  function* purger(cell: Cell, stored: Stored, svc: string): Process {
    while (isAway(cell)) yield 10_000
    // Of a cell that was restored meanwhile nothing is erased by what came before.
    if (cell.stored !== stored) return
    const gone = purge(cell, svc)
    if (!gone) return
    judge.onErased(cell.id, gone)
    noteApplied(cell)
    schedule.spawn(reporter(cell))
    yield 1
  }

  /** A report that comes a second time, late: a minute at most, for so long lives its token. */
  function* straggler(cell: Cell, stored: Stored, sent: Observation[]): Process {
    if (cell.stored === stored) yield* takeReport(model, cell.id, sent)
  }

  /** One report at a time, as the process sends them; the network loses, doubles and delays them. */
  const reporting = new Set<Cell>()
  function* reporter(cell: Cell): Process {
    if (reporting.has(cell)) return
    reporting.add(cell)
    try {
      while (cell.untold.size > 0) {
        const sent = observations(cell)
        if (sent.length === 0) return
        if (!isAway(cell) && cell.muteUntilMs <= schedule.ms() && !isLost()) {
          if (isFaulty && random.chance(0.3))
            schedule.spawn(straggler(cell, cell.stored, sent), random.below(MINUTE_MS))
          try {
            yield* takeReport(model, cell.id, sent)
            if (!isLost()) told(cell, sent)
            yield random.below(1_000)
            continue
          } catch (error) {
            if (!(error instanceof Refused) && !(error instanceof Crashed)) throw error
          }
        }
        yield 5_000
      }
    } finally {
      reporting.delete(cell)
    }
  }

  let restoredAtMs = Number.NEGATIVE_INFINITY
  function* cellFaults(cell: Cell): Process {
    const backups: Stored[] = []
    while (isFaulty) {
      yield random.below(12 * MINUTE_MS)
      if (!isFaulty) break
      backups.push(copyStored(cell.stored))
      const dice = random()
      if (dice < 0.3) restart(cell)
      else if (dice < 0.5 && (!isWatched || schedule.ms() > restoredAtMs + RESYNC_MS))
        cell[random.chance(0.5) ? 'silentUntilMs' : 'muteUntilMs'] =
          schedule.ms() + random.below(random.chance(0.4) ? 45 * MINUTE_MS : 5 * MINUTE_MS)
      else if (dice < 0.58) {
        const backup = copyStored(random.pick(backups))
        cell.stored = isWatched ? { ...backup, epoch: null, after: 0 } : backup
        cell.state += 1
        restart(cell)
      }
    }
  }

  /** Has the key of a cell, and says what would make management erase. */
  function* thief(): Process {
    while (isFaulty) {
      yield random.below(20 * MINUTE_MS)
      const lives = [...control.tables.services.values()].filter(
        ({ state: service }) => service.wantedState !== 'deleted',
      )
      if (!isFaulty || lives.length === 0) continue
      const { state: service, tenantId } = random.pick(lives)
      const lie = { svc: service.id, tenantId, generation: service.generation + random.below(2) }
      judge.onLie(service.id)
      try {
        for (const state of random.chance(0.5) ? (['failed'] as const) : (['deleted', 'failed'] as const))
          if (service.cellId !== null) yield* takeReport(model, service.cellId, [{ ...lie, state }])
      } catch (error) {
        if (!(error instanceof Refused) && !(error instanceof Crashed)) throw error
      }
    }
  }

  function* disaster(snapshots: Tables[] = []): Process {
    const atMs = schedule.ms() + 40 * MINUTE_MS + random.below(100 * MINUTE_MS)
    // What begins anew with a restore must still be over when everything is judged.
    if (atMs > START.getTime() + FAULTY_MS - RESYNC_MS) return
    while (schedule.ms() < atMs) {
      snapshots.push(control.snapshot())
      yield random.below(4 * MINUTE_MS)
    }
    if (!random.chance(0.8)) return
    // To the moment after a service was asked for, and before its cell had said that it is there.
    control.restore(random.pick(!isWatched && young.length > 0 && random.chance(0.6) ? young.splice(0) : snapshots))
    run.restores += 1
    restoredAtMs = schedule.ms()
    const latestMs = isWatched ? schedule.ms() + 8 * MINUTE_MS : Number.POSITIVE_INFINITY
    for (const cell of cells) {
      cell.silentUntilMs = Math.min(cell.silentUntilMs, latestMs)
      cell.muteUntilMs = Math.min(cell.muteUntilMs, latestMs)
    }
    for (const [tenantId, tenant] of tenants) schedule.spawn(untilTaken(() => bill(model, tenantId, tenant)))
    wakeups.due.wake()
    if (isWatched) return
    for (const cell of cells)
      if (random.chance(0.5)) cell.silentUntilMs = schedule.ms() + 14 * MINUTE_MS + random.below(20 * MINUTE_MS)
    if (random.chance(0.5)) schedule.spawn(disaster(snapshots))
  }

  for (const cell of cells) {
    schedule.spawn(puller(cell))
    schedule.spawn(cellFaults(cell))
    schedule.spawn(readers(cell))
  }
  for (const process of [worker(), worker(), customers(), billing(), operator(), disaster()]) schedule.spawn(process)
  if (!isWatched) schedule.spawn(thief())
  schedule.after(random.below(60 * MINUTE_MS), () => void control.tables.tenants.add('t3'))

  // A last rush, and half of the cells go away with it: those stay away, and whatever is full stays full.
  schedule.runUntil(START.getTime() + FAULTY_MS - MINUTE_MS)
  for (const cell of cells)
    if (random.chance(0.5) && (!isWatched || schedule.ms() > restoredAtMs + RESYNC_MS))
      cell.silentUntilMs = schedule.ms() + MINUTE_MS + CALM_MS
  for (const id of control.tables.services.keys())
    if (random.chance(0.5)) schedule.spawn(give(model, id, random.pick(VERBS)), random.below(MINUTE_MS))
  for (const tenantId of tenants.keys()) {
    const atMs = random.below(MINUTE_MS)
    for (const ms of [0, random.below(1_000), random.below(3_000)]) {
      const change = { access: random.pick(['full', 'none'] as const), plan: 1 + random.below(3) }
      schedule.spawn(
        untilTaken(() => bill(model, tenantId, change)),
        atMs + ms,
      )
    }
  }
  schedule.runUntil(START.getTime() + FAULTY_MS)
  isFaulty = false
  schedule.runUntil(START.getTime() + FAULTY_MS + CALM_MS)
  judge.onCalm(control.tables, schedule.ms())
  for (const cell of cells) {
    cell.silentUntilMs = 0
    cell.muteUntilMs = 0
    setCapacity(cell.id, 1_000)
  }
  schedule.runUntil(START.getTime() + FAULTY_MS + CALM_MS + QUIET_MS)
  judge.onEnd(control.tables)
  return run
}

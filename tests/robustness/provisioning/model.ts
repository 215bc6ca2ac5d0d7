// Management's transactions over the control database in memory: statement by statement as
// management/provisioning/provisioning.ts, adoption.ts and services.ts do them, with the real functions of the
// lifecycle in their midst.

import { finish, newOperation, type Operation } from '@loci/management/provisioning/operations/operation.ts'
import {
  type DesiredState,
  RECOVERED,
  type ServiceState,
  type Transition,
  type Verb,
} from '@loci/management/provisioning/service-state.ts'
import type { Random } from '../seeded.ts'
import type { Observation } from './cell.ts'
import type { ControlDatabase, ServiceRow, Tables, Transaction } from './control.ts'
import { entitlementOf, type Tenant, usesQuota } from './entitlements.ts'
import type { Judge } from './judge.ts'
import type { Rules } from './sabotage.ts'
import type { Process, Schedule } from './schedule.ts'

export interface Model {
  control: ControlDatabase
  schedule: Schedule
  random: Random
  rules: Rules
  judge: Judge
  tenants: Map<string, Tenant>
  /** When the cell was last heard. */
  heardAtMs(cellId: string): number
  /** Before each commit: may throw, or wait and throw. What it returns is done after the commit, and may throw too. */
  faults(tx: Transaction): Generator<number, (() => void) | undefined, void>
  /** A process of management, which looks at once. */
  look(id: string): void
  newOperationId(): string
  /** How long a statement takes. */
  latencyMs(): number
}

export function* reconcileService(model: Model, id: string): Process {
  const { control, random, rules, schedule } = model
  const tx = control.begin()
  try {
    yield random.below(5)
    const seen = control.tables.services.get(id)
    if (!seen) {
      tx.change(({ due }) => void due.delete(id))
      yield* commit(model, tx)
      return
    }
    const placement = rules.needsPlace(seen.state) ? choose(model) : undefined
    const cellId = seen.state.cellId ?? placement
    const seenRoom = cellId === undefined ? undefined : control.tables.cells.get(cellId)
    yield model.latencyMs()
    if (rules.locksPlaces) {
      if (cellId !== undefined) yield* tx.lock(`cell ${cellId}`)
      if (rules.locksTenants) yield* tx.lock(`tenant ${seen.tenantId}`, true)
      yield* tx.lock(`service ${id}`)
    }
    const row = rules.locksPlaces ? control.tables.services.get(id) : seen
    if (!row || row.state.cellId !== seen.state.cellId) {
      tx.change(({ due }) => void due.set(id, schedule.ms()))
      yield* commit(model, tx)
      return
    }
    const room = rules.locksPlaces && cellId !== undefined ? control.tables.cells.get(cellId) : seenRoom
    const entitlement = entitlementOf(row, model.tenants.get(row.tenantId))
    const result = rules.reconcile(
      row.state,
      {
        entitlement,
        placement: placement !== undefined && room && room.placed < room.capacity ? placement : undefined,
        operationId: model.newOperationId(),
      },
      schedule.now(),
    )
    yield model.latencyMs()
    saveTransition(model, tx, row, result)
    const { state: service } = result
    if (result.publish && service.cellId !== null) publish(model, tx, row, service, result.placed !== undefined)
    yield* commit(model, tx)
  } finally {
    tx.abort()
  }
}

function choose({ control, random, schedule, heardAtMs }: Model): string | undefined {
  const roomy = [...control.tables.cells].filter(([, { placed, capacity }]) => placed < capacity)
  const heard = roomy.filter(([id]) => heardAtMs(id) > schedule.ms() - 60_000)
  const eligible = heard.length > 0 ? heard : roomy
  return eligible.length === 0 ? undefined : random.pick(eligible)[0]
}

/** management/provisioning/provisioning.ts, saveTransition(). */
function saveTransition(
  model: Model,
  tx: Transaction,
  before: ServiceRow,
  { state: service, superseded, dueAt }: Transition,
): void {
  if (superseded) saveOperation(model, tx, superseded)
  if (service.operation && service.operation !== before.state.operation) saveOperation(model, tx, service.operation)
  tx.change((tables) => {
    model.judge.onSave(before.state, service, before.tenantId)
    tables.services.set(service.id, { ...before, state: service })
    count(tables, before.tenantId, before.state, service)
    if (dueAt === null) tables.due.delete(service.id)
    else tables.due.set(service.id, dueAt.getTime())
  })
}

function saveOperation({ judge }: Model, tx: Transaction, operation: Operation): void {
  tx.change(({ operations }) => {
    judge.onOperation(operations.get(operation.id), operation)
    operations.set(operation.id, operation)
  })
}

function count({ used }: Tables, tenantId: string, before: ServiceState | undefined, after: ServiceState): void {
  const change = Number(usesQuota(after)) - (before ? Number(usesQuota(before)) : 0)
  if (change !== 0) used.set(tenantId, (used.get(tenantId) ?? 0) + change)
}

/** management/acts/feed/store.ts, publishInstance(). */
function publish(
  { judge, tenants }: Model,
  tx: Transaction,
  row: ServiceRow,
  service: ServiceState,
  isPlacement: boolean,
): void {
  const cellId = service.cellId as string
  const { digestOf } = entitlementOf(row, tenants.get(row.tenantId))
  const body = digestOf(service.desiredState, service.stateReason)
  tx.change(({ cells }) => {
    const cell = cells.get(cellId)
    if (!cell) return
    const { id: svc, generation, desiredState: state } = service
    const before = cell.items.get(svc)
    const feedSeq = cell.feedSeq + 1
    const item = { seq: feedSeq, svc, tenantId: row.tenantId, generation, state, body }
    judge.onPublish(cellId, before, item)
    const placed =
      cell.placed + Number(state !== 'deleted') - Number(before !== undefined && before.state !== 'deleted')
    if (isPlacement) judge.onPlaced(cellId, placed, cell.capacity)
    cells.set(cellId, { ...cell, placed, feedSeq, items: new Map(cell.items).set(svc, item) })
  })
}

function* commit(model: Model, tx: Transaction): Process {
  const afterwards = yield* model.faults(tx)
  tx.commit()
  afterwards?.()
}

export function* create(model: Model, id: string, tenantId: string): Process {
  const { control, rules, schedule } = model
  const tx = control.begin()
  try {
    yield* tx.lock(`tenant ${tenantId}`)
    const service = rules.newServiceState(id, model.newOperationId(), schedule.now())
    const row: ServiceRow = { state: service, tenantId, config: 0, lastWord: 'active' }
    saveOperation(model, tx, service.operation as Operation)
    tx.change((tables) => {
      tables.services.set(id, row)
      count(tables, tenantId, undefined, service)
      if (rules.putsDue) tables.due.set(id, schedule.ms())
    })
    yield* commit(model, tx)
  } finally {
    tx.abort()
  }
  model.look(id)
}

/** Throws what the customer is told; a command on a service that is there is never refused, unless it is deleted. */
export function* give(model: Model, id: string, verb: Verb): Process {
  const { control, rules, schedule, judge } = model
  const tx = control.begin()
  try {
    const seen = control.tables.services.get(id)
    if (!seen || seen.state.status === 'deleted') return
    yield* tx.lock(`tenant ${seen.tenantId}`)
    yield* tx.lock(`service ${id}`)
    const row = control.tables.services.get(id)
    if (!row || row.state.status === 'deleted') return
    const turn = rules.command(row.state, verb, model.newOperationId(), schedule.now())
    judge.onCommand(row.state, verb, turn)
    yield model.latencyMs()
    const changed = { ...row, config: verb === 'update' ? row.config + 1 : row.config, lastWord: wordOf(row, verb) }
    if (verb === 'delete') tx.change(() => judge.onDeletionAsked(id))
    saveTransition(model, tx, changed, turn)
    if (!rules.putsDue) tx.change(({ due }) => void due.delete(id))
    yield* commit(model, tx)
  } finally {
    tx.abort()
  }
  model.look(id)
}

function wordOf({ lastWord }: ServiceRow, verb: Verb): DesiredState {
  if (lastWord === 'deleted' || verb === 'delete') return 'deleted'
  if (verb === 'suspend') return 'suspended'
  return verb === 'resume' ? 'active' : lastWord
}

/** A billing event: the tenant under its lock, and everything of it due. */
export function* bill(model: Model, tenantId: string, change: Partial<Tenant>): Process {
  const { control, schedule, tenants } = model
  const tx = control.begin()
  try {
    yield* tx.lock(`tenant ${tenantId}`)
    yield model.latencyMs()
    tx.change(({ services, due }) => {
      const before = tenants.get(tenantId) as Tenant
      // Past sixty days there is no way back: what comes later is of another subscription.
      if (before.access !== 'delete') tenants.set(tenantId, { ...before, ...change })
      for (const [id, { tenantId: owner, state: service }] of services)
        if (owner === tenantId && service.status !== 'deleted')
          due.set(id, Math.min(due.get(id) ?? Infinity, schedule.ms()))
    })
    yield* commit(model, tx)
  } finally {
    tx.abort()
  }
}

export function* takeReport(model: Model, cellId: string, observed: Observation[]): Process {
  const { control, rules, schedule, random } = model
  const tx = control.begin()
  const again: string[] = []
  try {
    yield random.below(5)
    const items = control.tables.cells.get(cellId)?.items
    if (observed.some(({ svc }) => !items?.has(svc))) yield* tx.lock(`cell ${cellId}`)
    for (const one of observed.toSorted((a, b) => (a.svc < b.svc ? -1 : 1))) {
      yield* tx.lock(`service ${one.svc}`)
      const row = control.tables.services.get(one.svc)
      const item = items?.get(one.svc)
      const isKnown = item !== undefined
      if (!row) {
        if (!isKnown) find(model, tx, cellId, one)
        continue
      }
      const { observedGeneration, observedState } = row.state
      if (isKnown && observedGeneration === one.generation && observedState === one.state) continue
      const turn = rules.observe(row.state, { cellId, generation: one.generation, state: one.state }, schedule.now())
      // The feed cannot take it away: it says nothing of it, or what it says is older than what the cell has.
      const isStray =
        turn.state.cellId !== cellId && one.state !== 'deleted' && one.generation > (item?.generation ?? 0)
      const key = `${cellId}/${one.svc}`
      tx.change(({ quarantine }) => void (isStray ? quarantine.add(key) : quarantine.delete(key)))
      if (row.state.cellId !== cellId && turn.state.cellId !== cellId) continue
      saveTransition(model, tx, row, turn)
      if (turn.dueAt !== null && turn.dueAt <= schedule.now()) again.push(one.svc)
    }
    yield* commit(model, tx)
  } finally {
    tx.abort()
  }
  for (const svc of again) model.look(svc)
}

/**
 * management/provisioning/adoption.ts: one that this database does not have. Without a restore that explains it, it is
 * kept aside.
 */
function find(model: Model, tx: Transaction, cellId: string, { svc, tenantId, generation, state }: Observation): void {
  const { schedule } = model
  if (state === 'deleted') return
  const key = `${cellId}/${svc}`
  const now = schedule.now()
  const operation = finish(newOperation(model.newOperationId(), 'provision', now), 'succeeded', now)
  const has = state === 'suspended' ? 'suspended' : 'active'
  const service: ServiceState = {
    id: svc,
    wantedState: 'active',
    status: 'failed',
    statusReason: RECOVERED,
    cellId,
    desiredState: has,
    stateReason: null,
    generation,
    publishedDigest: null,
    observedGeneration: generation,
    observedState: has,
    operation,
    deadlineAt: null,
    attempts: 0,
  }
  saveOperation(model, tx, operation)
  tx.change((tables) => {
    if (!tables.tenants.has(tenantId) || tables.services.has(svc) || tables.epoch === FIRST_EPOCH) {
      tables.quarantine.add(key)
      return
    }
    tables.quarantine.delete(key)
    tables.services.set(svc, { state: service, tenantId, config: 0, lastWord: 'active' })
    count(tables, tenantId, undefined, service)
    tables.due.set(svc, schedule.ms())
  })
}

/** As long as it is this one, nothing was restored. */
export const FIRST_EPOCH = 1

const CLAIM_MAX = 20
const PUT_OFF_MS = 5_000

/** One statement: what is due, put off by the claim. */
export function claim({ control, schedule }: Model): string[] {
  const { due } = control.tables
  const mine = [...due]
    .filter(([, at]) => at <= schedule.ms())
    .sort((a, b) => a[1] - b[1])
    .slice(0, CLAIM_MAX)
  for (const [id] of mine) due.set(id, schedule.ms() + PUT_OFF_MS)
  return mine.map(([id]) => id)
}

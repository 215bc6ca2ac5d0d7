// What must hold at every moment and in the end. It sees the control database, every cell, and what the customers have
// asked for; it remembers what a restore makes the database forget.

import type { Operation } from '@loci/management/provisioning/operations/operation.ts'
import {
  LOST,
  RECOVERED,
  type ServiceState,
  type Transition,
  type Verb,
} from '@loci/management/provisioning/service-state.ts'
import { type Cell, type Instance, isRestored } from './cell.ts'
import type { Item, Tables } from './control.ts'
import { expectedOf, hasOpenOperation, isTransitional, type Tenant, usesQuota } from './entitlements.ts'

export interface Judge {
  findings: string[]
  onSave(before: ServiceState, after: ServiceState, tenantId: string): void
  onOperation(before: Operation | undefined, after: Operation): void
  onCommand(before: ServiceState, verb: Verb, turn: Transition): void
  onDeletionAsked(id: string): void
  /** Somebody who has the key of its cell says something of it that is not so. */
  onLie(id: string): void
  onPublish(cellId: string, before: Item | undefined, after: Item): void
  onPlaced(cellId: string, placed: number, capacity: number): void
  onCommit(tables: Tables): void
  /** The cell has it so now. */
  onApplied(cellId: string, instance: Instance): void
  onErased(cellId: string, instance: Instance): void
  /** Somebody asks the cell for it and is answered. */
  onServed(cell: Cell, instance: Instance, tables: Tables): void
  /** The faults of management stopped fifteen minutes ago and more; cells may still be away. */
  onCalm(tables: Tables, nowMs: number): void
  /** Everything is back for long enough. */
  onEnd(tables: Tables): void
}

const FINDINGS_MAX = 20
const OPERATION_MS = 15 * 60_000

export function newJudge(cells: Cell[], tenants: ReadonlyMap<string, Tenant>, at: () => string): Judge {
  const findings: string[] = []
  const askedDeletion = new Set<string>()
  const liedAbout = new Set<string>()
  const applied = new Set<string>()
  const erased = new Set<string>()
  const find = (kind: string, text: string) => {
    if (findings.length < FINDINGS_MAX) findings.push(`${kind}: ${text} (${at()})`)
  }
  const isOver = (tenantId: string) => tenants.get(tenantId)?.access === 'delete'

  return {
    findings,
    onSave(before, after, tenantId) {
      const isNobodys = after.wantedState === 'deleted' && !askedDeletion.has(after.id) && !isOver(tenantId)
      if (isNobodys && before.wantedState !== 'deleted') find('intent', `${after.id} is to be deleted, unasked`)
      if (after.status === before.status) return
      const { id, cellId, status, statusReason, generation, desiredState } = after
      if (status === 'active' || status === 'suspended') {
        const home = cells.find((cell) => cell.id === cellId)?.stored
        if (home && home.instances.get(id)?.state === status) home.lived.add(id)
        if (statusReason !== 'unconfirmed' && !applied.has(`${cellId}/${id}/${generation}/${desiredState}`))
          find('unconfirmed', `${id} is ${status} and no cell has ever had generation ${generation} ${desiredState}`)
      }
      if (status === 'deleted' && cellId !== null && !erased.has(`${cellId}/${id}`) && !liedAbout.has(id))
        find('unconfirmed', `${id} is deleted and ${cellId} has never erased it`)
    },
    onOperation(before, after) {
      if (before && before.finishedAt !== null && (before.status !== after.status || after.finishedAt === null))
        find('operation', `${after.id} ended ${before.status} and became ${after.status}`)
    },
    onCommand(before, verb, { state: service }) {
      const isTaken = verb !== 'delete' || service.wantedState === 'deleted'
      if (!isTaken) find('command', `${verb} of ${before.id} (${before.status}) was not taken`)
    },
    onDeletionAsked: (id) => void askedDeletion.add(id),
    onLie: (id) => void liedAbout.add(id),
    onPublish(cellId, before, after) {
      if (before && after.generation <= before.generation)
        find('generation', `${cellId} was told ${after.svc} ${before.generation} and then ${after.generation}`)
    },
    onPlaced(cellId, placed, capacity) {
      if (placed > capacity) find('overfull', `${cellId} has ${placed} places taken of ${capacity}`)
    },
    onCommit(tables) {
      for (const { state: service } of tables.services.values()) {
        if (!isTransitional(service)) continue
        if (service.deadlineAt === null) find('stuck', `${service.id} is ${service.status} without a deadline`)
        if (!tables.due.has(service.id)) find('stuck', `${service.id} is ${service.status} and nobody will look`)
      }
      const homes = new Map<string, string>()
      for (const [cellId, { items }] of tables.cells)
        for (const { svc, state } of items.values()) {
          if (state === 'deleted') continue
          const other = homes.get(svc)
          if (other) find('doubled', `${other} and ${cellId} are both told to have ${svc}`)
          homes.set(svc, cellId)
        }
      findMiscounts(tables, find)
    },
    onApplied: (cellId, { svc, generation, state }) => void applied.add(`${cellId}/${svc}/${generation}/${state}`),
    onErased(cellId, { svc, tenantId }) {
      erased.add(`${cellId}/${svc}`)
      const hasLived = cells.find(({ id }) => id === cellId)?.stored.lived.delete(svc) === true
      if (hasLived && !askedDeletion.has(svc) && !isOver(tenantId))
        find('erased', `${cellId} erased ${svc}, which had lived there and which nobody wanted deleted`)
    },
    onServed(cell, { svc, state, generation }, { epoch, services, cells: rows }) {
      const service = services.get(svc)?.state
      const item = rows.get(cell.id)?.items.get(svc)
      const isGone = service?.status === 'deleted' && service.cellId === cell.id && erased.has(`${cell.id}/${svc}`)
      if (state === 'deleted' || !isGone || item?.state !== 'deleted' || item.generation < generation) return
      // What was published after its resync, or in an epoch that it has not heard of, it may not have read yet.
      if (isRestored(cell) || (cell.stored.epoch === epoch && item.seq <= cell.stored.after))
        find('served', `${cell.id} served ${svc}, which was erased before`)
    },
    onCalm(tables, nowMs) {
      // What began meanwhile has its own fifteen minutes: a cell may have come back just now and told of a service
      // nobody knew.
      const isYoung = (operation: Operation) => operation.createdAt.getTime() > nowMs - OPERATION_MS
      for (const { state: service } of tables.services.values()) {
        if (service.operation && isYoung(service.operation)) continue
        if (isTransitional(service)) find('stuck', `${service.id} is still ${service.status}`)
        if (hasOpenOperation(service)) find('stuck', `the ${service.operation?.kind} of ${service.id} has not ended`)
      }
      for (const operation of tables.operations.values())
        if (operation.finishedAt === null && !isYoung(operation))
          find('stuck', `the operation ${operation.id} has not ended`)
    },
    onEnd(tables) {
      for (const { state: service, ...row } of tables.services.values()) {
        if (isTransitional(service)) find('stuck', `${service.id} is still ${service.status} in the end`)
        if (tables.due.has(service.id)) find('stuck', `${service.id} (${service.status}) is still due`)
        if (service.status === 'failed' && !service.statusReason)
          find('unexplained', `${service.id} has failed without a reason`)
        if (isConfirmedLate(service, cells))
          find('stuck', `${service.id} has failed and ${service.cellId} has it as it was told`)
        if (service.status !== 'failed' && service.status !== 'deleted')
          findDisagreement(service, expectedOf({ state: service, ...row }, tenants.get(row.tenantId)), cells, find)
      }
      findStrays(tables, cells, find)
    },
  }
}

type Find = (kind: string, text: string) => void

function findMiscounts({ services, used }: Tables, find: Find): void {
  const counted = new Map<string, number>()
  for (const { tenantId, state: service } of services.values())
    counted.set(tenantId, (counted.get(tenantId) ?? 0) + Number(usesQuota(service)))
  for (const [tenantId, count] of counted)
    if ((used.get(tenantId) ?? 0) !== count)
      find('quota', `${tenantId} uses ${count} and the counter says ${used.get(tenantId) ?? 0}`)
}

function findDisagreement(
  service: ServiceState,
  expected: { state: string; body: string },
  cells: Cell[],
  find: Find,
): void {
  if (service.status !== expected.state)
    find('disagrees', `${service.id} is ${service.status} and should be ${expected.state}`)
  const instance = cells.find(({ id }) => id === service.cellId)?.stored.instances.get(service.id)
  if (instance?.state !== expected.state || instance.body !== expected.body)
    find(
      'disagrees',
      `${service.cellId} has ${service.id} ${instance?.state} (${instance?.body}) and should have it ${expected.state} (${expected.body})`,
    )
}

/** Its cell was silent too long, and speaks again: nobody should have to ask for it. */
function isConfirmedLate(
  { id, cellId, status, statusReason, generation, desiredState }: ServiceState,
  cells: Cell[],
): boolean {
  if (status !== 'failed' || statusReason === LOST || statusReason === RECOVERED || desiredState === 'deleted')
    return false
  const instance = cells.find((cell) => cell.id === cellId)?.stored.instances.get(id)
  return instance?.state === desiredState && instance.generation === generation
}

function findStrays({ services, quarantine }: Tables, cells: Cell[], find: Find): void {
  const homes = new Map<string, string>()
  for (const { id: cellId, stored } of cells)
    for (const { svc, state, isPurged } of stored.instances.values()) {
      if ((state === 'deleted' && isPurged) || quarantine.has(`${cellId}/${svc}`)) continue
      const service = services.get(svc)?.state
      // Of a failed one the cell keeps what it has, for its owner to decide.
      const isOwned = service?.cellId === cellId && service.status !== 'deleted' && service.wantedState !== 'deleted'
      if (!isOwned) find('orphaned', `${cellId} has ${svc} ${state}, which is ${service?.status} in ${service?.cellId}`)
      const other = homes.get(svc)
      if (other) find('doubled', `${other} and ${cellId} both have ${svc}`)
      homes.set(svc, cellId)
    }
}

export interface Run {
  findings: string[]
  services: number
  commands: number
  restores: number
}

// A cell as daemon/feed keeps it: what it was told, what it has erased, what it still has to report. It pulls and
// nobody calls it.

import type { DesiredState, ObservedState } from '@loci/management/provisioning/service-state.ts'
import type { Item } from './control.ts'

export interface Instance {
  svc: string
  tenantId: string
  generation: number
  state: DesiredState | 'failed'
  body: string
  /** Of a deleted one: nothing is left. */
  isPurged: boolean
  /** Said while it was being erased: it is made again when that is done. */
  awaiting: Item | null
}

/** What survives a crash. */
export interface Stored {
  /** Of the database that this was last written in: a copy in another database finds another one around it. */
  state: number
  /** Null: it does not know how far it had read. */
  epoch: number | null
  after: number
  instances: Map<string, Instance>
  /** Those that were active or suspended here, so that somebody may have data in them. */
  lived: Set<string>
}

export interface Cell {
  readonly id: string
  stored: Stored
  /** Of the database it has now (system identifier, timeline, oid). */
  state: number
  /** Observations that nobody has taken yet. */
  untold: Set<string>
  /** Neither pulls nor reports until then. */
  silentUntilMs: number
  /** Pulls, and none of its reports arrives until then. */
  muteUntilMs: number
  heardAtMs: number
}

export interface Observation {
  svc: string
  tenantId: string
  generation: number
  state: ObservedState
}

export function newCell(id: string): Cell {
  return {
    id,
    stored: { state: 1, epoch: null, after: 0, instances: new Map(), lived: new Set() },
    state: 1,
    untold: new Set(),
    silentUntilMs: 0,
    muteUntilMs: 0,
    heardAtMs: 0,
  }
}

export function copyStored({ state: service, epoch, after, instances, lived }: Stored): Stored {
  return { state: service, epoch, after, instances: new Map(instances), lived: new Set(lived) }
}

/** Restored from a backup: what stands in it, its place in the feed included, is of an earlier time. */
export function isRestored({ state: service, stored }: Cell): boolean {
  return stored.state !== service
}

/** A process that starts again tells everything that it has. */
export function restart(cell: Cell): void {
  cell.untold = new Set(cell.stored.instances.keys())
}

export interface Page {
  epoch: number
  isFull: boolean
  next: number
  items: Item[]
}

/** One page, in one transaction. `canMake` is asked of each new instance. */
export function applyPage(cell: Cell, page: Page, canMake: () => boolean): void {
  const isAfresh = cell.stored.epoch === null || isRestored(cell)
  for (const item of page.items) apply(cell, item, isAfresh, canMake)
  if (page.isFull) cell.stored.state = cell.state
  cell.stored.epoch = page.epoch
  cell.stored.after = page.next
  if (page.isFull) restart(cell)
}

/** daemon/feed/store.ts, in the order of its statements: await, erase again, apply. */
function apply(cell: Cell, item: Item, isAfresh: boolean, canMake: () => boolean): void {
  const { instances } = cell.stored
  const old = instances.get(item.svc)
  const put = (instance: Instance) => {
    instances.set(item.svc, instance)
    cell.untold.add(item.svc)
  }
  if (!old) {
    put(made(item, item.state === 'active' && !canMake()))
    return
  }
  if (old.state !== 'deleted') {
    const differs = old.state !== item.state || old.generation !== item.generation || old.body !== item.body
    if (item.generation >= old.generation && differs) put(made(item, false))
    return
  }
  if (isAfresh && item.state === 'deleted' && old.isPurged) put({ ...old, isPurged: false })
  const isAhead = item.generation > Math.max(old.generation, old.awaiting?.generation ?? 0)
  if (old.isPurged ? item.generation > old.generation : isAhead && item.state === 'deleted') put(made(item, false))
  else if (!old.isPurged && isAhead) instances.set(item.svc, { ...old, awaiting: item })
}

function made(item: Item, isFailed: boolean): Instance {
  const { svc, tenantId, generation, body } = item
  return {
    svc,
    tenantId,
    generation,
    state: isFailed ? 'failed' : item.state,
    body,
    isPurged: false,
    awaiting: null,
  }
}

/** Erases one deleted instance to the end; undefined when it is not to be erased any more. */
export function purge(cell: Cell, svc: string): Instance | undefined {
  const old = cell.stored.instances.get(svc)
  if (old?.state !== 'deleted' || old.isPurged) return undefined
  const gone: Instance = { ...old, isPurged: true, awaiting: null }
  cell.stored.instances.set(svc, gone)
  cell.untold.add(svc)
  if (old.awaiting) apply(cell, old.awaiting, false, () => true)
  return gone
}

/** Of a deleted one it says nothing before nothing of it is left. */
export function observations(cell: Cell): Observation[] {
  return [...cell.untold].flatMap((svc) => {
    const instance = cell.stored.instances.get(svc)
    if (!instance || (instance.state === 'deleted' && !instance.isPurged)) return []
    return [{ svc, tenantId: instance.tenantId, generation: instance.generation, state: instance.state }]
  })
}

/** Taken: not told again, unless it is another by now. */
export function told(cell: Cell, taken: Observation[]): void {
  for (const { svc, generation, state } of taken) {
    const instance = cell.stored.instances.get(svc)
    if (instance?.generation === generation && instance.state === state) cell.untold.delete(svc)
  }
}

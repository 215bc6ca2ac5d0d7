// The control database in memory: rows that are never changed but replaced, locks that are held to the end,
// transactions that commit whole, are lost whole, or commit and lose their reply. Reads see what is committed at that
// moment, as under read committed.

import type { Operation } from '@loci/management/provisioning/operations/operation.ts'
import type { DesiredState, ServiceState } from '@loci/management/provisioning/service-state.ts'
import type { Process } from './schedule.ts'

export interface ServiceRow {
  state: ServiceState
  tenantId: string
  /** Stands for plan and config: a number that rises with each change. */
  config: number
  /** The last word of the customer that was committed. */
  lastWord: DesiredState
}

export interface Item {
  seq: number
  svc: string
  tenantId: string
  generation: number
  state: DesiredState
  /** Of everything else that the cell is told. */
  body: string
}

export interface CellRow {
  capacity: number
  placed: number
  feedSeq: number
  items: ReadonlyMap<string, Item>
}

export interface Tables {
  epoch: number
  tenants: Set<string>
  services: Map<string, ServiceRow>
  operations: Map<string, Operation>
  due: Map<string, number>
  cells: Map<string, CellRow>
  /** `cell/service` */
  quarantine: Set<string>
  /** Of the quota, by tenant: counted up and down, as the triggers do it. */
  used: Map<string, number>
}

export interface Transaction {
  /** Waits for it, two seconds at most. Shared ones exclude only the others. */
  lock(key: string, isShared?: boolean): Process
  /** In the order given, at the commit. */
  change(act: (tables: Tables) => void): void
  commit(): void
  /** Nothing, when it has ended already. */
  abort(): void
}

/** The server or the connection went away, or a lock was not to be had. */
export class Refused extends Error {}

export interface ControlDatabase {
  readonly tables: Tables
  begin(): Transaction
  snapshot(): Tables
  /** Every open transaction is lost, and the epoch is another. */
  restore(snapshot: Tables): void
}

const LOCK_MS_MAX = 2_000
const LOCK_POLL_MS = 10

export function newControlDatabase(
  first: Tables,
  { ms, onCommit }: { ms(): number; onCommit(tables: Tables): void },
): ControlDatabase {
  let tables = first
  let epochs = first.epoch
  const locks = new Map<string, { isShared: boolean; holders: Set<object> }>()
  const open = new Set<object>()

  function grant(key: string, isShared: boolean, holder: object): boolean {
    const held = locks.get(key)
    if (!held) {
      locks.set(key, { isShared, holders: new Set([holder]) })
      return true
    }
    if (held.holders.has(holder)) return true
    if (!held.isShared || !isShared) return false
    held.holders.add(holder)
    return true
  }

  function release(holder: object): void {
    open.delete(holder)
    for (const [key, { holders }] of locks) if (holders.delete(holder) && holders.size === 0) locks.delete(key)
  }

  return {
    get tables() {
      return tables
    },
    begin() {
      const holder = {}
      const changes: ((tables: Tables) => void)[] = []
      open.add(holder)
      return {
        *lock(key, isShared = false) {
          const until = ms() + LOCK_MS_MAX
          while (!(open.has(holder) && grant(key, isShared, holder))) {
            if (!open.has(holder)) throw new Refused('the transaction is lost')
            if (ms() > until) throw new Refused(`no lock on ${key}`)
            yield LOCK_POLL_MS
          }
        },
        change: (act) => void changes.push(act),
        commit() {
          if (!open.has(holder)) throw new Refused('the transaction is lost')
          for (const change of changes) change(tables)
          release(holder)
          onCommit(tables)
        },
        abort: () => release(holder),
      }
    },
    snapshot: () => copyOf(tables),
    restore(snapshot) {
      open.clear()
      locks.clear()
      epochs += 1
      tables = { ...copyOf(snapshot), epoch: epochs }
    },
  }
}

function copyOf(tables: Tables): Tables {
  return {
    epoch: tables.epoch,
    tenants: new Set(tables.tenants),
    services: new Map(tables.services),
    operations: new Map(tables.operations),
    due: new Map(tables.due),
    cells: new Map(tables.cells),
    quarantine: new Set(tables.quarantine),
    used: new Map(tables.used),
  }
}

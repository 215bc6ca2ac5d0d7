// The rules that a simulation runs under: the real ones, or with one of them broken.

import { observe } from '@loci/management/provisioning/observe.ts'
import { needsPlace, type Reconciled, reconcile, type Surroundings } from '@loci/management/provisioning/reconcile.ts'
import {
  command,
  LOST,
  newServiceState,
  type ServiceState,
  type Transition,
} from '@loci/management/provisioning/service-state.ts'

export interface Rules {
  newServiceState: typeof newServiceState
  command: typeof command
  reconcile: typeof reconcile
  observe: typeof observe
  needsPlace: typeof needsPlace
  /** A command writes its row of due_services. */
  putsDue: boolean
  /** A look decides under the locks of the cell and the service, on what it reads under them. */
  locksPlaces: boolean
  /** …and of the tenant: what is paid for cannot change while it is decided that nothing is left to do. */
  locksTenants: boolean
  /**
   * A cell whose database is another than the one it last wrote serves nothing, and asks for everything, before
   * anything else.
   */
  noticesRestore: boolean
}

export const REAL: Rules = {
  newServiceState,
  command,
  reconcile,
  observe,
  needsPlace,
  putsDue: true,
  locksPlaces: true,
  locksTenants: true,
  noticesRestore: true,
}

const isPast = ({ deadlineAt }: ServiceState, now: Date) => deadlineAt !== null && deadlineAt <= now

export const SABOTAGE: Record<string, Partial<Rules>> = {
  'no deadline': {
    reconcile(service, around, now) {
      const before = isPast(service, now) ? new Date((service.deadlineAt as Date).getTime() - 1) : now
      const result = reconcile(service, around, before)
      return { ...result, dueAt: result.dueAt && new Date(Math.max(result.dueAt.getTime(), now.getTime() + 60_000)) }
    },
  },
  'no due row': { putsDue: false },
  'generation not raised on republish': {
    reconcile: (service, around, now) =>
      changed(reconcile(service, around, now), { generation: Math.max(1, service.generation) }),
  },
  'old report settles': {
    observe: (service, { cellId, state, generation }, now) =>
      observe(service, { cellId, state, generation: Math.max(generation, service.generation) }, now),
  },
  'adopt forgotten': {
    observe: (service, told, now) =>
      told.generation > service.generation ? { state: service, dueAt: now } : observe(service, told, now),
  },
  'silence erases': { reconcile: takingAway },
  'loss becomes intent': { observe: believing },
  'late confirmation ignored': {
    observe: (service, told, now) =>
      service.status === 'failed' ? { state: service, dueAt: now } : observe(service, told, now),
  },
  'restored cell not noticed': { noticesRestore: false },
  'placement without lock': { locksPlaces: false },
  'tenant not locked': { locksTenants: false },
}

function changed(result: Reconciled, change: Partial<ServiceState>): Reconciled {
  return result.publish ? { ...result, state: { ...result.state, ...change } } : result
}

/** As it was: what a silent cell may have of a failed provisioning is taken away from it. */
function takingAway(service: ServiceState, around: Surroundings, now: Date): Reconciled {
  const result = reconcile(service, around, now)
  const { status, wantedState, cellId, desiredState, generation } = result.state
  if (status !== 'failed' || wantedState === 'deleted' || cellId === null || desiredState === 'deleted') return result
  const publishedDigest = around.entitlement.digestOf('deleted', null)
  const told: ServiceState = { ...result.state, desiredState: 'deleted', stateReason: null, generation: generation + 1 }
  return { ...result, state: { ...told, publishedDigest }, publish: true }
}

/** As it was: what a cell says it has erased is what its owner wants. */
function believing(service: ServiceState, told: Parameters<typeof observe>[1], now: Date): Transition {
  const turn = observe(service, told, now)
  if (turn.state.statusReason !== LOST || service.status === 'provisioning') return turn
  const deadlineAt = new Date(now.getTime() + 15 * 60_000)
  return {
    ...turn,
    state: { ...turn.state, wantedState: 'deleted', status: 'deleting', statusReason: null, deadlineAt },
  }
}

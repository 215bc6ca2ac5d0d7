// The rules that a simulation runs under: the real ones, or with one of them broken.

import { observe } from '@loci/management/provisioning/observe.ts'
import { needsPlace, type Reconciled, reconcile, type Surroundings } from '@loci/management/provisioning/reconcile.ts'
import { command, type Life, LOST, newLife, type Turn } from '@loci/management/provisioning/service-state.ts'

export interface Rules {
  newLife: typeof newLife
  command: typeof command
  reconcile: typeof reconcile
  observe: typeof observe
  needsPlace: typeof needsPlace
  /** A command writes its row of due_services. */
  putsDue: boolean
  /** A look decides under the locks of the cell and the service, on what it reads under them. */
  locksPlaces: boolean
  /** …and of the tenant: what is paid for can not change while it is decided that nothing is left to do. */
  locksTenants: boolean
  /** A cell whose database is another than the one it last wrote serves nothing, and asks for everything, before anything else. */
  noticesRestore: boolean
}

export const REAL: Rules = {
  newLife,
  command,
  reconcile,
  observe,
  needsPlace,
  putsDue: true,
  locksPlaces: true,
  locksTenants: true,
  noticesRestore: true,
}

const isPast = ({ deadlineAt }: Life, now: Date) => deadlineAt !== null && deadlineAt <= now

export const SABOTAGE: Record<string, Partial<Rules>> = {
  'no deadline': {
    reconcile(life, around, now) {
      const before = isPast(life, now) ? new Date((life.deadlineAt as Date).getTime() - 1) : now
      const result = reconcile(life, around, before)
      return { ...result, dueAt: result.dueAt && new Date(Math.max(result.dueAt.getTime(), now.getTime() + 60_000)) }
    },
  },
  'no due row': { putsDue: false },
  'generation not raised on republish': {
    reconcile: (life, around, now) =>
      changed(reconcile(life, around, now), { generation: Math.max(1, life.generation) }),
  },
  'old report settles': {
    observe: (life, { cellId, state, generation }, now) =>
      observe(life, { cellId, state, generation: Math.max(generation, life.generation) }, now),
  },
  'adopt forgotten': {
    observe: (life, told, now) => (told.generation > life.generation ? { life, dueAt: now } : observe(life, told, now)),
  },
  'silence erases': { reconcile: takingAway },
  'loss becomes intent': { observe: believing },
  'late confirmation ignored': {
    observe: (life, told, now) => (life.status === 'failed' ? { life, dueAt: now } : observe(life, told, now)),
  },
  'restored cell not noticed': { noticesRestore: false },
  'placement without lock': { locksPlaces: false },
  'tenant not locked': { locksTenants: false },
}

function changed(result: Reconciled, change: Partial<Life>): Reconciled {
  return result.publish ? { ...result, life: { ...result.life, ...change } } : result
}

/** As it was: what a silent cell may have of a failed provisioning is taken away from it. */
function takingAway(life: Life, around: Surroundings, now: Date): Reconciled {
  const result = reconcile(life, around, now)
  const { status, wantedState, cellId, desiredState, generation } = result.life
  if (status !== 'failed' || wantedState === 'deleted' || cellId === null || desiredState === 'deleted') return result
  const publishedDigest = around.entitlement.digestOf('deleted', null)
  const told: Life = { ...result.life, desiredState: 'deleted', stateReason: null, generation: generation + 1 }
  return { ...result, life: { ...told, publishedDigest }, publish: true }
}

/** As it was: what a cell says it has erased is what its owner wants. */
function believing(life: Life, told: Parameters<typeof observe>[1], now: Date): Turn {
  const turn = observe(life, told, now)
  if (turn.life.statusReason !== LOST || life.status === 'provisioning') return turn
  const deadlineAt = new Date(now.getTime() + 15 * 60_000)
  return { ...turn, life: { ...turn.life, wantedState: 'deleted', status: 'deleting', statusReason: null, deadlineAt } }
}

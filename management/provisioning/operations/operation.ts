// What became of a command: its steps, one after the other, and how it ended. Over is over: a finished operation never
// changes.

export type OperationKind = 'provision' | 'update' | 'suspend' | 'resume' | 'move' | 'delete'
export type OperationStatus = 'pending' | 'running' | 'succeeded' | 'failed' | 'superseded'
export type StepName = 'place' | 'publish' | 'confirm'

export interface Step {
  name: StepName
  status: 'pending' | 'running' | 'succeeded' | 'failed' | 'skipped'
  started_at: string | null
  completed_at: string | null
  detail: string | null
}

export interface Operation {
  id: string
  kind: OperationKind
  status: OperationStatus
  steps: Step[]
  error: { code: string; message: string } | null
  createdAt: Date
  updatedAt: Date
  finishedAt: Date | null
}

export function newOperation(id: string, kind: OperationKind, now: Date): Operation {
  const names: StepName[] =
    kind === 'provision' || kind === 'move' ? ['place', 'publish', 'confirm'] : ['publish', 'confirm']
  const steps = names.map((name) => ({
    name,
    status: 'pending' as const,
    started_at: null,
    completed_at: null,
    detail: null,
  }))
  return { id, kind, status: 'pending', steps, error: null, createdAt: now, updatedAt: now, finishedAt: null }
}

export function isOpen({ finishedAt }: Operation): boolean {
  return finishedAt === null
}

export function stepRunning(operation: Operation, name: StepName, detail: string | null, now: Date): Operation {
  return changed(operation, name, now, (step) => ({
    ...step,
    status: 'running',
    started_at: step.started_at ?? now.toISOString(),
    detail,
  }))
}

export function stepDone(operation: Operation, name: StepName, detail: string | null, now: Date): Operation {
  return changed(operation, name, now, (step) => ({
    ...step,
    status: 'succeeded',
    started_at: step.started_at ?? now.toISOString(),
    completed_at: step.completed_at ?? now.toISOString(),
    detail,
  }))
}

export function finish(
  operation: Operation,
  status: 'succeeded' | 'failed' | 'superseded',
  now: Date,
  error: Operation['error'] = null,
): Operation {
  const at = now.toISOString()
  const steps = operation.steps.map((step): Step => {
    if (step.status === 'succeeded') return step
    if (status === 'succeeded')
      return { ...step, status: 'succeeded', started_at: step.started_at ?? at, completed_at: at }
    return step.status === 'running'
      ? { ...step, status: status === 'failed' ? 'failed' : 'skipped', completed_at: at }
      : { ...step, status: 'skipped' }
  })
  return { ...operation, status, steps, error, updatedAt: now, finishedAt: now }
}

/** 100 when it is over, however it ended. */
export function percentOf({ finishedAt, steps }: Operation): number {
  if (finishedAt !== null) return 100
  return Math.floor((100 * steps.filter(({ status }) => status === 'succeeded').length) / steps.length)
}

function changed(operation: Operation, name: StepName, now: Date, change: (step: Step) => Step): Operation {
  const steps = operation.steps.map((step) => (step.name === name ? change(step) : step))
  return { ...operation, status: 'running', steps, updatedAt: now }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { observe } from './observe.ts'
import { isOpen } from './operations/operation.ts'
import { needsPlace, type Reconciled, reconcile } from './reconcile.ts'
import {
  command,
  type DesiredState,
  newServiceState,
  type ObservedState,
  type ServiceState,
  type Transition,
  type Verb,
} from './service-state.ts'

const START = new Date('2026-01-05T09:00:00Z')
const VERBS: Verb[] = ['suspend', 'resume', 'update', 'delete', 'retry']
const TRANSITIONAL = ['provisioning', 'updating', 'deleting']
let operations = 0

/** Minutes after the start. */
function at(minutes: number): Date {
  return new Date(START.getTime() + minutes * 60_000)
}

interface Around {
  placement?: string
  entitled?: 'active' | 'suspended'
  isOver?: boolean
  plan?: string
}

function look(service: ServiceState, minutes: number, around: Around = {}): Reconciled {
  const { placement = 'cell_a', entitled = 'active', isOver = false, plan = 'pro' } = around
  const reason = entitled === 'suspended' ? ('unpaid' as const) : null
  const digestOf = (state: DesiredState, why: string | null) => `${state} ${why} ${plan}`
  operations += 1
  const entitlement = { state: entitled, reason, isOver, digestOf }
  return reconcile(service, { entitlement, placement, operationId: `op_${operations}` }, at(minutes))
}

function give(service: ServiceState, verb: Verb, minutes: number): Transition {
  operations += 1
  return command(service, verb, `op_${operations}`, at(minutes))
}

function hear(
  service: ServiceState,
  generation: number,
  state: ObservedState,
  minutes: number,
  cellId = 'cell_a',
): Transition {
  return observe(service, { cellId, generation, state }, at(minutes))
}

const fresh = () => newServiceState('svc_1', 'op_first', START)
const placed = () => look(fresh(), 0).state
const active = () => hear(placed(), 1, 'active', 1).state
const failed = () => look(placed(), 15.1).state
const lost = () => hear(active(), 1, 'deleted', 9).state
const unplaced = () => reconcileWithoutRoom(reconcileWithoutRoom(fresh(), 1).state, 15).state
const deleting = () => look(give(active(), 'delete', 2).state, 2).state
const updating = () => look(give(active(), 'suspend', 2).state, 2).state
const STATES: Record<string, () => ServiceState> = { fresh, placed, active, failed, lost, unplaced, deleting, updating }

test('a new service is placed and told in one look, and active when its cell confirms', () => {
  const told = look(fresh(), 0)
  const turn = hear(told.state, 1, 'active', 1)

  assert.deepEqual([told.publish, told.placed, told.state.generation], [true, 'cell_a', 1])
  assert.deepEqual([turn.state.status, turn.state.operation?.status, turn.readyMs], ['active', 'succeeded', 60_000])
})

test('a second look changes nothing', () => {
  for (const [name, state] of Object.entries(STATES)) {
    const once = look(state(), 16).state
    const twice = look(once, 16)
    assert.equal(twice.state, once, name)
    assert.equal(twice.publish, false, name)
  }
})

test('every transitional status has a deadline and is due, whatever is commanded', () => {
  for (const [name, state] of Object.entries(STATES))
    for (const verb of VERBS) {
      const turn = give(state(), verb, 3)
      if (!TRANSITIONAL.includes(turn.state.status)) continue
      assert.notEqual(turn.state.deadlineAt, null, `${verb} of ${name}`)
      assert.notEqual(turn.dueAt, null, `${verb} of ${name}`)
    }
})

test('without room it waits with its reason, and fails after fifteen minutes', () => {
  const waiting = reconcileWithoutRoom(fresh(), 1)
  const given = reconcileWithoutRoom(waiting.state, 15)

  assert.deepEqual([waiting.state.status, waiting.state.statusReason], ['provisioning', 'no_capacity'])
  assert.deepEqual([given.state.status, given.state.statusReason, given.dueAt], ['failed', 'no_capacity', null])
  assert.equal(given.state.operation?.error?.code, 'NO_CAPACITY')
})

function reconcileWithoutRoom(service: ServiceState, minutes: number): Reconciled {
  const entitlement = { state: 'active' as const, reason: null, isOver: false, digestOf: () => 'same' }
  return reconcile(service, { entitlement, placement: undefined, operationId: 'op_x' }, at(minutes))
}

// Runs 36831046, 278422787 and 278423655 of the simulation: the control database was restored to a moment before the
// service was active, its cell was silent for 15 minutes, and the service was taken away from it with all that it held.
test('what its cell did not confirm has failed, and a silent cell is told nothing', () => {
  const late = look(placed(), 15)
  const later = look(late.state, 60, { plan: 'starter', entitled: 'suspended' })

  assert.deepEqual([late.state.status, late.state.statusReason], ['failed', 'cell_silent'])
  assert.deepEqual([late.publish, late.state.desiredState, late.state.generation], [false, 'active', 1])
  assert.deepEqual([later.publish, later.state, later.dueAt], [false, late.state, null])
})

test('the late word of its cell brings a failed one to service; retry tells it anew, delete takes it away', () => {
  const heard = hear(failed(), 1, 'active', 40)
  const again = look(give(failed(), 'retry', 17).state, 17)
  const gone = look(give(failed(), 'delete', 17).state, 17)

  assert.deepEqual([heard.state.status, heard.state.statusReason, heard.state.deadlineAt], ['active', null, null])
  assert.deepEqual([again.publish, again.state.desiredState, again.state.generation], [true, 'active', 2])
  assert.deepEqual([gone.publish, gone.state.desiredState, gone.state.generation], [true, 'deleted', 2])
})

test('what had no room may be tried anywhere', () => {
  const again = give(unplaced(), 'retry', 17).state

  assert.deepEqual([needsPlace(unplaced()), needsPlace(again)], [false, true])
  assert.equal(look(again, 17, { placement: 'cell_b' }).state.cellId, 'cell_b')
})

test('a change that is not confirmed in time goes back to what the cell last said, and a late word settles it', () => {
  const late = look(updating(), 17)
  const settled = hear(late.state, 2, 'suspended', 40).state

  assert.deepEqual([late.state.status, late.state.statusReason], ['active', 'unconfirmed'])
  assert.equal(late.state.operation?.status, 'failed')
  assert.deepEqual([settled.status, settled.statusReason], ['suspended', 'suspended'])
})

test('a deletion that is not confirmed fails with its reason, and the late word ends it', () => {
  const late = look(deleting(), 17).state
  const ended = hear(late, 2, 'deleted', 60)

  assert.deepEqual([late.status, late.statusReason], ['failed', 'deletion_unconfirmed'])
  assert.deepEqual([ended.state.status, ended.dueAt], ['deleted', null])
})

test('a deadline that passed while nobody looked begins anew: what had come to be is not taken away', () => {
  const restored = look(placed(), 24 * 60)
  const heard = hear(restored.state, 1, 'active', 24 * 60 + 1).state

  assert.deepEqual([restored.state.status, restored.publish], ['provisioning', false])
  assert.deepEqual(restored.dueAt, at(24 * 60 + 15))
  assert.equal(heard.status, 'active')
})

// Run unwatched:967169275 of the simulation. Mutants: `isTried` always true; `isTried` without the count of attempts.
test('what nobody has tried to publish or place by its deadline begins anew: no cell was silent or full', () => {
  const retried = give(failed(), 'retry', 20).state
  const published = look(retried, 35.5)
  const unseen = look(fresh(), 15.5)

  assert.deepEqual([published.state.status, published.publish], ['provisioning', true])
  assert.deepEqual([unseen.state.status, unseen.publish], ['provisioning', true])
  assert.deepEqual([published.dueAt, unseen.dueAt], [at(50.5), at(30.5)])
  assert.equal(look(published.state, 50.6).state.statusReason, 'cell_silent')
})

test('an operation that is given up and replaced in one look is told as both', () => {
  const unpaid = look(updating(), 17, { entitled: 'suspended' })

  assert.equal(unpaid.superseded?.status, 'failed')
  assert.notEqual(unpaid.state.operation?.id, unpaid.superseded?.id)
})

test('what was never placed is deleted at once', () => {
  const turn = give(fresh(), 'delete', 1)

  assert.deepEqual([turn.state.status, turn.dueAt, turn.superseded?.status], ['deleted', null, 'superseded'])
})

test('a command is accepted in every state, and what is being deleted stays so', () => {
  for (const [name, state] of Object.entries(STATES))
    for (const verb of VERBS) {
      const { state: service, superseded } = give(state(), verb, 3)
      const told = service.operation === state().operation ? superseded : service.operation
      assert.ok(told ?? service.operation, `${verb} of ${name}`)
      if (name === 'deleting') assert.equal(service.wantedState, 'deleted', verb)
    }
  const unheard = give(deleting(), 'resume', 3)
  assert.deepEqual([unheard.superseded?.status, unheard.state.status], ['superseded', 'deleting'])
})

test('no command and no report puts off a look that is due: only a look knows what is paid for', () => {
  for (const [name, state] of Object.entries(STATES)) {
    for (const verb of VERBS) {
      const turn = give(state(), verb, 3)
      if (turn.state.status !== 'deleted') assert.deepEqual(turn.dueAt, at(3), `${verb} of ${name}`)
    }
    if (state().status !== 'deleted') assert.deepEqual(hear(state(), 0, 'active', 3, 'cell_z').dueAt, at(3), name)
  }
})

test('a report on what was told before a command does not end that command', () => {
  const resumed = give(updating(), 'resume', 3).state
  const heard = hear(resumed, 2, 'suspended', 4).state
  const told = look(heard, 4)

  assert.deepEqual([heard.status, heard.operation && isOpen(heard.operation)], ['updating', true])
  assert.deepEqual([told.publish, told.state.desiredState, told.state.generation], [true, 'active', 3])
})

test('a service that was suspended while it had failed is suspended when it is tried again', () => {
  const suspended = give(lost(), 'suspend', 17)
  const again = give(suspended.state, 'retry', 18).state

  assert.equal(suspended.state.operation?.status, 'succeeded')
  assert.equal(look(again, 18).state.desiredState, 'suspended')
})

test('a retry of a change that was never confirmed begins a new operation', () => {
  const late = look(updating(), 17).state

  const turn = give(late, 'retry', 18)
  assert.notEqual(turn.state.operation?.id, late.operation?.id)
  assert.equal(turn.state.status, 'updating')
  assert.equal(give(active(), 'retry', 18).state.status, 'active')
})

test('a command that changes nothing is over when the cell has confirmed what it was told', () => {
  const turn = look(give(active(), 'resume', 2).state, 2)

  assert.deepEqual([turn.state.status, turn.publish, turn.state.operation?.status], ['active', false, 'succeeded'])
})

test('want of payment suspends and resumes with operations of its own; the end of it deletes', () => {
  const unpaid = look(active(), 5, { entitled: 'suspended' })
  const suspended = hear(unpaid.state, 2, 'suspended', 6).state
  const paid = look(suspended, 7)
  const over = look(suspended, 8, { entitled: 'suspended', isOver: true })

  assert.deepEqual(
    [unpaid.state.operation?.kind, suspended.status, suspended.statusReason],
    ['suspend', 'suspended', 'unpaid'],
  )
  assert.deepEqual([paid.state.operation?.kind, paid.state.desiredState], ['resume', 'active'])
  assert.deepEqual([over.state.status, over.state.desiredState, over.publish], ['deleting', 'deleted', true])
})

test('an older report, or one from another cell, changes nothing', () => {
  const service = hear(updating(), 2, 'suspended', 3).state

  assert.equal(hear(service, 1, 'active', 4).state, service)
  assert.equal(hear(service, 9, 'active', 4, 'cell_b').state, service)
})

test('what a cell could not make has failed, and is made again when it is asked for', () => {
  const turn = hear(placed(), 1, 'failed', 1)
  const again = look(give(turn.state, 'retry', 2).state, 2)

  assert.deepEqual([turn.state.status, turn.state.statusReason], ['failed', 'cell_failed'])
  assert.equal(look(turn.state, 1).publish, false)
  assert.deepEqual([again.publish, again.state.desiredState, again.state.generation], [true, 'active', 2])
})

test('restored: a cell that was told more is believed and told again under a higher generation', () => {
  const heard = hear(active(), 7, 'suspended', 9)
  const told = look(heard.state, 9)

  assert.deepEqual([heard.state.generation, heard.state.publishedDigest], [7, null])
  assert.deepEqual([told.publish, told.state.generation, told.state.desiredState], [true, 8, 'active'])
})

test('restored: what had failed or was being made, and lives in its cell, is never taken away', () => {
  for (const state of [failed, placed, lost]) {
    const heard = hear(state(), 7, 'active', 20).state
    const late = look(look(heard, 20).state, 35.5)

    assert.equal(heard.status, 'updating')
    assert.deepEqual([late.state.status, late.state.desiredState, late.publish], ['active', 'active', false])
  }
})

test('restored: what has no place here and one in a cell is taken back there', () => {
  const heard = hear(unplaced(), 7, 'active', 20, 'cell_b')
  const told = look(heard.state, 20)

  assert.deepEqual([heard.state.cellId, heard.state.status], ['cell_b', 'updating'])
  assert.deepEqual([told.state.generation, told.state.desiredState, told.placed], [8, 'active', undefined])
  assert.equal(hear(unplaced(), 0, 'active', 20).state.cellId, null, 'an old report is no reason')
})

test('what a cell says it has erased unasked has failed, and its word is no intent: nothing is published', () => {
  const states = { updating: updating(), placed: placed(), failed: failed(), active: active() }
  for (const [name, service] of Object.entries(states))
    for (const generation of [service.generation, 7]) {
      const heard = hear(service, generation, 'deleted', 9).state
      const told = look(heard, 9)

      assert.deepEqual(
        [heard.status, heard.statusReason, heard.wantedState === 'deleted'],
        ['failed', 'lost_in_restore', false],
        name,
      )
      assert.deepEqual([told.publish, told.dueAt, told.state], [false, null, heard], name)
      assert.ok(!heard.operation || !isOpen(heard.operation), name)
      assert.equal(look(hear(heard, generation, 'failed', 10).state, 10).publish, false, `${name}, and then failed`)
    }
})

test('of a lost one retry makes an empty one, delete ends it, and the repeated word of its cell changes nothing', () => {
  const again = give(lost(), 'retry', 10).state
  const made = look(hear(again, 1, 'deleted', 10).state, 10)
  const ended = look(give(lost(), 'delete', 10).state, 10)

  assert.deepEqual([made.publish, made.state.desiredState, made.state.generation], [true, 'active', 2])
  assert.equal(hear(made.state, 2, 'active', 11).state.status, 'active')
  assert.deepEqual([ended.publish, ended.state.desiredState, ended.state.generation], [true, 'deleted', 2])
  assert.equal(hear(ended.state, 2, 'deleted', 11).state.status, 'deleted')
})

test('deleted is for ever, also in a cell that was restored to before it', () => {
  const deleted = hear(deleting(), 2, 'deleted', 3).state
  const heard = hear(deleted, 7, 'active', 9)
  const told = look(heard.state, 9)

  assert.deepEqual([heard.state.status, heard.dueAt], ['deleted', at(9)])
  assert.deepEqual([told.publish, told.state.generation, told.state.status, told.dueAt], [true, 8, 'deleted', null])
  assert.equal(hear(deleted, 1, 'active', 9).state, deleted)
  assert.equal(look(deleted, 9).publish, false)
})

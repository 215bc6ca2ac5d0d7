// P4: a tenant's billing record is a function of the set of its events, where all carry a sequence or a time and all,
// or none, name their subscription. Where none carries either, the last arrival shows, and a second equal payment is
// never swallowed. Sets of up to 12 events of mixed kinds, of subscriptions that are closed and opened again, are
// delivered in many orders and with repetitions. A failing run prints its seed; BILLING_SEED=<seed> repeats it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Body,
  deliver,
  isCreation,
  isDeletion,
  isOrdered,
  NOW,
  pick,
  type Random,
  randomOf,
  shuffled,
  someBodies,
} from '../testing/billing-events.ts'
import { type BillingEvent, foldTenant } from './fold.ts'
import { tenantStateAt } from './tenant-state.ts'

type Fold = typeof foldTenant

const SEED = process.env.BILLING_SEED ? Number(process.env.BILLING_SEED) : Math.floor(Math.random() * 1e9)
const RUNS = 2_000
/** A mutant needs far fewer. */
const RUNS_MUTANT = 400
const ORDERS_PER_RUN = 6
/** So few events are delivered in all their orders. */
const EVENTS_ALL_ORDERS = 5

test(`no order of delivery and no repetition changes the record (seed ${SEED})`, (t) => {
  const { differing, runs, orders, marked, example } = differingRuns(foldTenant, SEED, RUNS)

  t.diagnostic(`${runs} sets, ${marked} of them with marks, in ${orders} orders`)
  assert.equal(runs, RUNS)
  assert.ok(orders >= RUNS * ORDERS_PER_RUN, `only ${orders} orders`)
  assert.equal(differing, 0, example)
})

const MUTANTS: Record<string, Fold> = {
  'last arrival wins': (events) => foldTenant(events.map((event) => ({ ...event, sequence: null, occurredAt: null }))),
  'an equal body is swallowed': (events) =>
    foldTenant(events.filter(({ digest }, index) => events.findIndex((one) => one.digest === digest) === index)),
  'of two in one place the last arrival wins': (events) =>
    foldTenant(
      events.map((event) =>
        event.sequence === null ? event : { ...event, sequence: event.sequence * 1000 + event.arrival },
      ),
    ),
  'the grace counts from receipt': (events) =>
    foldTenant(events.map((event) => (event.sequence === null ? event : { ...event, occurredAt: null }))),
  'any later arrival opens a closed subscription': (events) => closedByLastOf(events, events),
  'of deletion and creation the last arrival wins': (events) =>
    closedByLastOf(
      events.filter((event) => isCreation(event) || isDeletion(event)),
      events,
    ),
  'a subscription stays closed for ever': (events) =>
    foldTenant(events.map((event) => (isCreation(event) ? { ...event, eventType: 'subscription.updated' } : event))),
}

function closedByLastOf(some: readonly BillingEvent[], all: readonly BillingEvent[]): ReturnType<Fold> {
  const { by, records } = foldTenant(all)
  const changed = records.map((record) => {
    const last = some.findLast(({ countsFor }) => countsFor === record.subscriptionId)
    return last && record.subscriptionId ? { ...record, closed: isDeletion(last) } : record
  })
  return { by, records: changed }
}

for (const [name, mutant] of Object.entries(MUTANTS)) {
  test(`the mutant "${name}" is caught (seed ${SEED})`, (t) => {
    const { differing, runs } = differingRuns(mutant, SEED, RUNS_MUTANT)

    t.diagnostic(`${differing} of ${runs} runs differ`)
    assert.ok(differing > 0)
  })
}

test(`a repeat in the ordering that decides never makes the grace end later (seed ${SEED})`, () => {
  let repeats = 0
  for (let run = 0; run < RUNS; run++) {
    const random = randomOf(SEED, run)
    const bodies = someBodies(random).map((body) => ({ ...body, eventType: 'payment.failed', subscriptionId: 's' }))
    const repeat: Body = { ...pick(random, bodies), status: 'past_due', plan: 'starter' }
    const [before] = foldTenant(deliver(bodies)).records
    const [after] = foldTenant(deliver([...bodies, repeat])).records
    // A repeat in a higher ordering than all before begins an ordering of its own.
    if (before?.status !== 'past_due' || after?.ordering !== before.ordering) continue
    repeats++
    assert.ok(
      after.status === 'past_due' && after.since <= before.since,
      `BILLING_SEED=${SEED}, run ${run}: ${JSON.stringify([...bodies, repeat])}`,
    )
  }
  assert.ok(repeats > RUNS / 10, `only ${repeats} repeats`)
})

/** How many of the runs, each a set of events in several orders, break the promise. */
function differingRuns(fold: Fold, seed: number, runs: number) {
  let [differing, orders, marked, example] = [0, 0, 0, '']
  for (let run = 0; run < runs; run++) {
    const random = randomOf(seed, run)
    const bodies = someBodies(random)
    if (isOrdered(bodies)) marked++
    const failed = someOrders(random, bodies).find((order) => {
      orders++
      return breaks(fold, bodies, order)
    })
    if (!failed) continue
    differing++
    example ||= `BILLING_SEED=${seed}, run ${run}: ${JSON.stringify(bodies)} delivered as ${JSON.stringify(failed)}`
  }
  return { differing, runs, orders, marked, example }
}

function breaks(fold: Fold, bodies: readonly Body[], order: readonly Body[]): boolean {
  if (isOrdered(bodies)) return tellable(fold, order) !== tellable(fold, bodies)
  const [record] = fold(deliver(order)).records
  const last = lastHeard(order)
  const expected = [last.subscriptionId, last.plan, isDeletion(last) ? 'cancelled' : last.status]
  return JSON.stringify([record?.subscriptionId, record?.plan, record?.status]) !== JSON.stringify(expected)
}

/** Told without the fold: a closed subscription is silent until it is created anew; the unnamed one is never closed. */
function lastHeard(order: readonly Body[]): Body {
  const closed = new Set<string>()
  const heard = order.filter((body) => {
    if (isCreation(body)) closed.delete(body.subscriptionId)
    if (closed.has(body.subscriptionId) && !isDeletion(body)) return false
    if (isDeletion(body) && body.subscriptionId) closed.add(body.subscriptionId)
    return true
  })
  return heard.at(-1) as Body
}

/** All of the record that may not depend on the delivery, as text. */
function tellable(fold: Fold, order: readonly Body[]): string {
  const events = deliver(order)
  const folded = fold(events)
  // Without a time of the sender's, the time of receipt is all there is.
  const isTimed = events.every((event) => event.occurredAt)
  const records = folded.records.map(({ decidedBy, since, ...facts }) => ({
    ...facts,
    ...(isTimed ? { since } : {}),
    body: events.find((event) => event.id === decidedBy)?.digest,
  }))
  const state = tenantStateAt(folded, NOW)
  const { tenantStatus, reason, plan, coveredPlan, access } = state
  const shown = { tenantStatus, reason, plan, coveredPlan, access, subscription: state.billing.subscriptionId }
  const sorted = records.toSorted((one, other) => (one.subscriptionId < other.subscriptionId ? -1 : 1))
  return JSON.stringify({ by: folded.by, records: sorted, state: isTimed ? state : shown })
}

/** Every event at least once; up to five events in all their orders. */
function someOrders(random: Random, bodies: readonly Body[]): Body[][] {
  const orders = bodies.length <= EVENTS_ALL_ORDERS ? permutations(bodies) : []
  for (let index = 0; index < ORDERS_PER_RUN; index++) {
    const repeated = bodies.filter(() => random() < 0.4)
    orders.push(shuffled(random, [...bodies, ...repeated, ...repeated.filter(() => random() < 0.3)]))
  }
  return orders
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length <= 1) return [[...items]]
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]))
}

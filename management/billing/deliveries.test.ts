// P4: a tenant's billing record is a function of the set of its events, where all carry a sequence or a time and all, or none, name
// their subscription. Where none carries either, the last arrival shows, and a second equal payment is never swallowed. Sets of up
// to 12 events of mixed kinds, of subscriptions that are closed and opened again, are delivered in many orders and with
// repetitions. A failing run prints its seed; BILLING_SEED=<seed> repeats it.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type BillingEvent, foldTenant, subscriptionFor } from './fold.ts'
import { readMarks } from './ordering.ts'
import { tenantStateAt } from './tenant-state.ts'

type Fold = typeof foldTenant
/** What the sender wrote. Everything else in a stored event comes from the delivery. */
type Body = Pick<BillingEvent, 'eventType' | 'customerId' | 'plan' | 'status' | 'currentPeriodEnd'> & {
  subscriptionId: string
  metadata: Record<string, string>
}
type Random = () => number

const RUNS = 2_000
/** A mutant needs far fewer. */
const RUNS_MUTANT = 400
const ORDERS_PER_RUN = 6
const EVENTS_MAX = 12
/** So few events are delivered in all their orders. */
const EVENTS_ALL_ORDERS = 5
const SEED = process.env.BILLING_SEED ? Number(process.env.BILLING_SEED) : Math.floor(Math.random() * 1e9)

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

/** Every subscription has an event with a mark: those without do not count. */
function isOrdered(bodies: readonly Body[]): boolean {
  const subscriptions = Map.groupBy(bodies, ({ subscriptionId }) => subscriptionId)
  return [...subscriptions.values()].every((some) => some.some(isMarked))
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

/** Stored as they arrive, an hour apart. */
function deliver(order: readonly Body[]): BillingEvent[] {
  const events: BillingEvent[] = []
  for (const [index, { subscriptionId, metadata, ...facts }] of order.entries())
    events.push({
      ...facts,
      ...readMarks(metadata, receivedAt(index)),
      id: `evt_${index}`,
      countsFor: subscriptionFor(events, subscriptionId),
      currentPeriodStart: null,
      receivedAt: receivedAt(index),
      arrival: index,
      digest: digestOf(order[index] as Body),
    })
  return events
}

/** After all receipts, and before any grace or notice that counts from one. */
const NOW = new Date(Date.UTC(2026, 5, 3))

function receivedAt(index: number): Date {
  return new Date(Date.UTC(2026, 5, 1, index))
}

function digestOf(body: Body): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex')
}

function isDeletion({ eventType }: Pick<Body, 'eventType'>): boolean {
  return eventType === 'subscription.deleted'
}

function isCreation({ eventType }: Pick<Body, 'eventType'>): boolean {
  return eventType === 'subscription.created'
}

function isMarked({ metadata }: Body): boolean {
  const { sequence, occurredAt } = readMarks(metadata, receivedAt(0))
  return sequence !== null || occurredAt !== null
}

const KINDS: Record<string, (random: Random) => Record<string, string>> = {
  sequence: (random) => ({ sequence: someNumber(random) }),
  occurred: (random) => ({ occurred_at: someTime(random) }),
  both: (random) => ({ sequence: someNumber(random), occurred_at: someTime(random) }),
  none: () => ({}),
  malformed: () => ({ sequence: '1.5', occurred_at: 'yesterday' }),
}
const MIXES = [
  ['both'],
  ['occurred'],
  ['sequence'],
  ['none'],
  ['none', 'malformed'],
  ['both', 'sequence'],
  ['sequence', 'occurred'],
  [...Object.keys(KINDS)],
]

/** Of which every subscription has an event with a mark, or none has. */
function someBodies(random: Random): Body[] {
  const bodies = anyBodies(random)
  return isOrdered(bodies) || !bodies.some(isMarked) ? bodies : someBodies(random)
}

function anyBodies(random: Random): Body[] {
  const subscriptions = pick(random, [[''], ['s'], ['s'], ['s', 't'], ['s', 't', 'u']])
  const kinds = pick(random, MIXES)
  const types = pick(random, [
    ['updated'],
    ['updated', 'updated', 'updated', 'created', 'deleted'],
    ['updated', 'created', 'created', 'deleted', 'deleted'],
  ])
  const bodies: Body[] = []
  const count = 1 + Math.floor(random() * EVENTS_MAX)
  while (bodies.length < count) {
    // A second payment that looks like the first is an event of its own.
    if (bodies.length > 0 && random() < 0.15) bodies.push(pick(random, bodies))
    else
      bodies.push({
        subscriptionId: pick(random, subscriptions),
        eventType: `subscription.${pick(random, types)}`,
        customerId: random() < 0.7 ? null : pick(random, ['cus_1', 'cus_2']),
        plan: pick(random, ['free', 'starter', 'pro', 'enterprise']),
        status: pick(random, ['active', 'active', 'past_due', 'past_due', 'cancelled', 'unpaid']),
        currentPeriodEnd: random() < 0.5 ? null : somePeriod(random),
        metadata: KINDS[pick(random, kinds)]!(random),
      })
  }
  return bodies
}

function somePeriod(random: Random): string {
  return pick(random, [someTime(random), '2026-07-01', '1790000000', '2026-08-01T00:00:00Z', 'soon'])
}

/** Few values, so that places are shared; 9 and 10, so that they are told apart as numbers. */
function someNumber(random: Random): string {
  return String(7 + Math.floor(random() * 6))
}

function someTime(random: Random): string {
  return `2026-03-0${1 + Math.floor(random() * 6)}T00:00:00${pick(random, ['Z', '+01:00', '.000Z'])}`
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

function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ item }) => item)
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item
}

/** mulberry32, begun anew for every run, so that one run can be had again without those before it. */
function randomOf(seed: number, run: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(run + 1, 0x85ebca6b)) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

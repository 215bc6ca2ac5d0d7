// P4: the billing record is a function of the set of events that carry a sequence or a time. Where none speaks, the
// last arrival does, and a second equal payment is never swallowed. Sets of up to 12 events of mixed kinds are
// delivered in many orders and with repetitions. A failing run prints its seed; BILLING_SEED=<seed> repeats it.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type BillingEvent, foldSubscription, readMarks, type SubscriptionRecord } from './fold.ts'

type Fold = typeof foldSubscription
/** What the sender wrote. Everything else in a stored event comes from the delivery. */
type Body = Pick<BillingEvent, 'subscriptionId' | 'eventType' | 'plan' | 'status' | 'currentPeriodEnd'> & {
  metadata: Record<string, string>
}
type Random = () => number

const RUNS = 2_000
/** A mutant needs far fewer. */
const RUNS_MUTANT = 300
const ORDERS_PER_RUN = 6
const EVENTS_MAX = 12
/** So few events are delivered in all their orders. */
const EVENTS_ALL_ORDERS = 5
const SEED = process.env.BILLING_SEED ? Number(process.env.BILLING_SEED) : Math.floor(Math.random() * 1e9)

test(`no order of delivery and no repetition changes the record (seed ${SEED})`, () => {
  const { differing, runs, orders, example } = differingRuns(foldSubscription, SEED, RUNS)

  assert.equal(runs, RUNS)
  assert.ok(orders >= RUNS * ORDERS_PER_RUN, `only ${orders} orders`)
  assert.equal(differing, 0, example)
})

const MUTANTS: Record<string, Fold> = {
  'last arrival wins': (events) =>
    foldSubscription(events.map((event) => ({ ...event, sequence: null, occurredAt: null }))),
  'an equal body is swallowed': (events) =>
    foldSubscription(events.filter(({ digest }, index) => events.findIndex((one) => one.digest === digest) === index)),
  'of two in one place the last arrival wins': (events) =>
    foldSubscription(
      events.map((event) =>
        event.sequence === null ? event : { ...event, sequence: Number(event.sequence) * 1000 + event.arrival },
      ),
    ),
  'the grace counts from receipt': (events) =>
    foldSubscription(events.map((event) => (event.sequence === null ? event : { ...event, occurredAt: null }))),
  'a closed subscription opens again': (events) => {
    const record = foldSubscription(events)
    return record?.closed && events.at(-1)?.status === 'active' ? { ...record, closed: false } : record
  },
}

for (const [name, mutant] of Object.entries(MUTANTS)) {
  test(`the mutant "${name}" is caught (seed ${SEED})`, (t) => {
    const { differing, runs } = differingRuns(mutant, SEED, RUNS_MUTANT)

    t.diagnostic(`${differing} of ${runs} runs differ`)
    assert.ok(differing > 0)
  })
}

test(`a repeat in the register that speaks never makes the grace end later (seed ${SEED})`, () => {
  let repeats = 0
  for (let run = 0; run < RUNS; run++) {
    const random = randomOf(SEED, run)
    const bodies = someBodies(random).map((body) => ({ ...body, eventType: 'payment.failed' }))
    const repeat: Body = { ...pick(random, bodies), status: 'past_due', plan: 'starter' }
    const before = foldSubscription(deliver(bodies))
    const after = foldSubscription(deliver([...bodies, repeat]))
    // A repeat in a higher register than all before begins a register of its own.
    if (before?.status !== 'past_due' || after?.speaksBy !== before.speaksBy) continue
    repeats++
    assert.ok(
      after.status === 'past_due' && Number(after.pastDueSince) <= Number(before.pastDueSince),
      `BILLING_SEED=${SEED}, run ${run}: ${JSON.stringify([...bodies, repeat])}`,
    )
  }
  assert.ok(repeats > RUNS / 10, `only ${repeats} repeats`)
})

/** How many of the runs, each a set of events in several orders, break the promise. */
function differingRuns(fold: Fold, seed: number, runs: number) {
  let [differing, orders, example] = [0, 0, '']
  for (let run = 0; run < runs; run++) {
    const random = randomOf(seed, run)
    const bodies = someBodies(random)
    const failed = someOrders(random, bodies).find((order) => {
      orders++
      return breaks(fold, bodies, order)
    })
    if (!failed) continue
    differing++
    example ||= `BILLING_SEED=${seed}, run ${run}: ${JSON.stringify(bodies)} delivered as ${JSON.stringify(failed)}`
  }
  return { differing, runs, orders, example }
}

function breaks(fold: Fold, bodies: readonly Body[], order: readonly Body[]): boolean {
  const closing = bodies.filter(isClosing)
  const heard = closing.length > 0 ? closing : bodies
  const record = tellable(fold, order)
  if (heard.some(isMarked)) return record !== tellable(fold, bodies)
  const last = order.findLast((body) => heard.includes(body))
  assert(last)
  const { plan, status, closed, body } = JSON.parse(record)
  const expected = [last.plan, isDeletion(last) ? 'cancelled' : last.status, closing.length > 0, digestOf(last)]
  return JSON.stringify([plan, status, closed, body]) !== JSON.stringify(expected)
}

/** All of the record that may not depend on the delivery, as text. */
function tellable(fold: Fold, order: readonly Body[]): string {
  const events = deliver(order)
  const { speaker, pastDueSince, unpaidSince, cancelledSince, ...facts } = fold(events) as SubscriptionRecord
  // Without a time of the sender's, the time of receipt is all there is.
  const since = events.every((event) => event.occurredAt) ? { pastDueSince, unpaidSince, cancelledSince } : {}
  return JSON.stringify({ ...facts, ...since, body: events.find((event) => event.id === speaker)?.digest })
}

/** Stored as they arrive, an hour apart. */
function deliver(order: readonly Body[]): BillingEvent[] {
  return order.map((body, index) => ({
    ...body,
    ...readMarks(body.metadata, receivedAt(index)),
    id: `evt_${index}`,
    currentPeriodStart: null,
    receivedAt: receivedAt(index),
    arrival: index,
    digest: digestOf(body),
  }))
}

function receivedAt(index: number): Date {
  return new Date(Date.UTC(2026, 5, 1, index))
}

function digestOf(body: Body): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex')
}

function isDeletion({ eventType }: Body): boolean {
  return eventType === 'subscription.deleted'
}

function isClosing(body: Body): boolean {
  return isDeletion(body) && body.subscriptionId !== ''
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
  [...Object.keys(KINDS)],
]

function someBodies(random: Random): Body[] {
  const subscriptionId = random() < 0.3 ? '' : 'sub'
  const kinds = pick(random, MIXES)
  const deletions = random() < 0.3 ? 0.2 : 0
  const bodies: Body[] = []
  const count = 1 + Math.floor(random() * EVENTS_MAX)
  while (bodies.length < count) {
    // A second payment that looks like the first is an event of its own.
    if (bodies.length > 0 && random() < 0.15) bodies.push(pick(random, bodies))
    else
      bodies.push({
        subscriptionId,
        eventType: random() < deletions ? 'subscription.deleted' : 'subscription.updated',
        plan: pick(random, ['free', 'starter', 'pro', 'enterprise']),
        status: pick(random, ['active', 'past_due', 'past_due', 'cancelled', 'unpaid']),
        currentPeriodEnd: random() < 0.5 ? null : someTime(random),
        metadata: KINDS[pick(random, kinds)]!(random),
      })
  }
  return bodies
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

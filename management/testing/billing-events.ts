// Random sets of billing events, as a provider could send them, and their delivery.

import { createHash } from 'node:crypto'
import { type BillingEvent, subscriptionFor } from '../billing/fold.ts'
import { readMarks } from '../billing/ordering.ts'

/** What the sender wrote. Everything else in a stored event comes from the delivery. */
export type Body = Pick<BillingEvent, 'eventType' | 'customerId' | 'plan' | 'status' | 'currentPeriodEnd'> & {
  subscriptionId: string
  metadata: Record<string, string>
}
export type Random = () => number

const EVENTS_MAX = 12

/** Stored as they arrive, an hour apart. */
export function deliver(order: readonly Body[]): BillingEvent[] {
  const events: BillingEvent[] = []
  for (const [index, { subscriptionId, metadata, ...facts }] of order.entries())
    events.push({
      ...facts,
      ...readMarks(metadata, receivedAt(index)),
      id: `evt_${index}`,
      countsFor: subscriptionFor(events, subscriptionId),
      // Named wherever the end is, so that the start too is folded from the set.
      currentPeriodStart: facts.currentPeriodEnd,
      receivedAt: receivedAt(index),
      arrival: index,
      digest: digestOf(order[index] as Body),
    })
  return events
}

/** After all receipts, and before any grace or notice that counts from one. */
export const NOW = new Date(Date.UTC(2026, 5, 3))

function receivedAt(index: number): Date {
  return new Date(Date.UTC(2026, 5, 1, index))
}

function digestOf(body: Body): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex')
}

export function isDeletion({ eventType }: Pick<Body, 'eventType'>): boolean {
  return eventType === 'subscription.deleted'
}

export function isCreation({ eventType }: Pick<Body, 'eventType'>): boolean {
  return eventType === 'subscription.created'
}

export function isMarked({ metadata }: Body): boolean {
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
export function someBodies(random: Random): Body[] {
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
        metadata: (KINDS[pick(random, kinds)] as (random: Random) => Record<string, string>)(random),
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

export function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ item }) => item)
}

export function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item
}

/** mulberry32, begun anew for every run, so that one run can be had again without those before it. */
export function randomOf(seed: number, run: number): Random {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(run + 1, 0x85ebca6b)) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Every subscription has an event with a mark: those without do not count. */
export function isOrdered(bodies: readonly Body[]): boolean {
  const subscriptions = Map.groupBy(bodies, ({ subscriptionId }) => subscriptionId)
  return [...subscriptions.values()].every((some) => some.some(isMarked))
}

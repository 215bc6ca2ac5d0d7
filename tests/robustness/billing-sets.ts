// Sets of billing events, the orders in which a network may deliver them, and what must come out, told without the code
// under test.

import { newId } from '@loci/contract/ids.ts'
import type { Random } from './seeded.ts'

export interface Body {
  eventType: string
  tenantId: string
  customerId?: string
  subscriptionId?: string
  plan: string
  status: string
  currentPeriodEnd?: string
  metadata?: Record<string, string>
}

export interface BillingSet {
  /** Whether every event has a sequence or a time, so that no order may matter. */
  isMarked: boolean
  /** Whether every event has a time, so that even the end of the grace may not depend on the delivery. */
  isTimed: boolean
  bodies: Body[]
}

/** One delivery: what is sent, under which id of the provider's (none: the provider gives none). */
export interface Sent {
  body: Body
  id: string | undefined
}

const DAY_MS = 86_400_000
const PLANS = ['free', 'starter', 'pro', 'enterprise']
/** The mildest first. */
const SEVERITIES = ['active', 'past_due', 'cancelled', 'unpaid']

export function makeSet(random: Random, tenantId: string): BillingSet {
  const isMarked = random.chance(0.75)
  const isTimed = isMarked && random.chance(0.6)
  // All events name their subscription, or none does.
  const subscriptions = random.pick([['s'], ['s'], ['s', 't'], ['s', 't', 'u'], [undefined]])
  const types = random.pick([['updated'], ['updated', 'updated', 'updated', 'created', 'deleted']])
  const bodies = Array.from({ length: 2 + random.below(6) }, (): Body => {
    const subscriptionId = random.pick(subscriptions)
    const metadata = marksOf(random, isMarked, isTimed)
    return {
      eventType: `subscription.${random.pick(types)}`,
      tenantId,
      ...(random.chance(0.3) ? { customerId: random.pick(['cus_1', 'cus_2']) } : {}),
      ...(subscriptionId === undefined ? {} : { subscriptionId }),
      plan: random.pick(PLANS),
      status: random.pick(['active', 'active', 'past_due', 'past_due', 'cancelled', 'unpaid']),
      ...(random.chance(0.5) ? { currentPeriodEnd: dayFromNow(random.below(40) - 20) } : {}),
      ...(metadata ? { metadata } : {}),
    }
  })
  return { isMarked, isTimed, bodies }
}

/** Few values, so that places are shared; 9 and 10, so that they must be told apart as numbers. */
function marksOf(random: Random, isMarked: boolean, isTimed: boolean): Record<string, string> | undefined {
  if (!isMarked) return random.chance(0.2) ? { sequence: '1.5', occurred_at: 'yesterday' } : undefined
  const hasTime = isTimed || random.chance(0.5)
  const hasNumber = !hasTime || random.chance(0.5)
  return {
    ...(hasNumber ? { sequence: String(7 + random.below(6)) } : {}),
    ...(hasTime ? { occurred_at: dayFromNow(-random.below(40)) } : {}),
  }
}

/** Half a day off, so that no grace ends while the test runs. */
function dayFromNow(days: number): string {
  return new Date(startOfRun + (days - 0.5) * DAY_MS).toISOString()
}

const startOfRun = Math.floor(Date.now() / DAY_MS) * DAY_MS

/** Every event at least once; marked ones also again and again, as new deliveries or as repeats of an old one. */
export function orderOf(random: Random, { bodies, isMarked }: BillingSet, hasIds: boolean): Sent[] {
  const sent = bodies.map((body): Sent => ({ body, id: hasIds || random.chance(0.5) ? newId('evt') : undefined }))
  const repeats = sent.filter(({ id }) => (isMarked || id !== undefined) && random.chance(0.4))
  const again = repeats.map(({ body, id }): Sent => ({ body, id: isMarked && random.chance(0.4) ? newId('evt') : id }))
  const order = shuffled(random, sent)
  // A repeat of a delivery comes after it; wherever else it came, it would be the first.
  for (const repeat of again) {
    const first = order.findIndex(({ id, body }) => id === repeat.id && body === repeat.body)
    const from = repeat.id !== undefined && first >= 0 ? first + 1 : 0
    order.splice(from + random.below(order.length - from + 1), 0, repeat)
  }
  return order.map((one) => ({ ...one, ...(hasIds && one.id === undefined ? { id: newId('evt') } : {}) }))
}

/**
 * The billing status, told without the code under test where one look is enough: without marks by the last delivery
 * that is heard, with marks of a set with one subscription.
 */
export function expectedStatus({ bodies, isMarked }: BillingSet, order: Sent[]): string | undefined {
  if (!isMarked) return statusOf(lastHeard(listNew(order).map(({ body }) => [body])))
  if (new Set(bodies.map(({ subscriptionId }) => subscriptionId)).size > 1) return undefined
  const numbered = bodies.filter(({ metadata }) => metadata?.sequence !== undefined)
  const placeOf = ({ metadata }: Body) =>
    numbered.length > 0 ? Number(metadata?.sequence) : Date.parse(metadata?.occurred_at as string)
  const places = Map.groupBy(numbered.length > 0 ? numbered : bodies, placeOf)
  const inOrder = [...places].toSorted(([one], [other]) => one - other).map(([, some]) => some)
  return statusOf(lastHeard(inOrder))
}

/**
 * Goes through the places in order; a closed subscription is silent until it is created anew. The unnamed one is never
 * closed.
 */
function lastHeard(places: Body[][]): Body[] {
  const closed = new Set<string>()
  let last: Body[] = []
  for (const place of places) {
    const name = place[0]?.subscriptionId ?? ''
    const deletions = place.filter((body) => isDeletion(body) && name !== '')
    const isCreated = place.some(({ eventType }) => eventType === 'subscription.created')
    if (closed.has(name) && deletions.length === 0 && !isCreated) continue
    if (deletions.length > 0) closed.add(name)
    else closed.delete(name)
    last = deletions.length > 0 ? deletions : place
  }
  return last
}

function statusOf(place: Body[]): string | undefined {
  return place
    .map((body) => (isDeletion(body) ? 'cancelled' : body.status))
    .toSorted((one, other) => SEVERITIES.indexOf(one) - SEVERITIES.indexOf(other))
    .at(-1)
}

function isDeletion({ eventType }: Body): boolean {
  return eventType === 'subscription.deleted'
}

/** The deliveries that are not a repeat of one before. */
function listNew(order: Sent[]): Sent[] {
  return order.filter(({ id }, at) => id === undefined || order.findIndex((other) => other.id === id) === at)
}

export function countNew(order: Sent[]): number {
  const ids = order.flatMap(({ id }) => id ?? [])
  return order.length - ids.length + new Set(ids).size
}

function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ item }) => item)
}

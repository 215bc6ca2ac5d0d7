// What the payment provider has said about one subscription, folded from all its events (CONTRACT 4.1).
//
// An event stands in one of three registers: `sequence`, else `occurred_at`, else arrival. The highest register that is
// not empty speaks, and in it the last event; of two in one place the more severe status, then the greater body digest.
// `subscription.deleted` closes a named subscription for ever: from then on only closing events are heard.
//
// The record is a function of the SET of events wherever sequence or occurred_at speaks: no order of delivery and no
// repetition changes it. There are two exceptions. `pastDueSince`, `unpaidSince` and `cancelledSince` are read from
// `receivedAt` for events without `occurredAt`, because nothing else is known, and for those whose `occurredAt` is later:
// nobody is given a longer grace by a clock that is ahead. For the same reason a time that was well ahead when it was
// received is none (readMarks). (`speaker` names the first delivery of the body that speaks; the body is the same for
// every order.)
//
// Where arrival speaks the last delivery wins, and equal bodies are different events: a second payment looks like the
// first. Nothing here may ever drop an event of that register because its body was seen before.

import assert from 'node:assert/strict'
import { plan as planNames } from '@loci/contract/billing.ts'
import type { PlanName } from '../plans.ts'

export type BillingStatus = 'active' | 'past_due' | 'cancelled' | 'unpaid'

/** The highest first. */
const REGISTERS = ['sequence', 'occurred_at', 'arrival'] as const
export type Register = (typeof REGISTERS)[number]

/** How far the clock of a provider may be ahead of ours. */
const AHEAD_MS_MAX = 10 * 60_000

/** The mildest first. */
export const SEVERITIES: readonly BillingStatus[] = ['active', 'past_due', 'cancelled', 'unpaid']

export interface BillingEvent {
  id: string
  /** '' when the event names none. */
  subscriptionId: string
  eventType: string
  plan: PlanName
  status: BillingStatus
  currentPeriodStart: string | null
  currentPeriodEnd: string | null
  sequence: bigint | number | null
  occurredAt: Date | null
  receivedAt: Date
  /** Order of arrival within the tenant; no two events share one. */
  arrival: number
  /** Hex SHA-256 of the body's bytes. */
  digest: string
}

export interface SubscriptionRecord {
  subscriptionId: string
  plan: PlanName
  /** What it entitles to, while it does: nobody comes to a plan, or to its grace, by not paying for it. */
  entitledPlan: PlanName
  status: BillingStatus
  currentPeriodStart: Date | null
  currentPeriodEnd: Date | null
  closed: boolean
  /** Since when the status has been what it is; null for the statuses that it is not. */
  pastDueSince: Date | null
  unpaidSince: Date | null
  cancelledSince: Date | null
  speaksBy: Register
  /** Id of the event whose facts these are. */
  speaker: string
}

/** All events of one subscription, in any order. */
export function foldSubscription(events: readonly BillingEvent[]): SubscriptionRecord | undefined {
  assert(
    new Set(events.map((event) => event.subscriptionId)).size <= 1,
    'fold the events of one subscription at a time',
  )
  const { register, turns } = listTurns(events)
  const speaker = turns.at(-1)?.[0]
  if (!speaker) return undefined
  const status = statusOf(speaker)
  const runAt = turns.findLastIndex((turn) => turn[0] && statusOf(turn[0]) !== status) + 1
  const since = new Date(startOfRun(turns.slice(runAt), status))
  return {
    subscriptionId: speaker.subscriptionId,
    plan: speaker.plan,
    entitledPlan: status === 'past_due' ? planInGrace(speaker, turns.slice(0, runAt)) : speaker.plan,
    status,
    currentPeriodStart: readTime(speaker.currentPeriodStart),
    currentPeriodEnd: readTime(speaker.currentPeriodEnd),
    closed: isClosing(speaker),
    pastDueSince: status === 'past_due' ? since : null,
    unpaidSince: status === 'unpaid' ? since : null,
    cancelledSince: status === 'cancelled' ? since : null,
    speaksBy: register,
    speaker: speaker.id,
  }
}

/**
 * What became of one event among those of its subscription: `shadowed` stands in a lower register than the one that
 * speaks, `superseded` is older in its own, or repeats it, or came for a closed subscription. It tells a person about
 * the event and not whether to store the fold: a superseded event can still move the start of a run.
 */
export function effectOf(
  events: readonly BillingEvent[],
  newEvent: BillingEvent,
): 'applied' | 'shadowed' | 'superseded' {
  const record = foldSubscription([...events.filter((event) => event.id !== newEvent.id), newEvent])
  if (!record || record.speaker === newEvent.id) return 'applied'
  const isLower = REGISTERS.indexOf(registerOf(newEvent)) > REGISTERS.indexOf(record.speaksBy)
  return isLower ? 'shadowed' : 'superseded'
}

/**
 * The two marks by which events can be ordered. A malformed one counts as absent; the event itself is still good. A time
 * that is more than a clock's error ahead is malformed too: until it came, no event with a true one would be heard.
 */
export function readMarks(
  metadata: Readonly<Record<string, string>> | undefined,
  receivedAt: Date,
): {
  sequence: number | null
  occurredAt: Date | null
} {
  const sequence = metadata?.sequence ?? ''
  const occurredAt = readTime(metadata?.occurred_at ?? null)
  const isAhead = occurredAt !== null && occurredAt.getTime() - receivedAt.getTime() > AHEAD_MS_MAX
  return {
    // Fifteen digits are below 2^53: every sequence is an exact number.
    sequence: /^[0-9]{1,15}$/.test(sequence) ? Number(sequence) : null,
    occurredAt: isAhead ? null : occurredAt,
  }
}

/** The events of the register that speaks, by their place in it, oldest place first; in each place the one that wins first. */
function listTurns(events: readonly BillingEvent[]): { register: Register; turns: BillingEvent[][] } {
  const closing = events.filter(isClosing)
  const heard = closing.length > 0 ? closing : events
  const register = REGISTERS.find((one) => heard.some((event) => registerOf(event) === one)) ?? 'arrival'
  const byPlace = new Map<number, BillingEvent[]>()
  for (const event of heard) {
    if (registerOf(event) !== register) continue
    const place = placeOf(event)
    byPlace.set(place, [...(byPlace.get(place) ?? []), event])
  }
  const places = [...byPlace].sort(([one], [other]) => one - other)
  return { register, turns: places.map(([, turn]) => turn.sort(compareInPlace)) }
}

function isClosing({ eventType, subscriptionId }: BillingEvent): boolean {
  // Events without a subscription cannot be told apart: closing "" would lock the tenant out of every later one.
  return eventType === 'subscription.deleted' && subscriptionId !== ''
}

function registerOf({ sequence, occurredAt }: BillingEvent): Register {
  if (sequence !== null) return 'sequence'
  return occurredAt ? 'occurred_at' : 'arrival'
}

function placeOf({ sequence, occurredAt, arrival }: BillingEvent): number {
  // Milliseconds: two times that differ by less are a tie, and the more severe status wins it.
  return sequence !== null ? Number(sequence) : (occurredAt?.getTime() ?? arrival)
}

function compareInPlace(one: BillingEvent, other: BillingEvent): number {
  const severity = SEVERITIES.indexOf(statusOf(other)) - SEVERITIES.indexOf(statusOf(one))
  if (severity !== 0) return severity
  if (one.digest !== other.digest) return one.digest > other.digest ? -1 : 1
  return one.arrival - other.arrival
}

function statusOf({ eventType, status }: BillingEvent): BillingStatus {
  return eventType === 'subscription.deleted' ? 'cancelled' : status
}

/**
 * The earliest time in the unbroken run of places with `status`. The earliest and not the first place's: a repeat that
 * is delivered late but belongs before the others would otherwise begin the grace anew.
 */
function startOfRun(run: readonly BillingEvent[][], status: BillingStatus): number {
  const same = run.flat().filter((event) => statusOf(event) === status)
  return Math.min(
    ...same.map(({ occurredAt, receivedAt }) => Math.min(Number(occurredAt ?? receivedAt), Number(receivedAt))),
  )
}

/** The lesser of what is billed now and what was paid for last; who has never paid yet is believed. */
function planInGrace({ plan }: BillingEvent, turnsBefore: readonly BillingEvent[][]): PlanName {
  const paid = turnsBefore.findLast(([winner]) => winner && statusOf(winner) === 'active')?.[0]?.plan ?? plan
  return planNames.options.indexOf(paid) < planNames.options.indexOf(plan) ? paid : plan
}

const RFC_3339 =
  /^(\d{4}-\d\d-\d\d)[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(\.\d+)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** Null for everything that is not a full RFC 3339 time, and for a day that the calendar does not have. */
function readTime(text: string | null): Date | null {
  const [, day, clock, fraction = '', offset = ''] = RFC_3339.exec(text ?? '') ?? []
  if (day === undefined) return null
  // The parser takes 30 February for 2 March.
  const midnight = new Date(`${day}T00:00:00Z`)
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return null
  const time = new Date(`${day}T${clock}${fraction.slice(0, 4)}${offset.toUpperCase()}`)
  // An offset can reach the year 10000 or one before 0, which no time that we emit can be.
  return /^\d{4}-/.test(time.toISOString()) ? time : null
}

// Nobody is given what was not paid for, over random sets of events and long times: a subscription that was never paid
// entitles to nothing beyond what the tenant has without it. A failing run prints its seed; BILLING_SEED=<seed> repeats
// it, BILLING_RUNS=<n> asks for more.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plan as planNames } from '@loci/contract/billing.ts'
import {
  type Body,
  deliver,
  isMarked,
  NOW,
  pick,
  type Random,
  randomOf,
  someBodies,
} from '../testing/billing-events.ts'
import { foldTenant } from './fold.ts'
import { type TenantState, tenantStateAt } from './tenant-state.ts'

const SEED = process.env.BILLING_SEED ? Number(process.env.BILLING_SEED) : Math.floor(Math.random() * 1e9)
const RUNS = Number(process.env.BILLING_RUNS ?? 400)
const DAY_MS = 86_400_000
/** Every place of the random sets is within these, and so is every step that follows from one. */
const DAYS = Array.from({ length: 80 }, (_, index) => index * 3 - 20)
const ACCESS = ['delete', 'none', 'read_only', 'full']

type Fold = typeof foldTenant

test(`a subscription that never pays gives nothing that the tenant has not without it (seed ${SEED})`, (t) => {
  const { given, example, compared } = countGiven(foldTenant, RUNS)

  t.diagnostic(`${RUNS} sets, ${compared} states compared`)
  assert.equal(given, 0, example)
})

// One that is unpaid and stands before the last paid one was left out of the count when another had lapsed earlier.
// Mutant: withoutIdle() without the line of `isBefore`.
test('what an unpaid subscription has ended stays so beside one that lapsed before it: run 317 of seed 113344825', () => {
  assert.equal(countGiven(foldTenant, 318, 113344825).given, 0)
})

const MUTANTS: Record<string, Fold> = {
  'who has never paid is believed': (events) => {
    const { by, records } = foldTenant(events)
    return { by, records: records.map((record) => ({ ...record, coveredPlan: record.coveredPlan ?? record.plan })) }
  },
  'only the deciding record counts': (events) => {
    const { by, records } = foldTenant(events)
    return { by, records: by === 'arrival' ? records.slice(0, 1) : records }
  },
}

for (const [name, mutant] of Object.entries(MUTANTS)) {
  test(`the mutant "${name}" is caught (seed ${SEED})`, (t) => {
    const { given } = countGiven(mutant, 200)

    t.diagnostic(`${given} of 200 sets`)
    assert.ok(given > 0)
  })
}

test(`time alone gives nothing, and nextChangeAt is when something changes (seed ${SEED})`, () => {
  for (let run = 0; run < RUNS; run++) {
    const bodies = someBodies(randomOf(SEED, run))
    const fold = foldTenant(deliver(bodies))
    let before: TenantState | undefined
    for (const day of DAYS) {
      const state = tenantStateAt(fold, dayOf(day))
      const where = `BILLING_SEED=${SEED}, run ${run}, day ${day}: ${JSON.stringify(bodies)}`
      if (before) {
        // Who is suspended keeps the plan that is owed, which may be more than the last one that was paid for.
        assert.ok(isAtMost({ ...state, ...(state.access === 'full' ? {} : { coveredPlan: 'free' }) }, before), where)
        const isQuiet = before.nextChangeAt === null || before.nextChangeAt > dayOf(day)
        if (isQuiet) assert.deepEqual(state, before, where)
      }
      before = state
    }
  }
})

/**
 * Sets to which the events of another subscription, which owes and never pays, were added, and that gave more by it.
 */
function countGiven(fold: Fold, runs: number, seed = SEED) {
  let [given, compared, example] = [0, 0, '']
  for (let run = 0; run < runs; run++) {
    const random = randomOf(seed, run)
    const bodies = someBodies(random).map((body) => ({ ...body, subscriptionId: body.subscriptionId || 's' }))
    const owing = neverPaying(random, bodies.some(isMarked))
    const mixed = interleaved(random, bodies, owing)
    // At the very same times, so that only the presence of the others makes a difference.
    const all = deliver(mixed)
    const without = all.filter(({ countsFor }) => countsFor !== 'never')
    const more = DAYS.find((day) => {
      compared++
      return !isAtMost(tenantStateAt(fold(all), dayOf(day)), tenantStateAt(fold(without), dayOf(day)))
    })
    if (more === undefined) continue
    given++
    example ||= `BILLING_SEED=${seed}, run ${run}, day ${more}: ${JSON.stringify(mixed)}`
  }
  return { given, compared, example }
}

function isAtMost(one: TenantState, other: TenantState): boolean {
  const planOf = ({ coveredPlan }: TenantState) => planNames.options.indexOf(coveredPlan)
  const accessOf = ({ access }: TenantState) => ACCESS.indexOf(access)
  return planOf(one) <= planOf(other) && accessOf(one) <= accessOf(other)
}

function neverPaying(random: Random, isMarked: boolean): Body[] {
  return Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => ({
    subscriptionId: 'never',
    eventType: `subscription.${index === 0 ? 'created' : pick(random, ['updated', 'created', 'deleted'])}`,
    customerId: null,
    plan: pick(random, ['starter', 'pro', 'enterprise']),
    status: index === 0 ? 'past_due' : pick(random, ['past_due', 'unpaid', 'cancelled']),
    currentPeriodEnd: pick(random, [null, '2026-07-01', '2026-09-01']),
    metadata: isMarked ? { sequence: String(1 + index), occurred_at: `2026-03-0${1 + index}T00:00:00Z` } : {},
  }))
}

function interleaved(random: Random, some: readonly Body[], others: readonly Body[]): Body[] {
  const [rest, mixed] = [[...others], [...some]]
  let at = 0
  while (rest.length > 0) {
    at += Math.floor(random() * (mixed.length - at + 1))
    mixed.splice(at, 0, rest.shift() as Body)
    at += 1
  }
  return mixed
}

function dayOf(day: number): Date {
  return new Date(NOW.getTime() + day * DAY_MS)
}

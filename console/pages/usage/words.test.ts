import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consequenceOf, orderOf } from './words.ts'

const NOW = Date.parse('2026-11-20T12:00:00Z')
const ABOUT = { tenant: 'Logistics', services: ['Warehouse bot'], now: NOW, zone: 'utc' } as const
const WELL = {
  status: 'active',
  plan: 'pro',
  covered_plan: 'pro',
  services: { total: 1, by_status: {} },
  billing: {
    ...{ status: 'active', grace_ends_at: null, suspended_since: null, reads_end_at: null, deletion_at: null },
    current_period_end: '2026-12-01T00:00:00Z',
  },
} as const
const SUSPENDED = {
  ...WELL,
  status: 'suspended',
  billing: {
    ...WELL.billing,
    status: 'unpaid',
    suspended_since: '2026-11-14T09:00:00Z',
    reads_end_at: '2026-12-14T09:00:00Z',
    deletion_at: '2027-01-13T09:00:00Z',
  },
} as const

// Mutant: the days of the two steps are swapped.
test('what an unpaid bill does is said in words, with the day of each step', () => {
  assert.equal(consequenceOf(WELL, ABOUT), undefined)
  const told = consequenceOf(SUSPENDED, ABOUT)
  assert.equal(told?.title, 'Tenant Logistics is unpaid since 14 Nov.')
  assert.equal(
    told.text,
    'Writes to Warehouse bot are refused. Reads, export and deletion go on until 14 Dec; the data is deleted on 13 Jan unless it is paid.',
  )
})

test('after reads have ended it says that everything is refused, and when the data is deleted', () => {
  const told = consequenceOf(SUSPENDED, { ...ABOUT, now: Date.parse('2026-12-15T00:00:00Z') })
  assert.equal(told?.tone, 'bad')
  assert.match(told.text, /^Everything .* is refused\. The data is deleted on 13 Jan/)
})

test('a failed payment, a cancelled subscription and a plan that was never paid are told before they do something', () => {
  const pastDue = {
    ...WELL,
    status: 'past_due',
    billing: { ...WELL.billing, grace_ends_at: '2026-11-27T00:00:00Z' },
  } as const
  assert.match(consequenceOf(pastDue, ABOUT)?.text ?? '', /Nothing is refused yet\. Unless it is paid by 27 Nov/)
  const cancelled = { ...WELL, billing: { ...WELL.billing, status: 'cancelled' } } as const
  assert.match(consequenceOf(cancelled, ABOUT)?.text ?? '', /goes on until 1 Dec; then the plan is free/)
  const unpaid = { ...WELL, covered_plan: 'free' } as const
  assert.match(consequenceOf(unpaid, ABOUT)?.title ?? '', /billed for pro and covered for free/)
})

test('an event is ordered by its sequence, else by its time, else by when it came', () => {
  assert.equal(orderOf({ sequence: 41, occurred_at: '2026-11-18T12:00:00Z' }), 'seq 41')
  assert.equal(orderOf({ sequence: null, occurred_at: '2026-11-18T12:00:00Z' }), 'its time')
  assert.equal(orderOf({ sequence: null, occurred_at: null }), 'arrival')
})

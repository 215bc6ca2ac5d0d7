// Mutants: `some()` left out of added(); a gap told as the beginning; heldRows() that shows what came since; a notice
// that stands above what came after it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Happened } from '../../live/messages.ts'
import { added, heldRows, isShown, knownEnd, NOTHING_YET, olderFrom, perMinute, type Tail } from './tail.ts'

const AT = '2026-11-18T12:00:00.000Z'

function event(seq: number, type = 'slot.written', rest: Partial<Happened> = {}): Happened {
  const [database, domain] = ['default', 'working-memory']
  return { id: String(seq), seq, type, at: AT, database, domain, subject: undefined, data: {}, ...rest }
}
const notice = () => event(0, 'subservice.changed', { id: undefined, database: undefined })
const fold = (tail: Tail, ...events: Happened[]) => events.reduce((known, one) => added(known, one, false), tail)
const places = ({ rows }: Tail) => rows.map(({ place }) => place)

test('events stand newest first, each once, however often they are told', () => {
  const tail = fold(knownEnd(NOTHING_YET, 3), event(1), event(2), event(3), event(2), event(4))
  assert.deepEqual(places(tail), [4, 3, 2, 1])
  assert.equal(tail.isRead, true)
  assert.equal(fold(knownEnd(NOTHING_YET, 3), event(1), event(2)).isRead, false)
})

test('a notice, which has no number, stands where it came', () => {
  const tail = fold(NOTHING_YET, event(1), notice(), event(2))
  assert.deepEqual(places(tail), [2, 1.5, 1])
})

test('what is no longer kept is a hole where it was missed, and the end where it was read back to', () => {
  const live = fold(knownEnd(NOTHING_YET, 5), event(5))
  const missed = added(live, event(0, 'truncated', { id: '90' }), true)
  assert.deepEqual([missed.gaps, missed.isWhole], [[90], false])
  const back = added(live, event(0, 'truncated', { id: '2' }), false)
  assert.deepEqual([back.gaps, back.isWhole, olderFrom(back, 100)], [[], true, undefined])
})

test('older events are read from behind the oldest that is there, until there is none', () => {
  assert.equal(olderFrom(knownEnd(NOTHING_YET, 500), 200), 300)
  assert.equal(olderFrom(fold(NOTHING_YET, event(50), event(51)), 200), 0)
  assert.equal(olderFrom(fold(NOTHING_YET, event(1)), 200), undefined)
  assert.equal(olderFrom(knownEnd(NOTHING_YET, 0), 200), undefined)
})

test('while somebody reads, what comes waits above and is counted', () => {
  const { rows } = fold(NOTHING_YET, event(1), event(2), event(3))
  assert.deepEqual(
    [heldRows(rows, 2).shown.map(({ place }) => place), heldRows(rows, 2).newer, heldRows(rows, undefined).newer],
    [[2, 1], 1, 0],
  )
})

test('a filter takes the beginning of a type, and a database leaves what is of the whole cell', () => {
  const shown = (one: Happened, narrowed: object) => isShown({ place: one.seq, event: one }, narrowed)
  assert.ok(shown(event(1), { type: 'slot' }) && shown(event(1), { type: 'slot.written' }))
  assert.ok(!shown(event(1), { type: 'slo' }) && !shown(event(1), { database: 'ada' }))
  assert.ok(shown(notice(), { database: 'ada' }))
})

test('the rate is of the last minute', () => {
  const { rows } = fold(NOTHING_YET, event(1, 'a', { at: '2026-11-18T11:58:00Z' }), event(2), event(3))
  assert.equal(perMinute(rows, Date.parse(AT) + 30_000), 2)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Chance, randomItems } from '../testing/random-items.ts'
import { buildSegment, extractItems } from './build.ts'
import { withChanges } from './changes.ts'
import { openDatabase } from './database.ts'
import { openSegment } from './format.ts'
import { listItems } from './listing.ts'

const RED = { tags: ['red'] }

/** In five segments of 40 items, every seventh of which is masked. */
function madeDatabase() {
  const items = randomItems(new Chance(5), 200)
  const segments = Array.from({ length: 5 }, (_, n) =>
    openSegment(buildSegment(items.slice(40 * n, 40 * (n + 1)), 256)),
  )
  const masked = new Set(items.filter((_, n) => n % 7 === 0).map(({ seq }) => seq))
  const mask = openSegment(extractItems(segments, masked))
  const passing = items.filter(({ seq, labels }) => !masked.has(seq) && labels.includes('"red"'))
  return { database: withChanges(openDatabase(segments, 'en'), [], mask), items, passing }
}

// Mutants: listItems() that counts what is masked, or what lies behind `after` alone.
test('a page tells how many items pass, wherever it begins and whichever way it goes', () => {
  const { database, items, passing } = madeDatabase()
  for (const isDown of [true, false])
    for (const after of [null, items[100]!.seq]) {
      const page = listItems(database, { filter: RED, after, isDown, limit: 3 })
      assert.deepEqual([page.seqs.length, page.total, page.isAtLeast], [3, passing.length, false])
    }
})

// Mutants: listItems() without `countedMax`; one that ends the page with the count.
test('items are counted up to a bound, the page itself is not, and what was left out is told', () => {
  const { database, items, passing } = madeDatabase()
  const within = (from: number, to: number) => passing.filter(({ seq }) => seq >= from && seq <= to).length
  const ask = { filter: RED, after: null, isDown: false }
  const short = listItems(database, { ...ask, limit: 1 }, 80)
  assert.deepEqual([short.total, short.isAtLeast], [within(items[0]!.seq, items[79]!.seq), true])
  const long = listItems(database, { ...ask, limit: passing.length + 1 }, 80)
  assert.deepEqual([long.seqs, long.total, long.isAtLeast], [passing.map(({ seq }) => seq), passing.length, false])
  assert.equal(listItems(database, { ...ask, limit: 1 }, 200).isAtLeast, false)
})

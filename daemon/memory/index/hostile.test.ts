import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyseCue, analyseItem } from '../analysis/analyse.ts'
import { analyserOf, type RecordText } from '../analysis/item.ts'
import { Chance } from '../testing/random-items.ts'
import { buildSegment } from './build.ts'
import { type Database, openDatabase } from './database.ts'
import { openSegment } from './format.ts'
import { search } from './search.ts'

const THINGS = [
  'gate',
  'boiler',
  'archive',
  'greenhouse',
  'workshop',
  'cellar',
  'library',
  'garage',
  'attic',
  'kitchen',
]
const KEEPERS = ['copper', 'walnut', 'linen', 'marble', 'velvet', 'amber', 'cobalt', 'bamboo', 'pewter', 'saffron']

function databaseOf(records: readonly RecordText[]): Database {
  const items = records.map((record) => analyseItem(record, 'en'))
  const segments = []
  for (let from = 0; from < items.length; from += 4_096) {
    segments.push(openSegment(buildSegment(items.slice(from, from + 4_096), analyserOf('en'))))
  }
  return openDatabase(segments, 'en')
}

/** Talk of two people in contexts of twenty turns, from `seq` on; the facts are said inside it. */
function talk(chance: Chance, seq: number, count: number, facts: readonly string[]): RecordText[] {
  return Array.from({ length: count }, (_, i) => {
    const words = Array.from({ length: 9 }, () => `topic${Math.floor(chance.next() ** 2 * 900)}`)
    const at = (i - 7) / 40
    const fact = Number.isInteger(at) ? facts[at] : undefined
    const actor = fact === undefined && i % 2 === 0 ? 'Bob' : 'Ada'
    const content = fact ?? `We talked of ${words.join(' ')}.`
    return { seq: seq + i, context: 1 + ((seq + i) >> 4), position: (seq + i) & 15, actor, occurredAt: 1.7e12, content }
  })
}

/** Near copies by one actor: the fact with another word for the answer, another filler and another number each. */
function copies(chance: Chance, seq: number, count: number): RecordText[] {
  return Array.from({ length: count }, (_, i) => {
    const thing = THINGS[i % THINGS.length] as string
    const content = `The key of the ${thing} hangs behind the plastic panel near door ${i}, filler${chance.below(400)}.`
    return {
      seq: seq + i,
      context: 1 + ((seq + i) >> 4),
      position: (seq + i) & 15,
      actor: 'Mallory',
      occurredAt: 1.7e12,
      content,
    }
  })
}

const FACTS = THINGS.map((thing, i) => `The key of the ${thing} hangs behind the ${KEEPERS[i]} panel near the door.`)

function factsFound(database: Database, question: (thing: string) => string, seqOf: (fact: number) => number): number {
  const found = THINGS.filter((thing, i) => {
    const { ranked } = search(database, analyseCue(question(thing), 'en', database.names), { limit: 10 })
    return ranked.some(({ seq }) => seq === seqOf(i))
  })
  return found.length
}

const NAMED = (thing: string) => `What did Ada say: behind which panel hangs the key of the ${thing}?`
const UNNAMED = (thing: string) => `Behind which panel hangs the key of the ${thing}?`

// Mutants: COPIES_MAX of search.ts raised to 300; chooseCells() whose share is all cells.
for (const [when, isBefore] of [
  ['before', true],
  ['after', false],
] as const) {
  test(`10,000 near copies by one actor, stored ${when} them, leave another's facts in the first ten`, () => {
    const chance = new Chance(5)
    const parts = isBefore
      ? [copies(chance, 0, 10_000), talk(chance, 10_000, 5_008, FACTS)]
      : [talk(chance, 0, 5_008, FACTS), copies(chance, 5_008, 10_000)]
    const database = databaseOf(parts.flat())
    const first = isBefore ? 10_000 : 0
    const seqOf = (fact: number) => first + 7 + fact * 40
    assert.ok(factsFound(database, NAMED, seqOf) >= 9, 'the question names the actor')
    assert.ok(factsFound(database, UNNAMED, seqOf) >= 9, 'the question names nobody')
  })
}

// Mutant: eachDescending() of buckets.ts that begins with the lowest bucket.
test('a record among ten thousand of one form is found by its number', () => {
  const records = Array.from({ length: 10_000 }, (_, i): RecordText => {
    const content = `Invoice ${5_000 + i} of the northern branch was paid in full.`
    return { seq: i, context: 1 + (i >> 4), position: i & 15, actor: 'ledger', occurredAt: 1.7e12, content }
  })
  const database = databaseOf(records)
  for (const wanted of [0, 4_711, 9_999]) {
    const [best] = search(database, analyseCue(`Was invoice ${5_000 + wanted} paid?`, 'en', database.names), {
      limit: 3,
    }).ranked
    assert.equal(best?.seq, wanted)
  }
})

// Mutant: spread() of parts.ts whose share is multiplied by the count.
test('a keyword said 10,000 times and 16 KiB of one character gain no more than one mention', () => {
  const chance = new Chance(8)
  const plain = talk(chance, 0, 400, ['The boiler was serviced by Karim in the morning.'])
  const hostile = (content: string, i: number): RecordText => ({
    ...{ seq: 400 + i, context: 100 + i, position: 0, actor: 'Mallory', occurredAt: 1.7e12, content },
  })
  const records = [
    ...plain,
    hostile('boiler '.repeat(10_000), 0),
    hostile('a'.repeat(16_384), 1),
    hostile('\u202eboiler\u202c', 2),
  ]
  const database = databaseOf(records)
  const { ranked } = search(database, analyseCue('Who serviced the boiler?', 'en', database.names), { limit: 5 })
  assert.equal(ranked[0]?.seq, 7)
  const cueOf = (seq: number) => ranked.find((one) => one.seq === seq)?.parts[1] ?? 0
  assert.ok(cueOf(400) <= cueOf(402) + 1e-9, 'ten thousand mentions are worth one')
  const [long] = search(database, analyseCue('a'.repeat(16_384), 'en', database.names), { limit: 1 }).ranked
  assert.equal(long?.seq, 401)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../analysis/days.ts'
import { type Cue, FLAG, type IndexItem } from '../analysis/item.ts'
import { Chance, cutAtRandom, randomCue, randomItems } from '../testing/random-items.ts'
import { buildSegment, extractItems, mergeSegments } from './build.ts'
import type { Pruning } from './cells.ts'
import { withChanges } from './changes.ts'
import { type Database, openDatabase } from './database.ts'
import { openSegment } from './format.ts'
import { search } from './search.ts'

const ANALYSER = 256
const FEW: Pruning = { cells: 6, open: 40, visit: 160, contexts: 2 }

/** Every answer in full: seqs, scores and parts to the last bit, scored whole and pruned. */
function answersOf(database: Database, cues: readonly Cue[]): string[] {
  return cues.flatMap((cue) => [
    JSON.stringify(search(database, cue, { limit: 40, pruning: null })),
    JSON.stringify(search(database, cue, { limit: 40, pruning: FEW })),
    JSON.stringify(
      search(database, cue, { limit: 9, pruning: FEW, filter: { actors: ['bob', ''], since: 20_100 * DAY_MS } }),
    ),
    JSON.stringify(search(database, cue, { limit: 9, pruning: FEW, filter: { kinds: ['fact'], tags: ['red'] } })),
    JSON.stringify(
      search(database, cue, { limit: 9, pruning: FEW, filter: { contexts: [1, 2, 4, 5], keys: [11, 12] } }),
    ),
    JSON.stringify(search(database, cue, { limit: 9, pruning: FEW, filter: { members: [2], until: 20_400 * DAY_MS } })),
  ])
}

function built(items: readonly IndexItem[]) {
  return openSegment(buildSegment(items, ANALYSER))
}

function whole(items: readonly IndexItem[]): Database {
  return openDatabase([built(items)], 'en')
}

/** Some of the rows masked, some of those changed and so in the tail as well, the others cut at random. */
function cutDatabase(chance: Chance, items: readonly IndexItem[]): { rows: IndexItem[]; database: Database } {
  const tailFrom = chance.next() < 0.2 ? items.length : items.length - 1 - chance.below(items.length / 3)
  const stored = items.slice(0, tailFrom)
  const share = chance.of([0, 0.02, 0.3])
  const masked = new Set(stored.filter(() => chance.next() < share).map(({ seq }) => seq))
  const [other] = randomItems(chance, 1)
  const changed = stored
    .filter(({ seq }) => masked.has(seq) && chance.next() < 0.3)
    .map((item): IndexItem => {
      // What it says is another; whether it has a contextId is not.
      const flags = (other!.flags & ~FLAG.named) | (item.flags & FLAG.named)
      return { ...item, terms: new Map(other!.terms), length: other!.length, flags }
    })
  const tail = [...items.slice(tailFrom), ...changed]
  const segments = cutAtRandom(chance, stored, 1 + chance.below(5)).map(built)
  const base = openDatabase(segments, 'en')
  const mask = masked.size > 0 ? openSegment(extractItems(segments, masked)) : null
  return {
    rows: [...stored.filter(({ seq }) => !masked.has(seq)), ...tail],
    database: withChanges(base, tailsOf(tail), mask),
  }
}

/** One, or two as the engine keeps them; with a chance of its own, so that the seeds above make what they made. */
function tailsOf(tail: readonly IndexItem[]) {
  if (tail.length < 2) return tail.length === 0 ? [] : [built(tail)]
  return cutAtRandom(new Chance(tail.length), tail, 1 + (tail.length % 3)).map(built)
}

// Mutants: withChanges() without changeNovelty(), or whose firstItem() looks into the first tail alone; countItems()
// of terms.ts without the mask; numberCells() of places.ts with `from >= last + 1`; addCandidate() of cells.ts that
// takes cells without items.
test('an answer is the same however the rows are cut into segments, tail and masked rows', () => {
  // Seed 53 found cells of another context counted as neighbours of a chosen one.
  for (let seed = 1; seed <= 100; seed++) {
    const chance = new Chance(seed)
    const { rows, database } = cutDatabase(chance, randomItems(chance, 20 + chance.below(180)))
    if (rows.length === 0) continue
    const cues = Array.from({ length: 4 }, () => randomCue(chance))
    assert.deepEqual(answersOf(database, cues), answersOf(whole(rows), cues), `seed ${seed}`)
  }
})

// Mutant: countEach() of akin.ts without the mask.
test('rows that no longer hold do not make an akin word too common to open cells', () => {
  const [some] = randomItems(new Chance(3), 1)
  const items = Array.from({ length: 60 }, (_, n) => ({
    ...{ ...some!, seq: n + 1, context: n + 1, position: 0, flags: 0, ranges: [] },
    terms: new Map([[n % 4 === 0 ? 'ocean' : `word${n}`, 1]]),
  }))
  const masked = new Set(items.filter(({ seq }) => seq % 4 === 1 && seq > 12).map(({ seq }) => seq))
  const segment = built(items)
  const database = withChanges(openDatabase([segment], 'en'), [], openSegment(extractItems([segment], masked)))
  const cue = { ...randomCue(new Chance(3)), terms: ['sea'], groups: [], names: [], who: [], when: false, date: null }
  const answers = answersOf(database, [cue])
  assert.deepEqual(answers, answersOf(whole(items.filter(({ seq }) => !masked.has(seq))), [cue]))
  assert.equal(JSON.parse(answers[1]!).ranked.length > 0, true)
})

// Mutant: encodePostings() of build.ts that does not sort.
test('a merge gives the bytes of a fresh build, with and without dropped rows, whatever the order', () => {
  for (let seed = 1; seed <= 40; seed++) {
    const chance = new Chance(seed)
    const items = randomItems(chance, 10 + chance.below(120))
    const drop = new Set(items.filter(() => chance.next() < 0.2).map(({ seq }) => seq))
    const bodies = cutAtRandom(chance, items, 4).map((part) => buildSegment(part, ANALYSER))
    const fresh = (rows: IndexItem[]) => Buffer.from(buildSegment(rows, ANALYSER))
    assert.deepEqual(Buffer.from(mergeSegments(bodies)), fresh(items), `seed ${seed}`)
    const left = items.filter(({ seq }) => !drop.has(seq))
    assert.deepEqual(Buffer.from(mergeSegments(bodies.toReversed(), drop)), fresh(left), `seed ${seed}, dropped`)
  }
})

// Mutant: score() of parts.ts that answers 1e-5 more than its parts.
test('the parts of an answer sum to its score', () => {
  const chance = new Chance(7)
  const database = whole(randomItems(chance, 300))
  for (let n = 0; n < 50; n++) {
    for (const { score, parts } of search(database, randomCue(chance), { limit: 50 }).ranked) {
      const sum = parts.reduce((total, part) => total + part, 0)
      assert.ok(Math.abs(sum - score) < 1e-6, `${sum} is not ${score}`)
    }
  }
})

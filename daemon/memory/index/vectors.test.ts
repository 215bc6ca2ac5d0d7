import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FLAG, type IndexItem } from '../analysis/item.ts'
import { Chance, cutAtRandom, randomCue, randomItems } from '../testing/random-items.ts'
import { DIMENSIONS, ENCODER, randomVectors } from '../testing/random-vectors.ts'
import { buildSegment, extractItems, mergeSegments } from './build.ts'
import { withChanges } from './changes.ts'
import { type Database, openDatabase } from './database.ts'
import { openSegment, type Segment } from './format.ts'
import { Meaning } from './meaning.ts'
import { search } from './search.ts'
import { encoderOf, pendingSeqs, type Vector, vectorAt } from './vectors.ts'

const ANALYSER = 256
type Item = IndexItem & { vector?: Vector | undefined }

/** Most have a vector, some are in another script, some wait for theirs. */
function itemsOf(chance: Chance, count: number): Item[] {
  const next = randomVectors(chance, 12)
  return randomItems(chance, count).map((item): Item => {
    const kind = chance.next()
    // All records of a context have its name, or none has.
    item.flags = item.context % 5 === 0 ? item.flags & ~FLAG.named : item.flags | FLAG.named
    return kind < 0.8 ? { ...item, vector: next() } : kind < 0.9 ? { ...item, vector: null } : item
  })
}

const built = (items: readonly Item[]): Segment => openSegment(buildSegment(items, ANALYSER, ENCODER))

function answersOf(database: Database, vector: Int8Array, chance: Chance): string[] {
  const question = { vector, mark: ENCODER.mark }
  const cue = randomCue(chance)
  return [
    JSON.stringify(search(database, cue, { limit: 20, question })),
    JSON.stringify(search(database, cue, { limit: 20, question, filter: { actors: ['bob', ''] } })),
    JSON.stringify(
      search(database, cue, { limit: 5, question, pruning: { cells: 8, open: 40, visit: 80, contexts: 2 } }),
    ),
  ]
}

// Mutants: Meaning that counts masked items; smoothed() without the comparison of contexts.
test('closeness is the same however the rows are cut into segments, tail and masked rows', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const chance = new Chance(seed)
    const items = itemsOf(chance, seed === 20 ? 1_500 : 40 + chance.below(120))
    const tailFrom = items.length - 1 - chance.below(items.length / 3)
    const stored = items.slice(0, tailFrom)
    const masked = new Set(stored.filter(() => chance.next() < 0.1).map(({ seq }) => seq))
    const segments = cutAtRandom(chance, stored, 3).map(built)
    const mask = masked.size > 0 ? openSegment(extractItems(segments, masked)) : null
    const database = withChanges(openDatabase(segments, 'en'), [built(items.slice(tailFrom))], mask)
    const rows = items.filter(({ seq }) => !masked.has(seq))
    const question = randomVectors(chance, 2)()
    assert.deepEqual(
      answersOf(database, question, new Chance(seed)),
      answersOf(openDatabase([built(rows)], 'en'), question, new Chance(seed)),
      `seed ${seed}`,
    )
  }
})

// Mutant: gatherRows() without vectors.
test('a merge has the vectors of a fresh build, and takes those that were made since', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const chance = new Chance(seed)
    const items = itemsOf(chance, 30 + chance.below(60))
    const drop = new Set(items.filter(() => chance.next() < 0.2).map(({ seq }) => seq))
    const bodies = cutAtRandom(chance, items, 4).map((part) => buildSegment(part, ANALYSER, ENCODER))
    const left = items.filter(({ seq }) => !drop.has(seq))
    assert.deepEqual(
      Buffer.from(mergeSegments(bodies, drop)),
      Buffer.from(buildSegment(left, ANALYSER, ENCODER)),
      `seed ${seed}`,
    )
    const next = randomVectors(chance, 3)
    const waiting = left.filter(({ vector }) => vector === undefined)
    const vectors = new Map(waiting.map(({ seq }) => [seq, next()]))
    const done = left.map((item) => ({ ...item, vector: vectors.get(item.seq) ?? item.vector }))
    const made = mergeSegments(bodies, drop, { encoder: ENCODER, vectors })
    assert.deepEqual(Buffer.from(made), Buffer.from(buildSegment(done, ANALYSER, ENCODER)))
    assert.deepEqual([openSegment(made).pending, built(left).pending], [0, waiting.length])
  }
})

// Mutant: gatherRows() with the vectors of any encoder.
test('vectors of another encoder count as absent, and are kept by who has no encoder', () => {
  const chance = new Chance(3)
  const items = itemsOf(chance, 50)
  const other = { ...ENCODER, mark: 78 }
  const bodies = [buildSegment(items.slice(0, 30), ANALYSER, ENCODER), buildSegment(items.slice(30), ANALYSER)]
  const merged = openSegment(mergeSegments(bodies, new Set(), { encoder: other }))
  assert.deepEqual([encoderOf(merged)?.mark, merged.pending, pendingSeqs(merged, 78).length], [78, 50, 50])
  const kept = openSegment(mergeSegments(bodies))
  assert.deepEqual(encoderOf(kept), ENCODER)
  assert.equal(pendingSeqs(kept, ENCODER.mark).length, kept.pending)
  const [ranked] = search(openDatabase([kept], 'en'), randomCue(chance), {
    limit: 9,
    question: { vector: randomVectors(chance, 1)(), mark: other.mark },
  }).ranked
  assert.equal(ranked?.cosine ?? null, null)
})

// Mutant: packVectors() that adds the vector before it to each.
test('no byte of a dropped vector is left in a segment', () => {
  const chance = new Chance(5)
  const items = itemsOf(chance, 80)
  const body = Buffer.from(buildSegment(items, ANALYSER, ENCODER))
  const [gone, ...rest] = items.filter(({ vector }) => vector)
  const bytesOf = ({ vector }: Item) => Buffer.from((vector as Int8Array).buffer)
  assert.ok(body.includes(bytesOf(gone!)))
  const left = Buffer.from(mergeSegments([body], new Set([gone!.seq])))
  for (let from = 0; from < DIMENSIONS; from += 16) assert.ok(!left.includes(bytesOf(gone!).subarray(from, from + 16)))
  const segment = openSegment(left)
  for (const item of rest) {
    const at = [...segment.seq].indexOf(item.seq)
    assert.deepEqual(vectorAt(segment, at), item.vector, 'each has its own, and nothing of its neighbours')
  }
})

// Mutant: WHOLE_MAX of 16.
test('the coarse pass finds what a full comparison finds', () => {
  const chance = new Chance(11)
  const next = randomVectors(chance, 40)
  const items = randomItems(chance, 6_000).map((item) => ({ ...item, vector: next() }))
  const database = openDatabase(cutAtRandom(chance, items, 3).map(built), 'en')
  let found = 0
  const questions = Array.from({ length: 20 }, next)
  for (const vector of questions) {
    const meaning = new Meaning(database, { vector, mark: ENCODER.mark })
    const all = items.map(({ vector: own, seq }) => ({ seq, cosine: cosineOf(own, vector) }))
    all.sort((one, other) => other.cosine - one.cosine || one.seq - other.seq)
    const nearest = new Set(meaning.nearest(64, null).map((place) => seqAt(database, place)))
    found += all.slice(0, 10).filter(({ seq }) => nearest.has(seq)).length
  }
  assert.ok(found >= 0.98 * questions.length * 10, `${found} of ${questions.length * 10}`)
})

function seqAt({ placeItem, itemAt, segments }: Database, place: number): number {
  const item = placeItem[place]!
  const k = segments.findLastIndex((_, at) => item >= itemAt[at]!)
  return segments[k]!.seq[item - itemAt[k]!]!
}

function cosineOf(one: Int8Array, other: Int8Array): number {
  let dot = 0
  let square = 0
  for (let d = 0; d < one.length; d++) {
    dot += one[d]! * other[d]!
    square += one[d]! * one[d]!
  }
  return dot / Math.sqrt(square)
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recallRequest } from '@loci/contract/memory.ts'
import type { Ranked } from './index/search.ts'
import { selectFrom } from './recall.ts'
import { bodyOf } from './records.ts'
import { Chance } from './testing/random-items.ts'
import { PART_WEIGHTS, PARTS, RECALL_BASE_WEIGHT } from './weights.ts'

const NOW = Date.UTC(2026, 10, 1)
const DAY_MS = 86_400_000
const WEIGHTS = { ...PART_WEIGHTS, base: RECALL_BASE_WEIGHT }
type Row = Parameters<ReturnType<typeof selectFrom>['take']>[0][number]

/** Candidates as the index ranks them, and their records, a tenth of which hold no longer. */
function candidates(chance: Chance, count: number): { ranked: Ranked[]; rows: Map<number, Row> } {
  const rows = new Map<number, Row>()
  // Some questions have no answer.
  const reach = chance.of([4.4, 4.6, 8])
  const ranked = Array.from({ length: count }, (_, seq): Ranked => {
    // Many of the last days: there the base level differs most.
    const occurredAt = NOW - Math.floor(chance.next() ** 4 * 900 * DAY_MS)
    const salience = chance.next() < 0.1 ? chance.next() * 4 - 2 : 0
    const parts = PARTS.map((_, at) => (at < 2 ? chance.next() * (at === 0 ? 1 : reach) : 0))
    rows.set(seq, {
      ...{ id: `mem_${seq}`, seq, key: null, sourceEventId: null, version: seq, intact: true, digest: Buffer.alloc(0) },
      ...{ createdAt: new Date(NOW), validFrom: new Date(0), archivedAt: null, expiresAt: null },
      validTo: chance.next() < 0.1 ? new Date(NOW - 1) : null,
      body: bodyOf(
        { content: 'x', salience, occurredAt: new Date(occurredAt).toISOString() },
        { type: 'api', ref: '', actor: null, trust: 'holder' },
      ),
    })
    const score = parts.reduce((sum, part) => sum + part, 0)
    return {
      seq,
      score,
      day: Math.floor(occurredAt / DAY_MS),
      isHinted: salience > 0,
      own: 0,
      sketch: 0,
      cosine: null,
      smoothed: null,
      parts,
    }
  })
  return { ranked: ranked.sort((a, b) => b.score - a.score), rows }
}

function answered(ranked: Ranked[], rows: Map<number, Row>, request: object) {
  const asked = recallRequest.parse({ query: 'x', ...request })
  const selection = selectFrom(ranked, asked, { now: NOW, seq: ranked.length, weights: WEIGHTS })
  let read = 0
  for (let seqs = selection.next(); seqs.length > 0; seqs = selection.next()) {
    assert.ok(seqs.length <= 64, `${seqs.length} are read at once`)
    read += seqs.length
    selection.take(seqs.flatMap((seq) => rows.get(seq) ?? []))
  }
  const { hits, abstained, isCut } = selection.answer()
  return { answer: JSON.stringify([hits.map(({ row, score }) => [row.seq, score]), abstained]), read, isCut }
}

// Mutants: mostOf() without the hint, or with the first moment of the day; next() that ends after what was read first;
// READ_MAX = 1e9.
test('a recall answers what it would had it read every candidate, and reads few of them', () => {
  let [read, all] = [0, 0]
  for (let seed = 1; seed <= 200; seed += 1) {
    const chance = new Chance(seed)
    const { ranked, rows } = candidates(chance, 200)
    const limit = chance.of([1, 5, 10, 20])
    // A score that everything has: then every candidate is read, and none is too little for an answer.
    const whole = answered(ranked, rows, { limit, minScore: -1_000 })
    const lazy = answered(ranked, rows, { limit })
    const isAbstention = lazy.answer === '[[],true]'
    const best = Math.max(
      ...ranked.filter(({ seq }) => rows.get(seq)?.validTo === null).map(({ parts }) => parts[1] ?? 0),
    )
    assert.equal(isAbstention, best < 4.5, `seed ${seed}`)
    if (!isAbstention) assert.equal(lazy.answer, whole.answer, `seed ${seed}`)
    read += lazy.read
    all += whole.read
  }
  assert.ok(read < all / 2, `${read} of ${all} candidates were read`)
})

// Mutants: mostBehind() that answers the score of the last candidate; isCut without its `beyond >= least` (always true
// here) or false.
test('as of a time, an answer that does not say it may be incomplete is that of every candidate', () => {
  const asOf = new Date(NOW).toISOString()
  let cut = 0
  for (let seed = 1; seed <= 60; seed += 1) {
    const chance = new Chance(seed)
    const { ranked, rows } = candidates(chance, 1_200)
    const request = { asOf, limit: chance.of([1, 10, 100, 200]) }
    // A hint that the last ones have may lift them over many.
    const whole = answered(ranked, rows, request)
    const part = answered(ranked.slice(0, 1_000), rows, request)
    if (part.isCut) cut += 1
    else assert.equal(part.answer, whole.answer, `seed ${seed}`)
  }
  assert.ok(cut > 0 && cut < 60, `${cut} of 60 may be incomplete`)
})

// Mutants: holds() without `version > seq`: the first is missing; holds() that is true: the second is there too.
test('what was ended since the index was read is answered, and what was ended before is not, whatever its time', () => {
  const { ranked, rows } = candidates(new Chance(1), 2)
  const ended = (seq: number, version: number, validTo: number) =>
    rows.set(seq, { ...(rows.get(seq) as Row), version, validTo: new Date(validTo) })
  ended(0, 10, NOW - 1)
  ended(1, 2, NOW + DAY_MS)
  const { answer } = answered(ranked, rows, { minScore: -1_000 })
  assert.deepEqual(
    (JSON.parse(answer) as [[number, number][], boolean])[0].map(([seq]) => seq),
    [0],
  )
})

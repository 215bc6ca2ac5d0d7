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
type Row = Parameters<ReturnType<typeof selectFrom>['take']>[1][number]

/** Candidates as the index ranks them, and their records, a tenth of which hold no longer. */
function candidates(chance: Chance, count: number): { ranked: Ranked[]; rows: Map<number, Row> } {
  const rows = new Map<number, Row>()
  // Some questions have no answer, and of some many records are one.
  const reach = chance.of([0.45, 0.55, 0.7, 1])
  const ranked = Array.from({ length: count }, (_, seq): Ranked => {
    // Many of the last days: there the base level differs most.
    const occurredAt = NOW - Math.floor(chance.next() ** 4 * 900 * DAY_MS)
    const salience = chance.next() < 0.1 ? chance.next() * 4 - 2 : 0
    const parts = PARTS.map((_, at) => (at < 2 ? chance.next() * (at === 0 ? 1 : 8) : 0))
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
    const relevance = chance.next() * reach
    const day = Math.floor(occurredAt / DAY_MS)
    return {
      seq,
      score,
      day,
      isHinted: salience > 0,
      hasEvidence: true,
      own: 0,
      sketch: 0,
      relevance,
      cosine: null,
      smoothed: null,
      parts,
    }
  })
  return { ranked: ranked.sort((a, b) => b.score - a.score), rows }
}

function answered(ranked: Ranked[], rows: Map<number, Row>, request: object) {
  const asked = recallRequest.parse({ query: 'x', ...request })
  const selection = selectFrom([{ ranked, now: NOW, seq: ranked.length, weights: WEIGHTS }], asked)
  let read = 0
  for (let wanted = selection.next(); wanted.length > 0; wanted = selection.next()) {
    for (const { source, seqs } of wanted) {
      assert.ok(seqs.length <= 64, `${seqs.length} are read at once`)
      read += seqs.length
      selection.take(
        source,
        seqs.flatMap((seq) => rows.get(seq) ?? []),
      )
    }
  }
  const { hits, abstained, nearest, total, isCut } = selection.answer()
  const shown = hits.map(({ row, score, relevance }) => [row.seq, score, relevance])
  return { answer: JSON.stringify([shown, abstained]), nearest: nearest.map(({ row }) => row.seq), total, read, isCut }
}

// Mutants: mostOf() without the hint, or with the first moment of the day; next() that ends after what was read first;
// READ_MAX = 1e9; unreadBeside() without the most relevant one.
test('a recall answers what it would had it read every candidate, and reads few of them', () => {
  let [read, all] = [0, 0]
  for (let seed = 1; seed <= 200; seed += 1) {
    const chance = new Chance(seed)
    const { ranked, rows } = candidates(chance, 200)
    const limit = chance.of([1, 5, 10, 20])
    // A score that everything has: then every candidate is read, and none is too little for an answer.
    const whole = answered(ranked, rows, { limit: 200, minScore: -1_000 })
    const every = (JSON.parse(whole.answer) as [[number, number, number][], boolean])[0]
    const best = Math.max(...every.map(([, , relevance]) => relevance))
    const shown = every.filter(([, , relevance]) => relevance >= Math.max(0.25, 0.5 * best))
    const lazy = answered(ranked, rows, { limit })
    const nearest = every.toSorted((a, b) => b[2] - a[2]).map(([seq]) => seq)
    if (best < 0.5) {
      assert.deepEqual([lazy.answer, lazy.nearest], ['[[],true]', nearest.slice(0, 3)], `seed ${seed}`)
    } else assert.equal(lazy.answer, JSON.stringify([shown.slice(0, limit), false]), `seed ${seed}`)
    const anyhow = answered(ranked, rows, { limit, abstain: false })
    assert.equal(anyhow.answer, JSON.stringify([every.slice(0, limit), false]), `seed ${seed}, not abstaining`)
    read += lazy.read + anyhow.read
    all += 2 * whole.read
  }
  assert.ok(read < all / 2, `${read} of ${all} candidates were read`)
})

// Mutants: barsOf() whose least is 0; answer() that abstains whatever `abstain` says.
test('who says how relevant a result must be gets all that are, and only those', () => {
  for (let seed = 1; seed <= 50; seed += 1) {
    const { ranked, rows } = candidates(new Chance(seed), 200)
    const all = JSON.parse(answered(ranked, rows, { limit: 200, abstain: false }).answer) as [number[][], boolean]
    for (const minRelevance of [0, 0.1, 0.4, 0.9]) {
      const wanted = all[0].filter(([, , relevance = 0]) => relevance >= minRelevance)
      for (const abstain of [true, false]) {
        const { answer } = answered(ranked, rows, { limit: 200, minRelevance, abstain })
        assert.equal(answer, JSON.stringify([wanted, abstain && wanted.length === 0]), `seed ${seed}`)
      }
    }
  }
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

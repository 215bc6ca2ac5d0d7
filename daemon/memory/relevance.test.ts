import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chanceOf, chanceOfEvidence, coveredPart, ENOUGH, evenOf, evidenceOf, meaningOf } from './relevance.ts'

const STEPS = Array.from({ length: 141 }, (_, at) => at / 100)

// Mutants: a chance of CHANCES that falls; chanceOf() that jumps back at SURE; AMOUNT.share of 2.
test('more of the question, or a closer meaning, never makes a memory less relevant, and all of it stays within 0 and 1', () => {
  const curves: [string, (step: number) => number][] = [
    ...(['en', 'nl', 'zh', 'other'] as const).map((language): [string, (step: number) => number] => [
      language,
      (step) => chanceOf(Math.min(1, step), evenOf({ language })),
    ]),
    ['evidence', chanceOfEvidence],
    ['amount', (step) => coveredPart(20 * step, 20)],
  ]
  for (const [name, curve] of curves) {
    const values = STEPS.map(curve)
    assert.deepEqual(
      values,
      values.toSorted((a, b) => a - b),
      name,
    )
    assert.ok(
      values.every((value) => value >= 0 && value <= 1),
      name,
    )
    assert.deepEqual([values[0], Math.round((values.at(-1) ?? 0) * 1e6) / 1e6], [0, 1], name)
  }
})

// Mutants: EVIDENCE.name of 0; meaningOf() that is the cosine alone.
test('with an encoder a question with a name needs more, and a memory alone is ordered by its evidence', () => {
  const [named, unnamed] = [{ names: ['ada'] }, { names: [] }]
  assert.ok(evidenceOf(0.7, 0.5, named) < evidenceOf(0.7, 0.5, unnamed))
  assert.ok(evidenceOf(0.7, 0.6, named) > evidenceOf(0.7, 0.5, named))
  const even = STEPS.map((step) => step / 2 + 0.4).find((step) => chanceOfEvidence(step) >= ENOUGH) ?? 0
  assert.ok(meaningOf(0.7, even + 0.1) > meaningOf(0.7, null) && meaningOf(0.7, even - 0.1) < meaningOf(0.7, null))
})

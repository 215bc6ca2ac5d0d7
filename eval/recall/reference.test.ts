import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analyseItem } from '@loci/daemon/memory/analysis/analyse.ts'
import { PART_WEIGHTS, PARTS, SALIENCE_WEIGHTS } from '@loci/daemon/memory/weights.ts'
import { indexItems } from './daemon-index.ts'
import { OWN_SETS } from './own/all.ts'
import { setOfOwn } from './own/own.ts'
import { ReferenceIndex } from './reference.ts'

// Mutants: UNKNOWN_IDF = 5 in index/terms.ts; in index/parts.ts NEAR_SATURATION = 0.9, addCovered() without the stems,
// lacksName false, isShared of spread() true.
test("the daemon's search gives every record the score, and every part, of recall written plainly", () => {
  for (const [own, hasContextId] of OWN_SETS.flatMap((own) => [true, false].map((each) => [own, each] as const))) {
    const { records, questions } = setOfOwn(own)
    const items = records.map((record) => analyseItem({ ...record, hasContextId }, own.language))
    const index = indexItems(items, own.language)
    const plain = new ReferenceIndex(items, own.language, { parts: PART_WEIGHTS, salience: SALIENCE_WEIGHTS })
    const limit = records.length
    for (const { text } of questions) {
      const wanted = new Map(plain.search(text, limit).map((each) => [each.seq, each]))
      const found = index.search(text, { limit, copiesMax: Number.POSITIVE_INFINITY })

      assert.equal(found.length, limit)
      for (const { seq, score, parts } of found) {
        const { score: wantedScore = Number.NaN, parts: wantedParts = [] } = wanted.get(seq) ?? {}
        assert.ok(
          Math.abs(score - wantedScore) < 1e-9,
          `${text}: record ${seq} ${score}, written plainly ${wantedScore}`,
        )
        for (const [p, part] of PARTS.entries()) {
          const contribution = (wantedParts[p] ?? Number.NaN) * PART_WEIGHTS[part]
          assert.ok(Math.abs((parts[p] ?? Number.NaN) - contribution) < 1e-9, `${text}: ${part} of record ${seq}`)
        }
      }
    }
  }
})

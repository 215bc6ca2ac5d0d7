import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { ENGLISH } from '@loci/daemon/memory/analysis/languages/en.ts'
import { termOf } from '@loci/daemon/memory/analysis/terms.ts'
import { readWords, writeTerms } from './asset.ts'
import { nearTerms } from './thesaurus.ts'

const folder = path.resolve(import.meta.dirname, '../../daemon/memory/meaning')

// Mutants: a stemmer without step 3; a pair less in spellings.ts; `films` no form of "movie".
test('the tables of meaning were made with the analyser that reads them', () => {
  for (const file of ['thesaurus.bin', 'kinds.bin']) {
    const stale = readWords(readFileSync(path.join(folder, file)))
      .flatMap(({ term, words }) => words.map((word) => ({ word, term, made: termOf(word, ENGLISH) })))
      .filter(({ term, made }) => made !== term)
    const few = stale.slice(0, 5).map(({ word, term, made }) => `${word}: '${made}', in the table '${term}'`)
    assert.equal(stale.length, 0, `${file}: make it anew as docs/meaning.md says; ${few.join('; ')}`)
  }
})

test('what is written of a term and its words is read again', () => {
  const terms = [
    { term: 'movi', words: ['movie', 'films'] },
    { term: 'bicycl', words: ['bicycle'] },
  ]
  const { bytes, numbers } = writeTerms('loci-the', terms)
  assert.deepEqual(readWords(bytes), terms.toReversed())
  assert.deepEqual(
    [...numbers],
    [
      ['bicycl', 0],
      ['movi', 1],
    ],
  )
})

// Mutant: kept[term] left out, so that only the nearest of one side are kept.
test('a pair is kept when it is among the nearest of either', () => {
  // One row in the middle of thirty that lie around it, each nearer to it than to the others.
  const width = 32
  const count = 31
  const vectors = new Float32Array(count * width)
  vectors[0] = 1
  for (let row = 1; row < count; row++) {
    vectors[row * width] = 0.6
    vectors[row * width + row] = 0.8
  }
  const near = nearTerms(vectors, width, count)
  assert.equal(near[0]?.length, 30, 'more than its own share')
  assert.deepEqual(near[30]?.[0], { term: 0, cosine: 153 })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KINDS } from '../meaning/kinds.ts'
import { THESAURUS } from '../meaning/thesaurus.ts'
import { findTerm, found, termBytes } from './dictionary.ts'
import { buildFrom } from './engine.ts'
import { openSegment } from './format.ts'
import { entryOf, wordsOf } from './segment-words.ts'
import { findWord, NUMBER_OF_AKIN, NUMBER_OF_KIND, VOCABULARY_SIZE, wordAt } from './vocabulary.ts'

// Mutants: joinTables() that numbers a term of both tables twice; findWord() that ends at the first other term.
test('the terms of both tables have one number each, in their order, and are found by their bytes', () => {
  const find = (term: string) => findWord(Buffer.from(term), Buffer.byteLength(term))
  for (const [table, numbers] of [
    [THESAURUS, NUMBER_OF_AKIN],
    [KINDS, NUMBER_OF_KIND],
  ] as const) {
    for (let at = 0; at < table.count; at++) assert.equal(wordAt(numbers[at]!), table.termAt(at))
  }
  const words = Array.from({ length: VOCABULARY_SIZE }, (_, number) => wordAt(number))
  assert.deepEqual(words, [...new Set(words)].sort())
  for (const [number, word] of words.entries()) assert.equal(find(word), number)
  for (const word of ['', 'qqqq', 'bicycle', '昨天', 'bicyclbicycl']) assert.equal(find(word), -1, word)
})

// Mutants: entryOf() that counts its own bit, or the bits after it; readWords() without `before`.
test('a segment has the words of its dictionary, each with its postings, and no others', () => {
  const said = Array.from({ length: VOCABULARY_SIZE }, (_, number) => wordAt(number)).filter((_, n) => n % 7 === 3)
  // Some in most of the records: their df needs two bytes.
  const records = Array.from({ length: 300 }, (_, n) => ({
    ...{ seq: n + 1, context: n, position: 0, actor: null, occurredAt: 0 },
    content: `tea ocean guitar qqqq${n} ${said.slice(9 * n, 9 * n + 9).join(' ')}`,
  }))
  const segment = openSegment(buildFrom(records, 'en'))
  const words = wordsOf(segment)
  let count = 0
  for (let number = 0; number < VOCABULARY_SIZE; number++) {
    const entry = entryOf(words, number)
    assert.equal(entry >= 0, findTerm(segment, termBytes(wordAt(number))), wordAt(number))
    if (entry < 0) continue
    assert.deepEqual([...words.entries.subarray(entry, entry + 2)], [found.df, found.at], wordAt(number))
    count += 1
  }
  assert.ok(count > 1_000 && words.entries.length === 2 * count, `${count} words`)
})

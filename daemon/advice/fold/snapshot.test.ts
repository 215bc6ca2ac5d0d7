// A snapshot of a tool that has very much is written and opened in pieces, as others wait for the longest of them: 10^6
// words and 131,072 cells of one tool held the thread for a second and more, each time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce } from '@loci/chassis/testing/at-once.ts'
import { randomFrom } from './beta.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import { Counts } from './counts.ts'
import { apply, type Told } from './fold.ts'
import { openSnapshot, type Snapshot, takeSnapshot } from './snapshot.ts'
import { sortEntries, sortNumbers } from './sorting.ts'
import { emptyState } from './state.ts'
import { wordsOf } from './words.ts'

const WORDS = 100_000
const SCOPES = 10_000

/** How often others may be served, and what it comes to. */
function pieces<Value>(work: Generator<void, Value>): [count: number, value: Value] {
  for (let count = 0; ; count++) {
    const { done, value } = work.next()
    if (done) return [count, value]
  }
}

function outcomeOf(n: number, fields: Partial<Told>): Told {
  return {
    ...{ id: `${n}`, partner: 'crm', taskClass: 'a', scope: null, intent: null, takesBack: null },
    ...{ tools: [{ tool: 'one', outcome: 'success' }], ...fields },
  }
}

// Mutants: no yield in #listKeys(), in write() or in read() of Counts, in sortNumbers(), in the loops of tallies of
// writeTool() and readTool(): each alone leaves fewer pieces than there are to be.
test('one tool with all words of a database, or all of its scopes, is written and opened in pieces', () => {
  const words = emptyState()
  const word = (n: number) => `w${n.toString(36)}x`
  for (let n = 0; n < WORDS / 128; n++) {
    const intent = wordsOf(Array.from({ length: 128 }, (_, at) => word(n * 128 + at)).join(' '))
    apply(words, outcomeOf(n, { intent: { ...intent, pairs: [] } }), new Map())
  }
  const scopes = emptyState()
  for (let n = 0; n < SCOPES; n++) apply(scopes, outcomeOf(n, { scope: `s${n}` }), new Map())
  const entries = words.tools[0]?.terms.size ?? 0
  assert.ok(entries > WORDS * 0.99, `${entries} entries`)

  const [ofWords, wordsTaken] = pieces(takeSnapshot(words))
  const [ofScopes, scopesTaken] = pieces(takeSnapshot(scopes))

  // At least one for 1,024 that are written; one for 8,192 that are looked for or sorted, by each of four bytes twice.
  const sorted = 2 * 4 * Math.floor(entries / 8_192)
  const looked = Math.floor((entries * 8) / 3 / 8_192)
  assert.ok(ofWords >= Math.floor(entries / 1_024) + sorted + looked, `${ofWords} pieces`)
  assert.ok(ofScopes >= SCOPES, `${ofScopes} pieces`)
  const opened = (taken: Snapshot) => pieces(openSnapshot(taken.head, taken.tools))
  const [[wordsOpened, again], [scopesOpened]] = [opened(wordsTaken), opened(scopesTaken)]
  assert.ok(wordsOpened >= Math.floor(entries / 1_024), `${wordsOpened} pieces`)
  assert.ok(scopesOpened >= SCOPES, `${scopesOpened} pieces`)
  again?.changed.add(0)
  assert.deepEqual(again && atOnce(takeSnapshot(again)), wordsTaken)
})

// Who asks for the first word would wait for all of them. Mutant: `isPacked = true` in read().
test('many counts do not stay as they were read until somebody asks for one', () => {
  const counts = new Counts()
  for (let n = 0; n < 5_000; n++) counts.add(Math.imul(n, 0x9e3779b1) >>> 0, 1)
  const writer = new ByteWriter()
  atOnce(counts.write(writer))
  const bytes = writer.done()
  const read = new Counts()
  atOnce(read.read(new ByteReader(bytes), () => {}))
  bytes.fill(0)
  assert.deepEqual(new Map(read), new Map(counts))
})

// Mutants: `shift < 24`; merge() that takes the larger one first; the last run left out; no yield in merge() or in
// sortEntries().
test('what is sorted in pieces is sorted', () => {
  const random = randomFrom(7)
  for (const count of [0, 1, 1_024, 1_025, 50_000]) {
    const numbers = Uint32Array.from({ length: count }, () => Math.floor(random() * 2 ** 32))
    const entries = [...new Set(numbers)].map((number): [string, number] => [number.toString(36), number])
    const inOrder = entries.toSorted(([x], [y]) => (x < y ? -1 : 1))
    const [served, sorted] = pieces(sortEntries(entries))
    assert.deepEqual(sorted, inOrder)
    // Once for each 1,024 that are sorted, and each time that they are merged.
    const runs = Math.floor(entries.length / 1_024)
    assert.ok(served >= runs * (1 + Math.ceil(Math.log2(Math.max(1, runs)))), `${served} pieces`)
    assert.deepEqual(atOnce(sortNumbers(numbers.slice())), numbers.toSorted())
  }
})

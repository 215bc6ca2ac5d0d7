import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { memoryOf, type TestMemory } from '../testing/records.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

let last = 0
function fresh(): TestMemory & { db: string } {
  last += 1
  return { ...memoryOf(tenant, `pages-${last}`), db: `pages-${last}` }
}

const WORDS = [
  'amber',
  'birch',
  'cedar',
  'delta',
  'ember',
  'fjord',
  'grove',
  'heath',
  'islet',
  'jetty',
  'knoll',
  'larch',
]
const code = (word: string) => ({
  content: `The launch code of the ${word} station is tulip${' indeed'.repeat(word.charCodeAt(0) % 3)}`,
  contextId: word,
  occurredAt: '2026-01-01T00:00:00Z',
})
const QUESTION = { query: 'What is the launch code of the station?' }

/** The pages one after the other; `between` runs after each. */
async function pagesOf(
  memory: TestMemory,
  request: object,
  between: (page: number) => Promise<unknown> = async () => {},
) {
  const pages: string[][] = []
  const totals: number[] = []
  let cursor: string | null = null
  do {
    const answer = await memory.recall({ ...request, ...(cursor ? { cursor } : {}) })
    assert.equal(answer.abstained, false)
    pages.push(answer.results.map(({ id }) => id))
    totals.push(answer.total)
    cursor = answer.nextCursor
    await between(pages.length)
  } while (cursor !== null && pages.length < 50)
  assert.equal(cursor, null)
  return { pages, totals }
}

// Mutants: nextCursorOf() without what was shown; selectFrom() whose best is of the page alone, so that a later page
// shows what the large one leaves out; `isMore` of total alone.
for (const [name, request] of [
  ['by default', QUESTION],
  ['without abstaining', { ...QUESTION, abstain: false }],
  ['narrowed', { ...QUESTION, contextIds: WORDS.slice(2, 11) }],
  ['with the least score', { ...QUESTION, minScore: 0 }],
] as const) {
  test(`pages hold every result of one large page once, in its order, and end: ${name}`, async () => {
    const memory = fresh()
    await memory.storeAll([...WORDS.map(code), { content: 'The station has a red door', contextId: 'x' }])
    const { results, nextCursor, total } = await memory.recall({ ...request, limit: 50 })
    const all = results.map(({ id }) => id)
    assert.ok(all.length >= 9 && nextCursor === null)
    const { pages, totals } = await pagesOf(memory, { ...request, limit: 4 })
    assert.deepEqual(pages.flat(), all)
    assert.ok(pages.slice(0, -1).every((page) => page.length === 4))
    assert.ok(totals.every((one) => one === total))
  })
}

// Mutants: selectFrom() that passes over `before.seq`, or over `before.shown`.
test('what is stored or erased between two pages neither repeats a result nor brings in a newer one', async () => {
  const memory = fresh()
  const stored = await memory.storeAll(WORDS.map(code))
  const newer: string[] = []
  const erased: string[] = []
  const { pages } = await pagesOf(memory, { ...QUESTION, limit: 3 }, async (page) => {
    newer.push(
      (await memory.store({ ...code(`station ${page}`), content: `The launch code of station ${page} is rose` })).id,
    )
    const [id] = stored.map((one) => one.id).filter((one) => !erased.includes(one))
    if (page > 2) return
    erased.push(id as string)
    assert.equal((await memory.call(`DELETE /v1/memory/records/${id}`)).status, 200)
  })
  const shown = pages.flat()
  assert.equal(new Set(shown).size, shown.length)
  assert.ok(!shown.some((id) => newer.includes(id)))
  assert.ok(stored.every(({ id }) => erased.includes(id) || shown.includes(id)))
})

// Mutant: digestOf() of the query alone.
test('a cursor goes on with its own question: of another question, filter, database or of nobody it is refused', async () => {
  const [memory, other] = [fresh(), fresh()]
  for (const one of [memory, other]) await one.storeAll(WORDS.map(code))
  const { nextCursor: cursor } = await memory.recall({ ...QUESTION, limit: 2 })
  assert.ok(cursor)
  const asked = { ...QUESTION, cursor }
  assert.equal((await memory.recall({ ...asked, limit: 5, explain: true })).results.length, 5)
  for (const wrong of [
    ...[
      { ...asked, query: 'What is the code?' },
      { ...asked, kinds: ['observation'] },
      { ...asked, abstain: false },
    ],
    ...[
      { ...asked, databases: [memory.db, other.db] },
      { ...QUESTION, cursor: 'invented' },
      { ...QUESTION, cursor: 5 },
    ],
    { ...QUESTION, cursor: Buffer.from('q:[1]').toString('base64url') },
    { ...QUESTION, cursor: Buffer.from('r:12').toString('base64url') },
  ]) {
    const refused = await memory.call('POST /v1/memory/recall', wrong)
    assert.equal(refused.error.code, 'VALIDATION_ERROR', JSON.stringify(wrong))
  }
  assert.equal((await other.call('POST /v1/memory/recall', asked)).error.code, 'VALIDATION_ERROR')
})

test('pages go over several databases too, and by tokens', async () => {
  const [one, two] = [fresh(), fresh()]
  await one.storeAll(WORDS.slice(0, 5).map(code))
  await two.storeAll(WORDS.slice(5).map(code))
  const databases = [one.db, two.db]
  const { results } = await one.recall({ ...QUESTION, databases, limit: 50 })
  const { pages } = await pagesOf(one, { ...QUESTION, databases, limit: 5 })
  assert.deepEqual(pages.flat().sort(), results.map(({ id }) => id).sort())
  const byTokens = await pagesOf(one, { ...QUESTION, limit: 50, tokenBudget: 40 })
  assert.ok(byTokens.pages.length > 1)
  assert.equal(new Set(byTokens.pages.flat()).size, 5)
  const { results: none, nextCursor } = await one.recall({ ...QUESTION, tokenBudget: 1 })
  assert.deepEqual([none, nextCursor], [[], null])
})

test('a recall that abstains has no next page', async () => {
  const memory = fresh()
  await memory.storeAll(WORDS.map(code))
  const answer = await memory.recall('Who won the cup in 1974?')
  assert.deepEqual([answer.abstained, answer.nextCursor], [true, null])
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { MEMORY_RIGHTS, memoryOf } from '../testing/records.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

let last = 0
function fresh() {
  last += 1
  const db = `first-${last}`
  return { ...memoryOf(tenant, db), db }
}

interface Told {
  memories: { content: string; relevance: number }[]
  abstained: boolean
  reason?: string
}

/** The tool `recall` of /mcp. */
async function tell(db: string, query: string): Promise<Told> {
  const params = { name: 'recall', arguments: { query } }
  const answer = await tenant.call(
    'POST /mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    {
      ...{ db, token: tenant.mint(MEMORY_RIGHTS) },
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
    },
  )
  return answer.json<{ result: { structuredContent: Told } }>().result.structuredContent
}

/** Nothing here is about Ada, languages or replies. */
const OTHERS = ['Ben', 'Carla', 'Diego', 'Emma', 'Farid', 'Greta', 'Hugo', 'Ines', 'Jonas', 'Karin'].flatMap((name) => [
  ...[`${name} drives a red car`, `${name} lives in Turin`, `The bicycle of ${name} is in the shed`],
  ...[`${name} is allergic to peanuts`, `${name} was born on 12 March`, `The office of ${name} has two windows`],
  ...[`${name} plays the violin`, `${name} works at the harbour`, `${name} likes long walks`, `${name} has a grey cat`],
  ...[`${name} paid the invoice in May`, `${name} swims on Tuesdays`, `The train of ${name} leaves at nine`],
  ...[`${name} wants a seat at the aisle`, `${name} moved last summer`, `${name} reads old maps`],
  ...[`The phone of ${name} is new`, `${name} cooks soup`, `${name} sells honey`, `${name} has been to Oslo`],
])

const ANSWERED = [
  ['Ada prefers replies in Dutch', 'which language for Ada?'],
  ['Ada likes tea', 'what does Ada drink?'],
  ['Order 4411 is delayed until Monday', 'what is the status of order 4411?'],
  ['Project Atlas uses PostgreSQL 18', 'which database does Atlas use?'],
  ['Not the night train, I sleep badly.', 'Is a sleeper train fine?'],
] as const
const SILENT = [
  ['Order 4411 is delayed until Monday', 'what is the status of order 5522?', /“5522”/],
  ['Ada prefers replies in Dutch', 'Does Omar prefer replies in Dutch?', /“Omar”/],
  ['Ada likes tea', 'Who won the cup in 1974?', /nothing of|has anything to do/],
] as const

// Mutants: PRIOR_ITEMS = 0; NAME_MISSING = 1; KIND_SHARE = 0; akin words that are left out; reasonOf() that names no
// word.
test('the first question about one memory is answered over HTTP and MCP, and one about another thing says why not', async () => {
  for (const [content, query] of ANSWERED) {
    const memory = fresh()
    await memory.store(content)
    const { results, abstained } = await memory.recall(query)
    assert.deepEqual([results.map((one) => one.content), abstained], [[content], false], query)
    const told = await tell(memory.db, query)
    assert.deepEqual([told.memories.map((one) => one.content), told.abstained], [[content], false], query)
  }
  for (const [content, query, word] of SILENT) {
    const memory = fresh()
    await memory.store(content)
    const { results, abstained, reason = '' } = await memory.recall(query)
    assert.deepEqual([results, abstained], [[], true], query)
    assert.match(reason, word)
    const told = await tell(memory.db, query)
    assert.deepEqual([told.memories, told.abstained, told.reason], [[], true, reason], query)
  }
})

// Mutant: idf without the prior: the question is answered among 200 and not alone.
test('which language for Ada is answered first with one memory and with two hundred, with the same relevance', async () => {
  const content = 'Ada prefers replies in Dutch'
  const relevances: number[] = []
  for (const others of [[], OTHERS.slice(0, 199)]) {
    const memory = fresh()
    await memory.storeAll([...others.slice(0, 100), content, ...others.slice(100)].map((each) => ({ content: each })))
    const { results } = await memory.recall({ query: 'which language for Ada?', explain: true })
    assert.equal(results[0]?.content, content)
    assert.deepEqual(
      results[0]?.explain?.words.map(({ word, by }) => [word, by]),
      [
        ['language', 'Dutch'],
        ['Ada', 'Ada'],
      ],
    )
    assert.equal((await tell(memory.db, 'which language for Ada?')).memories[0]?.content, content)
    relevances.push(results[0]?.relevance ?? 0)
  }
  const [alone = 0, among = 0] = relevances
  assert.ok(Math.abs(alone - among) < 0.05, `${alone} alone, ${among} among others`)
})

// Mutants: spread() that reaches over records without a contextId; novelty that counts in them.
test('memories without a contextId are nobody’s neighbours: whatever order they are stored in, the answers are the same', async () => {
  const contents = OTHERS.slice(0, 60)
  const questions = [
    'What does Greta play?',
    'Where does Ben live?',
    'harbour',
    'Who is allergic to nuts?',
    'May invoices',
  ]
  const answersOf = async (order: string[]) => {
    const memory = fresh()
    await memory.storeAll(order.map((content) => ({ content, occurredAt: '2026-01-01T00:00:00Z' })))
    return Promise.all(
      questions.map(async (query) => {
        const { results } = await memory.recall({ query, abstain: false, limit: 50, asOf: '2026-11-01T00:00:00Z' })
        // Of equals the newer comes first.
        return results.map(({ content, score, relevance }) => `${score} ${relevance} ${content}`).sort()
      }),
    )
  }
  const stored = await answersOf(contents)
  assert.deepEqual(await answersOf(contents.toReversed()), stored)
  assert.ok(stored.every((answers) => answers.length > 0))
})

// Mutants: databasesOf() that asks for no coverage; selectFrom() that judges each database by its own best.
test('several databases are asked at once, by one measure, and all of them must be covered', async () => {
  const [one, two, three] = [fresh(), fresh(), fresh()]
  await one.store('Ada likes tea')
  await two.storeAll(OTHERS.slice(0, 40).map((content) => ({ content })))
  await three.store('The violet curtain was washed')
  const body = { query: 'what does Ada drink?', databases: [two.db, one.db, three.db] }
  const { results } = await three.recall(body)
  assert.deepEqual(
    results.map(({ content, database }) => [content, database]),
    [['Ada likes tea', one.db]],
  )
  const token = tenant.mint({ ...MEMORY_RIGHTS, ks: [`memory/${one.db}`, `memory/${two.db}`, `kv/${three.db}`] })
  const refused = await tenant.call('POST /v1/memory/recall', body, { db: one.db, token })
  assert.equal(refused.error.code, 'DATABASE_MISMATCH')
  assert.ok(!refused.text.includes('tea'))
})

// Found from outside: a capability for two people was refused both, because it does not cover `default`.
// Mutants: recall without `databaseInBody`; databasesOf() that asks for no coverage where the body names none.
test('a capability for several databases asks those that its body names, and none that it does not cover, with or without the header', async () => {
  const [one, two] = [fresh(), fresh()]
  await one.store('Ada likes tea')
  await two.store('Ben likes coffee')
  await memoryOf(tenant, 'default').store('Nobody likes tea')
  const token = tenant.mint({ ...MEMORY_RIGHTS, ks: [`memory/${one.db}`, `memory/${two.db}`] })
  const ask = (body: object, db?: string) =>
    tenant.call('POST /v1/memory/recall', { query: 'who likes tea?', ...body }, { token, ...(db ? { db } : {}) })
  const named = (await ask({ databases: [one.db, two.db] })).json<{ results: { content: string }[] }>()
  assert.deepEqual(
    named.results.map(({ content }) => content),
    ['Ada likes tea'],
  )
  const refusals = [await ask({}), await ask({ databases: ['default'] }), await ask({ databases: [one.db] }, 'default')]
  for (const { status, error, text } of refusals) {
    assert.deepEqual([status, error.code], [403, 'DATABASE_MISMATCH'])
    assert.ok(!text.includes('likes'))
  }
  assert.match(refusals[0]?.error.message ?? '', /meant without x-loci-database: name one that it covers/)
})

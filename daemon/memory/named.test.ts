import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { memoryOf, type TestMemory, type TestRecall } from '../testing/records.ts'
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
  return { ...memoryOf(tenant, `named-${last}`), db: `named-${last}` }
}

const QUESTION = { query: 'Where did Mara plant the tulips?' }
const NEVER = 'mem_00000000000000000000000000'

async function garden() {
  const memory = fresh()
  const store = memory.store
  const answer = await store({ content: 'Mara did plant the tulips behind the shed', tags: ['garden'] })
  const weak = await store({ content: 'Mara bought a red bicycle', tags: ['garden'] })
  const none = await store({ content: 'The kettle is broken', tags: ['kitchen'] })
  const former = await store({ content: 'Mara did plant the tulips in pots', key: 'tulips' })
  const current = await store({ content: 'Mara did plant the tulips at the gate', key: 'tulips' })
  return { memory, answer, weak, none, former, current }
}

const byId = (answer: TestRecall) => new Map((answer.named ?? []).map((one) => [one.id, one]))

// Mutants: judged() without one of its cases; a standing by the score alone.
test('a record that was named is told where it stands: a result, below the cut, without evidence, superseded, erased', async () => {
  const { memory, answer, weak, none, former, current } = await garden()
  const erased = await memory.store({ content: 'Mara did plant the tulips upstairs' })
  assert.equal((await memory.call(`DELETE /v1/memory/records/${erased.id}`)).status, 200)
  const ids = [answer, weak, none, former, current, erased].map(({ id }) => id)
  const told = await memory.recall({ ...QUESTION, recordIds: [...ids, NEVER, answer.id] })
  assert.deepEqual(
    told.named?.map(({ id, standing }) => [id, standing]),
    [
      ...[
        [answer.id, 'result'],
        [weak.id, 'below'],
        [none.id, 'no_evidence'],
        [former.id, 'superseded'],
      ],
      ...[
        [current.id, 'result'],
        [erased.id, 'missing'],
        [NEVER, 'missing'],
      ],
    ],
  )
  const low = byId(told).get(weak.id)
  const [best] = told.results
  assert.ok(low && best && low.relevance !== null && low.needs !== null && low.relevance < low.needs)
  assert.ok(Math.abs(low.needs - best.relevance / 2) < 0.0001)
  assert.equal(low.content, weak.content)
  assert.deepEqual([byId(told).get(erased.id)?.content, byId(told).get(former.id)?.rank], [null, null])
})

// Mutants: ranks by relevance; ranks among the results; parts of another record.
test('its rank is its place among all candidates, and its parts are those of a recall that shows all, which sum to its score', async () => {
  const { memory, answer, weak, current } = await garden()
  const everything = {
    ...QUESTION,
    abstain: false,
    minRelevance: 0,
    limit: 200,
    explain: true,
    asOf: '2099-01-01T00:00:00Z',
  }
  const all = await memory.recall(everything)
  const ids = [answer, weak, current].map(({ id }) => id)
  const told = await memory.recall({ ...QUESTION, asOf: everything.asOf, recordIds: ids })
  for (const id of ids) {
    const own = byId(told).get(id)
    const at = all.results.findIndex((hit) => hit.id === id)
    assert.deepEqual([own?.rank, own?.among], [at + 1, all.results.length])
    assert.deepEqual([own?.score, own?.relevance], [all.results[at]?.score, all.results[at]?.relevance])
    assert.deepEqual(own?.explain, all.results[at]?.explain)
    const sum = own?.explain?.parts.reduce((total, { contribution }) => total + contribution, 0) ?? Number.NaN
    assert.ok(Math.abs(sum - (own?.score ?? 0)) < 1e-6)
  }
})

// Mutant: searchIn() that looks for named records in the search whose answer is shown.
test('what is answered is the same to the byte, whether records are named or not', async () => {
  const { memory, none, weak } = await garden()
  await memory.storeAll(Array.from({ length: 300 }, (_, n) => ({ content: `Mara did water the tulips on day ${n}` })))
  await eventually(async () => {
    const [head] = await daemon.sql('select mem_indexed_through as at from loci.databases where name = $1', [memory.db])
    return Number(head?.at) > 0
  })
  for (const request of [QUESTION, { query: 'What does the kettle weigh?' }, { ...QUESTION, tags: ['garden'] }]) {
    const asked = { ...request, asOf: '2099-01-01T00:00:00Z', explain: true, limit: 5 }
    const text = ({ named, tookMs, ...rest }: TestRecall & { tookMs?: number }) => JSON.stringify(rest)
    const plain = await memory.recall(asked)
    assert.equal(plain.named, undefined)
    const told = await memory.recall({ ...asked, recordIds: [none.id, weak.id] })
    assert.equal(text(told), text(plain))
    assert.equal(told.named?.length, 2)
  }
})

// Mutant: filtersAgainst() without one of its fields.
test('a record that a filter leaves out is told by which, with the parts that it would have', async () => {
  const memory = fresh()
  const one = await memory.store({
    ...{ content: 'Mara did plant the tulips', actor: 'Ada', kind: 'fact', tags: ['garden'], key: 'tulips' },
    ...{ contextId: 'spring', occurredAt: '2026-03-01T00:00:00Z', metadata: { bed: 3 } },
  })
  const against: [filter: object, by: string[]][] = [
    [{ actors: ['bob'] }, ['actors']],
    [{ actors: ['ada'], kinds: ['plan'] }, ['kinds']],
    [{ tags: ['garden', 'wall'] }, ['tags']],
    [{ contextIds: ['autumn'], keys: ['roses'] }, ['contextIds', 'keys']],
    [{ metadata: { bed: 4 } }, ['metadata']],
    [{ since: '2026-04-01T00:00:00Z' }, ['since']],
    [{ until: '2026-02-01T00:00:00Z' }, ['until']],
    [{ actors: ['ada'], kinds: ['fact'], tags: ['garden'], contextIds: ['spring'], metadata: { bed: 3 } }, []],
  ]
  for (const [filter, by] of against) {
    const { named } = await memory.recall({ ...QUESTION, ...filter, recordIds: [one.id] })
    assert.deepEqual(named?.[0]?.filteredBy, by, JSON.stringify(filter))
    assert.equal(named?.[0]?.standing, by.length > 0 ? 'filtered' : 'result')
    assert.ok((named?.[0]?.relevance ?? 0) > 0.5)
  }
})

test('at a time that is asked about, what came later and what ended before are told as that', async () => {
  const memory = fresh()
  const former = await memory.store({ content: 'Mara did plant the tulips in pots', key: 'tulips' })
  const before = new Date(Date.parse(former.createdAt) - 60_000).toISOString()
  const standing = async (asOf: string | undefined) => {
    const { named } = await memory.recall({ ...QUESTION, recordIds: [former.id], ...(asOf ? { asOf } : {}) })
    return named?.[0]?.standing
  }
  assert.equal(await standing(before), 'later')
  const held = new Date().toISOString()
  await eventually(() => Date.now() > Date.parse(held) + 1)
  await memory.store({ content: 'Mara did plant the tulips at the gate', key: 'tulips' })
  assert.deepEqual([await standing(held), await standing(undefined)], ['result', 'superseded'])
})

// Mutant: judged() that calls a record below the cut where copies of it stand in front.
test('one of many near copies by the same actor is told to be crowded out', async () => {
  const memory = fresh()
  const copies = await memory.storeAll(
    Array.from({ length: 8 }, () => ({ content: 'Mara did plant the tulips behind the old shed today', actor: 'bot' })),
  )
  const { named } = await memory.recall({ ...QUESTION, recordIds: copies.map(({ id }) => id) })
  const standings = Map.groupBy(named ?? [], ({ standing }) => standing)
  assert.ok((standings.get('crowded_out')?.length ?? 0) > 0)
  assert.ok((standings.get('result')?.length ?? 0) > 0)
  assert.equal(standings.get('crowded_out')?.[0]?.rank, null)
})

// Mutants: whyOf() whose best is that of the nearest shown, or whose threshold is a constant.
test('an abstention has its numbers: the relevance of the best, and from where on it would be an answer', async () => {
  const { memory, weak } = await garden()
  const asked = { query: 'Which dentist does Mara visit on Fridays?' }
  const told = await memory.recall({ ...asked, recordIds: [weak.id] })
  assert.equal(told.abstained, true)
  assert.deepEqual(told.abstention, { best: told.nearest?.[0]?.relevance, threshold: 0.5 })
  const own = told.named?.[0]
  assert.deepEqual([own?.standing, own?.needs], ['below', 0.5])
  const high = await memory.recall({ ...asked, minRelevance: 0.95 })
  assert.equal(high.abstention?.threshold, 0.95)
  assert.equal((await memory.recall({ ...QUESTION, minScore: 1_000 })).abstention?.threshold, null)
  assert.equal((await memory.recall(QUESTION)).abstention, undefined)
  assert.deepEqual((await fresh().recall(QUESTION)).abstention, { best: 0, threshold: 0.5 })
})

// Mutant: readNamed() that looks into every database of the instance.
test('a record of another database or tenant is told as missing, and one of several databases in that which has it', async () => {
  const { memory, answer } = await garden()
  const beside = fresh()
  const theirs = memoryOf(await addTenant(daemon), memory.db)
  for (const other of [beside, theirs]) {
    await other.store({ content: 'Mara did plant the tulips' })
    const { named } = await other.recall({ ...QUESTION, recordIds: [answer.id] })
    assert.deepEqual([named?.[0]?.standing, named?.[0]?.content, named?.[0]?.database], ['missing', null, undefined])
  }
  const both = { ...QUESTION, databases: [beside.db, memory.db], recordIds: [answer.id, NEVER] }
  const { named } = await beside.recall(both)
  assert.deepEqual(
    named?.map(({ standing, database }) => [standing, database]),
    [
      ['result', memory.db],
      ['missing', undefined],
    ],
  )
})

test('too many names, a name that is none, and names with a cursor are refused; so is who may not read', async () => {
  const { memory, answer } = await garden()
  const refused = async (body: object) =>
    (await memory.call('POST /v1/memory/recall', { ...QUESTION, ...body })).error.code
  for (const recordIds of [[], Array.from({ length: 17 }, () => answer.id), ['mem_1'], 'mem_1'])
    assert.equal(await refused({ recordIds }), 'VALIDATION_ERROR', JSON.stringify(recordIds))
  const { nextCursor } = await memory.recall({ ...QUESTION, limit: 1 })
  assert.ok(nextCursor)
  assert.equal(await refused({ recordIds: [answer.id], limit: 1, cursor: nextCursor }), 'VALIDATION_ERROR')
  // What was named has no part in the question: its pages go on without.
  const first = await memory.recall({ ...QUESTION, limit: 1, recordIds: [answer.id] })
  assert.equal((await memory.recall({ ...QUESTION, limit: 1, cursor: first.nextCursor })).results.length, 1)
  const token = tenant.mint({ ops: ['memory:write'], ks: ['memory/*'] })
  const body = { ...QUESTION, recordIds: [answer.id] }
  assert.equal((await tenant.call('POST /v1/memory/recall', body, { token })).error.code, 'OPERATION_NOT_ALLOWED')
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { MEMORY_RIGHTS, memoryOf, type TestMemory } from '../testing/records.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'
import { MEMBERS_MAX } from './facets.ts'
import { openSegment } from './index/format.ts'

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
  return { ...memoryOf(tenant, `filters-${last}`), db: `filters-${last}` }
}

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday']
const QUESTION = { query: 'When is the meeting?', limit: 50, abstain: false, asOf: '2026-11-30T00:00:00Z' }
/** Meetings of which every fifth is the same but for its day. */
function meetings(count: number) {
  return Array.from({ length: count }, (_, n) => ({
    content: `The meeting ${n} is on ${DAYS[n % 5]}`,
    key: `k-${n}`,
    contextId: `chat-${n % 7}`,
    actor: ['ada', 'bob'][n % 2] as string,
    kind: n % 3 === 0 ? 'plan' : 'fact',
    tags: n % 4 === 0 ? ['work', 'late'] : ['work'],
    occurredAt: new Date(Date.UTC(2026, 0, 1, n, 30)).toISOString(),
    metadata: { team: n % 2 === 0 ? 'eu' : 'us', tier: n % 3, path: { b: [n % 5], a: null } },
  }))
}

type Meeting = ReturnType<typeof meetings>[number]
/** Each filter, and what it leaves. */
const FILTERS: [filter: object, passes: (one: Meeting, n: number) => boolean][] = [
  [{ contextIds: ['chat-1', 'chat-6', 'none'] }, ({ contextId }) => contextId === 'chat-1' || contextId === 'chat-6'],
  [{ keys: ['k-3', 'k-17', 'none'] }, (_, n) => n === 3 || n === 17],
  [{ metadata: { team: 'eu' } }, ({ metadata }) => metadata.team === 'eu'],
  [{ metadata: { team: 'eu', tier: 1 } }, ({ metadata }) => metadata.team === 'eu' && metadata.tier === 1],
  [{ metadata: { tier: '1' } }, () => false],
  [{ metadata: { path: { a: null, b: [2] } } }, (_, n) => n % 5 === 2],
  [{ metadata: {} }, () => true],
  [{ since: '2026-01-01T09:30:00.000Z' }, (_, n) => n >= 9],
  [{ until: '2026-01-01T09:30:00.000Z' }, (_, n) => n <= 9],
  [{ since: '2026-01-01T09:30:00.001Z', until: '2026-01-01T12:29:59.999Z' }, (_, n) => n === 10 || n === 11],
  [
    { contextIds: ['chat-1'], metadata: { team: 'us' }, kinds: ['fact'] },
    (one, n) => n % 7 === 1 && n % 2 === 1 && one.kind === 'fact',
  ],
  [{ keys: ['k-3', 'k-4'], tags: ['late'], actors: ['ada'] }, (_, n) => n === 4],
  [{ contextIds: ['chat-1'], keys: ['k-2'] }, () => false],
]

const found = async (recall: TestMemory['recall'], filter: object) =>
  (await recall({ ...QUESTION, ...filter })).results.map(({ content }) => content).sort()

/** How many there are, where one is read and the others are counted by the index. */
const counted = async (recall: TestMemory['recall'], filter: object) => {
  const { asOf, ...question } = QUESTION
  return (await recall({ ...question, ...filter, limit: 1 })).total
}

async function indexed(db: string): Promise<void> {
  await eventually(async () => {
    const [head] = await daemon.sql('select seq, mem_indexed_through as at from loci.databases where name = $1', [db])
    return Number(head?.at) > 0
  })
}

// Mutants: acceptedIn() that passes over contexts, keys, members or times; gatherRows() of build.ts that leaves out the
// facets, or the time: lost when the tail becomes a segment; mem_text() without the key.
test('each filter leaves exactly what it names: in the tail, in segments, half of each, and in a process that has just started', async () => {
  const memory = fresh()
  const all = meetings(40)
  const expected = (count: number, passes: (one: Meeting, n: number) => boolean) =>
    all
      .slice(0, count)
      .flatMap((one, n) => (passes(one, n) ? [one.content] : []))
      .sort()
  await memory.storeAll(all.slice(0, 30))
  for (const [filter, passes] of FILTERS)
    assert.deepEqual(await found(memory.recall, filter), expected(30, passes), `tail ${JSON.stringify(filter)}`)
  // What the index lets pass is compared with the record when that is read: only its count tells the index apart.
  for (const [filter, passes] of FILTERS)
    assert.equal(await counted(memory.recall, filter), expected(30, passes).length, `count ${JSON.stringify(filter)}`)
  // Two hundred and more that nobody asks for make the tail a segment.
  await memory.storeAll(Array.from({ length: 260 }, (_, n) => ({ content: `Bread number ${n} was baked` })))
  await indexed(memory.db)
  await memory.storeAll(all.slice(30))
  for (const [filter, passes] of FILTERS)
    assert.deepEqual(await found(memory.recall, filter), expected(40, passes), `segment ${JSON.stringify(filter)}`)
  await using replica = await testDaemon({ replicaOf: daemon })
  const token = tenant.mint(MEMORY_RIGHTS)
  for (const [filter, passes] of FILTERS) {
    const answer = await replica.ask('POST /v1/memory/recall', {
      headers: { 'x-loci-capability': token, 'x-loci-database': memory.db },
      body: { ...QUESTION, ...filter },
    })
    const { results } = answer.json<{ results: { content: string }[] }>()
    assert.deepEqual(
      results.map(({ content }) => content).sort(),
      expected(40, passes),
      `cold ${JSON.stringify(filter)}`,
    )
  }
})

// Mutant: recallRequest whose since is any text.
test('a filter of another type is refused', async () => {
  const memory = fresh()
  for (const wrong of [
    ...[
      { contextIds: 'chat-1' },
      { contextIds: [] },
      { keys: [5] },
      { keys: [''] },
      { metadata: 'team' },
      { metadata: [] },
    ],
    ...[{ metadata: null }, { since: 'yesterday' }, { until: 5 }, { since: '2026-13-45T00:00:00Z' }],
    { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`m${n}`, n])) },
  ]) {
    const refused = await memory.call('POST /v1/memory/recall', { query: 'x', ...wrong })
    assert.equal(refused.error.code, 'VALIDATION_ERROR', JSON.stringify(wrong))
  }
})

test('each result has its key, context, actor, tags and metadata as they were stored', async () => {
  const memory = fresh()
  const sent = {
    key: 'language',
    contextId: 'chat-1',
    actor: 'Ada',
    tags: ['style'],
    metadata: { Any_Case: { n: [1, null] } },
  }
  await memory.store({ content: 'Ada prefers replies in Dutch', ...sent })
  await memory.store('Bob prefers replies in French')
  const { results } = await memory.recall({ query: 'Who prefers replies in Dutch or French?', abstain: false })
  const shown = new Map(
    (results as ((typeof results)[number] & Record<string, unknown>)[]).map(
      ({ content, key, contextId, actor, tags, metadata }) => [content, { key, contextId, actor, tags, metadata }],
    ),
  )
  assert.deepEqual(shown.get('Ada prefers replies in Dutch'), sent)
  assert.deepEqual(shown.get('Bob prefers replies in French'), {
    ...{ key: null, contextId: null, actor: null, tags: [], metadata: null },
  })
})

// Mutants: fewPlaces() that answers null: it is behind thousands that say the same words; selectFrom() that takes
// the best relevance of all candidates.
test('a narrow filter finds what thousands of others would crowd out, and is abstained by what passes it alone', async () => {
  const memory = fresh()
  const said = (n: number) => `The harbour meeting was moved again, said the harbour master in note ${n}`
  await memory.storeAll(
    Array.from({ length: 1_900 }, (_, n) => ({
      content: said(n),
      contextId: `day ${n % 90}`,
      occurredAt: '2026-10-01T00:00:00Z',
    })),
  )
  await memory.store({ content: 'We spoke of a meeting', contextId: 'quiet', occurredAt: '2020-01-01T00:00:00Z' })
  const asked = { query: 'Was the harbour meeting moved again?', contextIds: ['quiet'] }
  assert.deepEqual(await memory.contents({ ...asked, abstain: false }), ['We spoke of a meeting'])
  const abstained = await memory.recall(asked)
  assert.equal(abstained.abstained, true)
  assert.equal(abstained.nearest?.length, 1)
  assert.equal((await memory.recall({ ...asked, contextIds: ['day 4'] })).abstained, false)
  const none = await memory.recall({ ...asked, contextIds: ['nowhere'] })
  assert.deepEqual([none.abstained, none.nearest, none.reason], [true, [], 'No memory passes the filters.'])
})

// Mutants: hasMembers() that answers true; members() without MANY_MEMBERS.
test('of a record with very many members of metadata each is compared, those that the index does not have by reading it', async () => {
  const memory = fresh()
  const many = (own: string) => ({
    ...Object.fromEntries(Array.from({ length: MEMBERS_MAX + 30 }, (_, n) => [`m${n}`, n])),
    own,
  })
  for (const own of ['one', 'two']) await memory.store({ content: `The meeting of ${own}`, metadata: many(own) })
  await memory.store({ content: 'The meeting of nobody', metadata: { other: 1 } })
  assert.deepEqual(await found(memory.recall, { metadata: { own: 'two', m3: 3 } }), ['The meeting of two'])
  assert.deepEqual(await found(memory.recall, { metadata: { own: 'three' } }), [])
})

// Mutant: mergeSegments() that keeps the facets of what it drops.
test('with an erased memory its facets leave the segment, and other instances have other facets', async () => {
  const memory = fresh()
  const secret = await memory.store({
    content: 'The code is tulip',
    key: 'code',
    contextId: 'vault',
    metadata: { room: 12 },
  })
  await memory.storeAll(Array.from({ length: 260 }, (_, n) => ({ content: `Bread number ${n} was baked` })))
  await indexed(memory.db)
  const stored = async (db: string) => {
    const rows = await daemon.sql<{ body: Buffer }>('select body from loci.segments where database = $1', [db])
    return rows.flatMap(({ body }) => {
      const segment = openSegment(new Uint8Array(body))
      return [...segment.facet, ...segment.runFacet.filter((facet) => facet !== 0)]
    })
  }
  const before = await stored(memory.db)
  assert.equal(before.length, 3)
  const other = await addTenant(daemon)
  const theirs = memoryOf(other, 'theirs')
  await theirs.store({ content: 'The code is tulip', key: 'code', contextId: 'vault', metadata: { room: 12 } })
  await theirs.storeAll(Array.from({ length: 260 }, (_, n) => ({ content: `Bread number ${n} was baked` })))
  await indexed('theirs')
  const facets = await stored('theirs')
  assert.equal(facets.length, 3)
  assert.ok(facets.every((facet) => !before.includes(facet)))
  assert.equal((await memory.call(`DELETE /v1/memory/records/${secret.id}`)).status, 200)
  assert.deepEqual(await stored(memory.db), [])
  assert.deepEqual(await memory.contents({ query: 'What is the code?', keys: ['code'], abstain: false }), [])
  assert.deepEqual(await theirs.contents({ query: 'What is the code?', keys: ['code'], abstain: false }), [
    'The code is tulip',
  ])
})

const LISTS: [query: string, passes: (one: Meeting, n: number) => boolean][] = [
  ['tag=late', (_, n) => n % 4 === 0],
  ['kind=plan', ({ kind }) => kind === 'plan'],
  ['actor=ada', ({ actor }) => actor === 'ada'],
  ['contextId=chat-3', ({ contextId }) => contextId === 'chat-3'],
  ['key=k-12', (_, n) => n === 12],
  ['since=2026-01-01T09:30:00.000Z', (_, n) => n >= 9],
  ['until=2026-01-01T09:30:00.000Z', (_, n) => n <= 9],
  ['tag=late&actor=ada&kind=plan&since=2026-01-01T02:00:00Z', (_, n) => n % 12 === 0 && n >= 2],
  ['contextId=chat-3&key=k-12', () => false],
  ['tag=none', () => false],
]

// Mutants: listItems() that passes over `from`, or stops at the first segment; listSome() whose cursor is that of the
// last row shown; acceptedIn() without one of its filters.
test('a list is narrowed to exactly what it names, both ways and by pages, in tail and segments', async () => {
  const memory = fresh()
  const all = meetings(40)
  await memory.storeAll(all.slice(0, 20))
  await memory.storeAll(
    Array.from({ length: 260 }, (_, n) => ({ content: `Bread ${n} was baked`, occurredAt: '2025-01-01T00:00:00Z' })),
  )
  await indexed(memory.db)
  await memory.storeAll(all.slice(20))
  for (const [query, passes] of LISTS) {
    // Of the bread, which is older, only `until` lets something pass.
    const expected = all.flatMap((one, n) => (passes(one, n) ? [one.content] : []))
    const passing = expected.length + (query.startsWith('until') ? 260 : 0)
    for (const order of ['asc', 'desc']) {
      const listed: string[] = []
      let cursor = ''
      for (let page = 0; page < 60; page += 1) {
        const { records, nextCursor, ...counted } = await memory.list(`?${query}&order=${order}&limit=7${cursor}`)
        assert.ok(records.length <= 7)
        assert.deepEqual(counted, { total: passing, totalIsAtLeast: false }, `${query} ${order} page ${page}`)
        listed.push(...records.map(({ content }) => content).filter((content) => content.startsWith('The meeting')))
        if (nextCursor === null) break
        cursor = `&cursor=${nextCursor}`
      }
      assert.deepEqual(listed, order === 'asc' ? expected : expected.toReversed(), `${query} ${order}`)
    }
  }
})

// Mutant: listSome() without holds(): it is in the tail, and was superseded since.
test('without a filter a list has what was superseded too, oldest or newest first; with one what holds', async () => {
  const memory = fresh()
  for (const content of ['The code is tulip', 'The code is rose']) await memory.store({ content, key: 'code' })
  const contents = async (query: string) => (await memory.list(query)).records.map(({ content }) => content)
  assert.deepEqual(await contents('?order=asc'), ['The code is tulip', 'The code is rose'])
  assert.deepEqual(await contents(''), ['The code is rose', 'The code is tulip'])
  assert.deepEqual(await contents('?key=code'), ['The code is rose'])
  const first = await memory.list('?order=asc&limit=1')
  assert.deepEqual(await contents(`?order=asc&limit=1&cursor=${first.nextCursor}`), ['The code is rose'])
})

// Mutants: mem_total() that counts what holds, or of every database; listAll() that counts its page.
test('a list tells how many there are, of its own database alone, superseded ones too; none in one that is empty', async () => {
  const [memory, beside] = [fresh(), fresh()]
  const theirs = memoryOf(await addTenant(daemon), memory.db)
  for (const one of [memory, beside, theirs])
    await one.storeAll(Array.from({ length: 5 }, (_, n) => ({ content: `The code ${n} is tulip` })))
  for (const content of ['The door is open', 'The door is closed']) await memory.store({ content, key: 'door' })
  const totals = async (query: string) => {
    const { total, totalIsAtLeast } = await memory.list(query)
    return [total, totalIsAtLeast]
  }
  assert.deepEqual(await totals(''), [7, false])
  const first = await memory.list('?limit=3')
  assert.deepEqual(await totals('?limit=3'), [7, false])
  assert.deepEqual(await totals(`?limit=3&cursor=${first.nextCursor}`), [7, false])
  assert.deepEqual(await totals('?key=door'), [1, false])
  assert.equal((await theirs.list('?limit=1')).total, 5)
  assert.deepEqual([(await fresh().list()).total, (await fresh().list('?key=door')).total], [0, 0])
  await memory.store({ content: 'Gone in a moment', ttlMs: 1 })
  await eventually(async () => (await memory.list()).records.length === 7)
  assert.deepEqual(await totals(''), [7, false])
  await daemon.sql('update loci.databases set erasing_since = now() where name = $1', [memory.db])
  assert.deepEqual(await totals(`?limit=3&cursor=${first.nextCursor}`), [0, false])
})

test('a list is refused with a time that is none, an order that is none, an empty or a repeated filter', async () => {
  const memory = fresh()
  for (const query of [
    'since=yesterday',
    'until=5',
    'since=',
    'order=up',
    'order=',
    'tag=',
    'tag=a&tag=b',
    'kind=a&kind=b',
  ]) {
    const refused = await memory.call(`GET /v1/memory/records?${query}`)
    assert.equal(refused.error.code, 'VALIDATION_ERROR', query)
  }
})

test('a filtered list shows nothing of another database or tenant, however alike', async () => {
  const [memory, beside] = [fresh(), fresh()]
  const theirs = memoryOf(await addTenant(daemon), memory.db)
  for (const one of [beside, theirs])
    await one.store({ content: 'The code is tulip', key: 'code', contextId: 'vault', tags: ['a'] })
  for (const query of ['key=code', 'contextId=vault', 'tag=a', 'since=2020-01-01T00:00:00Z'])
    assert.deepEqual((await memory.list(`?${query}`)).records, [], query)
  assert.equal((await theirs.list('?key=code')).records.length, 1)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { MEMORY_RIGHTS, memoryOf, type TestMemory, type TestRecall } from '../testing/records.ts'
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
  return { ...memoryOf(tenant, `recall-${last}`), db: `recall-${last}` }
}

/** As of a moment, or the base level would change between two answers. */
const OPTIONS = { limit: 50, asOf: '2026-11-01T00:00:00Z', explain: true }
const TOPICS = ['bicycle', 'harbour', 'violin', 'glacier', 'teapot', 'lantern', 'orchard', 'compass']
const PLACES = ['Utrecht', 'Lisbon', 'Oslo', 'Kyoto', 'Quito', 'Cairo', 'Perth']
/** `n` facts that differ, spread over contexts and actors. */
function facts(n: number) {
  return Array.from({ length: n }, (_, at) => ({
    content: `The ${TOPICS[at % 8]} number ${at} was left in ${PLACES[at % 7]} beside item${at}`,
    contextId: `chat ${at % 23}`,
    actor: ['Ada', 'Bob', 'Eve'][at % 3] as string,
    occurredAt: new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString(),
  }))
}
const segmentsOf = (db: string) =>
  daemon.sql(
    'select id, from_seq, through_seq, items, format from loci.segments where database = $1 order by from_seq',
    [db],
  )
const indexedThrough = async (db: string) =>
  Number(
    (await daemon.sql('select mem_indexed_through from loci.databases where name = $1', [db]))[0]?.mem_indexed_through,
  )

// Mutant: explained() that answers the score of the index: the parts have the base level, the score has not.
test('the memory that answers comes first, scores fall, and the parts of each sum to its score', async () => {
  const memory = fresh()
  for (const content of ['Ada rides a red bicycle', 'Ada prefers replies in Dutch', 'Late replies annoy Bob'])
    await memory.store(content)
  const { results, abstained } = await memory.recall({
    query: 'Which language does Ada prefer for replies?',
    explain: true,
  })
  assert.deepEqual([results[0]?.content, abstained], ['Ada prefers replies in Dutch', false])
  for (const [at, { score, explain }] of results.entries()) {
    const sum = explain?.parts.reduce((total, { contribution }) => total + contribution, 0) ?? Number.NaN
    assert.ok(Math.abs(sum - score) < 1e-6)
    for (const { value, weight, contribution } of explain?.parts ?? [])
      assert.ok(Math.abs(value * weight - contribution) < 1e-4)
    assert.ok(at === 0 || score <= (results[at - 1]?.score ?? 0))
  }
  assert.equal((await memory.recall('Ada replies')).results[0]?.explain, null)
})

// Mutants: explained() without the hint, or without the base level, among its parts.
test('the hint of the sender and the age are parts of their own, and move a memory up or down', async () => {
  const memory = fresh()
  const said = { content: 'The gate code is on the door', occurredAt: '2026-10-31T20:00:00Z' }
  for (const salience of [-2, 0, 2]) await memory.store({ ...said, contextId: `chat ${salience}`, salience })
  const { results } = await memory.recall({ query: 'gate code', ...OPTIONS })
  const partOf = ({ explain }: (typeof results)[number], name: string) =>
    explain?.parts.find((part) => part.name === name)
  assert.deepEqual(
    results.map((result) => [result.contextId, partOf(result, 'hint')?.value]),
    [
      ['chat 2', 2],
      ['chat 0', undefined],
      ['chat -2', -2],
    ],
  )
  // Four hours to the power of −.5.
  for (const result of results) assert.ok(Math.abs((partOf(result, 'base')?.value ?? 0) - Math.log(0.5)) < 1e-4)
})

test('who may not read is refused, a question that is none is 400, and an empty memory abstains', async () => {
  const memory = fresh()
  const token = tenant.mint({ ...MEMORY_RIGHTS, ops: ['memory:write'] })
  const refused = await tenant.call('POST /v1/memory/recall', { query: 'x' }, { db: memory.db, token })
  assert.equal(refused.error.code, 'OPERATION_NOT_ALLOWED')
  const wrong = [{}, [], null, { query: 5 }, { query: '' }, { query: 'x', kinds: 'y' }, { query: 'x', asOf: 'then' }]
  for (const limit of [0, -1, 1.5, '5', null, 1e9]) wrong.push({ query: 'x', limit } as never)
  for (const tokenBudget of [0, -1, 1.5, 'x']) wrong.push({ query: 'x', tokenBudget } as never)
  for (const body of wrong) assert.equal((await memory.call('POST /v1/memory/recall', body)).status, 400)
  const empty = await memory.recall('What is the launch code?')
  assert.deepEqual([empty.results, empty.abstained, empty.asOfSeq], [[], true, 0])
  await memory.store('The kettle whistles')
  const none = await memory.recall('What is the launch code?')
  assert.deepEqual([none.results, none.abstained], [[], true])
})

test('recall is narrowed by kind, tag, actor, score, number and tokens', async () => {
  const memory = fresh()
  await memory.storeAll([
    { content: 'The meeting is on Monday', actor: 'ada', kind: 'fact', tags: ['a', 'b'] },
    { content: 'The meeting is on Friday', actor: 'bob', kind: 'plan', tags: ['b'] },
  ])
  const query = 'When is the meeting?'
  for (const narrow of [{ actors: ['Bob'] }, { kinds: ['plan'] }])
    assert.deepEqual(await memory.contents({ query, ...narrow }), ['The meeting is on Friday'])
  assert.deepEqual(await memory.contents({ query, tags: ['a', 'b'] }), ['The meeting is on Monday'])
  assert.equal((await memory.contents({ query, limit: 1 })).length, 1)
  const monday = { query: 'Is the meeting on Monday?', abstain: false }
  const [first, second] = (await memory.recall(monday)).results
  assert.ok(first && second && first.relevance > second.relevance)
  for (const least of [{ minScore: first.score }, { minRelevance: first.relevance }])
    assert.deepEqual(await memory.contents({ ...monday, ...least }), ['The meeting is on Monday'])
  assert.equal((await memory.contents({ query, tokenBudget: 11 })).length, 1)
  assert.equal((await memory.contents({ query, tokenBudget: 12 })).length, 2)
})

// Mutants: refuse() of filter.ts that knows no labels: the tagged ones are not among the candidates; gatherRows() that
// gives each item the first labels: lost when the tail becomes a segment.
test('what a kind or a tag narrows to is found however many others answer better', async () => {
  const memory = fresh()
  // Without an actor nothing is a copy too many.
  const better = facts(600).map(({ actor, ...fact }) => ({
    ...fact,
    content: `${fact.content}, says the harbour master`,
  }))
  const tagged = { content: 'A harbour', kind: 'place', tags: ['coast', 'quiet'], occurredAt: '2020-01-01T00:00:00Z' }
  await memory.storeAll([...better.slice(0, 300), tagged, ...better.slice(300)])
  const query = 'What did the harbour master say?'
  const check = async () => {
    assert.ok(!(await memory.contents({ query, limit: 200 })).includes('A harbour'))
    for (const narrow of [{ kinds: ['place', 'plan'] }, { tags: ['quiet'] }, { tags: ['quiet', 'coast'] }])
      assert.deepEqual(await memory.contents({ query, minScore: 0, ...narrow }), ['A harbour'])
    assert.deepEqual(await memory.contents({ query, minScore: 0, tags: ['quiet', 'busy'] }), [])
  }
  await check()
  await eventually(async () => (await indexedThrough(memory.db)) > 301)
  await check()
})

// Mutant: mem_index without its list of changed records: as of then a record stands in segment and tail, which is 500.
test('what was superseded is not recalled, in the tail or in a segment, unless as of a time when it held', async () => {
  const memory = fresh()
  const at = (day: number) => new Date(Date.UTC(2026, 0, day)).toISOString()
  const monday = await memory.store({ content: 'The launch meeting is on Monday', occurredAt: at(1) })
  const query = 'When is the launch meeting?'
  const check = async (holds: string) => {
    assert.deepEqual(await memory.contents(query), [`The launch meeting is on ${holds}`])
    assert.deepEqual(await memory.contents({ query, asOf: at(2) }), ['The launch meeting is on Monday'])
    assert.deepEqual(await memory.contents({ query, asOf: '2025-01-01T00:00:00Z' }), [])
  }
  await memory.storeAll(facts(260))
  await eventually(async () => (await indexedThrough(memory.db)) > 0)
  const friday = await memory.store({
    content: 'The launch meeting is on Friday',
    supersedes: monday.id,
    occurredAt: at(3),
  })
  await check('Friday')
  await memory.storeAll(facts(260).map(({ content, ...rest }) => ({ ...rest, content: `${content} again` })))
  await eventually(async () => (await indexedThrough(memory.db)) > 512)
  await check('Friday')
  await memory.store({ content: 'The launch meeting is on Sunday', supersedes: friday.id, occurredAt: at(5) })
  await check('Sunday')
})

// Mutants: `incomplete` always false; is_closed_cut false in mem_index.
test('as of a time, an answer says when records that were valid then may be missing', async () => {
  const memory = fresh()
  const asOf = '2026-01-01T00:00:00Z'
  const old = { content: 'A harbour', tags: ['old'], occurredAt: '2025-12-01T00:00:00Z' }
  const query = 'What did the harbour master say?'
  const ask = async (narrow: object = {}) => {
    const { results, incomplete } = await memory.recall({ query, asOf, minScore: 0, ...narrow })
    return [results.map(({ content }) => content), incomplete]
  }
  await memory.store(old)
  assert.deepEqual(await ask(), [['A harbour'], false])
  const later = facts(1_100).map(({ actor, ...fact }) => ({
    ...fact,
    content: `The harbour master said ${fact.content}`,
  }))
  await memory.storeAll(later.map((fact) => ({ ...fact, occurredAt: '2026-06-01T00:00:00Z' })))
  assert.deepEqual(await ask(), [[], true])
  assert.deepEqual(await ask({ tags: ['old'] }), [['A harbour'], false])
  assert.equal((await memory.recall({ query })).incomplete, false)

  // As many as are looked at: whether one of them held then is not the question.
  await daemon.sql(
    `insert into loci.records (instance_id, database, seq, id, changed_seq, context, position, value_mac, body, created_at,
        valid_from, valid_to, digest)
      select $1, $2, 1000000 + g, 'mem_' || g, 1000000 + g, 1, g, '', '{}', now(), $3, now(), '' from generate_series(1, 4096) g`,
    [tenant.instanceId, memory.db, asOf],
  )
  assert.deepEqual(await ask({ tags: ['old'] }), [['A harbour'], true])
})

// Mutant: without() that leaves the segment as it is: the word stands in its bytes.
test('a deleted memory is gone from records and index, leaves a receipt, and is not learned again', async () => {
  const memory = fresh()
  const secret = await memory.store({ content: 'The launch code is tulipsecret', sourceEventId: 'e1' })
  const spared = await memory.store('The launch pad is orange')
  await memory.storeAll(facts(256))
  await eventually(async () => (await indexedThrough(memory.db)) > 0)
  /** Not the whole word: a segment leaves out the letters that a term shares with the one before it. */
  const traces = () =>
    daemon.sql(
      `select 'segment' as place from loci.segments where database = $1 and position('lipsecret'::bytea in body) > 0
       union all select 'record' from loci.records where database = $1 and body like '%tulipsecret%'`,
      [memory.db],
    )
  assert.deepEqual(await traces(), [{ place: 'segment' }, { place: 'record' }])
  const before = await memory.recall({ query: 'launch code', abstain: false })
  assert.deepEqual(before.results.map(({ id }) => id).slice(0, 2), [secret.id, spared.id])
  const token = tenant.mint({ ...MEMORY_RIGHTS, ops: ['memory:read', 'memory:write'] })
  const refused = await tenant.call(`DELETE /v1/memory/records/${secret.id}`, undefined, { db: memory.db, token })
  assert.equal(refused.error.code, 'OPERATION_NOT_ALLOWED')

  const deleted = await memory.call(`DELETE /v1/memory/records/${secret.id}`)
  const { checked, receipt, tombstone } = deleted.json<{ checked: object[]; receipt: string; tombstone: string }>()
  assert.deepEqual(checked, [
    { place: 'records', found: 1, erased: 1 },
    { place: 'segments', found: 1, erased: 1 },
    { place: 'slots', found: 0, erased: 0 },
    { place: 'slot_versions', found: 0, erased: 0 },
    { place: 'cycles', found: 0, erased: 0 },
    { place: 'projections', found: 0, erased: 0 },
  ])
  assert.ok(tombstone.length > 0 && !deleted.text.includes('tulip'))
  const operator = tenant.mint({ ops: ['operator'], ks: ['*/*'] })
  const audit = await tenant.call('GET /v1/audit', undefined, { token: operator })
  assert.ok(audit.json<{ entries: { id: string; action: string }[] }>().entries.some(({ id }) => id === receipt))
  assert.equal((await memory.get(secret.id)).status, 404)
  assert.equal((await memory.call(`DELETE /v1/memory/records/${secret.id}`)).status, 404)
  const after = await memory.recall({ query: 'launch code', abstain: false })
  assert.ok(after.asOfSeq > before.asOfSeq && after.results.every(({ content }) => !content.includes('tulip')))
  assert.deepEqual(await traces(), [])

  for (const content of ['The launch code is tulipsecret', ' the  LAUNCH code is tulipsecret'])
    assert.equal((await memory.call('POST /v1/memory/records', { content })).error.code, 'MEMORY_FORGOTTEN')
  const batch = { records: [{ content: 'another' }, { content: 'The launch code is tulipsecret' }] }
  const whole = await memory.call('POST /v1/memory/records/batch', batch)
  assert.deepEqual([whole.error.code, whole.error.details], ['MEMORY_FORGOTTEN', { index: 1 }])
  const again = await memory.store({ content: 'The launch code is tulipsecret', override: true })
  assert.notEqual(again.id, secret.id)
  assert.equal((await memory.contents('launch code'))[0], 'The launch code is tulipsecret')
})

test('a repeat of the request that stored an erased memory shows its id alone', async () => {
  const memory = fresh()
  const send = () => memory.call('POST /v1/memory/records', { content: 'said once' }, { 'idempotency-key': 'once' })
  const { id } = (await send()).json<{ id: string }>()
  await memory.call(`DELETE /v1/memory/records/${id}`)
  const again = await send()
  assert.deepEqual([again.status, again.json()], [200, { id, redacted: true }])
})

// Mutant: without() that leaves the segment as it is: what was erased still counts until it is built again.
test('answers do not depend on how the records are cut into segments, nor on a cache', async () => {
  const memory = fresh()
  const stored = await memory.storeAll(facts(1_200))
  for (const n of [3, 400, 700])
    await memory.store({ content: `The anchor ${n}`, supersedes: stored[n]?.id, occurredAt: '2026-02-01T00:00:00Z' })
  await Promise.all([5, 6, 500, 900].map((n) => memory.call(`DELETE /v1/memory/records/${stored[n]?.id}`)))
  // What is left is less than a tail. Where the first build comes late it ends with the 1,000th, and the rest rests.
  await eventually(async () => (await indexedThrough(memory.db)) > 900)
  const questions = [
    ...TOPICS,
    ...PLACES,
    'item77',
    'where was the violin number 42 left?',
    'anchor',
    'what did Ada leave?',
  ]
  const ask = async () => {
    const all = []
    for (const query of questions) all.push((await memory.recall({ query, ...OPTIONS })).results)
    return all
  }
  const answers = await ask()
  assert.ok(answers.slice(0, -1).every((results) => results.length > 0))
  const asked = (body: object) => ({
    ...{ body, headers: { 'x-loci-capability': tenant.mint(MEMORY_RIGHTS), 'x-loci-database': memory.db } },
  })
  /** By a process that has nothing in memory, and by the one that has everything. */
  const same = async (why: string) => {
    await using replica = await testDaemon({ replicaOf: daemon })
    await eventually(async () => (await replica.ask('POST /v1/memory/recall', asked({ query: 'x' }))).status === 200)
    for (const [at, question] of questions.entries()) {
      let cold: TestAnswer
      // A busy machine may be late with what it rebuilds.
      do cold = await replica.ask('POST /v1/memory/recall', asked({ query: question, ...OPTIONS }))
      while (cold.status === 503)
      assert.deepEqual(cold.json<TestRecall>().results, answers[at], `${why}: ${question}`)
    }
    assert.deepEqual(await ask(), answers, why)
  }
  await same('cold')
  await daemon.sql(`update loci.segments set body = '\\x00' || substr(body, 2) where database = $1`, [memory.db])
  await same('with damaged bytes')
  await eventually(async () =>
    (await segmentsOf(memory.db)).every(({ format, items }) => format !== 0 && Number(items) > 0),
  )
  await same('built again')
  await daemon.sql('delete from loci.segments where database = $1', [memory.db])
  await same('without any segment')
  await daemon.sql(
    `insert into loci.due (instance_id, database, kind, at) values ($1, $2, 'index', now())
     on conflict (instance_id, database, kind) do update set at = now()`,
    [tenant.instanceId, memory.db],
  )
  await eventually(async () => (await segmentsOf(memory.db)).length > 0)
  await same('built from the records')
})

// Mutants: mem_index_commit without its comparison of the list, or of erased_at; mem_erase without its comparison of
// the covering segments; mem_index_commit that takes the work off the list while a segment is to be built again.
test('what was made of an index that has changed since is refused, and what was damaged meanwhile stays due', async () => {
  const memory = fresh()
  const [first] = await memory.storeAll(facts(300))
  await eventually(async () => (await indexedThrough(memory.db)) > 0)
  const [{ id = 0, from_seq: seq = 0 } = {}] = await segmentsOf(memory.db)
  const erased = await daemon.sql(
    `select outcome from loci.mem_erase($1, $2, array[$3::bigint], 'erased', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`,
    [tenant.instanceId, memory.db, seq],
  )
  assert.deepEqual([erased, (await memory.get(first?.id ?? '')).status], [[{ outcome: 'moved' }], 200])
  /** An empty build, as of now but for what is told. */
  const commit = (ids: string, erasedAt: string) =>
    `loci.mem_index_commit(h.instance_id, h.name, ${ids}, ${erasedAt}, h.mem_indexed_at, h.mem_indexed_through,
      '{}', '{}', '{}', '{}', '{}', '{}', '{}')`
  const committed = await daemon.sql(
    `select ${commit(`'{}'`, 'h.mem_erased_at')} as list, ${commit(`array[${id}]::bigint[]`, 'h.mem_erased_at - 1')} as erasure
     from loci.databases h where h.name = $1`,
    [memory.db],
  )
  assert.deepEqual(committed, [{ list: 'moved', erasure: 'moved' }])
  // In one transaction: the build began before the segment was found damaged, and ends after it.
  await daemon.sql(`do $$ declare h loci.databases; begin
    select * into h from loci.databases d where d.name = '${memory.db}';
    perform loci.mem_drop_segments(h.instance_id, h.name, array[${id}]);
    assert ${commit(`array[${id}]::bigint[]`, 'h.mem_erased_at')} = 'done';
    assert exists (select from loci.due d where d.database = h.name and d.kind = 'index'), 'the index is not due';
  end $$`)
  await eventually(async () => (await segmentsOf(memory.db)).every(({ format }) => format !== 0))
})

test('two erasures and a build at once leave neither record behind', async () => {
  const memory = fresh()
  const stored = await memory.storeAll(facts(300))
  await eventually(async () => (await indexedThrough(memory.db)) > 0)
  const gone = stored.slice(0, 12)
  const writes = memory.storeAll(facts(300).map(({ content, ...rest }) => ({ ...rest, content: `Later ${content}` })))
  const answers = await Promise.all(gone.map(({ id }) => memory.call(`DELETE /v1/memory/records/${id}`)))
  await writes
  assert.ok(answers.every(({ status }) => status === 200 || status === 503))
  const left = gone.filter((_, at) => answers[at]?.status === 503)
  for (const { id } of left) assert.equal((await memory.call(`DELETE /v1/memory/records/${id}`)).status, 200)
  await eventually(async () => (await indexedThrough(memory.db)) > 512)
  for (const { content } of gone) assert.ok(!(await memory.contents(content)).includes(content))
  assert.ok((await memory.contents(stored[20]?.content ?? '')).includes(stored[20]?.content ?? ''))
})

test('a memory whose time is over is not seen at once, and leaves records and segments by itself', async () => {
  const memory = fresh()
  const { id } = await memory.store({ content: 'The parking ticket is valid', ttlMs: 1_500, sourceEventId: 'park' })
  await memory.storeAll(facts(256))
  await eventually(async () => (await memory.get(id)).status === 404)
  assert.deepEqual(await memory.contents('parking ticket'), [])
  await eventually(async () => (await daemon.sql('select 1 from loci.records where id = $1', [id])).length === 0)
  const traces = await daemon.sql(
    `select 1 from loci.segments where database = $1 and position('park'::bytea in body) > 0`,
    [memory.db],
  )
  assert.deepEqual(traces, [])
  const again = await memory.store({ content: 'The parking ticket is valid', sourceEventId: 'park' })
  assert.notEqual(again.id, id)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { PROJECTION_CLASSES } from '@loci/contract/projections.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { fullConsistency } from '../testing/consistency.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { listPending } from './store.ts'

let daemon: TestDaemon
let authority: TestAuthority
let own: TestInstance
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
  own = await authority.addInstance()
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

interface Result {
  accepted: boolean
  projectionId: string
  projectionClass: string
  sourceEventId: string
  lociNamespace: string
  appliedSeq: number
  duplicate: boolean
}

let last = 0
const CLASSES = [...PROJECTION_CLASSES]

/** A partner of a database of its own. */
async function fresh({ of = own, classes = CLASSES, partner = 'crm', db = '' } = {}) {
  last += 1
  const database = db || `db-${last}`
  const token = await partnerToken(authority, of, classes, { partner, database })
  const headers = { authorization: `Bearer ${token}` }
  const send = (body: unknown): Promise<TestAnswer> => daemon.ask('POST /v1/partner/projections', { body, headers })
  const project = async <Answer = Result>(body: unknown): Promise<Answer> => {
    const answer = await send(body)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<Answer>()
  }
  const memory = of.root({ ops: ['memory:read', 'memory:delete'], ks: ['memory/*'] })
  const read = async (line: string, body?: unknown) =>
    of.call(memory, line, { ...(body ? { body } : {}), headers: { 'x-loci-database': database } })
  const records = async () => (await read('GET /v1/memory/records')).json<{ records: Remembered[] }>().records
  return { database, send, project, read, records }
}

interface Remembered {
  id: string
  content: string
  kind: string
  actor: string
  source: { type: string; ref: string; trust: string }
  metadata: Record<string, unknown>
}

const envelope = (fields: Record<string, unknown> = {}) => {
  last += 1
  return { projection_class: 'event', source_event_id: `evt-${last}`, ...fields }
}

// specification 11 145
test('a projection is answered with its id, class, event and namespace, and its place in the order', async () => {
  const { project, database } = await fresh()
  const sent = envelope({ payload: { a: 1 }, colour: 'green' })
  const first = await project(sent)
  // specification 52 53 54 55 56
  const { projectionId, appliedSeq, ...rest } = first
  assert.match(projectionId, /^prj_[0-9a-z]{26}$/)
  assert.deepEqual(rest, {
    accepted: true,
    projectionClass: 'event',
    sourceEventId: sent.source_event_id,
    lociNamespace: [own.org, own.ten, own.svc, database].join('/'),
    duplicate: false,
  })
  assert.ok((await project(envelope())).appliedSeq > appliedSeq)
  assert.deepEqual(await project(Object.fromEntries(Object.entries(sent).reverse())), { ...first, duplicate: true })
})

test('other content under the same event and class, or another’s projection_id, is a conflict; another class or partner is not', async () => {
  const { send, project, database } = await fresh()
  const sent = envelope({ payload: { a: 1 }, projection_id: 'mine' })
  assert.equal((await project(sent)).projectionId, 'mine')
  for (const other of [
    { ...sent, payload: { a: 2 } },
    { ...sent, projection_id: 'other' },
    envelope({ projection_id: 'mine' }),
  ]) {
    const { status, error } = await send(other)
    assert.deepEqual([status, error.code], [409, 'PROJECTION_CONFLICT'], JSON.stringify(other))
  }
  assert.equal((await project({ ...sent, projection_class: 'tool_outcome', projection_id: 'yours' })).duplicate, false)
  const neighbour = await fresh({ partner: 'erp', db: database })
  assert.equal((await neighbour.project({ ...sent, payload: { a: 3 } })).duplicate, false)
})

// Mutant: `is_given` false for all in prj_insert().
test('a repeat without the id that was given is the same projection', async () => {
  const { project } = await fresh()
  const sent = envelope()
  const first = await project({ ...sent, projection_id: 'given' })
  assert.deepEqual(await project(sent), { ...first, duplicate: true })
})

test('simultaneous deliveries of one event, alone and in arrays, make one projection', async () => {
  const { project } = await fresh()
  const sent = envelope()
  const answers = await Promise.all(
    Array.from({ length: 12 }, async (_, at) =>
      at % 3 === 0 ? (await project<Result[]>([envelope(), sent]))[1] : project(sent),
    ),
  )
  assert.equal(new Set(answers.map((one) => one?.projectionId)).size, 1)
  assert.equal(answers.filter((one) => one?.duplicate === false).length, 1)
})

// Mutant: no `raise` in prj_write().
test('an array is answered in its order, and applied whole or not at all; a refusal names the envelope', async () => {
  const { send, project, records } = await fresh()
  const sent = [envelope(), envelope({ projection_class: 'fact', payload: 'Ada likes tea' }), envelope()]
  const results = await project<Result[]>(sent)
  assert.deepEqual(
    results.map(({ sourceEventId, projectionClass }) => [sourceEventId, projectionClass]),
    sent.map((one) => [one.source_event_id, one.projection_class]),
  )
  assert.deepEqual(
    await project<Result[]>(sent),
    results.map((one) => ({ ...one, duplicate: true })),
  )
  const good = envelope({ projection_class: 'fact', payload: 'Ada likes coffee' })
  const conflict = await send([good, { ...sent[0], payload: 'other' }])
  assert.deepEqual([conflict.error.code, conflict.error.details], ['PROJECTION_CONFLICT', { index: 1 }])
  const bad = await send([good, envelope({ projection_class: 'dream' })])
  assert.equal(bad.status, 400)
  assert.match(bad.error.message, /Projection 1 of the array/)
  assert.equal((await project(good)).duplicate, false)
  assert.deepEqual((await records()).map(({ content }) => content).sort(), ['Ada likes coffee', 'Ada likes tea'])
})

// Mutants: `w.class = 'event'` false, a digest without task_class, `sum(m.bytes)` 0, `folded` 0 and `pending` 0 in
// prj_write_plain(), or no `exception` there.
test('projections that arrive together and only add are stored as they are one by one', async () => {
  const together = await fresh()
  const single = await fresh()
  // While something is awaited, each is looked at by itself.
  for (const one of [together, single])
    await one.project(envelope({ projection_class: 'retraction', supersedes: 'never comes' }))
  await daemon.sql('update loci.databases set prj_awaited = 0 where name = $1', [together.database])
  const sent = [
    envelope({ payload: { a: 1 }, task_class: 'support', projection_id: 'given' }),
    envelope({ projection_class: 'tool_outcome', tools: [{ tool_id: 't', outcome: 'success' }], ttl_ms: 3_600_000 }),
    envelope({ projection_class: 'retraction' }),
    envelope({ projection_class: 'fact', ttl_ms: 3_600_000 }),
    envelope({ task_intent: 'count ¼ of them', ttl_ms: 3_600_000 }),
  ]
  const results = await together.project<Result[]>(sent)
  assert.deepEqual(
    results.map(({ appliedSeq }) => appliedSeq),
    (await single.project<Result[]>(sent)).map(({ appliedSeq }) => appliedSeq),
  )
  const rowsOf = ({ database }: { database: string }) =>
    daemon.sql(
      `select p.seq::int, partner, class, encode(key_mac, 'hex') as key, encode(content_mac, 'hex') as content, task_class, body, target,
        encode(said_mac, 'hex') as said, encode(intent_mac, 'hex') as intent, takes_back, taken_by, record_id, is_pending, extract(epoch from expires_at - p.created_at) as ttl, digest = loci.prj_digest(p) as fits,
        h.seq::int as head, prj_rows, prj_bytes, prj_pending, prj_folded, prj_unsettled, (select array_agg(kind order by kind) from loci.due d
          where d.instance_id = h.instance_id and d.database = h.name) as due
      from loci.projections p join loci.databases h on h.instance_id = p.instance_id and h.name = p.database
      where p.database = $1 and p.target is null order by p.seq`,
      [database],
    )
  const rows = await rowsOf(together)
  assert.equal(rows.length, sent.length)
  assert.ok(rows.every(({ fits }) => fits))
  assert.deepEqual(rows, await rowsOf(single))
  assert.deepEqual(
    await together.project<Result[]>(sent),
    results.map((one) => ({ ...one, duplicate: true })),
  )
  await daemon.sql('update loci.databases set prj_awaited = 1 where name = $1', [together.database])
  assert.equal(await consistency(), 'consistent')
})

test('an envelope that says the same event twice in one array is stored once, or refused', async () => {
  const { send, project } = await fresh()
  const sent = envelope()
  const [one, two] = await project<Result[]>([sent, sent])
  assert.deepEqual({ ...two, duplicate: false }, one)
  const other = envelope()
  assert.equal((await send([other, { ...other, payload: 1 }])).error.code, 'PROJECTION_CONFLICT')
})

test('hostile envelopes are refused with 400 or 413 and store nothing', async () => {
  const { send, database } = await fresh()
  const refused = [
    ...[{}, null, 'x', 5, [], [null], [[]], { source_event_id: 'e' }, { projection_class: 'event' }],
    ...[{ projection_class: 'dream' }, { source_event_id: '' }, { source_event_id: 'x'.repeat(257) }].map(envelope),
    ...[{ tools: 'x' }, { tools: [{ tool_id: 't', outcome: 'maybe' }] }, { tools: [{ outcome: 'success' }] }].map(
      envelope,
    ),
    ...[{ occurred_at: 'yesterday' }, { confidence: 'high' }, { confidence: 2 }, { evidence_refs: 'x' }].map(envelope),
    ...[{ ttl_ms: -1 }, { ttl_ms: 0.5 }, { projection_id: '' }, { supersedes: 'a', projection_id: 'a' }].map(envelope),
    ...[{ scope: 'x'.repeat(4_096) }, { payload: 'x'.repeat(300_000) }, { task_intent: 'x'.repeat(9_000) }].map(
      envelope,
    ),
    ...[{ tools: Array(65).fill({ tool_id: 't', outcome: 'success' }) }, { tools: [{ tool_id: 't\0' }] }].map(envelope),
    envelope({ projection_class: 'fact', payload: 'x'.repeat(17_000) }),
    Array.from({ length: 501 }, () => envelope()),
    '{"projection_class":"event","source_event_id":"e","__proto__":{"a":1}}',
    '{"projection_class":"event","source_event_id":"\\ud800"}',
    `{"projection_class":"event","source_event_id":"e","payload":${'['.repeat(40)}${']'.repeat(40)}}`,
    '{"projection_class":"event","source_event_id":"e","confidence":1e999}',
  ]
  for (const body of refused) {
    const { status, text } = await send(body)
    assert.ok(
      status === 400 || status === 413 || status === 415,
      `${status} ${text} ${JSON.stringify(body).slice(0, 80)}`,
    )
  }
  assert.deepEqual(await daemon.sql('select 1 from loci.projections where database = $1', [database]), [])
})

test('a class that the credential is not good for is refused, alone and inside an array, and nothing is stored', async () => {
  const { send, database } = await fresh({ classes: ['event'] })
  for (const body of [envelope({ projection_class: 'fact' }), [envelope(), envelope({ projection_class: 'fact' })]]) {
    const { status, error } = await send(body)
    assert.deepEqual([status, error.code], [403, 'OPERATION_NOT_ALLOWED'])
  }
  assert.deepEqual(await daemon.sql('select 1 from loci.projections where database = $1', [database]), [])
})

test('facts and preferences become memory that says from whom it is; what was deleted from memory is not learned again', async () => {
  const { project, records, read, database } = await fresh()
  const { projectionId } = await project(
    envelope({ projection_class: 'fact', payload: { content: 'Ada lives in Utrecht' }, source_system: 'crm' }),
  )
  await project(envelope({ projection_class: 'preference', payload: { tone: 'short' } }))
  await project(envelope({ projection_class: 'fact' }))
  const [preference, fact, ...more] = await records()
  assert.deepEqual(more, [])
  assert.deepEqual([preference?.content, preference?.kind], ['{"tone":"short"}', 'preference'])
  assert.deepEqual([fact?.content, fact?.kind, fact?.actor], ['Ada lives in Utrecht', 'fact', 'crm'])
  assert.deepEqual([fact?.source.type, fact?.source.ref, fact?.source.trust], ['projection', projectionId, 'partner'])
  const { results } = (await read('POST /v1/memory/recall', { query: 'Where does Ada live?' })).json<{
    results: Remembered[]
  }>()
  assert.equal(results[0]?.content, 'Ada lives in Utrecht')

  assert.equal((await read(`DELETE /v1/memory/records/${fact?.id}`)).status, 200)
  await project(envelope({ projection_class: 'fact', payload: 'ada lives in  UTRECHT' }))
  assert.deepEqual(
    (await records()).map(({ content }) => content),
    ['{"tone":"short"}'],
  )
  const stored = JSON.stringify(await daemon.sql('select * from loci.projections where database = $1', [database]))
  assert.ok(!/utrecht/i.test(stored), 'the content stands in memory alone')
})

// Mutants: no prj_unsay() in prj_write(); `and p.partner = p_new.partner` left out in prj_insert().
test('a retraction takes back exactly what was added, once, and only from its own partner', async () => {
  const { project, records, database, read } = await fresh()
  const thief = await fresh({ partner: 'thief', db: database })
  const { projectionId } = await project(envelope({ projection_class: 'fact', payload: 'Ada likes tea' }))
  await project(envelope({ projection_class: 'fact', payload: 'Ada likes cake' }))
  const [, tea] = await records()

  await thief.project(envelope({ projection_class: 'retraction', supersedes: projectionId }))
  assert.equal((await records()).length, 2)

  for (let n = 0; n < 2; n += 1) await project(envelope({ projection_class: 'retraction', supersedes: projectionId }))
  assert.deepEqual(
    (await records()).map(({ content }) => content),
    ['Ada likes cake'],
  )
  assert.equal((await read(`GET /v1/memory/records/${tea?.id}`)).status, 404)
  const recalled = await read('POST /v1/memory/recall', { query: 'What does Ada like: tea?' })
  assert.ok(!recalled.text.includes('tea'), recalled.text)
  await eventually(async () => (await daemon.sql('select 1 from loci.records where id = $1', [tea?.id])).length === 0)
  // It was taken back, not forgotten: the same can be told again.
  await project(envelope({ projection_class: 'fact', payload: 'Ada likes tea' }))
  assert.equal((await records()).length, 2)
  assert.equal(await consistency(), 'consistent')
})

// Mutant: `v_awaiting` left 0 in prj_insert().
test('a retraction that arrives before what it retracts lets it add nothing; so does what supersedes it', async () => {
  const { project, records, database } = await fresh()
  await project(envelope({ projection_class: 'retraction', supersedes: 'late' }))
  await project(envelope({ projection_class: 'fact', payload: 'the new one', supersedes: 'later' }))
  const late = envelope({ projection_class: 'fact', payload: 'late', projection_id: 'late' })
  assert.deepEqual([(await project(late)).duplicate, (await project(late)).duplicate], [false, true])
  await project(envelope({ projection_class: 'fact', payload: 'later', projection_id: 'later' }))
  assert.deepEqual(
    (await records()).map(({ content }) => content),
    ['the new one'],
  )
  const [head] = await daemon.sql('select prj_awaited::int from loci.databases where name = $1', [database])
  assert.deepEqual(head, { prj_awaited: 0 })
})

test('outcomes stand in their order, with what each takes back and what came too late to count', async () => {
  const { project, database } = await fresh()
  const outcome = (fields: object = {}) =>
    envelope({
      projection_class: 'tool_outcome',
      task_class: 'support',
      tools: [{ tool_id: 't', outcome: 'success' }],
      ...fields,
    })
  const first = await project(outcome())
  await project(envelope({ projection_class: 'event', task_class: 'support' }))
  const early = await project(envelope({ projection_class: 'retraction', supersedes: 'void' }))
  const second = await project(outcome({ supersedes: first.projectionId }))
  const late = await project(outcome({ projection_id: 'void' }))
  const back = await project(envelope({ projection_class: 'retraction', supersedes: second.projectionId }))
  await project(envelope({ projection_class: 'retraction', supersedes: second.projectionId }))
  await project(envelope({ projection_class: 'retraction', supersedes: early.projectionId }))

  const all = await daemon.sql(
    `select seq::int, takes_back::int as back, coalesce(taken_by < seq, false) as void, body is not null as told
      from loci.projections where database = $1 and (class = 'tool_outcome' or takes_back is not null) order by seq`,
    [database],
  )
  assert.deepEqual(
    all.map((row) => [row.seq, row.back, row.void, row.told]),
    [
      [first.appliedSeq, null, false, true],
      [second.appliedSeq, first.appliedSeq, false, true],
      [late.appliedSeq, null, true, true],
      [back.appliedSeq, second.appliedSeq, false, false],
    ],
  )
})

test('events wait for a cycle in their order, and one runs when 32 of them do', async () => {
  const { project, database } = await fresh()
  const due = () => daemon.sql(`select 1 from loci.due where database = $1 and kind = 'cycle'`, [database])
  const sent = Array.from({ length: 31 }, (_, n) => envelope({ payload: `event ${n}` }))
  const results = await project<Result[]>(sent)
  await project(envelope({ projection_class: 'retraction', supersedes: results[0]?.projectionId }))
  await project(envelope())
  assert.equal((await due()).length, 0)
  const pending = await listPending(authority.pool, own.svc, database, 100)
  assert.deepEqual([pending.length, JSON.parse(pending[0]?.body ?? '').payload], [31, 'event 1'])
  await project(envelope())
  await eventually(async () => (await listPending(authority.pool, own.svc, database, 100)).length === 0, 180_000)
})

test('when its time is over the content is gone and the row still tells repeats', async () => {
  const { project, send, database } = await fresh()
  const sent = envelope({ projection_class: 'tool_outcome', payload: 'canary-8c1d', task_intent: 'x', ttl_ms: 1 })
  const first = await project(sent)
  const stored = async () =>
    JSON.stringify(await daemon.sql('select body from loci.projections where database = $1', [database]))
  await eventually(async () => (await stored()) === '[{"body":null}]')
  assert.deepEqual(await project(sent), { ...first, duplicate: true })
  assert.equal((await send({ ...sent, payload: 'other' })).error.code, 'PROJECTION_CONFLICT')
  const [head] = await daemon.sql('select prj_erased_at::int > 0 as erased from loci.databases where name = $1', [
    database,
  ])
  assert.deepEqual(head, { erased: true })
  assert.equal(await consistency(), 'consistent')
})

test('beyond the plan’s records nothing is stored, and repeats are answered', async () => {
  const small = await authority.addInstance({ limits: { records: 2 } as never })
  const { send, project } = await fresh({ of: small })
  const sent = [envelope(), envelope()]
  const results = await project<Result[]>(sent)
  assert.equal((await send(envelope())).error.code, 'QUOTA_EXCEEDED')
  assert.equal((await send([sent[0], envelope()])).error.code, 'QUOTA_EXCEEDED')
  assert.deepEqual(await project(sent[0]), { ...results[0], duplicate: true })
})

function consistency(): Promise<string> {
  const operator = own.root({ ops: ['system:read'], ks: ['*/*'] })
  return fullConsistency((line) => own.call(operator, line))
}

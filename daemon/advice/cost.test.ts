import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'

/** So slow a rate that nothing is refilled while the test runs. */
const LIMITS = { databases: 10, records: 1e4, bytes: 1e8, streams: 1, requests_per_second: 0.001, burst: 100 }
const RULES = 200

// Mutant: the count of matches left out of advise().
test('rules that are held against tools are charged: many of both cost more than the request says', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const candidateTools = Array.from({ length: 2_000 }, (_, n) => `tool-${n}`)
  const ask = { taskClass: 'support', taskIntent: 'refund', sourceEventId: 'evt-1', candidateTools, limit: 1 }
  for (const count of [1, RULES]) {
    const instance = await authority.addInstance({ limits: LIMITS })
    const token = instance.root({ ops: ['advice:read', 'kv:read', 'operator'], ks: ['*/*'] })
    // On a busy machine again.
    const call = async (line: string, body?: unknown) => {
      for (;;) {
        const { status } = await instance.call(token, line, { body })
        if (status < 500) return status
      }
    }
    const rules = Array.from({ length: count }, (_, n) => ({ effect: 'deny', tool: `*none-${n}*` }))
    assert.equal(await call('PUT /v1/advice/policies/default', { rules }), 200)
    // One that failed is charged too.
    assert.ok([200, 429].includes(await call('POST /v1/advice/rank', ask)))
    // 400,000 matches are 100 units.
    assert.equal(await call('GET /v1/kv/entries?limit=1'), count === RULES ? 429 : 200)
  }
})

/** What is left of the burst, in small reads. */
async function left(instance: TestInstance): Promise<number> {
  const token = instance.root({ ops: ['kv:read'], ks: ['*/*'] })
  for (let count = 0; ; count += 1)
    if ((await instance.call(token, 'GET /v1/kv/entries?limit=1')).status === 429) return count
}

const TOLD = Array.from({ length: 200 }, (_, n) => ({
  ...{ projection_class: 'tool_outcome', source_event_id: `evt-${n}`, task_class: 'support' },
  tools: [{ tool_id: `tool-${n % 10}`, outcome: 'success' }],
}))
const named = (count: number) => Array.from({ length: count }, (_, n) => `candidate-${n}`)

/** An instance that was told so much (200 outcomes of ten tools), then asked; where a busy machine refused, another. */
async function asked(
  authority: TestAuthority,
  daemon: TestDaemon,
  requests: object[],
  told = [TOLD] as object[][],
): Promise<number> {
  for (;;) {
    const instance = await authority.addInstance({ limits: LIMITS })
    const token = await partnerToken(authority, instance, ['tool_outcome', 'event'], { partner: 'crm' })
    const send = (line: string, body: unknown) =>
      daemon.ask(line, { body, headers: { authorization: `Bearer ${token}` } })
    const ask = { task_class: 'support', task_intent: 'refund', source_event_id: 'ask', run_id: 'run', scope: null }
    // Else events that wait begin a cycle, which is charged as well.
    const operator = instance.root({ ops: ['operator'], ks: ['*/*'] })
    const body = { pressure: { pendingEvents: 10_000 } }
    const answers = [await instance.call(operator, 'PUT /v1/cognitive/config', { body })]
    for (const array of told) answers.push(await send('POST /v1/partner/projections', array))
    for (const fields of requests) answers.push(await send('POST /v1/advice/tools:rank', { ...ask, ...fields }))
    if (answers.every(({ status }) => status < 500)) {
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
      return left(instance)
    }
  }
}

// Mutants: ROWS.read or ROWS.named left out of what is counted; find() that never finds anything.
test('a rank is charged for the outcomes that it reads, not again while they are kept, and for new candidates', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const [none = 0, once = 0, twice = 0, few = 0, many = 0, again = 0] = [
    await asked(authority, daemon, []),
    await asked(authority, daemon, [{}]),
    await asked(authority, daemon, [{}, {}]),
    await asked(authority, daemon, [{ candidate_tools: named(10) }]),
    await asked(authority, daemon, [{ candidate_tools: named(1_000) }]),
    await asked(authority, daemon, [{ candidate_tools: named(1_000) }, { candidate_tools: named(1_000) }]),
  ]
  // 200 outcomes are 20 units, and the request one.
  assert.ok(none - once >= 20 && none - once <= 24, `the first cost ${none - once}`)
  assert.ok(once - twice >= 1 && once - twice <= 3, `the second cost ${once - twice}`)
  // 1,000 members of the body are 4 units, their words 15 and their ranking 1.
  assert.equal(none - few, 1)
  assert.ok(none - many >= 19 && none - many <= 24, `new candidates cost ${none - many}`)
  assert.ok(many - again >= 5 && many - again <= 8, `the same again cost ${many - again}`)
})

// Mutants: ROWS.event = ROWS.read (nothing is left), or 0; advice_evidence() that reads events without references too.
test('events that a rank reads for their references cost a tenth of an outcome, and those without any nothing', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const eventsOf = (from: number, fields: object) =>
    Array.from({ length: 500 }, (_, n) => ({
      ...{ projection_class: 'event', source_event_id: `said-${from + n}`, task_class: 'support', ...fields },
      payload: { content: 'The customer asked for a refund.' },
    }))
  const costOf = async (fields: object) => {
    const told = [TOLD.slice(0, 10), eventsOf(0, fields), eventsOf(500, fields)]
    return (await asked(authority, daemon, [], told)) - (await asked(authority, daemon, [{}], told))
  }
  const [referring, silent] = [await costOf({ evidence_refs: ['case 1'] }), await costOf({})]
  assert.ok(silent >= 1 && silent <= 3, `beside 1,000 events without references it cost ${silent}`)
  assert.ok(referring - silent >= 10 && referring - silent <= 16, `with references ${referring - silent} more`)
})

/** An instance that was told, and its snapshot is stored; where a busy machine refused, another one. */
async function stored(authority: TestAuthority, daemon: TestDaemon, told: object[][]) {
  for (;;) {
    const instance = await authority.addInstance({ limits: { ...LIMITS, burst: 400 } })
    const token = await partnerToken(authority, instance, ['tool_outcome'], { partner: 'crm' })
    const send = (line: string, body: unknown) =>
      daemon.ask(line, { body, headers: { authorization: `Bearer ${token}` } })
    const answers = []
    for (const array of told) answers.push(await send('POST /v1/partner/projections', array))
    if (answers.some(({ status }) => status >= 500)) continue
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    const due = `select from loci.due where kind = 'advice' and instance_id = $1`
    await eventually(async () => (await daemon.sql(due, [instance.svc])).length === 0)
    const ask = { task_class: 'support', task_intent: 'refund', source_event_id: 'ask', run_id: 'run', limit: 100 }
    // What was begun and refused is charged too: whoever asks looks at the least that it costs.
    const rank = async (scope: string | null) => {
      for (let status = 503; status >= 500; ) {
        status = (await send('POST /v1/advice/tools:rank', { ...ask, scope })).status
        assert.ok(status === 200 || status >= 500, `${status}`)
      }
    }
    return { instance, rank }
  }
}

const INTENT = Array.from({ length: 100 }, (_, n) => `word${n}x`).join(' ')
const of20 = (id: string, fields: object) => ({
  ...{ projection_class: 'tool_outcome', source_event_id: id, task_class: 'support', ...fields },
  tools: Array.from({ length: 20 }, (_, n) => ({ tool_id: `tool-${n}`, outcome: 'success' })),
})

// It cost 1, and took 160 ms of processor with a hundred tools. Mutant: `evidence.looked` left out of advise().
test('outcomes of another scope that a rank looks at are charged', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const scoped = Array.from({ length: 260 }, (_, n) => of20(`evt-${n}`, { scope: 'a' }))
  const { instance, rank } = await stored(authority, daemon, [[of20('bare', {})], scoped])
  // What is told behind the snapshot is folded by the first.
  await rank('b')
  await left(instance)
  await instance.change({ limits: { ...LIMITS, burst: 500 } })
  await rank('c')
  // 4,000 looks are 6 units, and the request one.
  const cost = 100 - (await left(instance))
  assert.ok(cost >= 6, `it cost ${cost}`)
})

// A statement that is cancelled at its deadline had cost nothing. Mutant: countRows() behind readRecent().
test('what a failure budget would read is charged where it cannot be read in time too', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const told = Array.from({ length: 50 }, (_, n) => ({
    ...{ projection_class: 'tool_outcome', source_event_id: `evt-${n}`, task_class: 'support' },
    tools: Array.from({ length: 64 }, (_, at) => ({ tool_id: `tool-${at}`, outcome: 'success' })),
  }))
  const { instance, rank } = await stored(authority, daemon, [told])
  const operator = instance.root({ ops: ['operator'], ks: ['*/*'] })
  const body = { rules: [{ effect: 'deny', tool: '*', failureBudget: 0.5 }] }
  for (let status = 0; status !== 200; )
    status = (await instance.call(operator, 'PUT /v1/advice/policies/default', { body })).status
  await rank(null)
  await left(instance)
  await instance.change({ limits: { ...LIMITS, burst: 500 } })
  await daemon.sql(`alter function loci.advice_recent rename to real_recent`)
  await daemon.sql(`create function loci.advice_recent(text, text, text, text[], int, int[], bigint, jsonb) returns table (tool text, outcome text)
    language plpgsql as $$ begin raise exception 'too long' using errcode = '57014'; end $$`)
  const token = instance.root({ ops: ['advice:read'], ks: ['*/*'] })
  const ask = { taskClass: 'support', taskIntent: 'refund', sourceEventId: 'ask' }
  // Three times: a busy machine may refuse one before it reads anything.
  for (let n = 0; n < 3; n += 1)
    assert.equal((await instance.call(token, 'POST /v1/advice/rank', { body: ask })).status, 503)
  // 64 times 51 outcomes are 9 units, and the request one.
  const cost = 100 - (await left(instance))
  assert.ok(cost >= 10, `they cost ${cost}`)
})

const TOOLS_1024 = Array.from({ length: 16 }, (_, n) => ({
  ...{ projection_class: 'tool_outcome', source_event_id: `tools-${n}`, task_class: 'support' },
  tools: Array.from({ length: 64 }, (_, at) => ({ tool_id: `tool-${n * 64 + at}`, outcome: 'success' })),
}))
const outcomes = (count: number, outcome: string) =>
  Array.from({ length: count }, (_, n) => ({
    ...{ projection_class: 'tool_outcome', source_event_id: `evt-${n}`, task_class: 'support', task_intent: INTENT },
    tools: [{ tool_id: 'tool-1', outcome }],
  }))

// Seconds of folding cost 1. Mutant: what was folded counted behind states.read(), not in `finally`.
test('what a rank has folded is charged where the rest could not be read', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const { instance } = await stored(authority, daemon, [TOOLS_1024, outcomes(180, 'failure')])
  await left(instance)
  await instance.change({ limits: { ...LIMITS, burst: 500 } })
  // In pages of 50, of which the last cannot be read.
  const begins = `perform set_config('loci.instance', p_instance, true);`
  const broken = `p_limit := least(p_limit, 50); if p_after >= 150 then raise exception 'too long' using errcode = '57014'; end if;`
  await daemon.sql(
    `do $do$ begin execute replace(pg_get_functiondef('loci.advice_tail'::regproc), $a$${begins}$a$, $b$${begins} ${broken}$b$); end $do$`,
  )
  const token = instance.root({ ops: ['advice:read'], ks: ['*/*'] })
  const body = { taskClass: 'support', taskIntent: 'refund', sourceEventId: 'ask' }
  // Three times: a busy machine may refuse one before it folds anything.
  for (let n = 0; n < 3; n += 1)
    assert.equal((await instance.call(token, 'POST /v1/advice/rank', { body })).status, 503)
  // 134 times 1,024 tools are 8 units, and the words of their intents 20.
  const cost = 100 - (await left(instance))
  assert.ok(cost >= 20, `they cost ${cost}`)
})

// Mutant: rates.charge() left out of jobs.ts.
test('what is folded for a snapshot is charged to whom it was told for', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const [denied, failed] = [
    await stored(authority, daemon, [TOOLS_1024, outcomes(260, 'denied')]),
    await stored(authority, daemon, [TOOLS_1024, outcomes(260, 'failure')]),
  ]
  const cost = (await left(denied.instance)) - (await left(failed.instance))
  // 260 times 1,024 tools are 16 units.
  assert.ok(cost >= 12, `they cost ${cost}`)
})

// Databases whose states do not fit into memory together put each other out: 160 ms of processor for 3 units. Mutant:
// `unpaid` of begin() left out.
test('whoever asks first of a replica pays for the snapshot that it opens', async () => {
  await using daemon = await testDaemon()
  // Replicas that share a rate charge by their part of it, which changes each second: here each is granted all of it.
  await daemon.sql(`create function loci.ignored() returns trigger language plpgsql as $$ begin return null; end $$`)
  await daemon.sql(
    `create trigger ignored before insert on loci.instance_rates for each row execute function loci.ignored()`,
  )
  await using authority = await testAuthority(daemon)
  const told = Array.from({ length: 256 }, (_, n) =>
    of20(`evt-${n}`, { task_intent: Array.from({ length: 30 }, (_, at) => `word${n}x${at}`).join(' ') }),
  )
  const { instance } = await stored(authority, daemon, [told])
  const capability = instance.root({ ops: ['advice:read', 'kv:read'], ks: ['*/*'] })
  const ask = { taskClass: 'support', taskIntent: 'refund', sourceEventId: 'ask', limit: 1 }
  const leftAfterFirst = async () => {
    // Begun when the snapshot is there: it makes none itself.
    await using replica = await testDaemon({ replicaOf: daemon })
    const call = (line: string, body?: unknown) =>
      replica.ask(line, { body, headers: { 'x-loci-capability': capability } })
    if ((await call('POST /v1/advice/rank', ask)).status !== 200) return undefined
    let left = 0
    while ((await call('GET /v1/kv/entries?limit=1')).status !== 429) left += 1
    return left
  }
  // What a busy machine refused was charged too: another replica, then.
  let left: number | undefined
  while (left === undefined) left = await leftAfterFirst()
  const [{ bytes } = { bytes: 0 }] = await daemon.sql<{ bytes: number }>(
    'select sum(octet_length(body))::int as bytes from loci.advice_tools where instance_id = $1',
    [instance.svc],
  )
  const expected = Math.floor((2 * bytes) / 65_536)
  assert.ok(expected >= 15 && 400 - left >= expected, `${400 - left} of ${expected}`)
})

// What a rank may read and answer, whatever was told: one projection may have half a megabyte and tell of 64 tools.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'

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

const MIB = 2 ** 20
const TOOLS = Array.from({ length: 64 }, (_, n) => `tool-${String(n).padStart(2, '0')}`)

interface Answer {
  rankedTools: { toolId: string; stats: { attempts: number }; evidence: { evidenceRefs: string[] }[] }[]
  evidenceRefs: string[]
  evidenceTruncated: boolean
  policy: { deniedTools: { toolId: string; rule: object; detail: string }[] }
}

async function fresh(database: string) {
  const token = await partnerToken(authority, own, ['event', 'tool_outcome'], { partner: 'crm', database })
  const send = async (line: string, body: unknown) => {
    // A busy machine says 503, or that it does not know: what is told again is told once, by its source event.
    for (let tries = 0; ; tries += 1) {
      const answer = await daemon.ask(line, { body, headers: { authorization: `Bearer ${token}` } })
      if (answer.status === 200) return answer
      const isBusy = answer.status === 503 || answer.error.code === 'OUTCOME_UNKNOWN'
      assert.ok(isBusy && tries < 100, answer.text)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  const rank = (fields: object = {}) =>
    send('POST /v1/advice/tools:rank', {
      ...{ task_class: 'support', task_intent: 'refund', source_event_id: 'ask', run_id: 'run', scope: null },
      ...{ limit: 100, ...fields },
    })
  let told = 0
  const tell = (projection_class: string, count: number, fieldsOf: (n: number) => object) =>
    send(
      'POST /v1/partner/projections',
      Array.from({ length: count }, () => ({
        ...{ projection_class, source_event_id: `evt-${told}`, task_class: 'support', task_intent: 'refund' },
        ...fieldsOf(told++),
      })),
    )
  return { rank, tell }
}

const refs = (n: number) => Array.from({ length: 64 }, (_, at) => `${n}-${at} ${'ä'.repeat(1_000)}`)

// Mutants: advice_newest() without the look at v_bytes (64 times as much is read); the same in the loop of
// advice_evidence() (every event is read).
test('a rank shows two megabytes of evidence and of references, the best tools first, and says that it is cut', async () => {
  const { rank, tell } = await fresh('evidence')
  const outcome = (n: number) => ({
    evidence_refs: refs(n),
    tools: TOOLS.map((tool_id, at) => ({ tool_id, outcome: at < 32 ? 'success' : 'failure' })),
  })
  for (let n = 0; n < 3; n += 1) await tell('tool_outcome', 2, outcome)
  const event = (n: number) => ({ evidence_refs: refs(n), payload: 'x'.repeat(200_000) })
  for (let n = 0; n < 5; n += 1) await tell('event', 2, event)

  const { text, json } = await rank()

  const { rankedTools, evidenceRefs, evidenceTruncated } = json<Answer>()
  assert.ok(text.length < 5 * MIB, `${text.length} characters`)
  assert.equal(evidenceTruncated, true)
  assert.deepEqual(new Set(rankedTools.map(({ stats }) => stats.attempts)), new Set([6]))
  assert.deepEqual([rankedTools[0]?.evidence.length, rankedTools.at(-1)?.evidence.length], [6, 0])
  // Of the newest events, whole: as many as have two megabytes with what else they say.
  assert.deepEqual([evidenceRefs.at(-1), evidenceRefs.at(-2)?.slice(0, 5)], ['ask', '15-63'])
  assert.equal(evidenceRefs.length, 7 * 64 + 1)
  // Asked again, when some of it is kept.
  assert.equal((await rank()).text, text)
  const [read] = await daemon.sql<{ length: number }>(
    `select octet_length(outcomes) as length from loci.advice_evidence($1, 'evidence', 'support', null, null, $2, 20, array_fill(200, array[64]), 1000, 1000,
      (select jsonb_object_agg(t, (select jsonb_agg(jsonb_build_array(p.seq, 0, 'success') order by p.seq desc) from loci.projections p
        where p.database = 'evidence' and p.class = 'tool_outcome')) from unnest($2::text[]) t), false, 1000, 2097152)`,
    [own.svc, TOOLS],
  )
  assert.ok((read?.length ?? 0) > MIB && (read?.length ?? 0) < 3 * MIB, `${read?.length} bytes were read`)
})

// Mutant: boundedOutcomes() that looks at bytes alone: no evidence, and no word of it.
test('a tool whose newest outcomes are of another scope says that there may be more evidence than is shown', async () => {
  const { rank, tell } = await fresh('scopes')
  const told = (scope: string) => () => ({ scope, tools: [{ tool_id: 'refund', outcome: 'success' }] })
  await tell('tool_outcome', 20, told('a'))
  await tell('tool_outcome', 199, told('b'))
  const shown = async () => {
    const { rankedTools, evidenceTruncated } = (await rank({ scope: 'a' })).json<Answer>()
    return [rankedTools[0]?.stats.attempts, rankedTools[0]?.evidence.length, evidenceTruncated]
  }
  // The last of scope a stands at the end of what is looked at.
  assert.deepEqual(await shown(), [20, 1, true])
  await tell('tool_outcome', 1, told('b'))
  assert.deepEqual(await shown(), [20, 0, true])
})

// Mutant: advice_evidence() that reads events without references too: the newest of these have its two megabytes.
test('events without references take nothing from those that have some', async () => {
  const { rank, tell } = await fresh('events')
  await tell('event', 3, (n) => ({ evidence_refs: [`ref ${n}`], payload: 'x' }))
  for (let n = 0; n < 6; n += 1) await tell('event', 4, () => ({ payload: 'x'.repeat(200_000) }))
  const { evidenceRefs, evidenceTruncated } = (await rank()).json<Answer>()
  assert.deepEqual([evidenceRefs, evidenceTruncated], [['ref 0', 'ref 1', 'ref 2', 'ask'], false])
})

// Mutants: p_bytes_max left out of advice_tail() (one page has all), or what is taken back left out of its bytes.
test('what is folded at once has two megabytes, and a rank after many large outcomes counts every one', async () => {
  const { rank, tell } = await fresh('large')
  // What stays when it is taken back: 60 KB of each.
  const evidence_refs = Array.from({ length: 64 }, () => 'x'.repeat(1_000))
  const outcome = (n: number) => ({ evidence_refs, tools: [{ tool_id: `tool-${n % 2}`, outcome: 'success' }] })
  const ids: string[] = []
  for (let n = 0; n < 6; n += 1) {
    const results = (await tell('tool_outcome', 8, outcome)).json<{ projectionId: string }[]>()
    ids.push(...results.map(({ projectionId }) => projectionId))
  }
  const pageAfter = async (after: number) => {
    const [page] = await daemon.sql<{ length: number; isCut: boolean; seq: number }>(
      `select octet_length(told) + coalesce(octet_length(taken), 0) as length, is_cut as "isCut", seq::int
        from loci.advice_tail($1, 'large', $2, 256, 2097152, null, null)`,
      [own.svc, after],
    )
    assert.deepEqual([page?.isCut, (page?.length ?? 0) < 2.5 * MIB], [true, true], `${page?.length}`)
    return page?.seq ?? 0
  }
  const attempts = async () => (await rank()).json<Answer>().rankedTools.map(({ stats }) => stats.attempts)
  const last = await pageAfter(0)
  assert.deepEqual(await attempts(), [24, 24])
  // What is taken back is read with what takes it back.
  await tell('tool_outcome', 48, (n) => ({ ...outcome(n), evidence_refs: ['x'], supersedes: ids[n - 48] }))
  await pageAfter(last)
  assert.deepEqual(await attempts(), [24, 24])
})

// Mutant: boundedDenials() left out of advise().
test('an answer names every tool that a policy denies, and does not repeat the rule for each of thousands', async () => {
  const { rank } = await fresh('denied')
  const rules = [{ effect: 'deny', tool: 'tool-*', reason: 'ä'.repeat(1_024), taskClass: 'support' }]
  const operator = own.root({ ops: ['operator'], ks: ['*/*'] })
  const put = await own.call(operator, 'PUT /v1/advice/policies/default', {
    ...{ body: { rules }, headers: { 'x-loci-database': 'denied' } },
  })
  assert.equal(put.status, 200, put.text)
  const candidate_tools = Array.from({ length: 4_096 }, (_, n) => `tool-${n}`)

  const { text, json } = await rank({ candidate_tools })

  const { deniedTools } = json<Answer>().policy
  assert.deepEqual(
    deniedTools.map(({ toolId }) => toolId),
    candidate_tools,
  )
  assert.equal(deniedTools[0]?.detail, rules[0]?.reason)
  assert.deepEqual(deniedTools.at(-1)?.rule, { policy: 'loci://policy/default', index: 0 })
  assert.ok(Buffer.byteLength(text) < 2 * MIB, `${Buffer.byteLength(text)} bytes`)
})

// Mutant: advice_recent() with the bytes of advice_newest(): tools behind the bytes are judged by nothing, or by all.
test('a failure budget counts the outcomes of every tool, however large what was told with them is', async () => {
  const { rank, tell } = await fresh('budget')
  const operator = own.root({ ops: ['operator'], ks: ['*/*'] })
  const body = { rules: [{ effect: 'deny', tool: '*', failureBudget: 0.5 }] }
  await own.call(operator, 'PUT /v1/advice/policies/default', { body, headers: { 'x-loci-database': 'budget' } })
  const tools = TOOLS.map((tool_id) => ({ tool_id, outcome: 'failure' }))
  for (let n = 0; n < 5; n += 1) await tell('tool_outcome', 2, () => ({ payload: 'x'.repeat(200_000), tools }))

  const { rankedTools, policy } = (await rank()).json<Answer>()

  assert.deepEqual([rankedTools.length, policy.deniedTools.length], [0, 64])
})

// The tail was a list, and looked through for each of the tools: of four such ranks none came to an end in time.
test('a failure budget of thousands of tools whose outcomes are in no snapshot is answered', async () => {
  const { rank, tell } = await fresh('thousands')
  const operator = own.root({ ops: ['operator'], ks: ['*/*'] })
  const body = { rules: [{ effect: 'deny', tool: '*', failureBudget: 0.5 }] }
  await own.call(operator, 'PUT /v1/advice/policies/default', { body, headers: { 'x-loci-database': 'thousands' } })
  await tell('tool_outcome', 62, (n) => ({
    tools: Array.from({ length: 64 }, (_, at) => ({ tool_id: `tool-${n * 64 + at}`, outcome: 'failure' })),
  }))
  const { rankedTools, policy } = (await rank()).json<Answer>()
  assert.deepEqual([rankedTools.length, policy.deniedTools.length], [100, 0])
})

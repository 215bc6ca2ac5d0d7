// Outcomes of holders: the loop of advice, closed by who used the tool.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seal } from '@loci/capability/capability.ts'
import { PROJECTION_CLASSES } from '@loci/contract/projections.ts'
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

const RIGHTS = { ops: ['advice:read', 'advice:write'], ks: ['advice/*'] }
interface Told {
  accepted: true
  projectionId: string
  duplicate: boolean
  appliedSeq: number
}

const outcome = (toolId: string, one = 'success', more: object = {}) => ({
  taskClass: 'support',
  tools: [{ toolId, outcome: one }],
  ...more,
})

/** A holder in a database. */
function holderOf(database: string, sub: string, token = own.root({ ...RIGHTS, sub })) {
  const call = (line: string, body: unknown, headers: Record<string, string> = {}) =>
    own.call(token, line, { body, headers: { 'x-loci-database': database, ...headers } })
  const tell = (body: unknown, headers = {}) => call('POST /v1/advice/outcomes', body, headers)
  return {
    tell,
    async told(body: unknown, headers = {}) {
      const answer = await tell(body, headers)
      assert.equal(answer.status, 200, answer.text)
      return answer.json<Told>()
    },
    async stats(toolId: string) {
      const ask = { taskClass: 'support', taskIntent: 'refund', sourceEventId: 'e', candidateTools: [toolId] }
      const answer = await call('POST /v1/advice/rank', ask)
      const [ranked] = answer.json<{
        rankedTools: {
          stats: { attempts: number; successes: number; failures: number }
          explain: { partners: { partner: string }[] }
        }[]
      }>().rankedTools
      const { attempts, successes, failures } = ranked?.stats ?? {}
      return {
        counts: [attempts, successes, failures],
        tellers: ranked?.explain.partners.map(({ partner }) => partner),
      }
    },
  }
}

// Mutants: `sourceEventId ?? eventId` as `eventId`; oneVoteOf() not called.
test('an outcome counts once, is answered again by its sourceEventId, and conflicts with another of that id', async () => {
  const ada = holderOf('once', 'usr_ada')
  const sent = outcome('refund', 'success', {
    ...{ sourceEventId: 'evt-1', taskIntent: 'refund an order', runId: 'run-1', scope: null, evidenceRefs: ['doc-1'] },
    occurredAt: '2026-03-01T10:00:00.000Z',
  })
  const first = await ada.told(sent)
  assert.match(first.projectionId, /^prj_/)
  assert.deepEqual(await ada.told(sent), { ...first, duplicate: true })
  const other = await ada.tell({ ...sent, tools: [{ toolId: 'refund', outcome: 'failure' }] })
  assert.deepEqual([other.status, other.error.code], [409, 'PROJECTION_CONFLICT'])
  const many = [...Array.from({ length: 5 }, () => ({ toolId: 'look-up', outcome: 'failure' }))]
  await ada.told({ taskClass: 'support', tools: [...many, { toolId: 'look-up', outcome: 'success' }] })
  for (let time = 0; time < 2; time += 1) assert.equal((await ada.told(outcome('refund'))).duplicate, false)

  assert.deepEqual((await ada.stats('refund')).counts, [3, 3, 0])
  assert.deepEqual((await ada.stats('look-up')).counts, [1, 1, 0])
})

// Mutants: `partner: 'holder'` in outcomeRoutes(); caller.holder for caller.rootHolder: the sub-agent would be another.
test('a holder touches nothing that another holder or a partner told; a renewed token and a sub-agent are the same holder', async () => {
  const sent = outcome('refund', 'success', { sourceEventId: 'shared' })
  const [ada, renewed, bob] = [holderOf('apart', 'usr_a'), holderOf('apart', 'usr_a'), holderOf('apart', 'usr_b')]
  const first = await ada.told(sent)
  assert.deepEqual(await renewed.told(sent), { ...first, duplicate: true })
  const sub = seal(own.delegation({ ...RIGHTS, sub: 'usr_a' }), {})
  assert.deepEqual(await holderOf('apart', '', sub).told(sent), { ...first, duplicate: true })
  const theirs = await bob.told(outcome('refund', 'failure', { sourceEventId: 'shared' }))
  assert.deepEqual([theirs.duplicate, theirs.projectionId === first.projectionId], [false, false])
  const token = await partnerToken(authority, own, [...PROJECTION_CLASSES], { partner: 'crm', database: 'apart' })
  const partner = await daemon.ask('POST /v1/partner/projections', {
    headers: { authorization: `Bearer ${token}` },
    body: [
      {
        ...{ projection_class: 'tool_outcome', source_event_id: 'shared', task_class: 'support' },
        tools: [{ tool_id: 'refund', outcome: 'failure' }],
      },
      { projection_class: 'retraction', source_event_id: 'back', supersedes: first.projectionId },
    ],
  })
  assert.deepEqual(
    [partner.status, partner.json<Told[]>().map(({ duplicate }) => duplicate)],
    [200, [false, false]],
    partner.text,
  )
  const { counts, tellers } = await ada.stats('refund')
  assert.deepEqual(
    [counts, tellers?.sort()],
    [
      [3, 1, 2],
      ['crm', 'holder:usr_a', 'holder:usr_b'],
    ],
  )
})

// Mutant: `isWhole: isArray` as false in createIngest().
test('an array is stored whole or not at all, at most a hundred, and says which one is wrong', async () => {
  const ada = holderOf('array', 'usr_ada')
  const many = Array.from({ length: 101 }, (_, at) => outcome('refund', 'success', { sourceEventId: `evt-${at}` }))
  for (const [body, said] of [
    [many, 'An array has 1 to 100 outcomes.'],
    [[], 'An array has 1 to 100 outcomes.'],
    [[outcome('a'), outcome('b', 'maybe')], 'body.1.tools.0.outcome'],
    [{ taskClass: 'support' }, 'body.tools'],
    [{ taskClass: 'support', tools: [] }, 'body.tools'],
    [{ ...outcome('a'), user_id: 'ada' }, 'x-loci-database'],
    [[outcome('a', 'success', { tool: 'a' })], 'unknown field `tool`'],
    [{ task_class: 'support', tools: [{ toolId: 'a', outcome: 'success' }] }, '`taskClass`'],
  ] as const) {
    const { status, error } = await ada.tell(body)
    assert.deepEqual([status, error.code, error.message.includes(said)], [400, 'VALIDATION_ERROR', true], error.message)
  }
  const results = (await ada.told(many.slice(1))) as unknown as Told[]
  const seqs = results.map(({ appliedSeq }) => appliedSeq)
  assert.deepEqual([results.length, seqs], [100, seqs.toSorted((a, b) => a - b)])
  const conflict = await ada.tell([outcome('new'), { ...many[1], taskClass: 'other' }])
  assert.deepEqual([conflict.status, conflict.error.details], [409, { index: 1 }])
  assert.deepEqual((await ada.stats('new')).counts, [0, 0, 0])
  assert.deepEqual((await ada.stats('refund')).counts, [100, 100, 0])
})

// Mutant: the route without tellAct(): a repeat would be an outcome more.
test('an Idempotency-Key makes one outcome of a request and its repeats, for its holder alone; another body is 422', async () => {
  const [ada, bob] = [holderOf('keyed', 'usr_a'), holderOf('keyed', 'usr_b')]
  const key = { 'idempotency-key': 'one' }
  const sent = [outcome('refund'), outcome('refund', 'failure')]
  const first = await ada.told(sent, key)
  const again = await ada.tell(sent, key)
  assert.deepEqual([again.json(), again.headers['idempotent-replayed']], [first, 'true'])
  assert.equal((await ada.tell(outcome('refund'), key)).error.code, 'IDEMPOTENCY_KEY_REUSED')
  await bob.told(outcome('refund'), key)
  assert.deepEqual((await ada.stats('refund')).counts, [3, 2, 1])
  const conflicting = { 'idempotency-key': 'two' }
  await ada.told(outcome('refund', 'success', { sourceEventId: 'e' }))
  const conflict = [outcome('new'), outcome('refund', 'failure', { sourceEventId: 'e' })]
  const refused = await ada.tell(conflict, conflicting)
  assert.deepEqual(
    [refused.status, refused.error.code, refused.error.details],
    [409, 'PROJECTION_CONFLICT', { index: 1 }],
  )
  assert.deepEqual((await ada.stats('new')).counts, [0, 0, 0])
  // After a refusal the key is free.
  assert.equal((await ada.tell(outcome('new'), conflicting)).status, 200)
})

// Mutants: `child === undefined` left out in admit(); `covered` for a reader too.
test('telling needs advice:write, and policies are read with advice:read by who may not write them, not by a sub-agent', async () => {
  const reader = holderOf('rights', '', own.root({ ops: ['advice:read'], ks: ['advice/*'], sub: 'usr_a' }))
  const { status, error } = await reader.tell(outcome('refund'))
  assert.deepEqual([status, error.code], [403, 'OPERATION_NOT_ALLOWED'])
  assert.match(JSON.stringify(error), /advice:write/)
  assert.deepEqual((await reader.stats('refund')).counts, [0, 0, 0])
  const operator = own.root({ ops: ['operator'], ks: ['*/*'] })
  const token = own.root({ ops: ['advice:read'], ks: ['advice/rights'] })
  const headers = { 'x-loci-database': 'rights' }
  const put = (as: string) => own.call(as, 'PUT /v1/advice/policies/house', { body: { rules: [] }, headers })
  assert.equal((await put(token)).error.code, 'OPERATOR_REQUIRED')
  assert.equal((await put(operator)).status, 200)
  assert.equal((await own.call(token, 'GET /v1/advice/policies/house', { headers })).status, 200)
  const child = seal(own.delegation({ ops: ['advice:read'], ks: ['advice/rights'] }))
  for (const [as, code] of [
    [child, 'OPERATOR_REQUIRED'],
    [own.root({ ops: ['advice:write'], ks: ['advice/rights'] }), 'OPERATOR_REQUIRED'],
    [own.root({ ops: ['advice:read'], ks: ['advice/other'] }), 'DATABASE_MISMATCH'],
  ] as const)
    assert.equal((await own.call(as, 'GET /v1/advice/policies/house', { headers })).error.code, code)
  const list = await own.call(token, 'GET /v1/advice/policies', { headers })
  assert.deepEqual(
    list.json<{ policies: { name: string }[] }>().policies.map(({ name }) => name),
    ['house'],
  )
})

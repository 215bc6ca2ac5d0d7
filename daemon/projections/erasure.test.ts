import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { PROJECTION_CLASSES } from '@loci/contract/projections.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { fullConsistency } from '../testing/consistency.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { tracesOf } from '../testing/traces.ts'

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

const ROWS = 600
const OPS = [
  ...['memory:read', 'memory:write', 'memory:delete', 'cycles:run', 'cycles:read', 'wm:read', 'wm:write'],
  ...['advice:read', 'system:read'],
]

interface Receipt {
  checked: { place: string; found: number; erased: number }[]
}
interface Result {
  projectionId: string
  duplicate: boolean
}

let last = 0

/** A database of its own, with a partner. A busy machine says 503: nothing was done, by its own word. */
async function fresh() {
  last += 1
  const database = `erased-${last}`
  const token = await partnerToken(authority, own, [...PROJECTION_CLASSES], { partner: 'crm', database })
  const holder = own.root({ ops: OPS, ks: ['*/*'] })
  const done = async (ask: () => Promise<TestAnswer>): Promise<TestAnswer> => {
    for (;;) {
      const answer = await ask()
      if (answer.status === 503) continue
      assert.equal(answer.status, 200, answer.text)
      return answer
    }
  }
  const call = async <Answer>(line: string, body?: unknown): Promise<Answer> =>
    (await done(() => own.call(holder, line, { body, headers: { 'x-loci-database': database } }))).json<Answer>()
  const tell = async (...sent: object[]): Promise<Result[]> => {
    const body = sent.map((one) => {
      last += 1
      return { projection_class: 'event', source_event_id: `evt-${last}`, ...one }
    })
    const headers = { authorization: `Bearer ${token}` }
    return (await done(() => daemon.ask('POST /v1/partner/projections', { body, headers }))).json<Result[]>()
  }
  /** The receipt's line of projections. */
  const erase = async (content: string) => {
    const { id } = await call<{ id: string }>('POST /v1/memory/records', { content })
    const { checked } = await call<Receipt>(`DELETE /v1/memory/records/${id}`)
    return checked.find(({ place }) => place === 'projections')
  }
  /** No cycle takes events in, however many wait. */
  const holdBack = () =>
    done(() =>
      own.call(own.root({ ops: ['operator'], ks: ['*/*'] }), 'PUT /v1/cognitive/config', {
        ...{ body: { maxEvents: 0 }, headers: { 'x-loci-database': database } },
      }),
    )
  return { call, tell, erase, holdBack }
}

const outcome = {
  projection_class: 'tool_outcome',
  task_class: 'refund',
  tools: [{ tool_id: 'pay', outcome: 'success' }],
}

// Mutants: eraseRoutes() without forgetProjections; prj_forget by what is said alone, or by the intent alone; one page;
// newProjection() with the whole text where memory holds its beginning, or without HMACs of outcomes.
test('what is erased stands in no projection: not in one that waits, nor in an outcome; a repeat is still known', async () => {
  const { call, tell, erase } = await fresh()
  const secret = 'The launch code is rosysecret'
  const event = { source_event_id: 'told', payload: { text: ` ${secret.toUpperCase()}`, colour: 'red' } }
  await tell(
    ...[event, { payload: secret, task_intent: 'Something else' }, { task_intent: secret }],
    ...[{ payload: 'The pad is orange', task_intent: secret }, { payload: 'The door is green' }],
    { ...outcome, payload: secret, task_intent: 'Refund the order' },
    { ...outcome, task_intent: secret },
    { ...outcome, task_intent: 'Refund the other order' },
  )
  assert.deepEqual(await tracesOf(daemon, 'rosysecret'), ['projections'])
  assert.deepEqual(await erase(secret), { place: 'projections', found: 6, erased: 6 })
  assert.deepEqual(await tracesOf(daemon, 'rosysecret'), [])
  assert.deepEqual(
    (await tell(event)).map(({ duplicate }) => duplicate),
    [true],
  )
  // What taught its words is as if it had not been told.
  const { rankedTools } = await call<{ rankedTools: { toolId: string; stats: { attempts: number } }[] }>(
    'POST /v1/advice/rank',
    { taskClass: 'refund', taskIntent: 'Refund the order', sourceEventId: 'e' },
  )
  assert.deepEqual(
    rankedTools.map(({ toolId, stats }) => [toolId, stats.attempts]),
    [['pay', 2]],
  )
  await call('POST /v1/cognitive/cycles', {})
  const { records } = await call<{ records: { content: string }[] }>('GET /v1/memory/records')
  assert.deepEqual(records.map(({ content }) => content).sort(), ['The door is green', 'The pad is orange'])
  const health = await call<{ backlog: { projections: number } }>('GET /v1/cognitive/health')
  assert.equal(health.backlog.projections, 0)
  assert.equal(await fullConsistency((line) => own.call(own.root({ ops: OPS, ks: ['*/*'] }), line)), 'consistent')
})

// Mutants: forgetProjections() that reads one page; newProjection() with the HMAC of the whole text, of which memory
// holds the beginning.
test('of many that wait, and of those that are longer than memory holds, nothing is left', async () => {
  const { call, tell, erase, holdBack } = await fresh()
  const long = `longsecret ${'of the day '.repeat(3_000)}`
  await tell({ payload: long })
  await call('POST /v1/cognitive/cycles', {})
  const { records } = await call<{ records: { content: string }[] }>('GET /v1/memory/records')
  const kept = records[0]?.content as string
  assert.ok(kept.length < long.length)
  await holdBack()
  await tell({ payload: long, run_id: 'later' })
  const many = Array.from({ length: ROWS / 2 }, (_, n) => ({ payload: 'The manysecret', run_id: `run ${n}` }))
  for (const part of [many, many]) await tell(...part)
  assert.deepEqual(await erase('the manysecret'), { place: 'projections', found: ROWS, erased: ROWS })
  assert.deepEqual(await erase(kept), { place: 'projections', found: 1, erased: 1 })
  assert.deepEqual([await tracesOf(daemon, 'manysecret'), await tracesOf(daemon, 'longsecret')], [[], []])
})

// Mutants: prj_insert that leaves the words of what it takes back, or of what arrives taken back.
test('what is taken back before a cycle has seen it leaves no words, whichever came first', async () => {
  const { call, tell } = await fresh()
  const [early] = await tell({ payload: 'A lilysecret', task_intent: 'B lilysecret', evidence_refs: ['ref'] })
  await tell({ projection_class: 'retraction', supersedes: early?.projectionId })
  await tell(
    { projection_class: 'retraction', supersedes: 'late' },
    { projection_class: 'retraction', supersedes: 'x' },
  )
  await tell({ projection_id: 'late', payload: { content: 'C lilysecret' } })
  // Of an outcome the intent stays: what it has taught is taken back by it.
  await tell({ ...outcome, projection_id: 'x', payload: 'D lilysecret', task_intent: 'Refund it' })
  assert.deepEqual(await tracesOf(daemon, 'lilysecret'), [])
  assert.deepEqual(await tracesOf(daemon, 'Refund it'), ['projections'])
  await call('POST /v1/cognitive/cycles', {})
  assert.deepEqual((await call<{ records: object[] }>('GET /v1/memory/records')).records, [])
  assert.equal(await fullConsistency((line) => own.call(own.root({ ops: OPS, ks: ['*/*'] }), line)), 'consistent')
})

// Evidence that a replica keeps beside its state, over HTTP: what is shown is what a replica that has kept nothing
// reads.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
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

interface Answer {
  evidenceRefs: string[]
  rankedTools: { toolId: string; stats: { lastOutcomeAt: string | null }; evidence: { projectionId: string }[] }[]
}

async function partnerOf(database: string) {
  const token = await partnerToken(authority, own, [...PROJECTION_CLASSES], { partner: 'crm', database })
  const post = async (line: string, body: unknown, at: TestDaemon) => {
    for (let tries = 0; ; tries += 1) {
      const answer = await at.ask(line, { body, headers: { authorization: `Bearer ${token}` } })
      if (answer.status === 200) return answer
      // A busy machine: what is told again is told once.
      assert.ok(answer.status >= 500 && tries < 100, answer.text)
    }
  }
  let told = 0
  const outcome = (tool: string, fields: object = {}) => ({
    ...{ projection_class: 'tool_outcome', source_event_id: `evt-${told++}`, task_class: 'support' },
    ...{ task_intent: 'refund an order', evidence_refs: [`ref-${told}`] },
    ...{ tools: [{ tool_id: tool, outcome: told % 3 ? 'success' : 'failure' }], ...fields },
  })
  const retraction = (supersedes: string | undefined) => ({
    ...{ projection_class: 'retraction', source_event_id: `evt-${told++}`, task_class: 'support', supersedes },
  })
  const tell = async (...projections: object[]) =>
    (await post('POST /v1/partner/projections', projections, daemon))
      .json<{ projectionId: string }[]>()
      .map(({ projectionId }) => projectionId)
  const text = async (scope: unknown = null, at = daemon) => {
    const ask = { task_class: 'support', task_intent: 'refund', source_event_id: 'ask', run_id: 'run', scope }
    return (await post('POST /v1/advice/tools:rank', ask, at)).text
  }
  /** By tool, what is shown; the same from a replica that has kept nothing. */
  const shown = async (scope: unknown = null) => {
    const answer = await text(scope)
    await using fresh = await testDaemon({ replicaOf: daemon })
    assert.equal(answer, await text(scope, fresh))
    const { rankedTools } = JSON.parse(answer) as Answer
    return new Map(rankedTools.map(({ toolId, evidence }) => [toolId, evidence.map((one) => one.projectionId)]))
  }
  return { outcome, retraction, tell, text, shown }
}

// Mutants: hide() or show() of states.ts that does nothing.
test('what is told comes first, what is taken back or superseded is shown no longer, in whatever scope is asked', async () => {
  const { outcome, retraction, tell, text, shown } = await partnerOf('kept')
  const ids = await tell(...Array.from({ length: 30 }, (_, n) => outcome('a', n % 4 ? {} : { scope: 'eu' })))
  await tell(...Array.from({ length: 3 }, () => outcome('b')))
  for (const scope of [null, 'eu', 'us']) await text(scope)
  assert.deepEqual((await shown()).get('a'), ids.slice(10).reverse())

  const [newest] = await tell(outcome('a', { scope: 'us' }))
  assert.deepEqual((await shown()).get('a'), [newest, ...ids.slice(11).reverse()])
  assert.equal((await shown('eu')).get('a')?.includes(newest as string), false)
  assert.equal((await shown('us')).get('a')?.[0], newest)

  await tell(retraction(newest), retraction(ids[20]))
  const left = [...ids.slice(0, 20), ...ids.slice(21)].reverse()
  for (const scope of [null, 'eu', 'us']) {
    const evidence = (await shown(scope)).get('a')
    assert.ok(!evidence?.includes(newest as string) && !evidence?.includes(ids[20] as string), `${scope}`)
  }
  assert.deepEqual((await shown()).get('a'), left.slice(0, 20))
  const [instead] = await tell(outcome('a', { supersedes: ids[29] }))
  assert.deepEqual((await shown()).get('a'), [instead, ...left.slice(1, 20)])
})

// Mutant: findRefs() that does not compare heads.
test('references of events are those of the events that are there, also when nobody told anything new', async () => {
  const { outcome, retraction, tell, text, shown } = await partnerOf('refs')
  const event = (ref: string, fields: object = {}) => {
    return { ...outcome('a'), projection_class: 'event', tools: [], evidence_refs: [ref], ...fields }
  }
  const refs = async (scope: unknown = null) => {
    await text(scope)
    await shown(scope)
    return (JSON.parse(await text(scope)) as Answer).evidenceRefs
  }
  const [first] = await tell(event('one'), event('two', { scope: 'eu' }), outcome('a'))
  assert.deepEqual(await refs(), ['one', 'two', 'ask'])
  assert.deepEqual(await refs('us'), ['one', 'ask'])
  await tell(event('three'))
  assert.deepEqual(await refs(), ['one', 'two', 'three', 'ask'])
  await tell(retraction(first))
  assert.deepEqual(
    [await refs(), await refs('us')],
    [
      ['two', 'three', 'ask'],
      ['three', 'ask'],
    ],
  )
  await tell(event('over', { ttl_ms: 3_000 }))
  await daemon.sql(
    `update loci.due set at = now() + interval '1 hour' where database = 'refs' and kind = 'projections'`,
  )
  await eventually(async () => !(JSON.parse(await text()) as Answer).evidenceRefs.includes('over'))
  assert.deepEqual(await refs(), ['two', 'three', 'ask'])
})

// Mutant: find() that does not look at the time: it shows the outcome until its content is erased.
test('an outcome whose time is over is shown no longer, although its content is still there', async () => {
  const { outcome, tell, text, shown } = await partnerOf('over')
  const [first] = await tell(outcome('a'))
  const [second] = await tell(outcome('a', { ttl_ms: 3_000 }))
  await daemon.sql(
    `update loci.due set at = now() + interval '1 hour' where database = 'over' and kind = 'projections'`,
  )
  const evidence = async () => (JSON.parse(await text()) as Answer).rankedTools[0]?.evidence
  await eventually(async () => (await evidence())?.every(({ projectionId }) => projectionId !== second) ?? false)
  assert.deepEqual((await shown()).get('a'), [first])
})

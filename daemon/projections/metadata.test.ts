import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
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

const OPS = ['memory:read', 'memory:write', 'cycles:run', 'wm:read', 'wm:write']

interface Remembered {
  content: string
  metadata: Record<string, unknown>
}

/** What memory has of what is told, in its order; a cycle takes events in. */
async function remembered(database: string, ...sent: object[]): Promise<Remembered[]> {
  const token = await partnerToken(authority, own, ['event', 'fact'], { partner: 'crm', database })
  const body = sent.map((one, at) => ({ source_event_id: `evt-${at}`, ...one }))
  const headers = { authorization: `Bearer ${token}` }
  const holder = own.root({ ops: OPS, ks: ['*/*'] })
  const call = (line: string, asked?: object) =>
    good(() => own.call(holder, line, { body: asked, headers: { 'x-loci-database': database } }))
  await good(() => daemon.ask('POST /v1/partner/projections', { body, headers }))
  await call('POST /v1/cognitive/cycles', {})
  const { records } = (await call('GET /v1/memory/records')).json<{ records: Remembered[] }>()
  return records.reverse()
}

/** A busy machine says 503: nothing was done, by its own word. */
async function good(ask: () => Promise<TestAnswer>): Promise<TestAnswer> {
  for (;;) {
    const answer = await ask()
    if (answer.status === 503) continue
    assert.equal(answer.status, 200, answer.text)
    return answer
  }
}

const CLASSES = ['fact', 'event']

// Mutants: no payload, or none of the others, in metadataOf().
test('what a fact or an event says beside its text stands in the metadata of its record', async () => {
  for (const projection_class of CLASSES) {
    const sent = { projection_class, task_class: 'crm', task_intent: 'Update the address', confidence: 0.5 }
    const told = await remembered(
      `rest-${projection_class}`,
      { ...sent, payload: { text: 'Ada moved', zip: '3511', to: { city: 'Utrecht' } } },
      { projection_class, payload: { content: 'Bob stays', text: 'for now' } },
      { projection_class, payload: 'Cleo left' },
      { projection_class, payload: { text: 'Dan is here' } },
    )
    assert.deepEqual(
      told.map(({ content, metadata }) => [content, metadata.payload]),
      [
        ['Ada moved', { zip: '3511', to: { city: 'Utrecht' } }],
        ['Bob stays', { text: 'for now' }],
        ['Cleo left', undefined],
        ['Dan is here', undefined],
      ],
    )
    const { taskClass, taskIntent, confidence, truncated } = told[0]?.metadata ?? {}
    assert.deepEqual([taskClass, taskIntent, confidence, truncated], ['crm', 'Update the address', 0.5, undefined])
  }
})

// An intent of 24 KB made every cycle of the database fail with 413. Mutant: metadataOf() without the limit.
test('what does not fit beside a text is left out and said to be: no event stops the cycles of its database', async () => {
  for (const projection_class of CLASSES) {
    const sent = { projection_class, scope: 's'.repeat(4_000), task_class: 'crm' }
    const told = await remembered(
      `large-${projection_class}`,
      { ...sent, payload: 'The gate is open', task_intent: '門'.repeat(8_000) },
      { ...sent, payload: { text: 'The gate is shut', log: 'x'.repeat(100_000) }, task_intent: 'Shut it' },
    )
    assert.deepEqual(
      told.map(({ content, metadata: { taskClass, taskIntent, payload, truncated } }) => [
        ...[content, taskClass, taskIntent, payload, truncated],
      ]),
      [
        ['The gate is open', 'crm', undefined, undefined, true],
        ['The gate is shut', 'crm', 'Shut it', undefined, true],
      ],
    )
  }
})

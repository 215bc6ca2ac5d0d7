// The life of one memory, told by its id.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import type { RecordTrace } from '@loci/contract/timeline.ts'
import { cyclesOf } from '../../../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../../../testing/daemon.ts'
import { addTenant, type TestTenant } from '../../../testing/tenant.ts'

let daemon: TestDaemon
let ada: TestTenant
before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

const actsOf = ({ decisions }: RecordTrace) =>
  decisions?.map(({ cycleSeq, action, reasonCode }) => `${cycleSeq} ${action} ${reasonCode}`)

// Mutants: timeline_versions() without `ended_at`; listStaysOf() of another value; findCycles() without its moments.
test('a trace has when a memory was said, where it is in mind, and what cycles decided when it came and went', async () => {
  const mind = cyclesOf(ada, 'life')
  await mind.operator('PUT /v1/working-memory/config', { capacity: 3, relativeThreshold: 0.5 })
  const trace = (id: string) => mind.get<RecordTrace>(`/v1/memory/records/${id}/trace`)
  const first = await mind.run({ observations: [{ content: 'Ada asked about the train to Berlin', key: 'train' }] })
  const { slots } = await mind.get<{ slots: { recordId: string; activation: number; createdAt: string }[] }>(
    '/v1/working-memory/slots',
  )
  const [slot] = slots
  const id = String(slot?.recordId)
  const now = await trace(id)
  assert.deepEqual(now, {
    ...{ supersedes: [], supersededBy: null, complete: true },
    presentations: { n: 1, first: first.startedAt, last: first.startedAt },
    slot: { key: 'train', since: slot?.createdAt, activation: slot?.activation, pinned: false },
    decisions: now.decisions,
  })
  assert.deepEqual(actsOf(now), ['1 admitted matched'])
  for (let n = 0; n < 3; n += 1) await mind.run()
  await mind.run({ focus: 'the broken printer', observations: [{ content: 'The broken printer hums' }] })
  const third = await mind.run({ focus: 'the train to Berlin' })
  const back = await trace(id)
  assert.deepEqual(actsOf(back), ['1 admitted matched', '5 evicted below_threshold', '6 admitted matched'])
  assert.deepEqual([back.slot?.since, back.decisions?.at(-1)?.at], [third.startedAt, third.startedAt])
  const decided = await mind.get<{ decisions: { evidenceRefs: string[]; score: number; reason: string }[] }>(
    third.decisionsUrl,
  )
  const own = decided.decisions.find(({ evidenceRefs }) => evidenceRefs.includes(id))
  assert.deepEqual([back.decisions?.at(-1)?.score, back.decisions?.at(-1)?.reason], [own?.score, own?.reason])
})

// Mutants: timeline_record() that takes what was stored next for what took its place, or the other way round.
test('what took the place of what is told both ways, and of a memory without such it is nothing', async () => {
  const mind = cyclesOf(ada, 'places')
  const store = async (body: object) => (await mind.call('POST /v1/memory/records', body)).json<{ id: string }>().id
  const trace = (id: string) => mind.get<RecordTrace>(`/v1/memory/records/${id}/trace`)
  const pine = await store({ content: 'The tree is a pine', key: 'tree' })
  const other = await store({ content: 'The lake is deep' })
  const ash = await store({ content: 'The tree is an ash', key: 'tree' })
  const oak = await store({ content: 'The tree is an oak', supersedes: ash })
  await store({ content: 'The sky is grey' })
  const told = await Promise.all([pine, ash, oak, other].map(trace))
  assert.deepEqual(
    told.map(({ supersedes, supersededBy }) => ({ supersedes, supersededBy })),
    [
      { supersedes: [], supersededBy: ash },
      { supersedes: [pine], supersededBy: oak },
      { supersedes: [ash], supersededBy: null },
      { supersedes: [], supersededBy: null },
    ],
  )
  assert.deepEqual(
    told.map(({ slot, decisions, presentations }) => [slot, decisions, presentations.n]),
    told.map(() => [null, [], 1]),
  )
})

test('an unknown, an erased and another one’s memory have no trace, and who may not read cycles is told nothing of the mind', async () => {
  const mind = cyclesOf(ada, 'gone')
  const { id } = (await mind.call('POST /v1/memory/records', { content: 'The code is 4711' })).json<{ id: string }>()
  const line = `GET /v1/memory/records/${id}/trace`
  assert.equal((await mind.call(line)).status, 200)
  const eve = await addTenant(daemon)
  for (const other of [cyclesOf(ada, 'others'), cyclesOf(eve, 'gone')])
    assert.equal((await other.call(line)).status, 404)
  for (const unknown of [newId('mem'), 'x'])
    assert.equal((await mind.call(`GET /v1/memory/records/${unknown}/trace`)).error.code, 'NOT_FOUND')
  const by = (ops: string[], ks: string[]) => ada.call(line, undefined, { db: 'gone', token: ada.mint({ ops, ks }) })
  assert.equal((await by(['cycles:read'], ['*/*'])).error.code, 'OPERATION_NOT_ALLOWED')
  for (const [ops, ks] of [
    [['memory:read'], ['*/*']],
    [['memory:read', 'cycles:read'], ['memory/*']],
  ] as const) {
    const { decisions, slot, presentations } = (await by([...ops], [...ks])).json<RecordTrace>()
    assert.deepEqual([decisions, slot, presentations.n], [null, null, 1])
  }
  assert.equal((await mind.call(`DELETE /v1/memory/records/${id}`)).status, 200)
  assert.equal((await mind.call(line)).error.code, 'NOT_FOUND')
})

test('a damaged memory is refused as such, and decisions that are lost are no reason to hide the rest', async () => {
  const mind = cyclesOf(ada, 'damage')
  await mind.run({ observations: [{ content: 'The lamp is lit', key: 'lamp' }] })
  const { slots } = await mind.get<{ slots: { recordId: string }[] }>('/v1/working-memory/slots')
  const line = `GET /v1/memory/records/${slots[0]?.recordId}/trace`
  await daemon.sql(`update loci.cycle_decisions set body = body || ' ' where database = 'damage'`)
  const { decisions, complete, slot } = (await mind.call(line)).json<RecordTrace>()
  assert.deepEqual([decisions, complete, slot?.key], [[], false, 'lamp'])
  await daemon.sql(`update loci.records set body = replace(body, 'lamp', 'Lamp') where database = 'damage'`)
  assert.equal((await mind.call(line)).error.code, 'DATA_DAMAGED')
})

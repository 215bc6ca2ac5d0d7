// What left working memory: every way of leaving with its why, and on request what each slot said, while it is kept.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { cyclesOf } from '../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { slotPath, slotsOf } from '../testing/slots.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let ada: TestTenant
before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

interface Left {
  evictions: {
    seq: number
    key: string
    version: number
    reasonCode: string
    value?: unknown
    recordId?: string | null
    redacted?: true
  }[]
  nextCursor: string | null
  damaged?: { ref: string | null; reason: string }[]
}

const LEFT = '/v1/working-memory/evictions'

// Mutants: createPlan() that removes what is deleted without a why; wm_erase that does.
test('each way of leaving is listed with its reason, also a delete and an erasure', async () => {
  const mind = cyclesOf(ada, 'ways')
  const slots = slotsOf(ada, 'ways')
  await slots.configure({ capacity: 4 })
  for (const key of ['first', 'second', 'third', 'fourth', 'fifth']) await slots.put(key, { value: `${key} value` })
  assert.equal((await slots.call(`DELETE ${slotPath('second')}`)).status, 200)
  await slots.put('brief', { value: 'brief value', ttlMs: 1 })
  await eventually(async () => !(await slots.keys()).includes('brief'))
  const { id } = (await mind.call('POST /v1/memory/records', { content: 'third value' })).json<{ id: string }>()
  assert.equal((await mind.call(`DELETE /v1/memory/records/${id}`)).status, 200)
  assert.equal((await slots.call('POST /v1/working-memory/slots/clear')).status, 200)
  const { evictions } = await mind.get<Left>(LEFT)
  assert.deepEqual(evictions.map(({ key, reasonCode }) => `${key} ${reasonCode}`).toSorted(), [
    'brief expired',
    'fifth cleared',
    'first outcompeted',
    'fourth cleared',
    'second deleted',
    'third deleted',
  ])
  assert.equal((await slots.stats()).evictions, 6)
})

// Mutant: saidOf() that answers the text of a row that is not intact.
test('with content=true each says what it said; what was erased is redacted, and what is damaged is named', async () => {
  const mind = cyclesOf(ada, 'said')
  const slots = slotsOf(ada, 'said')
  const observation = { content: 'The lamp in the hall is lit', key: 'lamp' }
  await mind.run({ observations: [observation] })
  for (const value of ['The code is 4711', { a: [1] }, 'a damaged one']) {
    await slots.put('slot', { value })
    assert.equal((await slots.call(`DELETE ${slotPath('slot')}`)).status, 200)
  }
  assert.equal((await slots.call(`DELETE ${slotPath('lamp')}`)).status, 200)
  const { evictions } = await mind.get<Left>(`${LEFT}?content=true`)
  assert.deepEqual(
    evictions.map(({ value }) => value),
    [observation.content, 'a damaged one', { a: [1] }, 'The code is 4711'],
  )
  const lamp = await mind.get<{ records: { id: string; content: string }[] }>('/v1/memory/records')
  assert.equal(evictions[0]?.recordId, lamp.records.find(({ content }) => content === observation.content)?.id)
  assert.equal(evictions[1]?.recordId, null)
  const { id } = (await mind.call('POST /v1/memory/records', { content: 'The code is 4711' })).json<{ id: string }>()
  assert.equal((await mind.call(`DELETE /v1/memory/records/${id}`)).status, 200)
  await daemon.sql(
    `update loci.slot_versions set text = replace(text, 'a damaged', 'A damaged') where database = 'said'`,
  )
  const answer = await mind.call(`GET ${LEFT}?content=true`)
  const later = answer.json<Left>()
  assert.deepEqual([answer.text.includes('4711'), answer.text.includes('damaged one')], [false, false])
  assert.deepEqual(
    later.evictions.map(({ value, redacted }) => [value, redacted]),
    [
      [observation.content, undefined],
      [undefined, undefined],
      [{ a: [1] }, undefined],
      [undefined, true],
    ],
  )
  assert.deepEqual(later.damaged, [{ ref: 'slot', reason: 'digest_mismatch' }])
  assert.ok((await mind.get<Left>(LEFT)).evictions.every((one) => !('value' in one) && !('redacted' in one)))
})

// Mutants: readSaid() without its bound of bytes; a cursor of the last row that was read, and not of the last shown.
test('a page with contents ends at a megabyte, and its cursor goes on behind it', async () => {
  const slots = slotsOf(ada, 'pages')
  const value = (n: number) => `${n} ${'x'.repeat(16_000)}`
  for (let n = 0; n < 90; n += 1) {
    await slots.put('slot', { value: value(n) })
    await slots.call(`DELETE ${slotPath('slot')}`)
  }
  const values: unknown[] = []
  const sizes: number[] = []
  for (let cursor = ''; ; ) {
    const answer = await slots.call(`GET ${LEFT}?content=true&limit=200${cursor}`)
    const page = answer.json<Left>()
    values.push(...page.evictions.map((one) => one.value))
    sizes.push(answer.text.length)
    if (page.nextCursor === null) break
    cursor = `&cursor=${page.nextCursor}`
  }
  assert.deepEqual(values, Array.from({ length: 90 }, (_, n) => value(n)).reverse())
  assert.equal(sizes.length, 2)
  assert.ok(Math.max(...sizes) < 1.6 * 2 ** 20, sizes.join())
})

test('another tenant or database sees none of it, and another word for content is refused', async () => {
  const eve = await addTenant(daemon)
  for (const mind of [cyclesOf(eve, 'said'), cyclesOf(ada, 'elsewhere')])
    assert.deepEqual(await mind.get<Left>(`${LEFT}?content=true`), { evictions: [], nextCursor: null })
  for (const query of ['?content=yes', '?contents=true'])
    assert.equal((await slotsOf(ada, 'said').call(`GET ${LEFT}${query}`)).error.code, 'VALIDATION_ERROR')
})

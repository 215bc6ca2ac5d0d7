// The timeline of a mind: every stay of every slot with its exact begin and end, over pages, after an erasure, beside
// damage, and where history was pruned.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Cycle } from '@loci/contract/cognitive.ts'
import type { Timeline, TimelineItem } from '@loci/contract/timeline.ts'
import { cyclesOf, type TestCycles } from '../../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { addTenant, type TestTenant } from '../../testing/tenant.ts'

let daemon: TestDaemon
let ada: TestTenant
before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

const timelineOf = ({ get }: TestCycles, query = '') => get<Timeline>(`/v1/cognitive/timeline${query}`)

/** As one who reads it does: a stay that is on several pages is one. */
async function wholeOf(mind: TestCycles, query = ''): Promise<{ timeline: Timeline; pages: number }> {
  const first = await timelineOf(mind, `?content=true${query}`)
  let pages = 1
  const merged = new Map<string, TimelineItem>()
  const take = (items: TimelineItem[]) => {
    for (const item of items) {
      const name = `${item.key} ${item.from?.at}`
      const known = merged.get(name)
      const both = known && { scores: [...item.scores, ...known.scores], recordId: known.recordId ?? item.recordId }
      merged.set(name, known ? { ...known, ...both } : item)
    }
  }
  take(first.items)
  const timeline = { ...first }
  for (let cursor = first.nextCursor; cursor !== null; pages += 1) {
    const page = await timelineOf(mind, `?content=true${query}&cursor=${cursor}`)
    take(page.items)
    timeline.cycles = [...timeline.cycles, ...page.cycles]
    timeline.damaged = [...timeline.damaged, ...page.damaged]
    cursor = page.nextCursor
  }
  timeline.items = [...merged.values()].sort((one, other) =>
    `${one.from?.at} ${one.key}` < `${other.from?.at} ${other.key}` ? -1 : 1,
  )
  return { timeline, pages }
}

const shortOf = ({ key, from, to, scores, text }: TimelineItem) => ({
  ...{ key, by: from?.by, came: from?.cycle, why: to?.reasonCode, left: to?.cycle, text },
  judged: scores.map(([seq]) => seq),
})

const put = (mind: TestCycles, key: string, body: object) => mind.call(`PUT /v1/working-memory/slots/${key}`, body)

test('of a database without anything the timeline is empty, with the capacity of the configuration', async () => {
  const mind = cyclesOf(ada, 'empty')
  const empty = { cycles: [], items: [], complete: true, damaged: [], prunedBefore: null, nextCursor: null }
  assert.deepEqual(await timelineOf(mind), { capacity: 25, ...empty })
  await mind.operator('PUT /v1/working-memory/config', { capacity: 3 })
  assert.deepEqual(await timelineOf(mind), { capacity: 3, ...empty })
})

// Mutants: fromOf() without `isPut`; mention() that takes the last stay of a key and not the next that ends; itemOf()
// without the numbers of cycles.
test('each stay has when, by whom and by which cycle it came and left, and its score after each cycle', async () => {
  const mind = cyclesOf(ada, 'hour')
  await mind.operator('PUT /v1/working-memory/config', { capacity: 3, pinnedMax: 1, relativeThreshold: 0.5 })
  await put(mind, 'rule', { value: 'Always answer in Dutch', pinned: true })
  const first = await mind.run({ observations: [{ content: 'Ada asked about the train to Berlin', key: 'train' }] })
  await put(mind, 'short', { value: { n: 1 } })
  await mind.call('DELETE /v1/working-memory/slots/short')
  const second = await mind.run({
    focus: 'the broken printer on the second floor',
    observations: [{ content: 'The printer on the second floor is broken' }],
  })
  const third = await mind.run({ focus: 'the train to Berlin' })
  const { items, cycles, ...rest } = await timelineOf(mind, '?content=true')
  assert.deepEqual(rest, { capacity: 3, complete: true, damaged: [], prunedBefore: null, nextCursor: null })
  assert.deepEqual(
    cycles.map(({ seq, id, at, trigger, focus, counts, bar }) => ({ seq, id, at, trigger, focus, counts, bar })),
    [third, second, first].map(({ seq, id, startedAt, trigger, focus, decisions, threshold }) => ({
      ...{ seq, id, at: startedAt, trigger, focus, counts: decisions, bar: threshold?.bar ?? null },
    })),
  )
  const printer = items.find(({ text }) => text?.startsWith('The printer'))?.key
  const stays = items
    .map(shortOf)
    .sort((one, other) => (`${one.key}${one.came}` < `${other.key}${other.came}` ? -1 : 1))
  const expected = [
    {
      key: 'rule',
      by: 'put',
      came: null,
      why: undefined,
      left: undefined,
      text: 'Always answer in Dutch',
      judged: [1, 2, 3],
    },
    { key: 'short', by: 'put', came: null, why: 'deleted', left: null, text: '{"n":1}', judged: [] },
    {
      key: 'train',
      by: 'observed',
      came: 1,
      why: 'below_threshold',
      left: 2,
      text: 'Ada asked about the train to Berlin',
      judged: [1],
    },
    {
      key: 'train',
      by: 'recalled',
      came: 3,
      why: undefined,
      left: undefined,
      text: 'Ada asked about the train to Berlin',
      judged: [3],
    },
    {
      key: printer,
      by: 'observed',
      came: 2,
      why: 'below_threshold',
      left: 3,
      text: 'The printer on the second floor is broken',
      judged: [2],
    },
  ]
  assert.deepEqual(
    stays,
    expected.toSorted((one, other) => (`${one.key}${one.came}` < `${other.key}${other.came}` ? -1 : 1)),
  )
  const [before, since] = items.filter(({ key }) => key === 'train')
  assert.deepEqual(
    [before?.from?.at, before?.to?.at, since?.from?.at],
    [first.startedAt, second.startedAt, third.startedAt],
  )
  assert.equal(before?.recordId, since?.recordId)
  assert.deepEqual(items.map(({ pinned, key }) => pinned && key).filter(Boolean), ['rule'])
  const decided = await mind.get<{ decisions: { subject: { key: string }; score: number; action: string }[] }>(
    third.decisionsUrl,
  )
  const scored = decided.decisions.filter(({ action }) => action === 'kept' || action === 'admitted')
  assert.deepEqual(
    items.flatMap(({ key, scores }) => scores.flatMap(([seq, score]) => (seq === 3 ? [[key, score]] : []))).sort(),
    scored.map(({ subject, score }) => [subject.key, score]).sort(),
  )
})

// Mutants: a page that begins below its last cycle and forgets what left; endsFrom() and readLeft() that cut by the
// time alone; `isLast` that stays true where the page was cut.
test('pages of any size tell the same as one, and both tell what working memory told when it happened', async () => {
  const mind = cyclesOf(ada, 'pages')
  await mind.operator('PUT /v1/working-memory/config', { capacity: 4 })
  const ran: Cycle[] = []
  for (let n = 0; n < 24; n += 1) {
    if (n % 3 === 0) await put(mind, `put-${n % 5}`, { value: `Written ${n}`, ttlMs: 86_400_000 })
    if (n % 7 === 6) await mind.call(`DELETE /v1/working-memory/slots/put-${n % 5}`)
    ran.unshift(
      await mind.run({
        ...(n % 4 === 3 ? { focus: `pump ${n - 1} in the hall` } : {}),
        observations: [
          { content: `Reading ${n} of pump ${n % 6} in the hall`, ...(n % 6 === 5 ? { key: 'pump' } : {}) },
        ],
      }),
    )
  }
  const one = await wholeOf(mind)
  assert.equal(one.pages, 1)
  for (const limit of [1, 5, 23]) {
    const { timeline, pages } = await wholeOf(mind, `&limit=${limit}`)
    assert.ok(pages >= 24 / limit)
    assert.deepEqual(timeline.cycles, one.timeline.cycles)
    assert.deepEqual(timeline.items, one.timeline.items)
  }
  const { evictions } = await mind.get<{ evictions: { key: string; evictedAt: string; reasonCode: string }[] }>(
    '/v1/working-memory/evictions?limit=200',
  )
  const { slots } = await mind.get<{ slots: { key: string; createdAt: string }[] }>('/v1/working-memory/slots')
  const left = one.timeline.items.flatMap(({ key, to }) => (to ? [`${to.at} ${key} ${to.reasonCode}`] : []))
  assert.deepEqual(left.sort(), evictions.map((each) => `${each.evictedAt} ${each.key} ${each.reasonCode}`).sort())
  const open = one.timeline.items.flatMap(({ key, from, to }) => (to ? [] : [`${from?.at} ${key}`]))
  assert.deepEqual(open.sort(), slots.map(({ key, createdAt }) => `${createdAt} ${key}`).sort())
  // Each cycle judged all that was held after it, and nothing else.
  for (const cycle of ran)
    assert.equal(
      one.timeline.items.filter(({ scores }) => scores.some(([seq]) => seq === cycle.seq)).length,
      cycle.workingMemory.after.slotCount,
    )
  // At the beginning of each cycle as many were there as it found.
  for (const { startedAt, workingMemory } of ran) {
    const there = one.timeline.items.filter(
      ({ from, to }) => from && from.at < startedAt && (to === null || to.at >= startedAt),
    )
    assert.equal(there.length, workingMemory.before.slotCount, startedAt)
  }
})

// Mutants: heldAt() that takes what is held now; leftSince() without what left between.
test('a part of the time has what was in mind then, whatever became of it since', async () => {
  const mind = cyclesOf(ada, 'part')
  await mind.operator('PUT /v1/working-memory/config', { capacity: 3 })
  for (let n = 0; n < 6; n += 1) {
    await put(mind, `note-${n}`, { value: `Note ${n}` })
    if (n % 2 === 0) await mind.run({ observations: [{ content: `Heard ${n}` }] })
  }
  const { items, cycles } = await timelineOf(mind, '?content=true')
  const moments = [...new Set(items.flatMap(({ from, to }) => [from?.at, to?.at]))]
    .filter((at) => at !== undefined)
    .sort()
  assert.ok(moments.length > 6)
  for (const [at, since] of moments.entries())
    for (const until of moments.slice(at + 1)) {
      const part = await timelineOf(mind, `?content=true&since=${since}&until=${until}`)
      const wanted = items.filter(({ from, to }) => from && from.at < until && (to === null || to.at >= since))
      assert.deepEqual(
        part.items.map(({ key, from }) => ({ key, from })),
        wanted.map(({ key, from }) => ({ key, from })),
        `${since} to ${until}`,
      )
      for (const { key, to, from } of part.items) {
        const whole = wanted.find((each) => each.key === key && each.from?.at === from?.at)
        assert.deepEqual(to, whole?.to && whole.to.at < until ? whole.to : null)
      }
      assert.deepEqual(
        part.cycles.map(({ seq }) => seq).filter((seq) => !cycles.some((one) => one.seq === seq && one.at < until)),
        [],
      )
      assert.equal(part.complete, true)
    }
})

// Mutant: itemOf() of what the decisions say alone, which have no content; readSaid() from a copy.
test('an erased memory keeps its bar and loses its words, in every page', async () => {
  const mind = cyclesOf(ada, 'erased')
  await mind.operator('PUT /v1/working-memory/config', { capacity: 2, relativeThreshold: 0.5 })
  await mind.run({ observations: [{ content: 'The code of the safe is 4711', key: 'safe' }] })
  await mind.run({ observations: [{ content: 'The lamp is lit' }], focus: 'The lamp is lit' })
  const before = await mind.call('GET /v1/cognitive/timeline?content=true')
  const stay = before.json<Timeline>().items.find(({ key }) => key === 'safe')
  assert.equal(stay?.text, 'The code of the safe is 4711')
  assert.equal((await mind.call(`DELETE /v1/memory/records/${stay?.recordId}`)).status, 200)
  const after = await mind.call('GET /v1/cognitive/timeline?content=true')
  const { text: _, activation, ...bare } = stay as TimelineItem
  assert.ok(typeof activation === 'number')
  assert.deepEqual(
    after.json<Timeline>().items.find(({ key }) => key === 'safe'),
    { ...bare, activation: null, redacted: true },
  )
  assert.equal(after.text.includes('4711'), false)
})

// Mutants: handed out without the digest; damage that hides the page.
test('what is damaged is named and hides nothing else', async () => {
  const mind = cyclesOf(ada, 'damage')
  await mind.operator('PUT /v1/working-memory/config', { capacity: 3 })
  for (const n of [1, 2, 3]) {
    await put(mind, `gone-${n}`, { value: `Gone ${n}` })
    await mind.call(`DELETE /v1/working-memory/slots/gone-${n}`)
    await mind.run({ observations: [{ content: `Reading ${n}` }] })
  }
  const whole = await timelineOf(mind)
  await daemon.sql(
    `update loci.slot_versions set text = replace(text, 'Gone 1', 'gONE 1') where database = 'damage' and key = 'gone-1'`,
  )
  await daemon.sql(
    `update loci.evictions set why = replace(why, 'deleted', 'DELETED') where database = 'damage' and key = 'gone-2'`,
  )
  await daemon.sql(
    `update loci.cycle_decisions set body = replace(body, 'Reading', 'r') || ' ' where database = 'damage' and seq = 2`,
  )
  await daemon.sql(
    `update loci.cycles set body = replace(body, 'completed', 'Completed') where database = 'damage' and seq = 1`,
  )
  const { items, damaged, cycles } = await timelineOf(mind, '?content=true')
  assert.deepEqual(
    cycles.map(({ seq }) => seq),
    [3, 2],
  )
  assert.deepEqual(
    damaged.toSorted((one, other) => (`${one.kind}${one.ref}` < `${other.kind}${other.ref}` ? -1 : 1)),
    [
      { kind: 'cycle', ref: whole.cycles[2]?.id, reason: 'digest_mismatch' },
      { kind: 'decisions', ref: whole.cycles[1]?.id, reason: 'missing' },
      { kind: 'slot', ref: 'gone-1', reason: 'digest_mismatch' },
      { kind: 'slot', ref: 'gone-2', reason: 'digest_mismatch' },
    ],
  )
  const textsOf = (all: TimelineItem[]) => all.map(({ key, text }) => `${key} ${text}`)
  assert.ok(textsOf(items).includes('gone-1 undefined') && textsOf(items).includes('gone-3 Gone 3'))
  assert.ok(!items.some(({ key }) => key === 'gone-2'))
})

// Mutants: `prunedBefore` that is null; the timeline that takes what is gone for nothing that was.
test('where decisions have left, the timeline says from when on it is whole', async () => {
  const mind = cyclesOf(ada, 'pruned')
  await mind.run({ observations: [{ content: 'Long ago' }] })
  assert.equal((await timelineOf(mind)).prunedBefore, null)
  await daemon.sql(`update loci.databases set created_at = now() - interval '90 days' where name = 'pruned'`)
  const { prunedBefore } = await timelineOf(mind)
  assert.ok(prunedBefore !== null && Date.parse(prunedBefore) < Date.now() - 29 * 86_400_000, String(prunedBefore))
  assert.equal((await timelineOf(mind, `?since=${new Date(Date.now() - 60_000).toISOString()}`)).prunedBefore, null)
})

// Mutants: requireContent() that asks for nothing, or for the operation alone.
test('words need the right to read slots, there; without them the right to read cycles suffices', async () => {
  const mind = cyclesOf(ada, 'rights')
  await put(mind, 'note', { value: 'secret' })
  const ask = (query: string, ops: string[], ks: string[]) =>
    ada.call(`GET /v1/cognitive/timeline${query}`, undefined, { db: 'rights', token: ada.mint({ ops, ks }) })
  const bare = await ask('', ['cycles:read'], ['cognitive/rights'])
  assert.deepEqual([bare.status, bare.text.includes('secret')], [200, false])
  const codeOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).error.code
  assert.equal(await codeOf('?content=true', ['cycles:read'], ['*/*']), 'OPERATION_NOT_ALLOWED')
  assert.equal(await codeOf('?content=true', ['cycles:read', 'wm:read'], ['cognitive/*']), 'DATABASE_MISMATCH')
  const both = await ask('?content=true', ['cycles:read', 'wm:read'], ['cognitive/rights', 'working-memory/rights'])
  assert.deepEqual([both.status, both.text.includes('secret')], [200, true])
  assert.deepEqual((await timelineOf(cyclesOf(ada, 'others'), '?content=true')).items, [])
  for (const query of ['?cursor=x', '?limit=501', '?content=yes', '?since=today'])
    assert.equal(await codeOf(query, ['cycles:read'], ['*/*']), 'VALIDATION_ERROR', query)
})

// Mutants: an order without its keyset; a page without a bound.
test('a page ends at a thousand slots that left, and what a slot said is cut at a thousand characters', async () => {
  const mind = cyclesOf(ada, 'many')
  await mind.operator('PUT /v1/working-memory/config', { capacity: 2 })
  const operations = (from: number) =>
    Array.from({ length: 100 }, (_, n) => ({
      op: 'put',
      key: `k${from + n}`,
      value: `${from + n} ${'ä'.repeat(1_200)}`,
    }))
  for (let from = 0; from < 1_300; from += 100)
    assert.equal((await mind.call('POST /v1/working-memory/slots/batch', { operations: operations(from) })).status, 200)
  const keys: string[] = []
  let pages = 0
  for (let cursor = ''; ; pages += 1) {
    const page = await timelineOf(mind, `?content=true${cursor}`)
    keys.push(...page.items.map(({ key }) => key))
    assert.ok(page.items.length <= 1_002)
    assert.ok(page.items.every(({ text, cut }) => text?.length === 1_000 && cut))
    if (page.nextCursor === null) break
    cursor = `&cursor=${page.nextCursor}`
  }
  assert.ok(pages >= 1)
  assert.deepEqual([keys.length, new Set(keys).size], [1_300, 1_300])
})

// Slots that somebody put: a cycle surprises nobody who keeps a conversation in mind.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { cyclesOf } from '../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { slotsOf } from '../testing/slots.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
let token: string
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
  const ops = ['cycles:run', 'cycles:read', 'wm:read', 'wm:write', 'memory:write', 'memory:read']
  token = tenant.mint({ ops, ks: ['*/*'] })
})
after(() => daemon?.[Symbol.asyncDispose]())

function mindOf(db: string) {
  const call = async (line: string, body: unknown) => {
    const answer = await tenant.call(line, body, { db, token })
    assert.equal(answer.status, 200, answer.text)
  }
  return {
    ...slotsOf(tenant, db),
    run: cyclesOf(tenant, db).run,
    remember: (contents: string[]) =>
      call('POST /v1/memory/records/batch', { records: contents.map((content) => ({ content })) }),
  }
}

const PLACES = ['Berlin', 'Lisbon', 'Oslo', 'Vienna', 'Porto', 'Turin', 'Ghent', 'Basel', 'Malmo', 'Cork']
const THINGS = ['train', 'hotel', 'museum', 'dinner', 'invoice', 'ferry', 'visa', 'bicycle', 'concert', 'garden']

// Mutants: restorePut() not called; `said.source.type === 'api'` as false.
test('a conversation of twenty turns, put as slots in 25 places beside a thousand records, survives fifty focused cycles', async () => {
  const mind = mindOf('conversation')
  for (let at = 0; at < 1_000; at += 100)
    await mind.remember(
      Array.from({ length: 100 }, (_, n) => {
        const [place, thing] = [PLACES[n % 10], THINGS[Math.floor(n / 10)]]
        return `Note ${at + n}: the ${thing} in ${place} is booked for guest ${at + n}.`
      }),
    )
  const turns = Array.from({ length: 20 }, (_, at) => `turn:${at}`)
  for (const [at, key] of turns.entries()) await mind.put(key, { value: `Turn ${at}: we spoke about chapter ${at}.` })
  let brought = 0
  for (let cycle = 0; cycle < 50; cycle += 1) {
    const focus = `the ${THINGS[cycle % 10]} in ${PLACES[(cycle * 3) % 10]}`
    const observations = cycle % 5 === 0 ? [{ content: `A remark of cycle ${cycle} about ${focus}`, salience: 2 }] : []
    await mind.run({ focus, observations })
    const keys = await mind.keys()
    assert.deepEqual(
      turns.filter((key) => !keys.includes(key)),
      [],
      `turns that left with cycle ${cycle}`,
    )
    assert.ok(keys.length <= 25)
    brought = Math.max(brought, keys.length - turns.length)
  }
  // The other places are the cycles', so that there was a competition.
  assert.equal(brought, 5)
})

// Mutant: broughtFirst() left out of makeRoom().
test('what somebody put leaves for what is said in a cycle when there is no other room, and after what cycles brought', async () => {
  const mind = mindOf('room')
  await mind.configure({ capacity: 2, relativeThreshold: null })
  for (const key of ['old-1', 'old-2']) await mind.put(key, { value: `${key} is about the weather`, salience: -2 })
  const said = ['tulip', 'lily'].map((key) => ({ content: `The launch code is ${key}`, key, salience: 2 }))
  const { decisions } = await mind.run({ focus: 'the launch code', observations: said })
  assert.deepEqual([decisions.evicted, (await mind.keys()).sort()], [2, ['lily', 'tulip']])
  // A write takes the place of what cycles brought, whatever it weighs.
  const { evicted } = await mind.put('mine', { value: 'something dull', salience: -2 })
  const second = await mind.put('mine-2', { value: 'something dull again', salience: -2 })
  assert.deepEqual([...evicted, ...second.evicted].map(({ key }) => key).sort(), ['lily', 'tulip'])
  assert.deepEqual((await mind.keys()).sort(), ['mine', 'mine-2'])
})

// Mutants: markSame() not called; sayingOf() without toLowerCase().
test('a record that says the same as a slot that was put takes no second place, also when it is said again', async () => {
  const mind = mindOf('doubles')
  const turns = ['Book me a train to Berlin in December', 'Not the night train to Berlin', 'A window seat to Berlin']
  for (const [at, value] of turns.entries()) await mind.put(`turn:${at}`, { value })
  await mind.remember([...turns, '  book me a train   to Berlin in december'])
  for (let cycle = 0; cycle < 3; cycle += 1) {
    await mind.run({
      focus: 'a train to Berlin in December',
      observations: [{ content: turns[0] as string, actor: 'ada' }],
    })
    assert.deepEqual(await mind.keys(), ['turn:0', 'turn:1', 'turn:2'], `cycle ${cycle}`)
  }
})

// Mutants: `action === 'evicted'` of words.ts as false; summaryOf() given the slots before.
test('a cycle says in words what came and what left, and says the same when it is repeated, read and listed', async () => {
  const mind = mindOf('words')
  await mind.configure({ capacity: 6, relativeThreshold: 0.5 })
  const first = await mind.run({})
  assert.equal(first.summary, 'Nothing came and nothing left. 0 slots are in mind.')
  const notes = THINGS.slice(0, 6).map((key) => ({ key, content: `The ${key} was dull and grey` }))
  const filled = await mind.run({ observations: notes })
  const named = THINGS.slice(0, 6).map((key) => `\`${key}\``)
  const [came = '', left = ''] = filled.summary.split(' Left: ')
  assert.equal(named.filter((name) => came.includes(name)).length, 5, filled.summary)
  assert.match(filled.summary, /^Came: .* and 1 more\. Left: nothing\. 6 slots are in mind\.$/)
  assert.equal(left, 'nothing. 6 slots are in mind.')

  const body = { focus: 'launch code tulip', observations: [{ key: 'code', content: 'The launch code is tulip' }] }
  const dry = await mind.run({ ...body, dryRun: true })
  const again = { db: 'words', token, headers: { 'idempotency-key': 'once' } }
  const answers = [
    await tenant.call('POST /v1/cognitive/cycles', body, again),
    await tenant.call('POST /v1/cognitive/cycles', body, again),
  ].map((answer) => answer.json<{ id: string; summary: string; decisions: { evicted: number } }>())
  const [{ id, summary, decisions }] = answers as [(typeof answers)[number]]
  assert.match(summary, /^Came: `code`\. Left: `\w+` \(too far from the focus\).* [1-3] slots? (is|are) in mind\.$/)
  assert.equal(summary.split(' (').length - 1, Math.min(decisions.evicted, 5))
  const list = await tenant.call('GET /v1/cognitive/cycles?limit=1', undefined, again)
  const others = [
    (await tenant.call(`GET /v1/cognitive/cycles/${id}`, undefined, again)).json<{ summary: string }>(),
    ...list.json<{ cycles: { summary: string }[] }>().cycles,
    ...answers,
    dry,
  ]
  assert.deepEqual(new Set(others.map((one) => one.summary)), new Set([summary]))
})

// Mutant: focusWarnings() left out.
test('a focus that removes more than half of what is in mind is a warning of its cycle, and one that keeps it is none', async () => {
  const mind = mindOf('warned')
  await mind.configure({ relativeThreshold: 0.5 })
  const notes = THINGS.slice(0, 6).map((thing) => ({ content: `The ${thing} was dull and grey` }))
  assert.deepEqual((await mind.run({ observations: notes })).warnings, [])
  const { warnings, decisions } = await mind.run({
    focus: 'launch code tulip',
    observations: [{ content: 'The launch code is tulip' }],
  })
  assert.ok(decisions.evicted > 3, JSON.stringify(decisions))
  assert.match(warnings[0]?.problem ?? '', /^The focus removed \d+ of the 6 slots in mind\./)
  assert.equal(warnings[0]?.key, 'relativeThreshold')
})

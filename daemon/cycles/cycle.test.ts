import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CycleConfig, CycleResult } from './shapes.ts'
import { Mind, type Said, SHIPPED } from './testing/mind.ts'

const NOW = Date.UTC(2031, 2, 12, 9)
const MINUTE = 60_000

const said = (id: string, content: string, more: Partial<Said> = {}): Said => ({
  id,
  content,
  contextId: 'talk',
  ...more,
})
const actions = ({ decisions }: CycleResult) =>
  decisions.map(({ action, reasonCode, subject }) => `${action} ${reasonCode} ${subject.key}`)
const heldBy = ({ slots }: CycleResult) => slots.map(({ record, key }) => record?.id ?? key)

// Mutant: settle() without `said.events.has(event)`.
test('a known event and a forgotten value are rejected and stored nowhere', () => {
  const mind = new Mind()
  mind.run(NOW, null, [said('a', 'The kiln is hot.', { sourceEventId: 'e1' })])
  mind.state.forgotten.push('The safe opens with 1234.')

  const { result } = mind.run(NOW + MINUTE, null, [
    said('b', 'The kiln is cold.', { sourceEventId: 'e1' }),
    said('c', 'The safe opens with 1234.'),
    said('d', 'The glaze is blue.', { sourceEventId: 'e2' }),
    said('e', 'The glaze is green.', { sourceEventId: 'e2' }),
  ])

  assert.deepEqual(result.rows.store, [2])
  const rejected = actions(result).filter((action) => action.startsWith('rejected'))
  assert.deepEqual(rejected, ['rejected duplicate b', 'rejected forgotten c', 'rejected duplicate e'])
  assert.deepEqual(heldBy(result).toSorted(), ['a', 'd'])
})

// Mutant: sameOf() of the content alone.
test('what is said again in the same words is one record, presented once more', () => {
  const mind = new Mind()
  mind.run(NOW, null, [said('a', 'Yes, at noon.', { actor: 'Mara' })])

  const { result } = mind.run(NOW + MINUTE, null, [
    said('b', 'Yes, at noon.', { actor: 'Mara' }),
    said('c', 'Yes, at noon.', { actor: 'Pim' }),
    said('d', 'Yes, at noon.', { actor: 'Mara', contextId: 'other' }),
  ])

  assert.deepEqual(result.rows.store, [1, 2], 'by another actor or elsewhere it is another statement')
  const held = result.slots.find(({ record }) => record?.id === 'a')
  assert.deepEqual(held?.seen, { n: 2, first: NOW, recent: [NOW + MINUTE, NOW] })
  assert.deepEqual(result.rows.present, [], 'kept in the document while it is resident')
})

// Mutant: closeFormer() without `known.current`.
test('a key names one current fact: the new one takes its slot and closes the former, resident or not', () => {
  const mind = new Mind({ capacity: 2 })
  mind.run(NOW, null, [said('a', 'Packed so far: two crates.', { key: 'packed' })])
  const first = mind.run(NOW + MINUTE, null, [said('b', 'Packed so far: three crates.', { key: 'packed' })])
  assert.ok(actions(first.result).includes('merged merged packed'))
  assert.deepEqual(heldBy(first.result), ['b'])
  assert.deepEqual(first.result.rows.close, [{ id: 'a', seq: 1, by: 'b' }])

  const away = { ...said('x', 'The courier waits at the gate.'), contextId: 'gate' }
  mind.run(NOW + 2 * MINUTE, null, [away, said('y', 'The gate is locked by the porter.', { contextId: 'gate' })])
  const { result } = mind.run(NOW + 3 * MINUTE, 'How many crates are packed so far?', [
    said('c', 'Packed so far: seven crates.', { key: 'packed' }),
  ])
  assert.deepEqual(heldBy(result)[0], 'c')
  assert.equal(heldBy(result).includes('b'), false)
  assert.equal(result.rows.close[0]?.id, 'b')
})

// Before, it was a presentation of what was said under another key, or none: its key had no fact, or an old one.
// Mutants: `stored` of settle() that is known.equal whatever the key; `heard` that is said.equal.
test('what is said under a key is a fact of that key, whoever says the same under another one or under none', () => {
  const mind = new Mind()
  const closed = (id: string, key?: string) => said(id, 'The door is closed.', key === undefined ? {} : { key })
  mind.run(NOW, null, [closed('a'), said('o', 'The door is open.', { key: 'back' })])
  const { result } = mind.run(NOW + MINUTE, null, [closed('b', 'front'), closed('c', 'back'), closed('d', 'side')])
  assert.deepEqual(result.rows.store, [0, 1, 2])
  assert.deepEqual(result.rows.close, [{ id: 'o', seq: 2, by: 'c' }])

  const again = mind.run(NOW + 2 * MINUTE, null, [closed('e', 'back'), closed('f', 'back'), closed('g')])
  assert.deepEqual(again.result.rows.store, [], 'under the same key, or under none, it is what was said before')
  assert.equal(actions(again.result).filter((action) => action.startsWith('reinforced')).length, 3)
})

// Before, within one cycle it was another statement, and to the store the same. Mutant: sameOf() without 'observation'.
test('a statement without a kind is an observation, also within one cycle', () => {
  const both = [said('a', 'The door is closed.'), said('b', 'The door is closed.', { kind: 'observation' })]
  assert.deepEqual(new Mind().run(NOW, null, both).result.rows.store, [0])
})

// Before, it kept the time of the fact before it: a lasting one left with the old one's, a passing one stayed.
// Mutants: mergeInto() without expiresAt; keptSlot() that keeps the surface.
test('the slot that takes a new fact of its key takes its time and what its text shows, too', () => {
  const mind = new Mind()
  mind.run(NOW, null, [said('a', 'Two crates.', { key: 'packed', ttlMs: 5 * MINUTE })])
  assert.equal(mind.state.slots[0]?.expiresAt, NOW + 5 * MINUTE)
  const content = 'Yesterday I, Ilse, moved seven crates to Harbour Lane 12.'
  const [slot] = mind.run(NOW + MINUTE, null, [said('b', content, { key: 'packed' })]).result.slots
  assert.equal(slot?.expiresAt, null)
  assert.equal(slot?.surface, slot?.explain.parts.find(({ name }) => name === 'salience')?.value)

  mind.run(NOW + 2 * MINUTE, null, [said('c', 'Nine crates.', { key: 'packed', ttlMs: MINUTE })])
  assert.equal(mind.state.slots[0]?.expiresAt, NOW + 3 * MINUTE)
  const { result } = mind.run(NOW + 3 * MINUTE, null, [])
  assert.ok(actions(result).includes('evicted expired packed'))
})

// Mutant: weigh() that judges every slot without an answer of the index as loose.
test('what supersedes a record takes it out of mind, and a slot whose record no longer holds leaves', () => {
  const mind = new Mind()
  mind.run(NOW, null, [said('a', 'We meet Ilse in the blue room.'), said('o', 'The river museum is open.')])
  const { result } = mind.run(NOW + MINUTE, null, [said('b', 'We meet Ilse in the attic.', { supersedes: 'a' })])
  assert.ok(actions(result).includes('evicted superseded a'))
  assert.equal(heldBy(result).includes('a'), false)

  const stored = mind.state.stored.find(({ record }) => record.id === 'o')
  assert.ok(stored)
  stored.isClosed = true
  const later = mind.run(NOW + 2 * MINUTE, null, [])
  assert.ok(actions(later.result).includes('evicted superseded o'))
})

// Mutant: closeFormer() without `former`.
test('two facts under one key in one cycle: both are stored, the second holds', () => {
  const mind = new Mind()
  const { result } = mind.run(NOW, null, [
    said('a', 'Packed: two crates.', { key: 'packed' }),
    said('b', 'Packed: three crates.', { key: 'packed' }),
  ])
  assert.deepEqual(result.rows.store, [0, 1])
  assert.deepEqual(result.rows.close, [{ id: 'a', seq: null, by: 'b' }])
  assert.deepEqual(heldBy(result), ['b'])
})

// Mutant: isPinned() that is always false.
test('pinned slots never leave by competition; an expired one leaves and is not consolidated', () => {
  const mind = new Mind({ capacity: 2, consolidateAfterCycles: 100 })
  for (const key of ['one', 'two', 'three']) mind.put({ key, value: `rule ${key}`, pinned: true }, NOW)
  mind.put({ key: 'note', value: 'back in five minutes' }, NOW)
  const note = mind.state.slots.at(-1)
  assert.ok(note)
  note.expiresAt = NOW + MINUTE

  const { result } = mind.run(NOW + MINUTE, 'Where is the courier?', [said('a', 'The courier is at the gate.')])

  assert.deepEqual(heldBy(result).toSorted(), ['one', 'three', 'two'])
  assert.ok(actions(result).includes('evicted expired note'))
  assert.deepEqual(result.rows.consolidate, [])
  assert.ok(actions(result).includes('stored outcompeted a'))
})

// Mutant: consolidateHeld() with `>` for `>=`; leaveBehind() that consolidates nothing.
test('a slot that was put becomes a record when it was kept for two cycles, or leaves by competition', () => {
  const mind = new Mind({ capacity: 1 })
  mind.put({ key: 'plan', value: 'Thank the volunteers, end with the toast.' }, NOW)
  const first = mind.run(NOW, null, [])
  assert.deepEqual(first.result.rows.consolidate, [])
  const second = mind.run(NOW + MINUTE, null, [])
  assert.equal(second.result.rows.consolidate[0]?.content, 'Thank the volunteers, end with the toast.')
  assert.match(second.result.slots[0]?.record?.id ?? '', /^mem_/)

  const pushed = new Mind({ capacity: 1 })
  pushed.put({ key: 'plan', value: 'Thank the volunteers, end with the toast.' }, NOW)
  const { result } = pushed.run(NOW + MINUTE, 'Where is the courier?', [said('a', 'The courier is at the gate.')])
  assert.deepEqual(heldBy(result), ['a'])
  assert.equal(result.rows.consolidate[0]?.slot.key, 'plan')
})

// Mutant: leaveBehind() that presents nothing.
test('presentations of a slot go to its record when it leaves', () => {
  const mind = new Mind({ capacity: 1 })
  mind.run(NOW, null, [said('a', 'The lamp in the foyer is broken.')])
  mind.run(NOW + MINUTE, null, [said('b', 'The lamp in the foyer is broken.')])
  const { result } = mind.run(NOW + 2 * MINUTE, 'Where is the courier?', [said('c', 'The courier is at the gate.')])
  assert.deepEqual(result.rows.present, [{ id: 'a', seq: 1, seen: { n: 2, first: NOW, recent: [NOW + MINUTE, NOW] } }])
})

// Mutant: own-words.ts without folding numbers; cutPool() without `isHushed`.
test('of a flood of readings three at most are held, and the exception is', () => {
  const mind = new Mind()
  const readings = Array.from({ length: 40 }, (_, k) =>
    said(`r${k}`, `Hall sensor: humidity ${41 + (k % 7)}.${k} percent, within limits.`, { actor: 'sensor' }),
  )
  readings.splice(20, 0, said('alarm', 'Hall sensor: humidity alarm, the west window is open.', { actor: 'sensor' }))
  const { result } = mind.run(NOW, null, readings)
  const held = heldBy(result)
  assert.ok(held.includes('alarm'))
  assert.ok(held.filter((id) => id.startsWith('r')).length <= 3)
  assert.equal(result.rows.store.length, 41, 'all are stored')
})

// Mutant: isDue() without graceMs; broadcast() without isDueNow().
test('what is due comes to mind unasked, an hour before and after, and is said', () => {
  const dueAt = new Date(NOW + 300 * MINUTE).toISOString()
  const config: Partial<CycleConfig> = { capacity: 3 }
  const mindOf = () => {
    const mind = new Mind(config)
    mind.remember([said('p', 'I promised the bookbinder an answer.', { dueAt })], NOW)
    return mind
  }
  const news = said('a', 'The courier is at the gate.', { contextId: 'gate' })
  const at = (minutes: number) =>
    mindOf()
      .run(NOW + minutes * MINUTE, null, [news])
      .result.broadcast.map(({ recordId }) => recordId)
  assert.equal(at(200).includes('p'), false)
  assert.equal(at(241).includes('p'), true)
  assert.equal(at(359).includes('p'), true)
  assert.equal(at(361).includes('p'), false)
  const asked = mindOf().run(NOW + 300 * MINUTE, 'Where is the courier?', [news]).result
  assert.deepEqual(
    asked.broadcast.map(({ recordId }) => recordId),
    ['a', 'p'],
    'also when something else is asked for',
  )
})

// Mutant: perceive() with ownMin 0; broadcast() that says all that is held.
test('without a focus only what shares a quarter of the cue comes to mind; held is not said', () => {
  const mind = new Mind()
  mind.remember(
    [
      said('kiln', 'The kiln needs a new door.', { contextId: 'w' }),
      said('talk', 'Lovely weather for a walk.', { contextId: 'w' }),
    ],
    NOW,
  )
  const { result } = mind.run(NOW + 60 * MINUTE, null, [said('a', 'The kiln door is stuck.', { contextId: 'v' })])
  assert.deepEqual(heldBy(result).toSorted(), ['a', 'kiln'])
  const later = mind.run(NOW + 61 * MINUTE, null, [said('b', 'Flour and sugar were bought.', { contextId: 'u' })])
  assert.deepEqual(
    later.result.broadcast.map(({ recordId }) => recordId),
    ['b'],
  )
  assert.equal(later.result.slots.length, 3)
})

// Mutant: pushDown() that leaves the score.
test('each score is the sum of its parts, and nothing that was handed in is changed', () => {
  const mind = new Mind({ noise: 0.3 })
  mind.remember(
    [said('p', 'I promised Ilse the blue room.', { dueAt: new Date(NOW).toISOString(), salience: 1.5 })],
    NOW,
  )
  mind.put({ key: 'rule', value: { never: 'phone numbers' }, pinned: true }, NOW)
  const before = JSON.stringify(mind.state)
  const readings = [17, 18, 19].map((n) =>
    said(`r${n}`, `The blue room sensor shows ${n} degrees.`, { actor: 'sensor' }),
  )
  const { result, again } = mind.compute(NOW + MINUTE, 'Where is the blue room?', [
    said('a', 'It is cold.'),
    ...readings,
  ])
  assert.equal(JSON.stringify(again().decisions), JSON.stringify(result.decisions), 'nor is what was perceived')
  assert.equal(JSON.stringify(mind.state), before)
  for (const { score, parts } of result.decisions) {
    const sum = parts.reduce((total, { contribution }) => total + contribution, 0)
    assert.ok(Math.abs(sum - score) < 1e-6)
  }
  const named = new Set(result.decisions.flatMap(({ parts }) => parts.map(({ name }) => name)))
  for (const name of ['salience', 'cue', 'hint', 'base', 'stickiness', 'due', 'echo', 'noise'])
    assert.ok(named.has(name), name)
  assert.deepEqual(SHIPPED.capacity, 25)
})

// Mutant: stickinessOf() that gives what came in nothing.
test('of several reports on one thing the one just heard comes first, whatever is already held', () => {
  const mind = new Mind()
  const reports = ['is on the ring road', 'has passed the bridge', 'waits at the gate']
  for (const [k, place] of reports.entries()) {
    const report = said(`r${k}`, `The courier ${place}.`, { actor: 'Pim', contextId: 'courier' })
    const last = mind.run(NOW + 10 * k * MINUTE, 'Where is the courier?', [report]).result
    assert.equal(heldBy(last)[0], `r${k}`)
  }
})

// Mutant: compete() whose bar does not ask for a focus.
test('without a focus nothing leaves but for want of room', () => {
  const mind = new Mind()
  mind.run(NOW, null, [said('a', 'Hm.', { contextId: 'far' })])
  const loud = Array.from({ length: 6 }, (_, k) =>
    said(`l${k}`, `Yesterday I, Ilse, moved kiln ${k} to Harbour Lane 1${k}.`),
  )
  const { result } = mind.run(NOW + 600 * MINUTE, null, loud)
  assert.ok(heldBy(result).includes('a'))
  const focused = mind.run(NOW + 601 * MINUTE, 'When did Ilse move the kiln to Harbour Lane?', []).result
  assert.ok(actions(focused).includes('evicted below_threshold a'))
})

// Mutants: keptSlot() that presents what matched; keptSlot() that counts accesses without a focus.
test('a match is an access and no presentation', () => {
  const mind = new Mind()
  mind.run(NOW, null, [said('a', 'The kiln door is stuck.')])
  const { result } = mind.run(NOW + MINUTE, 'What about the kiln door?', [])
  const [slot] = result.slots
  assert.deepEqual([slot?.seen.n, slot?.accessCount, slot?.lastAccessedAt], [1, 1, NOW + MINUTE])
  const unasked = mind.run(NOW + 2 * MINUTE, null, [said('b', 'The kiln door is open.')]).result
  assert.equal(unasked.slots.find(({ record }) => record?.id === 'a')?.accessCount, 1)
})

// Mutant: stickinessOf() without isIdle.
test('a focus loosens what it does not touch', () => {
  const mind = new Mind({ relativeThreshold: null })
  mind.run(NOW, null, [
    said('a', 'The kiln door is stuck.', { contextId: 'w' }),
    said('b', 'Soup again.', { contextId: 'k' }),
  ])
  const { result } = mind.run(NOW + MINUTE, 'What about the kiln door?', [])
  const sticky = (id: string) => {
    const slot = result.slots.find(({ record }) => record?.id === id)
    return slot?.explain.parts.some(({ name }) => name === 'stickiness')
  }
  assert.equal(sticky('a'), true)
  assert.equal(sticky('b'), false)
})

// Mutant: compete() without SLOTS_BYTES_MAX.
test('the slots have 256 KiB together, whatever the capacity', () => {
  const long = Array.from({ length: 24 }, (_, k) =>
    said(`l${k}`, `Page ${k}: ${'word '.repeat(3_000)}`, { actor: `a${k}` }),
  )
  const { result } = new Mind({ capacity: 256 }).run(NOW, null, long)
  assert.equal(result.rows.store.length, 24)
  assert.equal(result.slots.length, 17)
  assert.ok(result.slots.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) <= 262_144)
})

// Mutant: compete() whose best counts its stickiness.
test('what is held is no better for being held: the threshold is below the best without its stickiness', () => {
  const mind = new Mind({ stickiness: 4 })
  mind.remember(
    [said('b', 'A carpenter comes on Monday.'), said('c', 'Flour was bought.', { contextId: 'kitchen' })],
    NOW,
  )
  mind.run(NOW, null, [said('a', 'The kiln door is stuck.')])
  const { result } = mind.run(NOW + MINUTE, 'What about the kiln door?', [])
  assert.ok((result.slots[0]?.explain.score ?? 0) > 10)
  assert.ok(heldBy(result).includes('b'))
})

// Mutant: perceive() without knownTermsOnly.
test('words that nothing has do not make a focus harder to match', () => {
  const mind = new Mind()
  mind.remember(
    Array.from({ length: 40 }, (_, k) => said(`m${k}`, `Shelf ${k} holds cups.`, { contextId: `s${k}` })),
    NOW,
  )
  mind.run(NOW, null, [said('a', 'The kiln door is stuck.')])
  const { result } = mind.run(
    NOW + MINUTE,
    'Zebra, okapi, quagga, gnu, kudu, eland, oryx, bongo, dikdik, nyala: the kiln door?',
    [],
  )
  assert.ok(result.broadcast.some(({ recordId }) => recordId === 'a'))
})

// Mutant: readTerms() of memory/index/terms.ts without `limits.terms`.
test('of a long cue only the rarest terms count', () => {
  const words = Array.from({ length: 60 }, (_, k) => `thing${k}`).join(' ')
  const { result } = new Mind().run(NOW, null, [said('a', words)])
  assert.equal(result.phases.find(({ name }) => name === 'cue')?.out, 16)
})

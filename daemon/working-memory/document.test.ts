import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SlotWrite } from '@loci/contract/working-memory.ts'
import { baseLevel, explain, present } from './activation.ts'
import { RULES, resolveConfig } from './config.ts'
import { createPlan, type Document, type Plan, type Resident, type Step } from './document.ts'
import { surfaceOf } from './salience.ts'
import { bodyOf, patched, prefixOf } from './slots.ts'

const HOUR = 3_600_000
const NOW = Date.UTC(2026, 10, 15, 12)
const SOURCE = { type: 'api', ref: null, actor: null, trust: 'holder' } as const
const config = (sent: object = {}) => resolveConfig([sent])

/** What the database would hold after the steps. */
function commit(document: Document, steps: readonly Step[], now = document.now): Document {
  let { version } = document
  let slots = document.slots
  for (const step of steps) {
    version += 1
    if (step.op === 'remove') slots = slots.filter(({ key }) => key !== step.key)
    else {
      const text = prefixOf(version, Buffer.alloc(32)) + step.rest
      const slot: Resident = { key: step.key, version, expiresAt: step.expiresAt, meta: step.meta, text }
      slots = slots.some(({ key }) => key === step.key)
        ? slots.map((one) => (one.key === step.key ? slot : one))
        : [...slots, slot]
    }
  }
  return { version, now, cycle: 0, slots }
}
const empty = (now = NOW): Document => ({ version: 0, now, cycle: 0, slots: [] })
const put = (plan: Plan, key: string, body: Partial<SlotWrite> = {}) =>
  plan.apply({ op: 'put', key, body: { value: key, ...body }, ifMatch: null, source: SOURCE })
const keysOf = ({ slots }: Document) => slots.map(({ key }) => key)

test('the parts of an activation add up to its score, whatever the slot and the moment', () => {
  for (let seed = 1; seed < 2_000; seed += 1) {
    const random = (n: number) => (Math.imul(seed, 2_654_435_761) >>> (n % 16)) / 2 ** 32
    let seen = present(undefined, NOW - random(1) * 9_000 * HOUR)
    for (let n = 0; n < seed % 9; n += 1) seen = present(seen, NOW - random(n) * 100 * HOUR)
    const judged = { surface: random(2) * 3 - 1, hint: random(3) * 4 - 2, seen, touchedCycle: seed % 7 }
    // The clock may have been set back an hour, so that writes lie ahead of it.
    for (const now of [NOW, NOW - HOUR, NOW + HOUR]) {
      const { score, parts } = explain(judged, { now, cycle: 9 }, config())
      assert.ok(Number.isFinite(score))
      assert.ok(Math.abs(parts.reduce((sum, { contribution }) => sum + contribution, 0) - score) < 1e-6)
    }
  }
})

test('the base level falls with age and rises with every presentation; older ones are spread evenly', () => {
  const once = present(undefined, NOW)
  assert.ok(baseLevel(once, NOW + HOUR) > baseLevel(once, NOW + 2 * HOUR))
  assert.equal(baseLevel(once, NOW + HOUR), 0, 'one presentation an hour ago')
  const twice = present(once, NOW + HOUR)
  assert.ok(baseLevel(twice, NOW + 2 * HOUR) > baseLevel(once, NOW + 2 * HOUR))
  const often = { n: 10, first: NOW, recent: [9, 8, 7, 6].map((hours) => NOW + hours * HOUR) }
  const at = NOW + 10 * HOUR
  const recent = [1, 2, 3, 4].reduce((sum, age) => sum + age ** -0.5, 0)
  assert.ok(Math.abs(baseLevel(often, at) - Math.log(recent + (6 * (10 ** 0.5 - 4 ** 0.5)) / (0.5 * 6))) < 1e-12)
})

test('what a text shows counts: first person, names, times, numbers; a question or talk about you takes off', () => {
  const plain = surfaceOf('the kettle is warm')
  assert.equal(plain, 0)
  for (const kept of ['my kettle is warm', 'the kettle of Mary', 'warm since Friday', 'kettle 123'])
    assert.ok(surfaceOf(kept) > plain, kept)
  for (const passing of ['is the kettle warm?', 'your kettle is warm']) assert.ok(surfaceOf(passing) < plain, passing)
  assert.equal(surfaceOf({ note: ['my kettle is warm'] }), surfaceOf('my kettle is warm'))
  assert.equal(surfaceOf(null), 0)
})

// Mutant: `hint: body.salience` in put().
test('the hint of a slot that a sub-agent puts counts half', () => {
  const plan = createPlan(empty(NOW), config({ capacity: 3 }))
  const source = { ...SOURCE, trust: 'delegated' as const }
  put(plan, 'own', { salience: 2 })
  plan.apply({ op: 'put', key: 'sub', body: { value: 'sub', salience: 2 }, ifMatch: null, source })
  assert.deepEqual(
    plan.steps.map((step) => (step.op === 'put' ? step.meta?.hint : undefined)),
    [2, 1],
  )
})

// Mutant: LAST_FIRST.activation with its sides exchanged: the strongest leaves.
test('over capacity the lowest activation leaves, and the reason names who displaced it', () => {
  let document = empty(NOW - 5 * HOUR)
  let plan = createPlan(document, config({ capacity: 3 }))
  put(plan, 'old')
  put(plan, 'often')
  document = commit(document, plan.steps, NOW - HOUR)
  plan = createPlan(document, config({ capacity: 3 }))
  put(plan, 'often')
  put(plan, 'salient', { salience: 2 })
  document = commit(document, plan.steps, NOW)

  plan = createPlan(document, config({ capacity: 3 }))
  const { evicted } = put(plan, 'new')
  assert.deepEqual(
    evicted.map(({ key, reasonCode, displacedBy }) => [key, reasonCode, displacedBy]),
    [['old', 'outcompeted', 'new']],
  )
  assert.match(evicted[0]?.reason ?? '', /Displaced by 'new': the lowest activation of 3 slots/)
  const { score, parts } = evicted[0]?.explain ?? { score: Number.NaN, parts: [] }
  assert.ok(Math.abs(parts.reduce((sum, { contribution }) => sum + contribution, 0) - score) < 1e-6)
  assert.deepEqual(keysOf(commit(document, plan.steps)), ['often', 'salient', 'new'])
})

test('lru takes the one not written for the longest, fifo the oldest, reject none; the clock plays no part', () => {
  for (const [policy, leaves] of [
    ['lru', 'b'],
    ['fifo', 'a'],
  ] as const) {
    let document = empty()
    // Each write an hour before the last one: only their order counts.
    for (const key of ['a', 'b', 'a']) {
      const plan = createPlan(document, config({ capacity: 2, policy }))
      put(plan, key)
      document = commit(document, plan.steps, document.now - HOUR)
    }
    const plan = createPlan(document, config({ capacity: 2, policy }))
    assert.deepEqual(
      put(plan, 'c').evicted.map(({ key }) => key),
      [leaves],
    )
  }
  const plan = createPlan(empty(), config({ capacity: 1, policy: 'reject' }))
  put(plan, 'a')
  assert.throws(() => put(plan, 'b'), { code: 'WORKING_MEMORY_FULL' })
  put(plan, 'a')
  assert.deepEqual(
    plan.steps.map(({ key }) => key),
    ['a', 'a'],
  )
})

test('capacity 0 takes nothing; pins that fill it leave no room, and there are not more pins than may be', () => {
  assert.throws(() => put(createPlan(empty(), config({ capacity: 0 })), 'a'), { code: 'WORKING_MEMORY_FULL' })
  const plan = createPlan(empty(), config({ capacity: 2 }))
  put(plan, 'a', { pinned: true })
  put(plan, 'b', { pinned: true })
  assert.throws(() => put(plan, 'c'), { code: 'WORKING_MEMORY_FULL' })
  assert.throws(() => put(plan, 'c', { pinned: true }), { code: 'WORKING_MEMORY_FULL' })
  put(plan, 'b', { pinned: false })
  assert.deepEqual(
    put(plan, 'c').evicted.map(({ key }) => key),
    ['b'],
  )
  const few = createPlan(empty(), config({ pinnedMax: 1 }))
  put(few, 'a', { pinned: true })
  assert.throws(() => put(few, 'b', { pinned: true }), { code: 'WORKING_MEMORY_FULL' })
  put(few, 'a', { pinned: true })
})

test('256 slots fit, and 256 KiB of them: then room is made by bytes too, and pinned bytes stay', () => {
  const plan = createPlan(empty(), config({ capacity: 256 }))
  const kilobyte = 'x'.repeat(1_022)
  for (let n = 0; n < 256; n += 1) assert.deepEqual(put(plan, `k${n}`, { value: kilobyte }).evicted, [])
  assert.equal(put(plan, 'one more', { value: 'x' }).evicted.length, 1)
  // The step before left 1,021 bytes free.
  const { evicted } = put(plan, 'k9', { value: 'x'.repeat(4_094) })
  assert.equal(evicted.length, 3)
  assert.ok(evicted.every(({ displacedBy }) => displacedBy === 'k9'))
  const large = createPlan(empty(), config({ capacity: 256, pinnedMax: 256 }))
  for (let n = 0; n < 16; n += 1) put(large, `k${n}`, { value: 'x'.repeat(16 * 1024 - 2), pinned: true })
  assert.throws(() => put(large, 'more', { value: 1 }), { code: 'WORKING_MEMORY_FULL' })
  assert.throws(() => put(large, 'k0', { value: 'x'.repeat(16 * 1024 - 1) }), { code: 'PAYLOAD_TOO_LARGE' })
})

test('a slot whose time is over is not there, makes room, and is told as expired', () => {
  const first = createPlan(empty(), config({ capacity: 1 }))
  put(first, 'brief', { ttlMs: 500 })
  const document = commit(empty(), first.steps, NOW + 500)
  const plan = createPlan(document, config({ capacity: 1 }))
  assert.ok(!plan.isThere('brief') && !plan.hasWrites())
  assert.deepEqual(put(plan, 'next').evicted, [])
  assert.deepEqual(
    plan.steps.map((step) => (step.op === 'remove' ? step.why?.reasonCode : step.key)),
    ['expired', 'next'],
  )
})

test('If-Match is of the version that is there, and a refused write leaves the plan as it was', () => {
  const first = createPlan(empty(), config())
  put(first, 'k')
  const plan = createPlan(commit(empty(), first.steps), config())
  const over = (ifMatch: number) => plan.apply({ op: 'put', key: 'k', body: { value: 2 }, ifMatch, source: SOURCE })
  assert.throws(() => over(7), { code: 'VERSION_CONFLICT' })
  assert.throws(() => plan.apply({ op: 'delete', key: 'none', ifMatch: -1 }), { code: 'VERSION_CONFLICT' })
  assert.equal(plan.steps.length, 0)
  over(1)
  assert.throws(() => over(1), { message: /same commit/ })
  assert.equal(plan.steps.length, 1)
})

test('a merge patch changes what it names, null removes, and what it leaves must be a slot', () => {
  const body: SlotWrite = { value: { a: 1, b: { c: 2 } }, tags: ['t'], pinned: true }
  assert.deepEqual(patched(body, { value: { a: null, b: { d: [null] } }, pinned: null }), {
    value: { b: { c: 2, d: [null] } },
    tags: ['t'],
  })
  assert.throws(() => patched(body, { value: null }), { code: 'VALIDATION_ERROR' })
  const plan = createPlan(empty(), config())
  put(plan, 'k', { ...body, ttlMs: 60_000 })
  const document = commit(empty(), plan.steps, NOW + 1_000)
  const next = createPlan(document, config())
  next.apply({ op: 'patch', key: 'k', patch: { value: { a: 5 } }, ifMatch: null, source: SOURCE })
  const [step] = next.steps
  assert.ok(step?.op === 'put')
  assert.equal(step.expiresAt, NOW + 60_000, 'its time goes on')
  assert.deepEqual(bodyOf(`{${step.rest}`).value, { a: 5, b: { c: 2 } })
})

test('clearing leaves pinned slots unless asked, and says which', () => {
  const plan = createPlan(empty(), config())
  put(plan, 'kept', { pinned: true })
  put(plan, 'gone')
  const document = commit(empty(), plan.steps)
  const clear = createPlan(document, config()).clear(false)
  assert.deepEqual(clear, { cleared: [{ key: 'gone', version: 2 }], retained: ['kept'] })
  assert.equal(createPlan(document, config()).clear(true).cleared.length, 2)
})

test('a configuration is what was sent over the service’s over the defaults; what cannot be used is named', () => {
  const service = { capacity: 4, ourOwn: true, echo: { weight: 1 } }
  const layers = [service, { capacity: 'many', echo: { share: 0.9 }, policy: 'lru' }]
  const { capacity, policy, pinnedMax } = resolveConfig(layers)
  const of = (shown: Record<string, unknown>) => [shown.capacity, shown.ourOwn, shown.echo, shown.candidateFactor]
  assert.deepEqual(of(RULES.kept(layers)), ['many', true, { weight: 1, share: 0.9 }, 4])
  assert.deepEqual(of(RULES.inForce(layers)), [4, true, { weight: 1, share: 0.9 }, 4])
  assert.deepEqual(RULES.inForce([{ echo: 7 }]).echo, { weight: 2, share: 0.8 })
  assert.deepEqual([capacity, policy, pinnedMax], [4, 'lru', 4])
  assert.deepEqual(
    RULES.warningsOf([
      service,
      { capacity: 1.5, policy: 5, relativeThreshold: null, echo: 7, due: { weight: -1 } },
    ]).map(({ key, using }) => [key, using]),
    [
      ['capacity', 4],
      ['policy', 'activation'],
      ['due.weight', 4],
      ['echo', { weight: 1, share: 0.8 }],
    ],
  )
  assert.deepEqual(RULES.warningsOf([{}]), [])
  // Of the service's values those that nobody replaced by a usable one.
  const keysOf = (...layers: unknown[]) => RULES.warningsOf(layers).map(({ key }) => key)
  assert.deepEqual(keysOf({ capacity: 'many', policy: 'whim' }, { capacity: 3 }), ['policy'])
  assert.deepEqual(keysOf('no object', {}), ['working_memory'])
  assert.equal(resolveConfig(['no object', null]).capacity, 25)
})

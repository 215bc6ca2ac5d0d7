// What an instance is said to hold is what its tables hold, at every moment and after any mix of cycles.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import type { CycleRun } from '@loci/contract/cognitive.ts'
import { Chance } from '../memory/testing/random-items.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { fullConsistency } from '../testing/consistency.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { heldBy } from '../testing/held.ts'

let daemon: TestDaemon
let authority: TestAuthority
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

const OPS = [
  ...['cycles:run', 'cycles:read', 'wm:read', 'wm:write', 'wm:delete', 'memory:read', 'memory:write', 'memory:delete'],
  'system:read',
]
const THINGS = ['kiln', 'crate', 'ladder', 'valve', 'lamp', 'ledger']
const STATES = ['broken', 'packed', 'late', 'signed', 'empty', 'missing']
const PLACES = ['depot', 'attic', 'yard', 'office']
/** More than a hundred beyond the history that is kept: then the oldest leave. */
const CYCLES = { pruned: 115, indexed: 40, small: 40, crowded: 40 }

// Mutants: cycle_append with a byte less, or without the bytes of its document or of its contexts; cycle_commit without
// its records; cycle_prune, cycle_erase, wm_erase or prj_take_in that leave the bytes; mem_present that counts nothing.
test('totals are what the tables hold while cycles store, supersede, evict, expire, erase and prune', async () => {
  const own = await authority.addInstance()
  const held = async () => {
    const { counted, held } = await heldBy(daemon, own.svc)
    assert.deepEqual(counted, held)
    return held.bytes
  }
  const minds = await Promise.all(Object.keys(CYCLES).map((name, seed) => mindOf(own, name, seed + 11)))
  let isOver = false
  const lived = Promise.all(minds.map(({ live }) => live())).finally(() => (isOver = true))
  // Also while several of them share a commit.
  let looks = 0
  for (; !isOver; looks += 1) {
    await held()
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await lived
  assert.ok(looks > 10, `${looks} looks`)
  // What is over is swept, what is too much is pruned, and the index is built: now, not when it has rested.
  await daemon.sql(`update loci.due set at = now() where kind = 'index' and instance_id = $1`, [own.svc])
  const due = `select from loci.due where instance_id = $1 and at < now() + interval '1 day'`
  await eventually(async () => (await daemon.sql(due, [own.svc])).length === 0)
  assert.ok((await held()) > 100_000)
  const system = own.root({ ops: ['system:read'], ks: ['*/*'] })
  assert.equal(await fullConsistency((line) => own.call(system, line)), 'consistent')
  for (const what of DONE) assert.ok((await daemon.sql(`select from ${what} limit 1`, [own.svc])).length > 0, what)
})

/** Otherwise the test would have shown nothing of it. */
const DONE = [
  `loci.segments where instance_id = $1`,
  `loci.tombstones where instance_id = $1`,
  `loci.evictions where instance_id = $1 and why::json ->> 'reasonCode' = 'superseded'`,
  `loci.evictions where instance_id = $1 and why::json ->> 'reasonCode' = 'expired'`,
  `loci.evictions where instance_id = $1 and why::json ->> 'reasonCode' = 'outcompeted'`,
  `loci.records where instance_id = $1 and presented is not null`,
  `loci.records where instance_id = $1 and body like '%"type":"cycle"%'`,
  `loci.databases where instance_id = $1 and cyc_pruned_through > 0`,
  `loci.projections where instance_id = $1 and record_id is not null and taken_by is not null`,
  `loci.cycles where instance_id = $1 and focus is null and focus_hash is not null`,
  `loci.cycles where instance_id = $1 and metadata is null and metadata_hash is not null`,
]

/** A busy machine says 503: nothing was done, by its own word. */
async function answered(ask: () => Promise<TestAnswer>, ...good: number[]): Promise<TestAnswer> {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask()
    if (good.includes(answer.status)) return answer
    assert.ok(answer.status === 503 && tries < 100, answer.text)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** A database in which things happen by chance, one after the other, the same in every run but for the clock. */
async function mindOf(own: TestInstance, database: string, seed: number) {
  const chance = new Chance(seed)
  const isLucky = (share: number) => chance.next() < share
  const headers = { 'x-loci-database': database }
  const [holder, operator] = [own.root({ ops: OPS, ks: ['*/*'] }), own.root({ ops: ['operator'], ks: ['*/*'] })]
  const partner = `Bearer ${await partnerToken(authority, own, ['event', 'retraction'], { partner: 'crm', database })}`
  const call = (line: string, body?: unknown, ...good: number[]) =>
    answered(() => own.call(holder, line, { headers, body }), 200, ...good)
  const configure = (kind: string, body: object) =>
    answered(() => own.call(operator, `PUT /v1/${kind}/config`, { headers, body }), 200)
  const sentence = () => `The ${chance.of(THINGS)} in the ${chance.of(PLACES)} is ${chance.of(STATES)}.`
  const known: string[] = []
  const told: string[] = []
  let events = 0

  function observation() {
    return {
      content: sentence(),
      ...(isLucky(0.5) ? { contextId: chance.of(PLACES) } : {}),
      ...(isLucky(0.3) ? { key: chance.of(THINGS) } : {}),
      ...(isLucky(0.15) && known.length > 0 ? { supersedes: chance.of(known) } : {}),
      ...(isLucky(0.15) ? { ttlMs: 1 + chance.below(40) } : {}),
      ...(isLucky(0.1) ? { sourceEventId: `e${chance.below(30)}` } : {}),
      ...(isLucky(0.1) ? { dueAt: new Date().toISOString() } : {}),
    }
  }

  async function cycle(): Promise<void> {
    const observations = Array.from({ length: chance.below(4) }, observation)
    const [first] = observations
    const run: CycleRun = {
      observations,
      // Erasing what it says reaches it there, too.
      ...(isLucky(0.5) ? { focus: (isLucky(0.5) && first?.content) || `Where is the ${chance.of(THINGS)}?` } : {}),
      ...(isLucky(0.3) && first ? { metadata: { note: ['äöü', first.content] } } : {}),
      limits: { maxEvents: chance.of([0, 2, 100]), maxDurationMs: 10_000, queueMs: 10_000 },
    }
    await call('POST /v1/cognitive/cycles', run)
    const { records } = (await call('GET /v1/memory/records?limit=20')).json<{ records: { id: string }[] }>()
    known.splice(0, known.length, ...records.map(({ id }) => id))
  }

  async function tell(): Promise<void> {
    events += 1
    const target = isLucky(0.4) ? told.shift() : undefined
    const said = target
      ? { projection_class: 'retraction', supersedes: target }
      : { projection_class: 'event', payload: sentence(), run_id: chance.of(PLACES) }
    const body = { ...said, source_event_id: `evt-${events}`, ...(isLucky(0.2) ? { ttl_ms: 40 } : {}) }
    const by = { authorization: partner }
    const answer = await answered(() => daemon.ask('POST /v1/partner/projections', { body, headers: by }), 200)
    if (!target) told.push(answer.json<{ projectionId: string }>().projectionId)
  }

  async function besides(): Promise<void> {
    const key = chance.of(THINGS)
    const value = isLucky(0.3) ? { says: sentence() } : sentence()
    if (isLucky(0.4)) {
      const more = { ...(isLucky(0.3) ? { ttlMs: 30 } : {}), pinned: isLucky(0.1), ephemeral: isLucky(0.2) }
      await call(`PUT /v1/working-memory/slots/${key}`, { value, ...more }, 409)
    }
    if (isLucky(0.3)) await tell()
    if (isLucky(0.25) && known.length > 0) await call(`DELETE /v1/memory/records/${chance.of(known)}`, undefined, 404)
    if (isLucky(0.1)) await call(`DELETE /v1/working-memory/slots/${key}`, undefined, 404)
    if (isLucky(0.03)) await call('POST /v1/working-memory/slots/clear')
    if (isLucky(0.03)) await configure('cognitive', { cycleHistory: 10, ourOwn: sentence() })
  }

  return {
    async live(): Promise<void> {
      const cycles = CYCLES[database as keyof typeof CYCLES]
      if (database === 'pruned') await configure('cognitive', { cycleHistory: 10 })
      if (database === 'small') await configure('working-memory', { capacity: 3 })
      if (database === 'indexed')
        for (let n = 0; n < 3; n += 1) {
          const records = Array.from({ length: 100 }, (_, k) => ({ content: `Shelf ${n * 100 + k}. ${sentence()}` }))
          await call('POST /v1/memory/records/batch', { records })
        }
      for (let n = 0; n < cycles; n += 1) {
        // Of those that are to be too many most do nothing.
        if (database === 'pruned' && n % 4 > 0) await call('POST /v1/cognitive/cycles', {})
        else {
          await besides()
          await cycle()
        }
      }
    },
  }
}

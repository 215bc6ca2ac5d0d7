// What a cycle reads is bounded and charged: one of a free plan must not cost the others of its replica anything.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cycle, CycleRun } from '@loci/contract/cognitive.ts'
import { type TestInstance, testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'
import { cutPool } from './echo.ts'
import type { Candidate } from './judge.ts'

/** So slow a rate that nothing is refilled while a test counts what is left of the burst. */
const LIMITS = { databases: 10, records: 1e4, bytes: 1e8, streams: 1, requests_per_second: 0.001, burst: 400 }
const RIGHTS = { ops: ['cycles:run', 'cycles:read', 'memory:write', 'memory:read'], ks: ['*/*'] }

const call = (instance: TestInstance, line: string, body?: unknown) =>
  instance.call(instance.root(RIGHTS), line, { body })

async function dryRun(instance: TestInstance, run: CycleRun): Promise<Cycle> {
  const answer = await call(instance, 'POST /v1/cognitive/cycles', { ...run, dryRun: true })
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

async function left(instance: TestInstance): Promise<number> {
  for (let count = 0; ; count += 1) if ((await call(instance, 'GET /v1/cognitive/stats')).status === 429) return count
}

/** Of 20 KB each, half of it metadata. */
async function fill(instance: TestInstance, contents: string[], more: (n: number) => object = () => ({})) {
  for (let from = 0; from < contents.length; from += 40) {
    const records = contents.slice(from, from + 40).map((content, at) => ({
      ...{ content: `${content} ${'x'.repeat(10_000)}`, metadata: { of: 'y'.repeat(10_000) } },
      ...more(from + at),
    }))
    assert.equal((await call(instance, 'POST /v1/memory/records/batch', { records })).status, 200)
  }
}

/** No two of them near copies of each other. */
const kettles = (count: number) =>
  Array.from({ length: count }, (_, n) => {
    const own = [...'abcde'].map((letter) => `${letter}${'bcdfghjklm'[n % 10]}${'npqrstvwxz'[Math.floor(n / 10)]}o`)
    return `The kettle ${own.join(' ')}.`
  })

// Mutants: RECORDS_BYTES_MAX of store.ts = 1e9; count() of routes.ts that does nothing; readRecords() that counts none.
test('a cycle reads a mebibyte of what it finds, the best first, and what it reads is charged, dry or not', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instances = await Promise.all([0, 1].map(() => authority.addInstance({ limits: LIMITS })))
  const [none, once] = instances as [TestInstance, TestInstance]
  for (const instance of instances) await fill(instance, kettles(80))
  const { phases } = await dryRun(once, { focus: 'Where is the kettle?' })
  const recalled = phases.find(({ name }) => name === 'recall')
  assert.ok(recalled && recalled.in >= 80 && recalled.out >= 50 && recalled.out <= 60, JSON.stringify(recalled))
  // A mebibyte are 16; the texts of the tail, which are read too, 12.
  const cost = (await left(none)) - (await left(once))
  assert.ok(cost >= 17 && cost <= 45, `the run cost ${cost}`)
})

// Mutant: `limit 64` of cycle_known() left out, and its order; starts_with() left out.
test('of records with the value of an observation one is read: that of its actor, context and kind', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instances = await Promise.all([0, 1].map(() => authority.addInstance({ limits: LIMITS })))
  const [none, once] = instances as [TestInstance, TestInstance]
  const same = Array.from({ length: 60 }, () => 'The kettle is in the shed.')
  const content = `${same[0]} ${'x'.repeat(10_000)}`
  for (const instance of instances) {
    await fill(instance, same, (n) => ({ actor: `actor ${n}` }))
    // What the first search reads is not what is counted here.
    await dryRun(instance, {})
  }
  const observations = [...Array(5)].map(() => ({ content, actor: 'actor 7' }))
  const { decisions } = await dryRun(once, { observations, focus: 'Nothing of the kind' })
  assert.deepEqual([decisions.reinforced, decisions.stored], [5, 0])
  const cost = (await left(none)) - (await left(once))
  // With the mebibyte that a focus finds; five times all of them would be 90 more.
  assert.ok(cost <= 40, `the run cost ${cost}`)
})

// Mutant: isInDebt() of rates.ts that is always false.
test('a cycle by schedule is charged as one that is asked for, and waits while the instance is in debt', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance({ limits: { ...LIMITS, burst: 20 } })
  const operator = instance.root({ ops: ['operator'], ks: ['*/*'] })
  const body = { schedule: { intervalMs: 1_000 } }
  assert.equal((await instance.call(operator, 'PUT /v1/cognitive/config', { body })).status, 200)
  const due = async () =>
    (await daemon.sql<{ at: Date }>(`select at from loci.due where kind = 'cycle' and instance_id = $1`, [instance.svc]))[0]
      ?.at as Date
  // 50 units in a burst of 20.
  await fill(instance, kettles(40))
  const first = await due()
  while ((await due()).getTime() < first.getTime() + 8_000) await new Promise((resolve) => setTimeout(resolve, 100))
  assert.deepEqual(await daemon.sql('select from loci.cycles where instance_id = $1', [instance.svc]), [])
})

function candidate(n: number, content: string, looks: { count: number }): Candidate {
  const known = { id: `mem_${n}`, held: null, fresh: null, record: null, actor: 'a', occurredAt: 0, order: n, hint: 0 }
  const judged = { dueAt: null, seen: { n: 1, first: 0, recent: [0] }, own: 0, said: 0, sketch: 1, contributions: [] }
  return {
    ...{ ...known, ...judged, score: 0, copyOf: null, isHushed: false },
    get content() {
      looks.count += 1
      return content
    },
  }
}

// Mutants: createPairs() without `analysed`; PAIRS_MAX = 1e9.
test('each text is analysed once for near copies, however many it is like, and beyond 4,096 pairs there are none', () => {
  const config = { echo: { weight: 2, share: 1 }, relativeThreshold: 5 }
  const flood = (count: number) => {
    const looks = { count: 0 }
    const said = Array.from({ length: count }, (_, n) => `kettle shed garden tool${'abcdefghij'[n % 10]}${n}x`)
    const words = said.map((text, n) => `${text} ${'qrstuvwxyz'[n % 10]}${'klmnopqrst'[Math.floor(n / 10) % 10]}word`)
    const ordered = [...words, words[0] as string].map((text, n) => candidate(n, text, looks))
    const pool = cutPool(ordered, () => true, count, config)
    return { looks: looks.count, copyOf: pool.at(-1)?.copyOf }
  }
  assert.deepEqual(flood(20), { looks: 21, copyOf: 'mem_0' })
  assert.deepEqual(flood(95).copyOf, null)
  assert.ok(flood(95).looks <= 96)
})

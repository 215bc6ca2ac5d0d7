import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'
import { MEMORY_RIGHTS } from '../testing/records.ts'

/** So slow a rate that nothing is refilled while a test counts what is left of the burst. */
const LIMITS = { databases: 10, records: 1e4, bytes: 1e8, streams: 1, requests_per_second: 0.001, burst: 150 }
const RECALL = 'POST /v1/memory/recall'

const call = (instance: TestInstance, line: string, body?: unknown) =>
  instance.call(instance.root(MEMORY_RIGHTS), line, { body })
const recall = (instance: TestInstance) => call(instance, RECALL, { query: 'Where is the kettle?', limit: 1 })

async function left(instance: TestInstance): Promise<number> {
  for (let count = 0; ; count += 1)
    if ((await call(instance, 'GET /v1/memory/records?limit=1')).status === 429) return count
}

/**
 * An instance with 200 records of 4 KiB, 12 units to read and 124 to write, that has answered so many recalls. What a
 * busy machine refuses is charged too: then another instance is made.
 */
async function filled(authority: TestAuthority, recalls: number): Promise<TestInstance> {
  for (;;) {
    const instance = await authority.addInstance({ limits: LIMITS })
    const batches = [0, 50, 100, 150].map((from) => () => call(instance, 'POST /v1/memory/records/batch', batch(from)))
    const asked = Array.from({ length: recalls }, () => () => recall(instance))
    if (await areAnswered([...batches, ...asked])) return instance
  }
}

const batch = (from: number) => ({
  records: Array.from({ length: 50 }, (_, n) => ({
    content: `The kettle ${from + n} is in the shed. ${`w${n} `.repeat(1_300).slice(0, 4_000)}`,
  })),
})

async function areAnswered(requests: (() => Promise<TestAnswer>)[]): Promise<boolean> {
  for (const send of requests) {
    const { status, text } = await send()
    if (status >= 500) return false
    assert.equal(status, 200, text)
  }
  return true
}

// Mutant: countRead() left out of store() of routes.ts.
test('what is stored is charged once as a body and once for its index', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const spent = 150 - (await left(await filled(authority, 0)))
  assert.ok(spent >= 115 && spent <= 130, `200 records of 4 KiB cost ${spent}`)
})

// Mutants: countRead() left out of recall-routes.ts: a recall costs 3 by its rows; readBytes left out of server.ts.
test('a recall is charged for what it reads, and one that has read it before only for what it compares', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const lefts: number[] = []
  for (const recalls of [0, 1, 2]) lefts.push(await left(await filled(authority, recalls)))
  const [all, once, twice] = lefts as [number, number, number]
  const [cold, warm] = [all - once, all - twice]
  assert.ok(cold >= 13 && cold <= 16, `the first cost ${cold}`)
  assert.ok(warm > cold && warm <= cold + 6, `the second cost ${warm - cold}`)
})

// Mutants: requireRate() left out of recall-routes.ts; the recall outside of inTurn().
test('of large recalls at once a few are answered, and the others find what those have cost', async () => {
  await using daemon = await testDaemon({ settings: { databaseConnectionsMax: 16 } })
  await using authority = await testAuthority(daemon)
  const instance = await filled(authority, 0)
  const answers = await Promise.all(Array.from({ length: 40 }, () => recall(instance)))
  // 503: on a busy machine its turn does not come in time.
  assert.ok(answers.every(({ status }) => [200, 429, 503].includes(status)))
  const granted = answers.filter(({ status }) => status === 200).length
  assert.ok(granted >= 1 && granted <= 8, `${granted} of 40 were answered`)
})

// It cost 1, and took 560 ms of processor in a segment of 3 MB. Mutant: countRead() left out of erase-routes.ts.
test('an erasure is charged for the segments that are written anew', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance({ limits: { ...LIMITS, burst: 400 } })
  const records = (from: number) =>
    Array.from({ length: 90 }, (_, n) => ({
      content: Array.from({ length: 200 }, (_, at) => `w${from + n}x${at}`).join(' '),
      sourceEventId: `evt-${from + n}`,
    }))
  for (const from of [0, 90, 180])
    for (let status = 0; status !== 200; )
      status = (await call(instance, 'POST /v1/memory/records/batch', { records: records(from) })).status
  const segments = () =>
    daemon.sql<{ bytes: number }>('select octet_length(body) as bytes from loci.segments where instance_id = $1', [
      instance.svc,
    ])
  await eventually(async () => (await segments()).length === 1)
  const [{ bytes } = { bytes: 0 }] = await segments()
  const listed = await call(instance, 'GET /v1/memory/records?limit=200')
  const { id } = listed.json<{ records: { id: string }[] }>().records.at(-1) as { id: string }
  await left(instance)
  await instance.change({ limits: { ...LIMITS, burst: 600 } })
  const token = instance.root({ ...MEMORY_RIGHTS, ops: ['memory:delete'] })
  // On a busy machine again: what was written is charged then too.
  for (let status = 0; status !== 200; ) {
    const erased = await instance.call(token, `DELETE /v1/memory/records/${id}`)
    status = erased.status
    assert.ok(status === 200 || status >= 500, erased.text)
  }
  const [expected, cost] = [Math.floor((2 * bytes) / 65_536), 200 - (await left(instance))]
  assert.ok(expected >= 5 && cost >= expected, `${cost} of ${expected}`)
})

// What a write depends on: the same conditions for entries and slots, and a refusal where nobody looks at one.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { SLOT_RIGHTS } from '../testing/slots.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let replica: TestDaemon
let tenant: TestTenant
let token: string
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
  replica = await testDaemon({ replicaOf: daemon })
  const ops = [...SLOT_RIGHTS.ops, 'kv:read', 'kv:write', 'kv:delete', 'cycles:run', 'memory:write', 'memory:read']
  token = tenant.mint({ ops: [...new Set([...ops, 'advice:write'])], ks: ['*/*'] })
})
after(async () => {
  await replica?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

const PLACES = { kv: '/v1/kv/entries', slots: '/v1/working-memory/slots' }
interface Kept {
  value: unknown
  version: number
}

for (const [kind, folder] of Object.entries(PLACES)) {
  const call = (db: string, line: string, body?: unknown, headers: Record<string, string> = {}) =>
    tenant.call(line, body, { db, token, headers })
  const put = (db: string, value: unknown, headers = {}) => call(db, `PUT ${folder}/k`, { value }, headers)
  const read = async (db: string, key = 'k') => (await call(db, `GET ${folder}/${key}`)).json<Kept>()
  const batch = (db: string, ...operations: object[]) => call(db, `POST ${folder}/batch`, { operations })
  const create = { 'if-none-match': '*' }

  // Mutants: `return 0` of conditionOf() as null; `p_if_match[ord] = 0` in kv_write_open() as 1; `ifMatch === 0 &&
  // !old` without `!old` in requireMatch().
  test(`${kind}: If-None-Match: * writes only where there is nothing; a deleted or expired one is free again`, async () => {
    const db = `create-${kind}`
    const first = (await put(db, 'first', create)).json<Kept>()
    const refused = await put(db, 'second', create)
    assert.deepEqual([refused.status, refused.error.code], [412, 'VERSION_CONFLICT'], refused.text)
    assert.equal((refused.error.details as { currentVersion: number }).currentVersion, first.version)
    assert.deepEqual([(await read(db)).value, (await read(db)).version], ['first', first.version])
    assert.equal((await put(db, 'third')).status, 200)
    assert.equal((await put(db, 'fourth', create)).status, 412)
    assert.equal((await call(db, `DELETE ${folder}/k`)).status, 200)
    assert.equal((await put(db, 'fifth', create)).status, 200)
    // No version is 0: in If-Match it does not mean that there must be nothing.
    assert.equal((await call(db, `PUT ${folder}/none`, { value: 1 }, { 'if-match': '"0"' })).status, 412)
  })

  // Mutant: `runningMax` aside, a create that reads before it writes.
  test(`${kind}: of forty simultaneous creations over two replicas one wins, and its value is there`, async () => {
    const db = `race-${kind}`
    const headers = { 'x-loci-capability': token, 'x-loci-database': db, ...create }
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        (at % 2 ? replica : daemon).ask(`PUT ${folder}/k`, { body: { value: at }, headers }),
      ),
    )
    const won = answers.filter(({ status }) => status === 200)
    assert.deepEqual([won.length, answers.filter(({ status }) => status === 412).length], [1, 39])
    assert.equal((await read(db)).value, won[0]?.json<Kept>().value)
  })

  // Mutants: `ifVersion` not passed on in the batch; `p_if_match[i] > 0` left out in kv_write().
  test(`${kind}: each operation of a batch may name the version that it depends on, and nothing is done where one does not fit`, async () => {
    const db = `batch-${kind}`
    const none = await batch(`${db}-new`, { op: 'delete', key: 'a', ifVersion: 3 })
    assert.deepEqual([none.status, none.error.code], [412, 'VERSION_CONFLICT'], none.text)
    assert.equal(
      (await batch(db, { op: 'put', key: 'a', value: 1, ifVersion: 0 }, { op: 'put', key: 'b', value: 1 })).status,
      200,
    )
    const [a, b] = [await read(db, 'a'), await read(db, 'b')]
    const good = { op: 'put', key: 'new', value: 1, ifVersion: 0 }
    for (const wrong of [
      { op: 'put', key: 'a', value: 2, ifVersion: 0 },
      { op: 'put', key: 'a', value: 2, ifVersion: a.version + 7 },
      { op: 'delete', key: 'a', ifVersion: a.version + 7 },
      { op: 'put', key: 'none', value: 2, ifVersion: 1 },
      { ...good, value: 2 },
    ]) {
      const { status, error } = await batch(db, good, wrong)
      assert.deepEqual([status, error.code], [412, 'VERSION_CONFLICT'], JSON.stringify(wrong))
    }
    for (const ifVersion of [-1, 1.5, '0', null])
      assert.equal((await batch(db, good, { op: 'put', key: 'a', value: 2, ifVersion })).status, 400)
    assert.equal((await call(db, `GET ${folder}/new`)).status, 404)
    const done = await batch(
      db,
      { op: 'put', key: 'a', value: 2, ifVersion: a.version },
      { op: 'delete', key: 'b', ifVersion: b.version },
      { op: 'delete', key: 'c', ifVersion: 0 },
    )
    assert.equal(done.status, 200, done.text)
    assert.equal((await read(db, 'a')).value, 2)
    assert.equal((await call(db, `GET ${folder}/b`)).status, 404)
  })

  // Mutant: requireConditions() not called.
  test(`${kind}: a condition that is not honoured is 400 and nothing is done`, async () => {
    const db = `refused-${kind}`
    for (const headers of [
      { 'if-none-match': '"1"' },
      { 'if-none-match': '*', 'if-match': '"1"' },
      { 'if-unmodified-since': 'Tue, 17 Nov 2026 00:00:00 GMT' },
      { 'if-modified-since': 'Tue, 17 Nov 2026 00:00:00 GMT' },
      { 'if-match': '1' },
    ] as Record<string, string>[]) {
      const { status, error } = await put(db, 1, headers)
      assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], JSON.stringify(headers))
    }
    assert.equal((await call(db, `GET ${folder}/k`)).status, 404)
    for (const line of [`POST ${folder}/batch`, `DELETE ${folder}/k`, `GET ${folder}/k`, `GET ${folder}`]) {
      const { status, error } = await call(db, line, line.startsWith('POST') ? { operations: [] } : undefined, create)
      assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], line)
      assert.match(error.message, /if-none-match/)
    }
  })
}

test('routes that create without a version refuse conditions, and say which', async () => {
  for (const [line, body] of [
    ['POST /v1/memory/records', { content: 'tea' }],
    ['POST /v1/cognitive/cycles', {}],
    ['POST /v1/advice/outcomes', { taskClass: 'a', tools: [{ toolId: 'a', outcome: 'success' }] }],
  ] as const)
    for (const header of ['if-match', 'if-none-match']) {
      const { status, error } = await tenant.call(line, body, { token, headers: { [header]: '*' } })
      assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], line)
      assert.ok(error.message.includes(header), error.message)
    }
})

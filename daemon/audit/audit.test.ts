import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { appendAudit, CELL_CHAIN } from './store.ts'

let daemon: TestDaemon
let authority: TestAuthority
let own: TestInstance
let other: TestInstance
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
  own = await authority.addInstance()
  other = await authority.addInstance()
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

interface Row {
  chain: string
  id: string
  seq: number
  at: Date
  actor: string
  action: string
  subject: string
  outcome: string
  request_id: string | null
  database: string | null
  detail: Record<string, unknown>
  digest: string
  prev_hash: string | null
  hash: string
}

const rowsOf = (chain: string) => daemon.sql<Row>('select * from loci.audit where chain = $1 order by seq', [chain])

/** Written from the description of the chain, not with the code that makes it. */
function problemsOf(rows: Row[]): string[] {
  return rows.flatMap((row, at) => {
    const sorted = Object.entries(row.detail).sort(([a], [b]) => (a < b ? -1 : 1))
    const { chain, id, actor, action, subject, outcome, request_id, database } = row
    const fields = [chain, id, row.at.toISOString(), actor, action, subject, outcome, request_id, database, sorted]
    const digest = createHash('sha256').update(JSON.stringify(fields)).digest('base64url')
    const previous = rows[at - 1]?.hash ?? null
    const hash = createHash('sha256')
      .update(`${previous ?? ''}\x1f${at + 1}\x1f${digest}`)
      .digest('hex')
    return [
      ...(Number(row.seq) === at + 1 ? [] : [`${id} has number ${row.seq}`]),
      ...(row.digest === digest ? [] : [`${id} was edited`]),
      ...(row.prev_hash === previous && row.hash === hash ? [] : [`${id} is not linked`]),
    ]
  })
}

function append(chain: string, subject: string): Promise<string> {
  const act = { actor: 'test', action: 'test.act', outcome: 'done', requestId: newId('req'), database: 'default' }
  return appendAudit(authority.pool, { ...act, chain, subject, detail: { b: 1, a: 'ä', c: null, d: true } })
}

const operator = (instance: TestInstance) => instance.root({ ops: ['operator'], ks: ['*/*'] })

test('acts at the same moment stand in one chain that verifies', async () => {
  const jtis = Array.from({ length: 20 }, () => newId('cap'))
  await Promise.all([
    // Twenty at once have two connections: who waits too long is 503, nothing was done, and asks again.
    ...jtis.map((jti) =>
      eventually(async () => (await daemon.admin('POST /admin/revocations', { jti })).status === 200),
    ),
    ...jtis.map((jti) => append(own.svc, jti)),
  ])
  const [cell, instance] = [await rowsOf(CELL_CHAIN), await rowsOf(own.svc)]
  assert.deepEqual(problemsOf(cell), [])
  assert.deepEqual(problemsOf(instance), [])
  assert.equal(instance.length, 20)
  assert.deepEqual(
    cell
      .map(({ subject }) => subject)
      .filter((subject) => jtis.includes(subject))
      .sort(),
    jtis.toSorted(),
  )
})

test('an edited, removed, swapped or foreign entry breaks the chain', async () => {
  const chain = newId('svc')
  for (const subject of ['one', 'two', 'three', 'four']) await append(chain, subject)
  const rows = await rowsOf(chain)
  assert.deepEqual(problemsOf(rows), [])
  const [one, two, three, four] = rows as [Row, Row, Row, Row]
  for (const changed of [
    [one, { ...two, actor: 'somebody' }, three, four],
    [one, { ...two, detail: { ...two.detail, b: 2 } }, three, four],
    [one, { ...two, database: null }, three, four],
    [one, three, four],
    [one, { ...three, seq: 2 }, { ...two, seq: 3 }, four],
    [one, { ...two, chain: own.svc }, three, four],
  ])
    assert.notDeepEqual(problemsOf(changed), [])
})

test('an operator sees the acts on its own instance, the administration those of the cell', async () => {
  const [mine, theirs] = [newId('cap'), newId('cap')]
  await append(own.svc, mine)
  await append(other.svc, theirs)
  await daemon.admin('POST /admin/revocations', { jti: 'cap_of_the_cell' })
  const texts = [
    (await own.call(operator(own), 'GET /v1/audit')).text,
    (await own.call(operator(other), 'GET /v1/audit')).text,
    (await daemon.admin('GET /admin/audit')).text,
  ]
  const seen = [mine, theirs, 'cap_of_the_cell'].map((subject) => texts.map((text) => text.includes(subject)))
  assert.deepEqual(seen, [
    [true, false, false],
    [false, true, false],
    [false, false, true],
  ])
})

test('the list is newest first and goes on by cursor to the first entry', async () => {
  const party = await authority.addInstance()
  for (let i = 0; i < 7; i += 1) await append(party.svc, `act ${i}`)
  const subjects: string[] = []
  let query = '?limit=3'
  for (;;) {
    const page = await own.call(operator(party), `GET /v1/audit${query}`)
    const { entries, nextCursor } = page.json<{ entries: { subject: string }[]; nextCursor: string | null }>()
    subjects.push(...entries.map(({ subject }) => subject))
    if (nextCursor === null) break
    query = `?limit=3&cursor=${nextCursor}`
  }
  assert.deepEqual(subjects, ['act 6', 'act 5', 'act 4', 'act 3', 'act 2', 'act 1', 'act 0'])
  assert.equal((await own.call(operator(party), 'GET /v1/audit?cursor=x')).status, 400)
})

test('the daemon’s role can read one chain at a time and change none', async () => {
  await append(own.svc, 'kept')
  const { pool } = authority
  assert.deepEqual((await pool.query({ text: 'select id from loci.audit' })).rows, [])
  for (const text of [
    `update loci.audit set subject = 'x'`,
    'delete from loci.audit',
    'truncate loci.audit',
    `update loci.audit_202611 set subject = 'x'`,
  ])
    await assert.rejects(pool.query({ text }), /permission denied|does not exist/, text)
})

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CELL_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { auditSuite } from '@loci/acts/testing/audit-suite.ts'
import { type ChainRow, problemsOf } from '@loci/acts/testing/chain.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'

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

auditSuite(async () => {
  const own = await testDaemon()
  return {
    database: own.database,
    newChain: () => newId('svc'),
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  }
})

function append(chain: string, subject: string): Promise<string> {
  const act = { actor: 'test', action: 'test.act', requestId: newId('req') }
  return appendAudit(authority.pool, { ...act, chain, subject, detail: { database: 'notes' } })
}

const operator = (instance: TestInstance) => instance.root({ ops: ['operator'], ks: ['*/*'] })

test('concurrent admin acts are in one chain that verifies', async () => {
  const jtis = Array.from({ length: 20 }, () => newId('cap'))
  // Twenty at once have two connections: who waits too long is 503, nothing was done, and asks again.
  await Promise.all(
    jtis.map((jti) => eventually(async () => (await daemon.admin('POST /admin/revocations', { jti })).status === 200)),
  )
  const rows = await daemon.sql<ChainRow>('select * from loci.audit where chain = $1 order by seq', [CELL_CHAIN])
  assert.deepEqual(problemsOf(rows), [])
  const subjects = rows.map(({ subject }) => subject).filter((subject) => jtis.includes(subject))
  assert.deepEqual(subjects.sort(), jtis.toSorted())
})

test('an operator sees the acts on its own instance, an administrator those of the cell', async () => {
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

interface Listed {
  subject: string
  database: string
  detail?: unknown
}

test('the list is newest first and goes on by cursor to the first entry', async () => {
  const party = await authority.addInstance()
  for (let i = 0; i < 7; i += 1) await append(party.svc, `act ${i}`)
  const subjects: string[] = []
  let query = '?limit=3'
  for (;;) {
    const page = await own.call(operator(party), `GET /v1/audit${query}`)
    const { entries, nextCursor } = page.json<{ entries: Listed[]; nextCursor: string | null }>()
    assert.ok(entries.every(({ database, detail }) => database === 'notes' && detail === undefined))
    subjects.push(...entries.map(({ subject }) => subject))
    if (nextCursor === null) break
    query = `?limit=3&cursor=${nextCursor}`
  }
  assert.deepEqual(subjects, ['act 6', 'act 5', 'act 4', 'act 3', 'act 2', 'act 1', 'act 0'])
  assert.equal((await own.call(operator(party), 'GET /v1/audit?cursor=x')).status, 400)
})

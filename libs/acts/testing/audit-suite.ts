// What both programs promise about their audit chains, on the real database with the role that serves requests.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import { openPool, type Pool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { appendAudit } from '../audit/store.ts'
import { type ChainRow, problemsOf } from './chain.ts'

export interface AuditedProgram extends AsyncDisposable {
  database: { adminUrl: string; appUrl: string }
  /** A new chain, as those of the program's tenants are. */
  newChain(): string
}

export function auditSuite(open: () => Promise<AuditedProgram>): void {
  let program: AuditedProgram
  let app: Pool
  let admin: Pool
  before(async () => {
    program = await open()
    const { appUrl, adminUrl } = program.database
    app = openPool({ ...PATIENT, url: appUrl, applicationName: 'test', connectionsMax: 4, onError: () => {} })
    admin = openPool({ ...PATIENT, url: adminUrl, applicationName: 'test', connectionsMax: 1, onError: () => {} })
  })
  after(async () => {
    await Promise.all([app?.close(), admin?.close()])
    await program?.[Symbol.asyncDispose]()
  })

  const act = { actor: 'test', action: 'test.act', requestId: newId('req') }
  const entry = (chain: string, subject: string) => ({
    ...act,
    chain,
    subject,
    detail: { b: 1, a: 'ä', c: null, d: true, B: '"\\' },
  })
  const rowsOf = async (chain: string) =>
    (
      await admin.query<ChainRow>({
        text: `select chain, id, seq::int, at, actor, action, subject, outcome, request_id, detail, digest, prev_hash, hash
          from loci.audit where chain = $1 order by seq`,
        values: [chain],
      })
    ).rows

  // Mutant: `for update` left out of audit_append(): two entries have one number.
  test('entries appended at the same moment stand in one chain that verifies', async () => {
    const [one, other] = [program.newChain(), program.newChain()]
    const subjects = Array.from({ length: 20 }, (_, n) => `act ${n}`)
    await Promise.all(
      subjects.flatMap((subject) => [appendAudit(app, entry(one, subject)), appendAudit(app, entry(other, subject))]),
    )
    for (const chain of [one, other]) {
      const rows = await rowsOf(chain)
      assert.deepEqual(problemsOf(rows), [])
      assert.deepEqual(rows.map(({ subject }) => subject).sort(), subjects.toSorted())
    }
  })

  // Mutant: any field left out of digestOf(), or `detail` not sorted.
  test('an edited, removed, swapped or foreign entry breaks the chain', async () => {
    const chain = program.newChain()
    for (const subject of ['one', 'two', 'three', 'four']) await appendAudit(app, entry(chain, subject))
    const [one, two, three, four] = (await rowsOf(chain)) as [ChainRow, ChainRow, ChainRow, ChainRow]
    assert.deepEqual(problemsOf([one, two, three, four]), [])
    const edits: Partial<ChainRow>[] = [
      { actor: 'somebody' },
      { action: 'test.other' },
      { subject: 'x' },
      { outcome: 'refused' },
      { request_id: null },
      { at: new Date(two.at.getTime() + 1) },
      { id: newId('aud') },
      { detail: { ...two.detail, b: 2 } },
      { detail: {} },
      { chain: program.newChain() },
    ]
    for (const edit of edits)
      assert.deepEqual(problemsOf([one, { ...two, ...edit }, three, four]).length > 0, true, JSON.stringify(edit))
    assert.notDeepEqual(problemsOf([one, three, four]), [])
    assert.notDeepEqual(problemsOf([two, three, four]), [])
    assert.notDeepEqual(problemsOf([one, { ...three, seq: 2 }, { ...two, seq: 3 }, four]), [])
  })

  test('an act that is rolled back leaves no entry and no gap', async () => {
    const chain = program.newChain()
    await appendAudit(app, entry(chain, 'one'))
    const failed = transaction(app, async (sql) => {
      await appendAudit(sql, entry(chain, 'two'))
      throw new Error('refused')
    })
    await assert.rejects(failed, /refused/)
    await appendAudit(app, entry(chain, 'three'))
    const rows = await rowsOf(chain)
    assert.deepEqual(problemsOf(rows), [])
    assert.deepEqual(
      rows.map(({ subject }) => subject),
      ['one', 'three'],
    )
  })

  test('the role that serves requests sees no chain unless it names one, and changes none', async () => {
    const chain = program.newChain()
    await appendAudit(app, entry(chain, 'kept'))
    assert.deepEqual((await app.query({ text: 'select id from loci.audit' })).rows, [])
    for (const text of [
      `update loci.audit set subject = 'x'`,
      'delete from loci.audit',
      'truncate loci.audit',
      `update loci.audit_202611 set subject = 'x'`,
    ])
      await assert.rejects(app.query({ text }), /permission denied|does not exist/, text)
    assert.equal((await rowsOf(chain)).length, 1)
  })
}

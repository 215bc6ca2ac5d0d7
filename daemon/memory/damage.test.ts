// P6 in one process: rot.ts damages pages, this edits fields.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { MEMORY_RIGHTS, memoryOf } from '../testing/records.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

interface Report {
  status: string
  checks: { name: string; checked: number; failed: number }[]
  issues: { type: string; domain: string; database: string; ref: string | null }[]
  coverage: { complete: boolean; nextCursor: string | null }
}

/** A whole walk, by cursor. */
async function walk(): Promise<{ status: string; issues: string[]; tombstones: number }> {
  const token = tenant.mint(MEMORY_RIGHTS)
  const issues: string[] = []
  let tombstones = 0
  for (let cursor = ''; ; ) {
    const answer = await tenant.call(`GET /v1/kv/consistency?mode=full${cursor}`, undefined, { token })
    const report = answer.json<Report>()
    issues.push(...report.issues.map(({ type, domain, database, ref }) => `${domain} ${database} ${type} ${ref}`))
    tombstones += report.checks.find(({ name }) => name === 'tombstones_honoured')?.checked ?? 0
    if (report.coverage.nextCursor === null) return { status: report.status, issues, tombstones }
    cursor = `&cursor=${report.coverage.nextCursor}`
  }
}

const EDITS: [string, string][] = [
  ['a body', `body = replace(body, 'two', 'twO')`],
  ['a version', 'changed_seq = changed_seq + 1'],
  ['an end', 'valid_to = now()'],
  ['an expiry', `expires_at = now() - interval '1 hour'`],
  ['a place', 'position = position + 7'],
  ['a value', `value_mac = decode(md5('x'), 'hex')`],
  ['a digest', `digest = sha256('x')`],
  ['an owner', `source_event_id = 'other'`],
]

// Mutant: record_is_intact that is always true: the edited body is served.
test('an edited record is never served or recalled, never hides another, and is found', async () => {
  for (const [at, [what, edit]] of EDITS.entries()) {
    const db = `edit-${at}`
    const memory = memoryOf(tenant, db)
    const [, two] = await memory.storeAll(
      ['one', 'two', 'three'].map((name) => ({ content: `The lamp ${name} is lit` })),
    )
    const id = two?.id as string
    await daemon.sql(`update loci.records set ${edit} where id = $1`, [id])
    const { records, damaged } = await memory.list()
    assert.deepEqual(
      [records.map(({ content }) => content), damaged],
      [['The lamp three is lit', 'The lamp one is lit'], [{ ref: id, reason: 'digest_mismatch' }]],
    )
    const read = await memory.get(id)
    assert.deepEqual([read.status, read.error.code], [500, 'DATA_DAMAGED'], what)
    assert.deepEqual((await memory.contents('lamp lit')).sort(), ['The lamp one is lit', 'The lamp three is lit'], what)
    assert.ok((await walk()).issues.includes(`memory ${db} digest_mismatch ${id}`), what)
    assert.equal((await memory.call(`DELETE /v1/memory/records/${id}`)).status, 200)
    assert.deepEqual((await walk()).issues, [], what)
  }
})

// Mutants: mem_walk without its lookup of tombstones; against() without its comparison of counts; mem_index_gaps
// without the head's row.
test('what vanished of records and segments, a record behind a tombstone and a damaged segment are found', async () => {
  const memory = memoryOf(tenant, 'found')
  const stored = await memory.storeAll(Array.from({ length: 300 }, (_, n) => ({ content: `The lamp ${n} is lit` })))
  await eventually(async () => (await daemon.sql(`select 1 from loci.segments where database = 'found'`)).length > 0)
  const { tombstones } = await walk()
  assert.equal((await memory.call(`DELETE /v1/memory/records/${stored[299]?.id}`)).status, 200)
  assert.deepEqual(await walk(), { status: 'consistent', issues: [], tombstones: tombstones + 1 })
  const id = stored[7]?.id as string
  await daemon.sql(
    `insert into loci.tombstones select instance_id, database, value_mac, id, now() from loci.records where id = $1`,
    [id],
  )
  assert.deepEqual((await walk()).issues, [`memory found tombstone_ignored ${id}`])
  await daemon.sql(`delete from loci.tombstones where database = 'found'`)
  await daemon.sql(`update loci.segments set body = '\\x00' || substr(body, 2) where database = 'found'`)
  assert.match((await walk()).issues.join(), /^memory found digest_mismatch segment \d+$/)
  await daemon.sql(`delete from loci.segments where database = 'found'`)
  const [gap, ...more] = (await walk()).issues
  assert.match(gap ?? '', /^memory found missing segment of 1 to \d+$/)
  assert.deepEqual(more, [])
  await daemon.sql('delete from loci.records where id = $1', [id])
  assert.deepEqual((await walk()).issues, [gap, 'memory found missing null'])
})

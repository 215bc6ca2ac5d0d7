// P6 in one process: rot.ts damages pages, this edits fields.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { SLOT_RIGHTS, slotPath, slotsOf } from '../testing/slots.ts'
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
  issues: { type: string; domain: string; database: string; ref: string | null }[]
  coverage: { complete: boolean; nextCursor: string | null }
}

/** A whole walk, by cursor. */
async function walk(): Promise<{ status: string; issues: string[] }> {
  const token = tenant.mint(SLOT_RIGHTS)
  const issues: string[] = []
  for (let cursor = ''; ; ) {
    const answer = await tenant.call(`GET /v1/kv/consistency?mode=full${cursor}`, undefined, { token })
    const report = answer.json<Report>()
    issues.push(...report.issues.map(({ type, domain, database, ref }) => `${domain} ${database} ${type} ${ref}`))
    if (report.coverage.nextCursor === null) return { status: report.status, issues }
    cursor = `&cursor=${report.coverage.nextCursor}`
  }
}

const EDITS: [string, string, (ref: string) => string][] = [
  ['a text', `texts[2] = replace(texts[2], 'two', 'twO')`, (ref) => `digest_mismatch ${ref}`],
  ['a version', 'versions[2] = versions[2] + 1', (ref) => `digest_mismatch ${ref}`],
  ['an expiry', `expires[2] = now() - interval '1 hour'`, (ref) => `digest_mismatch ${ref}`],
  ['a meta', `metas[2] = replace(metas[2], '"pinned":false', '"pinned":true')`, (ref) => `digest_mismatch ${ref}`],
  ['a digest', `digests[2] = sha256('x')`, (ref) => `digest_mismatch ${ref}`],
  ['a null', 'texts[2] = null', (ref) => `digest_mismatch ${ref}`],
  ['a key', `keys[2] = 'other'`, () => 'digest_mismatch other'],
]

// Mutant: wm_list_each without its comparison of the digest: the edited text is served.
test('an edited slot is never served, never hides another, and is found', async () => {
  for (const [what, edit, found] of EDITS) {
    const db = `edit-${what.replaceAll(' ', '-')}`
    const slots = slotsOf(tenant, db)
    for (const key of ['one', 'two', 'three']) await slots.put(key, { value: `value ${key}` })
    assert.equal((await walk()).status, 'consistent', what)
    await daemon.sql(`update loci.working_memory set ${edit} where database = $1`, [db])
    const { slots: listed, count, damaged } = await slots.list()
    assert.deepEqual([listed.map(({ key }) => key), count, damaged?.length], [['one', 'three'], 2, 1], what)
    if (what !== 'a key') {
      const read = await slots.get('two')
      assert.deepEqual([read.status, read.error.code], [500, 'DATA_DAMAGED'], what)
    }
    const report = await walk()
    assert.equal(report.status, 'inconsistent', what)
    assert.ok(report.issues.includes(`working-memory ${db} ${found('two')}`), `${what}: ${report.issues}`)
    // Others can be written meanwhile, and that does not make the damaged one look well.
    await slots.put('four')
    assert.equal((await slots.list()).damaged?.length, 1, what)
    const conflict = await slots.call(
      `PUT ${slotPath(what === 'a key' ? 'other' : 'two')}`,
      { value: 1 },
      { 'if-match': '"2"' },
    )
    assert.deepEqual([conflict.status, conflict.error.code], [500, 'DATA_DAMAGED'], what)
    await slots.put(what === 'a key' ? 'other' : 'two', { value: 'mended' })
    assert.equal((await slots.list()).damaged, undefined, what)
    assert.equal((await walk()).status, 'consistent', what)
  }
})

test('a document that vanished, came back older, or lost a slot is found by what the head counted', async () => {
  for (const [db, edit] of [
    ['gone', `delete from loci.working_memory where database = 'gone'`],
    [
      'short',
      `update loci.working_memory w set keys = keys[2:], texts = texts[2:], versions = versions[2:], expires = expires[2:],
        metas = metas[2:], digests = digests[2:] where database = 'short'`,
    ],
    ['foreign', `update loci.working_memory set evictions = evictions + 1 where database = 'foreign'`],
  ] as const) {
    const slots = slotsOf(tenant, db)
    for (const key of ['one', 'two']) await slots.put(key)
    await daemon.sql(edit)
    const { status, issues } = await walk()
    assert.equal(status, 'inconsistent', db)
    assert.ok(
      issues.some((issue) => issue.startsWith(`working-memory ${db} `)),
      `${db}: ${issues}`,
    )
    await daemon.sql('delete from loci.working_memory where database = $1', [db])
    await daemon.sql('delete from loci.databases where name = $1', [db])
  }
})

test('damaged history, evictions and configuration are named, and the configuration is put again', async () => {
  const slots = slotsOf(tenant, 'past')
  await slots.configure({ capacity: 1 })
  for (const key of ['one', 'two']) await slots.put(key)
  await daemon.sql(
    `update loci.slot_versions set text = replace(text, 'one', 'onE') where database = 'past' and key = 'one'`,
  )
  await daemon.sql(`update loci.evictions set why = replace(why, 'two', 'twO') where database = 'past'`)
  await daemon.sql(`update loci.configs set sent = '{"capacity":2}' where database = 'past'`)
  const { issues } = await walk()
  assert.deepEqual(
    issues.filter((issue) => issue.includes(' past ')),
    ['config', 'history of one', 'eviction of one'].map((ref) => `working-memory past digest_mismatch ${ref}`),
  )
  const history = (await slots.call(`GET ${slotPath('one')}/history`)).json<{ versions: []; damaged: [] }>()
  assert.deepEqual([history.versions.length, history.damaged.length], [0, 1])
  const evictions = (await slots.call('GET /v1/working-memory/evictions')).json<{ evictions: []; damaged: [] }>()
  assert.deepEqual([evictions.evictions.length, evictions.damaged.length], [0, 1])
  const refused = await slots.call(`PUT ${slotPath('three')}`, { value: 1 })
  assert.deepEqual([refused.status, refused.error.code], [500, 'DATA_DAMAGED'])
  assert.deepEqual(await slots.keys(), ['two'])
  await slots.configure({ capacity: 1 })
  await slots.put('three')
})

// Mutant: `counted := null` without its condition in wm_verify_appended.
test('a version of a slot or an eviction that vanished is found by the bytes that the document counted', async () => {
  for (const [db, table] of [
    ['lost-version', 'slot_versions'],
    ['lost-eviction', 'evictions'],
  ] as const) {
    const slots = slotsOf(tenant, db)
    await slots.configure({ capacity: 2 })
    for (const key of ['one', 'two', 'one', 'three', 'four']) await slots.put(key)
    const intact = (await walk()).issues.filter((issue) => issue.includes(` ${db} `))
    assert.deepEqual(intact, [], 'nothing is missing yet')
    await daemon.sql(
      `delete from loci.${table} where database = $1 and ctid = (select ctid from loci.${table} where database = $1 limit 1)`,
      [db],
    )
    const { status, issues } = await walk()
    assert.equal(status, 'inconsistent')
    assert.deepEqual(
      issues.filter((issue) => issue.includes(` ${db} `)),
      [`working-memory ${db} missing history`],
    )
    await slots.put('five')
    assert.equal((await walk()).status, 'inconsistent', 'a later write does not hide it')
  }
})

// Mutants, in wm_verify_appended: 0 for `bytes` in go_on_after; v_mark never null.
test('what the document counted is compared over several pages, unless it was written meanwhile', async () => {
  const slots = slotsOf(tenant, 'pages')
  await slots.configure({ capacity: 2 })
  for (const key of ['one', 'two', 'one', 'three', 'four', 'two']) await slots.put(key)
  const counts = async (during?: () => Promise<unknown>) => {
    for (let after: string | null = null, pages = 1; ; pages += 1) {
      const [page] = (await daemon.sql(
        'select bytes::int, counted::int, go_on_after from loci.wm_verify_appended($1, $2, $3, 2)',
        [tenant.instanceId, 'pages', after],
      )) as unknown as { bytes: number; counted: number | null; go_on_after: string | null }[]
      if (!page?.go_on_after) return { ...page, pages }
      after = page.go_on_after
      if (pages === 2) await during?.()
    }
  }
  const whole = await counts()
  assert.ok(whole.bytes && whole.pages > 4, JSON.stringify(whole))
  assert.equal(whole.counted, whole.bytes)
  assert.equal((await counts(() => slots.put('five'))).counted, null)
})

// Mutant: wm_verify that asks for c.intact alone.
test('a configuration that vanished or came back older is found, and is put again', async () => {
  const slots = slotsOf(tenant, 'configured')
  const issues = async () => (await walk()).issues.filter((issue) => issue.includes(' configured '))
  await slots.configure({ capacity: 3 })
  const [older] = await daemon.sql(`select version, sent, digest from loci.configs where database = 'configured'`)
  await slots.configure({ capacity: 2 })
  assert.deepEqual(await issues(), [])
  await daemon.sql(`update loci.configs set version = $1, sent = $2, digest = $3 where database = 'configured'`, [
    older?.version,
    older?.sent,
    older?.digest,
  ])
  assert.deepEqual(await issues(), ['working-memory configured digest_mismatch config'])
  await daemon.sql(`delete from loci.configs where database = 'configured'`)
  assert.deepEqual(await issues(), ['working-memory configured digest_mismatch config'])
  await slots.configure({ capacity: 2 })
  assert.deepEqual(await issues(), [])
})

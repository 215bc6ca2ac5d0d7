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

// Mutants: readAround() that throws: 500; mem_rows() that gives up the half in which something is; Tails that keeps
// what was read around.
test('a record that cannot be read hides no other, in a list or a recall, and is counted', async () => {
  const memory = memoryOf(tenant, 'rotten')
  const stored = await memory.storeAll(
    Array.from({ length: 9 }, (_, n) => ({ content: `The lamp ${n} is lit`, contextId: `room ${n % 2}` })),
  )
  const rotten = [stored[2]?.id, stored[3]?.id, stored[8]?.id] as string[]
  const healthy = stored.filter(({ id }) => !rotten.includes(id)).map(({ content }) => content)
  const named = rotten.map(() => ({ ref: null, reason: 'page_unreadable' }))
  const check = async () => {
    const recalled = await memory.recall({ query: 'Which lamp is lit?', limit: 50 })
    assert.deepEqual(recalled.results.map(({ content }) => content).sort(), healthy)
    assert.deepEqual(recalled.damaged, named)
  }
  assert.equal((await memory.recall({ query: 'Which lamp is lit?', limit: 50 })).results.length, 9)
  // Rows that fail like rows on a bad page; the real thing is `npm run test:system -- rot`.
  await daemon.sql(`alter function loci.record_digest rename to real_digest;
    create function loci.record_digest(r loci.records) returns bytea language plpgsql stable as $$
    begin
      if r.id in ('${rotten.join("', '")}') then raise exception 'invalid page' using errcode = 'XX001'; end if;
      return loci.real_digest(r);
    end $$`)
  try {
    for (const [limit, query] of [1, 2, 4, 50].flatMap(
      (limit) =>
        [
          [limit, ''],
          [limit, '&order=asc'],
        ] as const,
    )) {
      const all = { contents: [] as string[], damaged: [] as object[] }
      for (let cursor = ''; ; ) {
        const page = await memory.list(`?limit=${limit}${query}${cursor}`)
        all.contents.push(...page.records.map(({ content }) => content))
        all.damaged.push(...(page.damaged ?? []))
        if (page.nextCursor === null) break
        cursor = `&cursor=${page.nextCursor}`
      }
      const expected = query === '' ? healthy.toReversed() : healthy
      assert.deepEqual([all.contents, all.damaged], [expected, named], `pages of ${limit} ${query}`)
    }
    const narrowed = await memory.list('?order=asc&contextId=room%200')
    assert.deepEqual(
      [narrowed.records.map(({ content }) => content), narrowed.damaged],
      [[0, 4, 6].map((n) => `The lamp ${n} is lit`), named.slice(1)],
    )
    await check()
    await memory.storeAll(Array.from({ length: 260 }, (_, n) => ({ content: `Something else ${n}`, contextId: 'x' })))
    await eventually(async () => {
      const [head] = await daemon.sql(`select mem_indexed_through as at from loci.databases where name = 'rotten'`)
      return Number(head?.at) > 9
    })
    const { results } = await memory.recall({ query: 'Which lamp is lit?', limit: 50 })
    assert.deepEqual(results.map(({ content }) => content).sort(), healthy)
  } finally {
    await daemon.sql('drop function loci.record_digest; alter function loci.real_digest rename to record_digest')
  }
})

// Mutants: mem_index that reads what ended with p_tail_max 0 too: 500; recall-routes.ts without unnamed(), or with
// `incomplete` by the cuts alone; mem_changed_around() that gives up the half in which something is.
test('a record that ended and cannot be read hides no other of a recall, which says that something is missing', async () => {
  const memory = memoryOf(tenant, 'ended')
  const lamps = await memory.storeAll(Array.from({ length: 5 }, (_, n) => ({ content: `The lamp ${n} is lit` })))
  const rest = await memory.storeAll(Array.from({ length: 260 }, (_, n) => ({ content: `Something else ${n}` })))
  await eventually(async () => {
    const [head] = await daemon.sql(`select mem_indexed_through as at from loci.databases where name = 'ended'`)
    return Number(head?.at) > 5
  })
  const [rotten, healthy] = [lamps[1]?.id, lamps[2]?.id] as [string, string]
  for (const id of [rotten, healthy]) await memory.store({ content: `It is dark (${id})`, supersedes: id })
  const ask = async (more: object) => {
    const { results, damaged, incomplete } = await memory.recall({ query: 'Which lamp is lit?', limit: 50, ...more })
    const lit = results.map(({ content }) => content).filter((content) => content.startsWith('The lamp'))
    return { lit: lit.sort(), damaged, incomplete }
  }
  const contents = (numbers: number[]) => numbers.map((n) => `The lamp ${n} is lit`)
  const asOf = rest.at(-1)?.createdAt as string
  assert.deepEqual(await ask({}), { lit: contents([0, 3, 4]), damaged: undefined, incomplete: false })
  assert.deepEqual(await ask({ asOf }), { lit: contents([0, 1, 2, 3, 4]), damaged: undefined, incomplete: false })
  const failing = (name: string, parameters: string, returns: string, values: string) =>
    `alter function loci.${name} rename to real_${name};
     create function loci.${name}(r loci.records${parameters}) returns ${returns} language plpgsql stable as $$
     begin
       if r.id = '${rotten}' then raise exception 'invalid page' using errcode = 'XX001'; end if;
       return loci.real_${name}(r${values});
     end $$`
  await daemon.sql(failing('record_digest', '', 'bytea', ''))
  await daemon.sql(failing('record_holds', ', p_now timestamptz', 'boolean', ', p_now'))
  await daemon.sql(failing('record_held', ', p_at timestamptz, p_now timestamptz', 'boolean', ', p_at, p_now'))
  const damaged = [{ ref: null, reason: 'page_unreadable' }]
  try {
    assert.deepEqual(await ask({}), { lit: contents([0, 3, 4]), damaged, incomplete: true })
    assert.deepEqual(await ask({ query: 'Who stands beside the kettle?' }), { lit: [], damaged, incomplete: true })
    const then = await ask({ asOf })
    assert.deepEqual([then.lit, then.incomplete], [contents([0, 2, 3, 4]), true])
  } finally {
    for (const name of ['record_digest', 'record_holds', 'record_held'])
      await daemon.sql(`drop function loci.${name}; alter function loci.real_${name} rename to ${name}`)
  }
})

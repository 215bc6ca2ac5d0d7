// A database that rests has its records in segments: a recall that has nothing of it in memory need not analyse them.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { cyclesOf } from '../../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { memoryOf, type TestMemory } from '../../testing/records.ts'
import { addTenant, type TestTenant } from '../../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

const facts = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({ content: `Room ${from + n} is green`, contextId: 'a' }))

/** Whether the index is due, and if so within five minutes or later. */
async function dueOf(db: string): Promise<string | undefined> {
  const [due] = await daemon.sql<{ when: string }>(
    `select case when at < now() + interval '5 minutes' then 'soon' else 'later' end as when
     from loci.due where database = $1 and kind = 'index'`,
    [db],
  )
  return due?.when
}

const tailOf = async (db: string) =>
  (await daemon.sql<{ tail: number }>(`select mem_tail as tail from loci.databases where name = $1`, [db]))[0]?.tail

/** In which a record can be stored. */
const WAYS: Record<string, (memory: TestMemory, records: { content: string }[], db: string) => Promise<unknown>> = {
  alone: async (memory, records) => {
    for (const record of records) await memory.store(record)
  },
  together: (memory, records) => memory.storeAll(records),
  each: (memory, records) => memory.storeAll(records.map((record) => ({ ...record, override: true }))),
  'by a cycle': (_, observations, db) => cyclesOf(tenant, db).run({ observations }),
}

// Mutants: without mem_put_index in mem_write_one, mem_write_acts, mem_put_head or cycle_put_due; mem_tail_rest() of
// 18 or 15.
for (const [way, store] of Object.entries(WAYS))
  test(`more than fifteen records that are stored ${way} are in no segment for ten minutes, and then in one`, async () => {
    const db = `rest-${way.replaceAll(' ', '-')}`
    const memory = memoryOf(tenant, db)
    await store(memory, facts(1, 15), db)
    assert.equal(await dueOf(db), undefined)
    await store(memory, facts(16, 2), db)
    assert.equal(await dueOf(db), 'later')
    // What comes then does not put it off.
    await daemon.sql(`update loci.due set at = now() + interval '4 minutes' where database = $1`, [db])
    await store(memory, facts(18, 20), db)
    assert.equal(await dueOf(db), 'soon')
    await daemon.sql(`update loci.due set at = now() where database = $1 and kind = 'index'`, [db])
    while ((await tailOf(db)) !== 0) await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(await dueOf(db), undefined)
    const segments = await daemon.sql(`select items from loci.segments where database = $1`, [db])
    assert.deepEqual(segments, [{ items: 37 }])
    const { results } = await memory.recall({ query: 'Which room is green?', limit: 50 })
    assert.equal(results.length, 37)
  })

// Mutant: mem_index_commit without mem_put_index: the row goes with the build, and what came meanwhile waits for 256.
test('what is stored while the index is built is due in its turn', async () => {
  const db = 'rest-meanwhile'
  const memory = memoryOf(tenant, db)
  await memory.storeAll(facts(1, 40))
  // A build that has read twenty of them, and publishes nothing.
  const [{ outcome } = {}] = await daemon.sql<{ outcome: string }>(
    `select loci.mem_index_commit($1, $2, '{}', h.mem_erased_at, r.seq, r.seq, '{}', '{}', '{}', '{}', '{}', '{}', '{}') as outcome
     from loci.databases h, lateral (select seq from loci.records r where r.database = h.name order by seq offset 19 limit 1) r
     where h.name = $2`,
    [tenant.instanceId, db],
  )
  assert.deepEqual([outcome, await tailOf(db), await dueOf(db)], ['done', 20, 'later'])
})

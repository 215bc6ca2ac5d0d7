import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT, testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../schema.ts'
import { newProjection } from './projections.ts'
import { type ActOutcome, commitProjections } from './store.ts'

const INSTANCE = 'svc_1'

// Mutants: no `where a.database = p_name` in prj_write_plain(); no `order by ord` in storeActs().
test('projections of several databases that share a call are numbered in each, and a repeat in one is no repeat in another', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const open = (url: string) =>
    openPool({ url, applicationName: 'loci-test', connectionsMax: 1, onError: () => {}, ...PATIENT })
  const [pool, owner] = [open(database.appUrl), open(database.adminUrl)]
  try {
    await owner.query({
      text: `insert into loci.instances (id, organization_id, tenant_id, service_type, plan, state, generation, limits, config, change_seq, databases)
        values ('${INSTANCE}', 'org_1', 'ten_1', 'memory', 'pro', 'active', 1, '{}', '{}', 1, 0)`,
    })
    const sealing = { id: 'test', key: randomBytes(32) }
    const told = (database: string, ...events: string[]) => ({
      ...{ database, databasesMax: 10, partner: 'crm', isWhole: events.length > 1, isFull: false },
      projections: events.map((event) =>
        newProjection(
          { projection_class: 'event', source_event_id: event },
          { partner: 'crm', actor: 'ptr_1' },
          sealing,
        ),
      ),
    })
    const commit = async (...acts: ReturnType<typeof told>[]) =>
      (await commitProjections(pool, INSTANCE, acts)).map(numbers)

    const first = await commit(told('b', 'b1'), told('a', 'a1', 'a2'), told('b', 'b2', 'b3'), told('a', 'a3'))
    assert.deepEqual(first, [['done 1'], ['done 1', 'done 2'], ['done 2', 'done 3'], ['done 3']])
    const second = await commit(told('b', 'a1'), told('a', 'a2'), told('b', 'b4'), told('a', 'a4'))
    assert.deepEqual(second, [['done 4'], ['duplicate 2'], ['done 5'], ['done 4']])
    const { rows } = await owner.query({
      text: `select h.name, h.prj_rows = count(*) and h.prj_bytes = sum(loci.prj_bytes(p)) and h.prj_held = count(p.body) and h.prj_set_a = bit_xor(loci.digest_part(p.digest, 1))
          and h.seq = max(p.seq) and bool_and(p.digest = loci.prj_digest(p)) as fits, count(*)
        from loci.databases h join loci.projections p on p.instance_id = h.instance_id and p.database = h.name group by h.instance_id, h.name
        order by h.name`,
    })
    assert.deepEqual(rows, [
      { name: 'a', fits: true, count: 4 },
      { name: 'b', fits: true, count: 5 },
    ])
  } finally {
    await Promise.all([pool.close(), owner.close()])
  }
})

function numbers(act: ActOutcome): string[] {
  assert.equal(act.outcome, 'stored')
  return act.outcome === 'stored' ? act.projections.map(({ outcome, seq }) => `${outcome} ${seq}`) : []
}

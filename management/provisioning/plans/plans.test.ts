import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { limitsOf } from '../../plans.ts'
import { testManagement } from '../../testing/management.ts'
import { announceLimits, putLimitsDue } from './store.ts'

// Mutant: planJobs() left out of app.ts: the service keeps the limits that it had.
test('a start with other limits publishes them to a service that rests, once, however many replicas start', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const { id } = await management.instance(cell.id, { plan: 'starter' })
  const generation = async () => {
    const [row] = await management.sql<{ generation: number }>('select generation::int from loci.services')
    return row?.generation ?? 0
  }
  const rests = async () => {
    await cell.report({ observed: [{ svc: id, generation: await generation(), state: 'active' }] })
    await eventually(async () => {
      const due = await management.sql('select from loci.due_services')
      const left = await management.sql('select from loci.published_limits where walks = 1')
      return due.length === 0 && left.length === 1
    })
  }
  await rests()
  const before = await generation()
  // As a release with other plans left it.
  await management.sql(`update loci.published_limits set digest = 'former', walks = 0;
    update loci.services set published_digest = 'former';
    update loci.feed_items set body = body || '{"limits": {}}' where key = '${id}'`)

  const replicas = await Promise.all([1, 2].map(() => testManagement({ replicaOf: management })))
  try {
    await eventually(async () => (await generation()) > before)
    await rests()
    const [published] = await management.sql(`select body -> 'limits' as limits from loci.feed_items where key = $1`, [
      id,
    ])
    assert.deepEqual(published?.limits, limitsOf('starter'))
    assert.equal(await generation(), before + 1)
  } finally {
    for (const replica of replicas) await replica[Symbol.asyncDispose]()
  }
})

// Mutants: `>=` for `> v_walk.after` (the last of a part is due again, and the walk never ends); without next_at in the
// select (a part comes before its time); without `digest is distinct from` (a second start begins again); `walks > 0`
// left out; without least().
test('services become due in parts, none later than it was, and twice, the second time an hour later', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  for (let n = 0; n < 5; n += 1) await management.instance(cell.id, { organization: `Org ${n % 2}` })
  await management.management.close()
  const { pool, sql } = management
  const ids = (await sql<{ id: string }>('select id from loci.services order by id')).map(({ id }) => id)
  await sql('update loci.due_services set due_at = $1', [new Date(0)])
  await sql('delete from loci.due_services where service_id <> $1', [ids[0]])
  await sql(`update loci.services set status = 'deleted' where id = $1`, [ids[3]])
  const part = { digest: 'new', max: 2, everyMs: 60_000 }
  const due = async () => {
    const rows = await sql<{ id: string; late: boolean }>(
      'select service_id as id, due_at > now() as late from loci.due_services order by 1',
    )
    return rows.map(({ id, late }) => `${ids.indexOf(id)} ${late ? 'later' : 'now'}`)
  }
  const timePasses = (time: string) => sql(`update loci.published_limits set next_at = next_at - interval '${time}'`)

  assert.equal(await putLimitsDue(pool, part), false, 'not announced')
  for (let starts = 0; starts < 2; starts += 1) {
    await announceLimits(pool, 'new')
    assert.equal(await putLimitsDue(pool, part), true)
    assert.deepEqual(await due(), ['0 now', '1 later'])
  }
  assert.equal(await putLimitsDue(pool, { ...part, digest: 'former' }), false, 'a process of the former release')
  await timePasses('2 minutes')
  assert.equal(await putLimitsDue(pool, part), true)
  assert.deepEqual(await due(), ['0 now', '1 later', '2 later', '4 later'])
  await announceLimits(pool, 'new')
  await timePasses('2 minutes')
  assert.equal(await putLimitsDue(pool, part), true)
  await sql('delete from loci.due_services')
  await timePasses('59 minutes')
  assert.equal(await putLimitsDue(pool, part), true)
  assert.deepEqual(await due(), [])
  await timePasses('1 minute')
  for (const expected of [2, 4, 4]) {
    assert.equal(await putLimitsDue(pool, part), true)
    assert.equal((await due()).length, expected)
    await timePasses('2 minutes')
  }
  assert.equal(await putLimitsDue(pool, part), false)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { testManagement } from '../testing/management.ts'
import { claimDue, countOverdue } from './due/store.ts'

// A claim moves due_at into the future, so the count of what is overdue saw nothing. Mutant: count by due_at alone (0
// instead of 1).
test('a service whose reconciliation always throws is counted as overdue, and the others go on', async () => {
  await using management = await testManagement()
  const party = await management.organization({ callsOf: 'pro' })
  const cell = await management.cell()
  const make = async (name: string) => {
    const answer = await party.ask('POST /api/v1/services', { body: { service_type: 'kv', name } })
    assert.equal(answer.status, 202, answer.text)
    const { service_id: id } = answer.json<{ service_id: string }>()
    await eventually(async () => (await cell.pull()).items.some(({ key }) => key === id))
    return id
  }
  const broken = await make('broken')
  const healthy = await make('healthy')
  // Both have something to do: the time in which a cell should have confirmed them is over. In one transaction with the
  // trigger, or the reconciler may be through with both before it is planted.
  await management.sql(
    `update loci.services set deadline_at = now() - interval '1 second' where id in ('${broken}', '${healthy}');
    create function loci.fail() returns trigger language plpgsql as $$ begin raise 'planted'; end $$;
    create trigger planted before update on loci.services for each row when (new.id = '${broken}') execute function loci.fail()`,
  )

  // As never claimed before: on a slow machine its own deadline may have passed already.
  await management.sql(`update loci.due_services set due_at = now() - interval '2 minutes', first_due_at = null`)

  const attemptsOf = async (id: string) => {
    const [row] = await management.sql('select attempts from loci.due_services where service_id = $1', [id])
    return Number(row?.attempts)
  }
  const statusOf = async (id: string) =>
    (await party.ask(`GET /api/v1/services/${id}`)).json<{ status: string }>().status
  await eventually(async () => (await statusOf(healthy)) === 'failed')
  await management.logged(({ message, service }) => message.startsWith('reconciling a service') && service === broken)
  // The healthy one may be due for a moment, for its next step.
  await eventually(async () => {
    const { count, oldestS } = await countOverdue(management.pool)
    return count === 1 && oldestS >= 120
  })
  assert.ok((await attemptsOf(broken)) >= 1)

  // Its deadline again: one that passed more than a minute ago would start anew.
  await management.sql(
    `drop trigger planted on loci.services;
    update loci.services set deadline_at = now() - interval '1 second' where id = '${broken}';
    update loci.due_services set due_at = now()`,
  )
  await eventually(async () => (await statusOf(broken)) === 'failed')
  await eventually(async () => (await countOverdue(management.pool)).count === 0)
})

test('each claim without a good end doubles the wait, up to a bound', async () => {
  await using management = await testManagement()
  await management.management.close()
  const id = 'svc_of_nobody'
  await management.sql('insert into loci.due_services (service_id, organization_id, due_at) values ($1, $1, $2)', [
    id,
    new Date(0),
  ])
  const waits: number[] = []
  let now = new Date(0)
  for (let n = 0; n < 9; n += 1) {
    assert.equal((await claimDue(management.pool, { now, max: 1, putOffMs: 1_000 })).length, 1)
    const [row] = await management.sql<{ due_at: Date }>('select due_at from loci.due_services')
    const dueAt = row?.due_at as Date
    waits.push((dueAt.getTime() - now.getTime()) / 1000)
    now = dueAt
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 64, 64])
})

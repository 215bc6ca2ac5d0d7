// What the owner of a service reads about it beside its requests, from the requests themselves to the report.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { LATENCY_BOUNDS_MS } from '@loci/contract/usage.ts'
import { createActivity } from '../../access/activity.ts'
import { cyclesOf } from '../../testing/cycles.ts'
import { testDaemon } from '../../testing/daemon.ts'
import { slotsOf } from '../../testing/slots.ts'
import { addTenant } from '../../testing/tenant.ts'

// Mutants: noteAnswer() left out of #record(); activity.evicted() left out of slotRoutes(); EVICTING with 'cleared';
// cycled() for a dry run.
test('answers, errors, cycles and evictions are counted for the service that they are of', async () => {
  await using daemon = await testDaemon()
  const [ada, bob] = [await addTenant(daemon), await addTenant(daemon)]
  const slots = slotsOf(ada, 'a')
  const cycles = cyclesOf(ada, 'a')
  const countsOf = async ({ instanceId }: { instanceId: string }) => {
    const [sum] = await daemon.sql<{ errors: number; cycles: number; evictions: number; answers: number }>(
      `select sum(errors)::int as errors, sum(cycles)::int as cycles, sum(evictions)::int as evictions,
        (select sum(n) from loci.usage_minutes l, unnest(l.latency) n where l.instance_id = $1)::int as answers
       from loci.usage_minutes where instance_id = $1`,
      [instanceId],
    )
    return sum
  }

  // A busy machine refuses with 503, which counts: so what was answered is counted here too.
  // addTenant() has asked until it was answered, once.
  const answers = { errors: 0, all: 1 }
  const asked = async (ask: () => Promise<TestAnswer>, status = 200) => {
    for (;;) {
      const answer = await ask()
      answers.all += 1
      if (answer.status >= 500) answers.errors += 1
      if (answer.status === status) return answer
      assert.equal(answer.status, 503, answer.text)
    }
  }
  const cycle = (body: object) => () => cycles.call('POST /v1/cognitive/cycles', body)

  await asked(() => cycles.operator('PUT /v1/working-memory/config', { capacity: 2 }))
  for (const key of ['x', 'y', 'z'])
    await asked(() => slots.call(`PUT /v1/working-memory/slots/${key}`, { value: key }))
  await asked(() => slots.call('POST /v1/working-memory/slots/clear'))
  await asked(() => ada.call('GET /v1/kv/entries/none'), 404)
  await asked(cycle({ observations: [{ content: 'The ferry leaves at nine.' }] }))
  await asked(cycle({ dryRun: true }))
  await daemon.admin('POST /admin/services/disable', { services: ['mcp', 'advice', 'cognitive'] })
  await asked(cycle({}), 503)
  assert.equal((await bob.call('GET /v1/kv/entries/none')).status, 404)

  const own = await eventually(async () => {
    const counts = await countsOf(ada)
    return counts?.answers === answers.all && counts
  })
  assert.deepEqual(own, { errors: answers.errors, cycles: 1, evictions: 1, answers: answers.all })
  const theirs = await eventually(async () => {
    const counts = await countsOf(bob)
    return counts?.answers === 2 && counts
  })
  assert.deepEqual(theirs, { errors: 0, cycles: 0, evictions: 0, answers: 2 })
})

// Mutant: `<` instead of `<=` in latencyBucketOf().
test('an answer counts in the class whose bound it does not exceed, and none is beyond the last', () => {
  const activity = createActivity()
  const last = LATENCY_BOUNDS_MS.length - 1
  for (const ms of [0, 1, 1.01, 2, 1e9, undefined]) activity.answered('svc', 200, ms)
  const expected = Array.from({ length: last + 1 }, () => 0)
  expected[0] = 2
  expected[1] = 2
  expected[last] = 1
  assert.deepEqual(activity.drain().get('svc')?.latency, expected)
  assert.equal(activity.drain().size, 0)
})

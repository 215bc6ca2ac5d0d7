import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestInstance, testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'

/** So slow a rate that nothing is refilled while a test counts what is left of the burst. */
const LIMITS = { databases: 10, records: 1e4, bytes: 1e8, streams: 1, requests_per_second: 0.001, burst: 200 }
const RIGHTS = { ops: ['advice:read', 'kv:read'], ks: ['*/*'] }

// Mutant: the count of matches left out of advise().
test('rules that are held against tools are charged: many of both cost more than the request says', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instances = await Promise.all([0, 1].map(() => authority.addInstance({ limits: LIMITS })))
  const candidateTools = Array.from({ length: 2_000 }, (_, n) => `tool-${n}`)
  const rank = async (instance: TestInstance) => {
    const body = { taskClass: 'support', taskIntent: 'refund', sourceEventId: 'evt-1', candidateTools, limit: 1 }
    const answer = await instance.call(instance.root(RIGHTS), 'POST /v1/advice/rank', { body })
    assert.equal(answer.status, 200, answer.text)
  }
  const left = async (instance: TestInstance) => {
    for (let count = 0; ; count += 1)
      if ((await instance.call(instance.root(RIGHTS), 'GET /v1/kv/entries?limit=1')).status === 429) return count
  }
  const costs: number[] = []
  for (const [at, instance] of instances.entries()) {
    const rules = Array.from({ length: at === 0 ? 1 : 200 }, (_, n) => ({ effect: 'deny', tool: `*none-${n}*` }))
    const operator = instance.root({ ops: ['operator'], ks: ['*/*'] })
    const put = await instance.call(operator, 'PUT /v1/advice/policies/default', { body: { rules } })
    assert.equal(put.status, 200, put.text)
    await rank(instance)
    costs.push(LIMITS.burst - (await left(instance)))
  }
  const [few = 0, many = 0] = costs
  // 400,000 matches are 100 units; the longer policy is a few more to put.
  assert.ok(many - few >= 99 && many - few <= 110, `${few} and ${many}`)
})

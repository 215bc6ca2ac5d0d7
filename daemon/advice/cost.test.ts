import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'

/** So slow a rate that nothing is refilled while the test runs. */
const LIMITS = { databases: 10, records: 1e4, bytes: 1e8, streams: 1, requests_per_second: 0.001, burst: 100 }
const RULES = 200

// Mutant: the count of matches left out of advise().
test('rules that are held against tools are charged: many of both cost more than the request says', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const candidateTools = Array.from({ length: 2_000 }, (_, n) => `tool-${n}`)
  const ask = { taskClass: 'support', taskIntent: 'refund', sourceEventId: 'evt-1', candidateTools, limit: 1 }
  for (const count of [1, RULES]) {
    const instance = await authority.addInstance({ limits: LIMITS })
    const token = instance.root({ ops: ['advice:read', 'kv:read', 'operator'], ks: ['*/*'] })
    // On a busy machine again.
    const call = async (line: string, body?: unknown) => {
      for (;;) {
        const { status } = await instance.call(token, line, { body })
        if (status < 500) return status
      }
    }
    const rules = Array.from({ length: count }, (_, n) => ({ effect: 'deny', tool: `*none-${n}*` }))
    assert.equal(await call('PUT /v1/advice/policies/default', { rules }), 200)
    // One that failed is charged too.
    assert.ok([200, 429].includes(await call('POST /v1/advice/rank', ask)))
    // 400,000 matches are 100 units.
    assert.equal(await call('GET /v1/kv/entries?limit=1'), count === RULES ? 429 : 200)
  }
})

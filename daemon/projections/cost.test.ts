import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { testDaemon } from '../testing/daemon.ts'
import { MEMORY_RIGHTS } from '../testing/records.ts'

const BURST = 150
/** So slow a rate that nothing is refilled while a test counts what is left of the burst. */
const LIMITS = { databases: 10, records: 1e4, bytes: 1e8, streams: 1, requests_per_second: 0.001, burst: BURST }

/** Fifty of 4 KB: 12 for the body, and for their index 1 per 16 KiB. */
const told = (projection_class: string) =>
  Array.from({ length: 50 }, (_, n) => ({
    ...{ projection_class, source_event_id: `evt-${n}` },
    payload: `The kettle ${n} is in the shed. ${`w${n} `.repeat(1_300).slice(0, 4_000)}`,
  }))

async function left(instance: TestInstance): Promise<number> {
  const token = instance.root(MEMORY_RIGHTS)
  for (let count = 0; ; count += 1)
    if ((await instance.call(token, 'GET /v1/memory/records?limit=1')).status === 429) return count
}

// Mutants: countRead() left out of routes.ts; countRead() of all that was sent.
test('a fact is charged once as a body and once for its index; an outcome, and a repeat, as a body alone', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  /** What these cost. What a busy machine refuses is charged too: then another instance is made. */
  const costOf = async (...sent: object[][]): Promise<number> => {
    for (;;) {
      const instance = await authority.addInstance({ limits: LIMITS })
      const classes = ['fact', 'tool_outcome']
      const token = await partnerToken(authority, instance, classes, { partner: 'crm', database: 'default' })
      const headers = { authorization: `Bearer ${token}` }
      const statuses: number[] = []
      for (const body of sent)
        statuses.push((await daemon.ask('POST /v1/partner/projections', { body, headers })).status)
      if (statuses.every((status) => status === 200)) return BURST - (await left(instance))
      assert.ok(statuses.includes(503), `${statuses}`)
    }
  }
  const [outcomes, facts] = [await costOf(told('tool_outcome')), await costOf(told('fact'))]
  assert.ok(outcomes >= 12 && outcomes <= 15, `fifty outcomes cost ${outcomes}`)
  assert.ok(facts - outcomes >= 13 && facts - outcomes <= 18, `fifty facts cost ${facts - outcomes} more`)
  const again = (await costOf(told('fact'), told('fact'))) - facts
  assert.ok(again <= outcomes + 1, `the same again cost ${again}`)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { PROJECTION_CLASSES } from '@loci/contract/projections.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { testDaemon } from '../testing/daemon.ts'
import { type AdviceStates, createAdviceStates } from './states.ts'

const OUTCOMES = 100

// Mutants: keep() that drops nothing; that does not put what is used behind the others; that drops what is in use;
// drop() that leaves its bytes counted; begin() in the place of beginOnce(); a beginning that replaces what is kept.
test('states are kept up to a number of bytes, those that were used last, and one that is larger by itself', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance()
  for (const database of ['a', 'b', 'c']) {
    const token = await partnerToken(authority, own, [...PROJECTION_CLASSES], { database })
    const body = Array.from({ length: OUTCOMES }, (_, n) => ({
      ...{ projection_class: 'tool_outcome', source_event_id: `${n}`, task_class: 'support' },
      ...{ task_intent: `refund order${n} of shop${n % 20}`, tools: [{ tool_id: 'crm', outcome: 'success' }] },
    }))
    const sent = { body, headers: { authorization: `Bearer ${token}` } }
    await eventually(async () => (await daemon.ask('POST /v1/partner/projections', sent)).status === 200)
  }
  let begun = 0
  const sql: Sql = {
    afterCommit: (effect) => authority.pool.afterCommit(effect),
    query(statement) {
      if (statement.name === 'advice_snapshot') begun += 1
      return authority.pool.query(statement)
    },
  }
  const isBegun = async (states: AdviceStates, database: string) => {
    begun = 0
    const { known } = await states.read(sql, { instanceId: own.svc, database })
    assert.equal(known.state.t, OUTCOMES)
    return begun > 0
  }
  // One has 2 KB for each outcome, of which no snapshot is taken, and some 30 for its words: there is room for two.
  const states = createAdviceStates({ bytesMax: 550_000 })
  const asked = ['a', 'b', 'a', 'c', 'a', 'b', 'b', 'c']
  const answers: boolean[] = []
  for (const database of asked) answers.push(await isBegun(states, database))
  assert.deepEqual(answers, [true, true, false, true, false, true, false, true])
  // No snapshot is read before both have read that there is something to begin with.
  const bothAsked = Promise.withResolvers<void>()
  let tails = 0
  const waiting: Sql = {
    ...sql,
    async query(statement) {
      if (statement.name === 'advice_snapshot') await bothAsked.promise
      const answer = await sql.query(statement)
      if (statement.name === 'advice_tail' && ++tails === 2) bothAsked.resolve()
      return answer as never
    },
  }
  const together = createAdviceStates()
  begun = 0
  const [x, y] = await Promise.all(
    ['a', 'a'].map((database) => together.read(waiting, { instanceId: own.svc, database })),
  )
  assert.equal(begun, 1, 'a snapshot is opened once for all who ask at the same time')
  assert.equal(x?.known, y?.known)
  const none = createAdviceStates({ bytesMax: 1 })
  assert.deepEqual([await isBegun(none, 'a'), await isBegun(none, 'a')], [true, false], 'the one in use')
  assert.deepEqual([await isBegun(none, 'b'), await isBegun(none, 'a')], [true, true])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { PROJECTION_CLASSES } from '@loci/contract/projections.ts'
import type { Pool, Sql, Statement } from '@loci/postgres/pool.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { type AdviceStates, createAdviceStates } from './states.ts'

const OUTCOMES = 100

// Mutants: keep() that drops nothing; that does not put what is used behind the others; that drops what is in use;
// drop() that leaves its bytes counted; begin() in the place of beginOnce().
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

// Mutant: fold() that looks for what is taken back in `taken` alone: one replica has two successes, the other one.
test('a retraction is folded by a request that was asked before the ledger let go of what it takes back', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance()
  const place = { instanceId: own.svc, database: 'race' }
  const send = await sender(daemon, authority, own, place.database)
  await send([outcomeOf('first')])
  const gate = Promise.withResolvers<void>()
  let isSlow = false
  const sql: Sql = {
    afterCommit: (effect) => authority.pool.afterCommit(effect),
    async query(statement) {
      if (isSlow && statement.name === 'advice_tail') {
        isSlow = false
        await gate.promise
      }
      return authority.pool.query(statement)
    },
  }
  const states = createAdviceStates()
  await states.read(sql, place)
  isSlow = true
  const slow = states.read(sql, place)
  const [told] = (await send([outcomeOf('second')])).json<{ projectionId: string }[]>()
  await states.read(sql, place)
  // Another replica stores the snapshot, and this one lets go of what is in it.
  await createAdviceStates().save(authority.pool, place)
  await states.read(sql, place)
  const taken = { projection_class: 'retraction', source_event_id: 'gone', task_class: 'support' }
  await send([{ ...taken, supersedes: told?.projectionId }])
  gate.resolve()
  const folded = [await slow, await createAdviceStates().read(authority.pool, place)].map(({ known }) => known)
  assert.deepEqual(
    folded.map(({ seq, state }) => [seq, state.successes]),
    [folded[1]?.seq, folded[1]?.seq].map((seq) => [seq, 1]),
  )
})

// Mutants: isHeld of what is kept alone: reads begin again until they fail; inLane() that runs everything at once.
test('databases that do not fit together are read at the same time, and few snapshots are opened at once', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance()
  const databases = ['p', 'q', 'r', 's', 't', 'u']
  for (const database of databases) await (await sender(daemon, authority, own, database))([outcomeOf('x')])
  let [opening, most] = [0, 0]
  const sql: Sql = {
    afterCommit: (effect) => authority.pool.afterCommit(effect),
    async query(statement) {
      if (statement.name !== 'advice_snapshot') return authority.pool.query(statement)
      opening += 1
      most = Math.max(most, opening)
      const answer = await authority.pool.query(statement)
      opening -= 1
      return answer as never
    },
  }
  const states = createAdviceStates({ bytesMax: 1 })
  await Promise.all(
    databases.map(async (database) => {
      for (let n = 0; n < 30; n += 1) await states.read(sql, { instanceId: own.svc, database })
    }),
  )
  assert.ok(most >= 1 && most <= 2, `${most} at once`)
})

// 75 of those held the thread for 6 to 11 s. Mutant: foldInTurns() without its turns.
test('others are served while much is folded, and each outcome counts once, however many fold it', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance()
  const send = await sender(daemon, authority, own, 'many')
  const task_intent = Array.from({ length: 128 }, (_, n) => `word${n}x`).join(' ')
  const toolsOf = (from: number, outcome: string) =>
    Array.from({ length: 64 }, (_, n) => ({ tool_id: `tool-${from + n}`, outcome }))
  for (const outcome of ['success', 'failure'])
    await send(
      Array.from({ length: 70 }, (_, n) => ({
        ...{ ...outcomeOf(`${outcome} ${n}`), task_intent },
        tools: toolsOf(outcome === 'success' ? n * 64 : n, outcome),
      })),
    )
  // Turns that others had since the last page was read.
  let [turns, isFolding, isOver] = [0, false, false]
  const turn = () => {
    if (isFolding) turns += 1
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const sql: Sql = {
    afterCommit: (effect) => authority.pool.afterCommit(effect),
    async query(statement) {
      isFolding = false
      const answer = await authority.pool.query(statement)
      isFolding = statement.name === 'advice_tail'
      return answer as never
    },
  }
  const states = createAdviceStates()
  const { known } = await states.read(sql, { instanceId: own.svc, database: 'many' })
  isOver = true
  assert.ok(turns >= 5, `${turns} turns`)
  assert.equal(known.state.t, 2 * 70 * 64)
  const together = createAdviceStates()
  const place = { instanceId: own.svc, database: 'many' }
  const read = await Promise.all([1, 2, 3].map(() => together.read(authority.pool, place)))
  assert.deepEqual(new Set(read.map((one) => one.known.state.t)), new Set([2 * 70 * 64]))
})

// Three beginnings and then an error: whoever had content expire each second could not be answered, and paid for none
// of it. Mutants: `askedAt < known.completeAt` left out of isContinued(), or all that it says of erasures.
test('a state that is folded while content is erased is answered from, and the next one is begun anew', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance()
  const place = { instanceId: own.svc, database: 'erased' }
  const send = await sender(daemon, authority, own, place.database)
  await send(Array.from({ length: 200 }, (_, n) => outcomeOf(`${n}`)))
  let [isErasing, begun] = [true, 0]
  const sql: Sql = {
    afterCommit: (effect) => authority.pool.afterCommit(effect),
    async query(statement) {
      if (statement.name === 'advice_snapshot') begun += 1
      if (statement.name === 'advice_tail' && isErasing)
        await daemon.sql(`update loci.databases set prj_erased_at = prj_erased_at + 1 where name = 'erased'`)
      return authority.pool.query(inPagesOf50(statement))
    },
  }
  const states = createAdviceStates()
  const read = await Promise.all([1, 2, 3].map(() => states.read(sql, place)))
  assert.deepEqual(
    read.map(({ known }) => known.state.t),
    [200, 200, 200],
  )
  isErasing = false
  begun = 0
  await states.read(sql, place)
  await states.read(sql, place)
  assert.equal(begun, 1)
})

// Mutant: `known.base = null` behind alone(): the second is told that the first one's tools are stored, and is stored
// before it without them.
test('two snapshots of one state at the same time lose no tool', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance()
  const place = { instanceId: own.svc, database: 'twice' }
  const send = await sender(daemon, authority, own, place.database)
  const states = createAdviceStates()
  await send([outcomeOf('first')])
  await states.save(authority.pool, place)
  await send(Array.from({ length: 20 }, (_, n) => outcomeOf(`then ${n}`)))
  await states.read(authority.pool, place)
  // Both have read before one of them goes on, and the first one is stored last.
  const bothRead = Promise.withResolvers<void>()
  const secondStored = Promise.withResolvers<void>()
  let reading = 0
  const poolOf = (isFirst: boolean): Pool => ({
    ...authority.pool,
    async query(statement) {
      const answer = await authority.pool.query(statement)
      if (++reading === 2) bothRead.resolve()
      await bothRead.promise
      return answer as never
    },
    async client() {
      if (isFirst) await secondStored.promise
      return authority.pool.client()
    },
  })
  await Promise.all([
    states.save(poolOf(true), place),
    states.save(poolOf(false), place).finally(() => secondStored.resolve()),
  ])
  const { known } = await createAdviceStates().read(authority.pool, place)
  assert.deepEqual([known.base !== null, known.state.t, known.state.tools[0]?.u], [true, 21, 21])
})

/** So few outcomes that no snapshot is due, in several pages all the same. */
function inPagesOf50(statement: Statement): Statement {
  const { name, values = [] } = statement
  return name === 'advice_tail' ? { ...statement, values: values.with(3, Math.min(50, Number(values[3]))) } : statement
}

const outcomeOf = (id: string) => ({
  ...{ projection_class: 'tool_outcome', source_event_id: id, task_class: 'support', task_intent: `refund ${id}` },
  tools: [{ tool_id: 'crm', outcome: 'success' }],
})

/** Sends until it is taken: the cell hears of the credential by its feed. */
async function sender(daemon: TestDaemon, authority: TestAuthority, own: TestInstance, database: string) {
  const token = await partnerToken(authority, own, [...PROJECTION_CLASSES], { database })
  return async (body: object[]): Promise<TestAnswer> => {
    for (;;) {
      const answer = await daemon.ask('POST /v1/partner/projections', {
        body,
        headers: { authorization: `Bearer ${token}` },
      })
      if (answer.status === 200) return answer
      assert.ok(answer.status >= 500, answer.text)
    }
  }
}

// Outcomes whose time is over: what they had taught goes, the time that they took stays, and nothing is weighed again,
// whenever snapshots were taken.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { PROJECTION_CLASSES } from '@loci/contract/projections.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { expiringProjections } from './leaving/expiry.ts'
import { eraseExpired } from './leaving/store.ts'
import { createAdviceStates } from './states.ts'

let daemon: TestDaemon
let authority: TestAuthority
let own: TestInstance
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
  own = await authority.addInstance()
  await hold(true)
  await daemon.sql('create trigger held before insert or update on loci.due for each row execute function loci.held()')
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

/** Whether erasures are put off: else one might come before everything was told. */
const hold = (isHeld: boolean) =>
  daemon.sql(`create or replace function loci.held() returns trigger language plpgsql as $$ begin
    if ${isHeld} and new.kind = 'projections' then new.at := now() + interval '1 hour'; end if; return new; end $$`)

const TTL_MS = 1_000
const WORDS = ['refund an order', 'find the customer', 'refund the customer', 'send a letter']

/** The same outcomes in each database: of three tools, good and bad, some of them for a short time. */
function outcomeAt(n: number) {
  return {
    ...{ projection_class: 'tool_outcome', source_event_id: `evt-${n}`, task_class: 'support' },
    task_intent: WORDS[(n * 7) % 4],
    tools: [{ tool_id: `tool-${(n * 5) % 3}`, outcome: ['success', 'failure', 'partial'][(n * 11) % 4] ?? 'success' }],
    ...(n % 3 === 0 && n < 40 && { ttl_ms: TTL_MS }),
  }
}

async function databaseOf(database: string) {
  const token = await partnerToken(authority, own, [...PROJECTION_CLASSES], { database })
  const place = { instanceId: own.svc, database }
  const post = async (line: string, body: unknown) => {
    for (;;) {
      const answer = await daemon.ask(line, { body, headers: { authorization: `Bearer ${token}` } })
      if (answer.status === 200) return answer
      assert.ok(answer.status >= 500, answer.text)
    }
  }
  const tell = (from: number, to: number) =>
    post(
      'POST /v1/partner/projections',
      Array.from({ length: to - from }, (_, n) => outcomeAt(from + n)),
    )
  const left = async () => {
    const [row] = await daemon.sql<{ left: number; isOver: boolean }>(
      `select count(*)::int as left, coalesce(bool_and(expires_at < clock_timestamp()), true) as "isOver"
        from loci.projections where database = $1 and expires_at is not null`,
      [database],
    )
    return row ?? { left: 0, isOver: true }
  }
  /** What is answered, without ids and times. */
  const ranked = async () => {
    const ask = { task_class: 'support', task_intent: 'refund', source_event_id: 'ask', run_id: 'run', scope: null }
    const { json } = await post('POST /v1/advice/tools:rank', { ...ask, explain: true })
    return json<{
      rankedTools: { toolId: string; score: number; confidence: object; explain: object }[]
    }>().rankedTools.map(({ toolId, score, confidence, explain }) =>
      JSON.stringify([toolId, score, confidence, explain]),
    )
  }
  const save = () => createAdviceStates().save(authority.pool, place)
  return { place, tell, left, ranked, save }
}

// Without a snapshot what was erased had taken no time, and what came after it was weighed again. Mutants: no
// saveAdvice() in expiringProjections(); 'lose' in place of 'wait' there; prj_saved() that answers the number of the
// snapshot whatever came since.
test('ranks are the same to the byte after an expiry, with snapshots before it, in the midst of it, or none', async () => {
  const databases = []
  for (const snapshots of [[60], [20], [10, 30, 60], []]) {
    const database = await databaseOf(`with-${snapshots.join('-')}`)
    for (let n = 10; n <= 60; n += 10) {
      await database.tell(n - 10, n)
      if (snapshots.includes(n)) await database.save()
    }
    databases.push(database)
  }
  for (const { left } of databases) {
    await eventually(async () => (await left()).isOver)
    assert.equal((await left()).left, 14, 'nothing is erased yet')
  }
  await hold(false)
  await daemon.sql(`update loci.due set at = now() where kind = 'projections'`)
  const answers: string[][] = []
  for (const { tell, left, ranked } of databases) {
    await eventually(async () => (await left()).left === 0)
    await tell(60, 80)
    answers.push(await ranked())
  }
  await hold(true)
  assert.equal(answers[0]?.length, 3)
  for (const answer of answers) assert.deepEqual(answer, answers[0])
})

// Mutant: no `lose` where saveAdvice() fails.
test('content whose time is over goes also where what was computed from it cannot be stored', async () => {
  const { place, tell, left } = await databaseOf('unstored')
  await tell(0, 40)
  await eventually(async () => (await left()).isOver)
  assert.equal(await eraseExpired(authority.pool, place, 'wait'), 'unsaved')
  assert.equal((await left()).left, 14)
  const expire = expiringProjections(() => Promise.reject(new Error('no room')))
  await assert.rejects(expire(authority.pool, place), /no room/)
  assert.equal((await left()).left, 0)
})

// It said each time that something was erased: the state was folded again, and the row was due again, without end.
// Mutant: `v_left is distinct from v_head` left out of prj_expire().
test('a damaged outcome whose time is over is left alone, and changes nothing', async () => {
  const { place, tell, left } = await databaseOf('damaged')
  await tell(0, 1)
  await daemon.sql(
    `update loci.projections set digest = set_byte(digest, 0, get_byte(digest, 0) # 1) where database = 'damaged'`,
  )
  await eventually(async () => (await left()).isOver)
  await hold(false)
  assert.equal(await eraseExpired(authority.pool, place, 'lose'), 'done')
  const [head] = await daemon.sql<{ erasedAt: number; inS: number }>(
    `select h.prj_erased_at::int as "erasedAt", extract(epoch from d.at - now())::int as "inS" from loci.databases h
      join loci.due d on d.instance_id = h.instance_id and d.database = h.name and d.kind = 'projections' where h.name = 'damaged'`,
  )
  assert.ok(head?.erasedAt === 0 && head.inS > 300 && head.inS <= 600, JSON.stringify(head))
})

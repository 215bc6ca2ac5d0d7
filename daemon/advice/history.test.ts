import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { PROJECTION_CLASSES } from '@loci/contract/projections.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { createAdviceStates } from './states.ts'

let daemon: TestDaemon
let authority: TestAuthority
let own: TestInstance
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
  own = await authority.addInstance()
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

const TABLES = [
  ...['projections', 'databases', 'advice_snapshots', 'advice_tools', 'advice_weights', 'advice_passed', 'due'],
]
const times = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at))

async function partnerOf(database: string) {
  const token = await partnerToken(authority, own, [...PROJECTION_CLASSES], { database })
  let told = 0
  const post = async (line: string, body: unknown, at = daemon) => {
    const answer = await at.ask(line, { body, headers: { authorization: `Bearer ${token}` } })
    assert.equal(answer.status, 200, answer.text)
    return answer
  }
  const envelope = (kind: string, fields: object) => ({
    ...{ projection_class: kind, source_event_id: `${told++}`, task_class: 'support', task_intent: 'refund an order' },
    ...fields,
  })
  const outcome = (tool: string, result = 'success', fields: object = {}) =>
    envelope('tool_outcome', { tools: [{ tool_id: tool, outcome: result }], ...fields })
  const event = () => envelope('event', { evidence_refs: ['ref'] })
  const retraction = (supersedes: string) => envelope('retraction', { supersedes })
  const tell = (...projections: object[]) => post('POST /v1/partner/projections', projections)
  const ask = { task_class: 'support', task_intent: 'refund an order', source_event_id: 'e', run_id: 'r', scope: null }
  const rank = async (at = daemon) => (await post('POST /v1/advice/tools:rank', ask, at)).text
  const attempts = async (at = daemon) => {
    const { rankedTools } = JSON.parse(await rank(at)) as {
      rankedTools: { toolId: string; stats: { attempts: number } }[]
    }
    return Object.fromEntries(rankedTools.map(({ toolId, stats }) => [toolId, stats.attempts]))
  }
  /** The rows of the database as they are now; called, they are that again: as a restore to this moment. */
  const keep = async () => {
    const of = (table: string) => `${table === 'databases' ? 'name' : 'database'} = '${database}'`
    for (const table of TABLES)
      await daemon.sql(`create table public."${database}_${table}" as select * from loci.${table} where ${of(table)}`)
    return async () => {
      for (const table of TABLES) {
        await daemon.sql(`delete from loci.${table} where ${of(table)}`)
        await daemon.sql(`insert into loci.${table} select * from public."${database}_${table}"`)
      }
    }
  }
  /** Takes a snapshot now. */
  const snapshot = async () => {
    await daemon.sql(
      `insert into loci.due (instance_id, database, kind, at) values ($1, $2, 'advice', now())
        on conflict (instance_id, database, kind) do update set at = now()`,
      [own.svc, database],
    )
    await eventually(async () => {
      const left = await daemon.sql(`select 1 from loci.due where database = $1 and kind = 'advice'`, [database])
      return left.length === 0
    })
  }
  return { outcome, event, retraction, tell, rank, attempts, keep, snapshot }
}

// Mutant: isContinued() that does not compare marks.
test('what was told after the moment of a restore is not in the advice of a replica that stayed up', async () => {
  const { outcome, tell, attempts, keep } = await partnerOf('lost')
  await tell(...times(5, () => outcome('kept')))
  const restore = await keep()
  await tell(...times(3, () => outcome('gone')))
  assert.deepEqual(await attempts(), { kept: 5, gone: 3 })
  await restore()
  assert.deepEqual(await attempts(), { kept: 5 })
})

// Mutants: the same; advice_mark() without the time; no `known.mark = tail.mark` in read(), for the one that began with
// a snapshot. That one takes no snapshots itself: it would find at once that the one it began with is gone.
test('nor is it when others, or the same again, have come under the numbers of what was lost', async () => {
  const { outcome, tell, attempts, rank, keep, snapshot } = await partnerOf('others')
  await tell(...times(5, () => outcome('kept')))
  const restore = await keep()
  const lost = times(3, () => outcome('gone'))
  await tell(...lost)
  assert.deepEqual(await attempts(), { kept: 5, gone: 3 })
  await snapshot()
  const states = createAdviceStates()
  const begun = async () => {
    const { state } = (await states.read(authority.pool, { instanceId: own.svc, database: 'others' })).known
    return Object.fromEntries(state.tools.map(({ name, u }) => [name, u]))
  }
  assert.deepEqual(await begun(), { kept: 5, gone: 3 })
  await restore()
  await tell(outcome('new'), outcome('new', 'failure'), lost[2] as object, outcome('new'))
  const now = { kept: 5, new: 3, gone: 1 }
  await using later = await testDaemon({ replicaOf: daemon })
  assert.deepEqual(await attempts(later), now)
  assert.deepEqual(await attempts(), now)
  await snapshot()
  assert.deepEqual(await begun(), now)
  assert.equal(await rank(), await rank(later))
})

// Mutants: a state that stands at the number of the head (`known.seq = tail.seq` and `known.mark = null` in read());
// `head` of the number alone in advice_tail(), where as much is told as was lost.
for (const events of [2, 3])
  test(`an outcome under the number of an event that was lost is counted, with ${events} events behind it`, async () => {
    const { outcome, event, tell, attempts, keep } = await partnerOf(`between-${events}`)
    await tell(...times(5, () => outcome('kept')))
    const restore = await keep()
    await tell(...times(3, event))
    assert.deepEqual(await attempts(), { kept: 5 })
    await restore()
    await tell(outcome('new'), ...times(events, event))
    assert.deepEqual(await attempts(), { kept: 5, new: 1 })
  })

// Mutant: isContinued() without `known.stored <= snapshotSeq`.
test('what a lost snapshot had of each outcome is stored again, and can be taken back', async () => {
  const { outcome, retraction, tell, attempts, rank, keep, snapshot } = await partnerOf('snapshot')
  await tell(...times(20, (at) => outcome('kept', 'success', { projection_id: `told-${at}` })))
  const restore = await keep()
  await snapshot()
  assert.deepEqual(await attempts(), { kept: 20 })
  await restore()
  await snapshot()
  await tell(retraction('told-7'))
  assert.deepEqual(await attempts(), { kept: 19 })
  await using begun = await testDaemon({ replicaOf: daemon })
  assert.deepEqual(await attempts(begun), { kept: 19 })
  assert.equal(await rank(), await rank(begun))
})

// While a cell is upgraded, replicas of the version before store theirs too. Mutant: no substr() in advice_save().
test('a snapshot of another version is replaced whole, with the tools that have not changed', async () => {
  const { outcome, tell, rank, snapshot } = await partnerOf('version')
  await tell(...times(5, () => outcome('still')), ...times(5, () => outcome('told')))
  await snapshot()
  await daemon.sql(
    `update loci.advice_snapshots set head = set_byte(head, 0, get_byte(head, 0) # 1) where database = 'version'`,
  )
  await daemon.sql(`update loci.advice_tools set body = '\\x00' where database = 'version' and name = 'still'`)
  await tell(outcome('told'))
  await snapshot()
  await using begun = await testDaemon({ replicaOf: daemon })
  assert.equal(await rank(begun), await rank())
})

// Mutant: p_through in place of p_stored in advice_evidence().
test('a snapshot that is stored between the reading of the tail and of the evidence hides no older outcome', async () => {
  const { outcome, tell, snapshot } = await partnerOf('between')
  await tell(...times(12, () => outcome('a')))
  const [{ seqs } = { seqs: [] as number[] }] = await daemon.sql<{ seqs: number[] }>(
    `select array_agg(seq::int order by seq desc) as seqs from loci.projections where database = 'between'`,
  )
  await snapshot()
  // The state had eight of a snapshot, and the newest four in its tail; six looks are left of ten.
  const tail = { a: seqs.slice(0, 4).map((seq) => [seq, 0, 'success']) }
  const [read] = await daemon.sql<{ outcomes: [string, number][] }>(
    `select outcomes::json from loci.advice_evidence($1, 'between', 'support', null, null, '{a}', 20, '{6}', $2, $3, $4, false, 10, 100000)`,
    [own.svc, seqs[0], seqs[4], JSON.stringify(tail)],
  )
  assert.deepEqual(
    read?.outcomes.map(([, seq]) => seq),
    seqs.slice(0, 10),
  )
})

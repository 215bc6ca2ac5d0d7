// What becomes of projections whose content is gone: they are bytes, and leave 30 days later.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { PROJECTION_CLASSES } from '@loci/contract/projections.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { fullConsistency } from '../testing/consistency.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { heldBy } from '../testing/held.ts'

let daemon: TestDaemon
let authority: TestAuthority
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

interface Result {
  projectionId: string
  duplicate: boolean
}

let last = 0
const envelope = (projection_class: string, fields: object = {}) => {
  last += 1
  return { projection_class, source_event_id: `evt-${last}`, ...fields }
}
const fact = (payload: string, fields: object = {}) => envelope('fact', { payload, ...fields })
const retraction = (supersedes: string) => envelope('retraction', { supersedes })

/** A partner of an instance of its own. */
async function teller() {
  const own = await authority.addInstance()
  const token = await partnerToken(authority, own, [...PROJECTION_CLASSES])
  const headers = { authorization: `Bearer ${token}` }
  const post = async <Answer>(line: string, body: unknown, at = daemon): Promise<Answer> => {
    const answer = await at.ask(line, { body, headers })
    assert.equal(answer.status, 200, answer.text)
    return answer.json<Answer>()
  }
  const project = <Answer = Result>(body: unknown) => post<Answer>('POST /v1/partner/projections', body)
  const classes = async () =>
    (
      await daemon.sql<{ class: string }>('select class from loci.projections where instance_id = $1 order by seq', [
        own.svc,
      ])
    ).map((row) => row.class)
  return { own, post, project, classes, rested: () => rested(own), consistent: () => consistent(own) }
}

/** Once content whose time is over is erased; the totals are then those of the tables. */
async function rested({ svc }: TestInstance): Promise<{ records: number; bytes: number }> {
  const over = `select from loci.due where instance_id = $1 and at < now() + interval '1 day'`
  await eventually(async () => (await daemon.sql(over, [svc])).length === 0)
  const { counted, held } = await heldBy(daemon, svc)
  assert.deepEqual(counted, held)
  return held
}

/** As if the content of all that has none, or of this one, had gone 31 days ago; waits until due work has seen it. */
async function age({ svc }: TestInstance, id: string | null = null): Promise<void> {
  await daemon.sql(
    `update loci.projections set leaves_at = now() - interval '1 minute' where instance_id = $1 and leaves_at is not null
      and ($2::text is null or id = $2)`,
    [svc, id],
  )
  await daemon.sql('update loci.projections p set digest = loci.prj_digest(p) where instance_id = $1', [svc])
  await daemon.sql(
    `update loci.databases h set prj_set_a = s.a, prj_set_b = s.b from (select bit_xor(loci.digest_part(digest, 1)) as a,
      bit_xor(loci.digest_part(digest, 9)) as b from loci.projections where instance_id = $1) s where h.instance_id = $1`,
    [svc],
  )
  await daemon.sql(`update loci.due set at = now() where instance_id = $1 and kind = 'projections'`, [svc])
  const left = `select from loci.projections where instance_id = $1 and leaves_at <= now()`
  await eventually(async () => (await daemon.sql(left, [svc])).length === 0)
}

async function consistent(own: TestInstance): Promise<void> {
  const system = own.root({ ops: ['system:read'], ks: ['*/*'] })
  assert.equal(await fullConsistency((line) => own.call(system, line)), 'consistent')
  const [head] = await daemon.sql(
    `select h.prj_rows = count(p) and h.prj_held = count(p.body) and h.prj_awaited = count(p) filter (where p.target is not null
        and p.takes_back is null and not exists (select from loci.projections t where t.instance_id = p.instance_id
        and t.database = p.database and t.partner = p.partner and t.id = p.target)) as fits
      from loci.databases h left join loci.projections p on p.instance_id = h.instance_id and p.database = h.name
      where h.instance_id = $1 group by h.instance_id, h.name`,
    [own.svc],
  )
  assert.deepEqual(head, { fits: true })
}

// Mutants: prj_rows in place of prj_held in prj_save_head(); no prj_let_go() in prj_expire(); no leaves_at in
// prj_expire(), or in prj_write_plain().
test('without content a projection is bytes and no record, and 30 days later nothing; its repeat is new then', async () => {
  const { project, rested, own, classes, consistent } = await teller()
  const event = envelope('event', { payload: 'a', ttl_ms: 1 })
  await project([event, envelope('event', { payload: 'b' }), envelope('retraction')])
  await project(envelope('event', { payload: 'c', ttl_ms: 1, supersedes: 'nothing' }))

  assert.equal((await rested()).records, 1)
  assert.deepEqual(await classes(), ['event', 'event', 'retraction', 'event'])
  assert.equal((await project(event)).duplicate, true)
  await consistent()

  await age(own)
  assert.deepEqual(await classes(), ['event'])
  const { records, bytes } = await rested()
  assert.deepEqual([records, bytes < 400], [1, true])
  await consistent()
  assert.equal((await project(event)).duplicate, false)
})

// Mutants: prj_is_needed() false for records, or for what is taken back.
test('a fact stays while its record does, and a retraction while what it takes back does', async () => {
  const { project, own, classes, rested, consistent } = await teller()
  const [kept, taken] = (await project([fact('Ada likes tea'), fact('Ada likes cake')])) as unknown as [Result, Result]
  await project(retraction(taken.projectionId))
  const outcome = envelope('tool_outcome', { task_class: 'c', tools: [{ tool_id: 'a', outcome: 'failure' }] })
  const { projectionId } = await project(outcome)
  await project(retraction(projectionId))
  await eventually(
    async () => (await daemon.sql('select from loci.records where instance_id = $1', [own.svc])).length === 1,
  )

  await age(own)
  await age(own)
  assert.deepEqual(await classes(), ['fact', 'tool_outcome', 'retraction'])
  assert.equal((await rested()).records, 2)
  await consistent()

  await project(retraction(kept.projectionId))
  await eventually(
    async () => (await daemon.sql('select from loci.records where instance_id = $1', [own.svc])).length === 0,
  )
  await age(own)
  await age(own)
  assert.deepEqual(await classes(), ['tool_outcome', 'retraction'])
  await consistent()
})

// Mutants: no prj_is_awaiting() in prj_let_go(); no count of those that await what leaves.
test('a retraction that awaits something leaves, and one of what has left awaits it again', async () => {
  const { project, own, classes, consistent } = await teller()
  await project(retraction('never'))
  await project(retraction('late'))
  await project(envelope('event', { payload: 'late', projection_id: 'late', ttl_ms: 1 }))
  await rested(own)
  await age(own, 'late')
  assert.deepEqual(await classes(), ['retraction', 'retraction'])
  await consistent()
  await project(fact('told again', { projection_id: 'late' }))
  assert.deepEqual(await daemon.sql('select from loci.records where instance_id = $1', [own.svc]), [])
  await age(own)
  assert.deepEqual(await classes(), [])
  await consistent()
  await project(fact('told again', { projection_id: 'late' }))
  assert.equal((await daemon.sql('select from loci.records where instance_id = $1', [own.svc])).length, 1)
})

const ASK = { task_class: 'c', task_intent: 'refund', source_event_id: 'ask', run_id: 'run', scope: null }
const WORDS = ['refund an order', 'find the customer', 'refund the customer', 'send a letter']
const outcomeAt = (n: number) =>
  envelope('tool_outcome', {
    ...{ task_class: 'c', task_intent: WORDS[(n * 7) % 4] },
    tools: [{ tool_id: `tool-${(n * 5) % 4}`, outcome: ['success', 'failure', 'partial'][(n * 11) % 4] ?? 'success' }],
    ...(n % 3 === 0 || (n * 5) % 4 === 3 ? { ttl_ms: 1 } : {}),
  })

// Mutants: prj_pass() that inserts nothing; either passUntil() left out; first_seq in place of last_seq in
// listPassed(); prj_erased_at left as it is in prj_let_go().
test('advice is the same to the byte after outcomes left, from whatever it is begun, and a retraction of one changes nothing', async () => {
  for (const later of [5, 0]) {
    const { project, post, own, classes, rested, consistent } = await teller()
    const told = await project<Result[]>(Array.from({ length: 40 }, (_, n) => outcomeAt(n)))
    await rested()
    if (later > 0) await project(Array.from({ length: later }, (_, n) => ({ ...outcomeAt(n), ttl_ms: undefined })))
    const rank = (at = daemon) => post<object>('POST /v1/advice/tools:rank', ASK, at)
    const erasedAt = async () =>
      (
        await daemon.sql<{ at: number }>('select prj_erased_at as at from loci.databases where instance_id = $1', [
          own.svc,
        ])
      )[0]?.at ?? 0
    const [before, erasedBefore] = [await rank(), await erasedAt()]
    assert.equal((await classes()).length, 40 + later)

    await age(own)
    const { length } = await classes()
    assert.ok(length > 5 && length < 30, `${length} are left`)
    assert.deepEqual(await rank(), before)
    assert.ok((await erasedAt()) > erasedBefore, 'who folds meanwhile begins again')
    await rested()
    await consistent()
    for (const dropped of [[], ['advice_snapshots', 'advice_tools']]) {
      for (const table of dropped) await daemon.sql(`delete from loci.${table} where instance_id = $1`, [own.svc])
      await using begun = await testDaemon({ replicaOf: daemon })
      assert.deepEqual(await rank(begun), before, `without ${dropped.join()}`)
    }
    await project(retraction(told[0]?.projectionId as string))
    assert.deepEqual(await rank(), before)
    // What comes next is weighed by the same time, in every replica.
    await project(outcomeAt(1))
    await using begun = await testDaemon({ replicaOf: daemon })
    assert.deepEqual(await rank(begun), await rank())
  }
})

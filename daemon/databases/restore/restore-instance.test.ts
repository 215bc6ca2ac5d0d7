import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { OPERATIONS } from '@loci/contract/operations.ts'
import { copyDatabase, testDatabase, testPool } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../../schema.ts'
import { type TestInstance, testAuthority } from '../../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { testFeed } from '../../testing/feed.ts'
import { fill } from '../../testing/filled.ts'
import { rowsOf } from '../../testing/listening-cell.ts'
import { NotRestoredError, restoreInstance } from './restore-instance.ts'

/** Less than an operator waits: replicas of a test have nothing else to do. */
const HELD_MS = 4_000
const SECRET = 'The launch code is tulip'
const BAD = 'The pad is green, said an agent that was wrong'

/** A cell with two instances that have something, and a copy of it from before the rest. */
async function cellWithCopy() {
  // A setup that fails must end what it began: a feed that listens keeps the process of the test alive.
  await using begun = new AsyncDisposableStack()
  const database = begun.use(await testDatabase({ schema: SCHEMA }))
  const feed = begun.use(await testFeed())
  const tokens = new Map<string, string>()
  const caller =
    (daemon: TestDaemon, { svc }: Pick<TestInstance, 'svc'>) =>
    async (line: string, body?: unknown, db = 'main') => {
      const headers = { 'x-loci-capability': tokens.get(svc) as string, 'x-loci-database': db }
      return daemon.ask(line, { ...(body === undefined ? {} : { body }), headers })
    }
  let [own, other]: TestInstance[] = []
  let secret = ''
  {
    await using daemon = await testDaemon({ database, settings: feed.settings })
    await using authority = await testAuthority(daemon, feed)
    own = await authority.addInstance()
    other = await authority.addInstance()
    for (const one of [own, other]) tokens.set(one.svc, one.root({ ops: Object.keys(OPERATIONS), ks: ['*/*'] }))
    await fill(daemon, authority, own)
    const call = caller(daemon, own)
    for (const [line, body] of [
      ['PUT /v1/kv/entries/a', { value: 'before' }],
      ['PUT /v1/working-memory/slots/a', { value: 'before' }],
      ['POST /v1/memory/records', { content: 'The pad is orange' }],
      ['POST /v1/cognitive/cycles', { focus: 'pad' }],
    ] as const)
      assert.equal((await call(line, body)).status, 200)
    secret = (await call('POST /v1/memory/records', { content: SECRET })).json<{ id: string }>().id
    assert.equal((await call('PUT /v1/kv/entries/a', { value: 1 }, 'ended')).status, 200)
    assert.equal((await caller(daemon, other)('PUT /v1/kv/entries/a', { value: 'before' })).status, 200)
  }
  const copy = begun.use(await copyDatabase(database))
  const daemon = begun.use(await testDaemon({ database, settings: feed.settings }))
  await eventually(async () => (await daemon.get('/health/ready')).status === 200)
  const open = (url: string) => begun.adopt(testPool(url), (pool) => pool.close())
  const pools = { living: open(database.ownerUrl), copy: open(copy.ownerUrl) }
  const whole = begun.move()
  return {
    ...{ feed, daemon, ownerUrl: database.ownerUrl, secret, own: own as TestInstance, copy, pools },
    call: caller(daemon, own as TestInstance),
    callOther: caller(daemon, other as TestInstance),
    /** Once management has what was deleted. */
    reported: () =>
      eventually(async () => (await daemon.sql('select from loci.deletions where reported_at is null')).length === 0),
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  }
}

// Mutants: servedBy() without the hold (the secret is served); listEnded() that finds none; beginLives() without the
// number.
test('an instance comes back as it was in the copy, without what was deleted since, and its neighbour is as it is', async () => {
  await using cell = await cellWithCopy()
  const { call, callOther, daemon, own } = cell
  const recalled = async () => {
    const answer = await call('POST /v1/memory/recall', { query: 'which pad' })
    assert.equal(answer.status, 200, answer.text)
    return answer.json<{ results: { content: string }[] }>().results.map(({ content }) => content)
  }
  const before = await call('GET /v1/kv/entries/a')
  await call('PUT /v1/kv/entries/a', { value: 'after' })
  await call('PUT /v1/kv/entries/b', { value: 'after' })
  await call('PUT /v1/working-memory/slots/a', { value: 'after' })
  await call('POST /v1/memory/records', { content: BAD })
  await call('PUT /v1/kv/entries/a', { value: 'after' }, 'late')
  await callOther('PUT /v1/kv/entries/a', { value: 'after' })
  assert.equal((await call(`DELETE /v1/memory/records/${cell.secret}`)).status, 200)
  assert.equal((await call('DELETE /v1/databases/ended')).status, 200)
  assert.ok((await recalled()).includes(BAD))
  await cell.reported()

  const done = await restoreInstance(cell.pools.living, cell.pools.copy, own.svc, HELD_MS)
  assert.deepEqual([done.databases, done.left_deleted], [2, ['ended']])
  assert.ok(done.rows > 700, `${done.rows} rows`)

  const answers = new Set<string>()
  await eventually(async () => {
    const answer = await call(`GET /v1/memory/records/${cell.secret}`)
    answers.add(`${answer.status}`)
    return answer.status === 404
  })
  assert.ok(!answers.has('200'), 'what was deleted is not served before the ledger was replayed')
  await eventually(async () => (await daemon.get('/health/ready')).status === 200)
  const entry = async (name: string, db?: string) => (await call(`GET /v1/kv/entries/${name}`, undefined, db)).status
  assert.deepEqual([await entry('b'), await entry('a', 'late'), await entry('a', 'ended')], [404, 404, 404])
  const { digest, ...now } = (await call('GET /v1/kv/entries/a')).json<{ digest: string }>()
  assert.deepEqual({ digest, ...now }, before.json())
  assert.equal((await call('GET /v1/working-memory/slots/a')).json<{ value: string }>().value, 'before')
  assert.deepEqual(await recalled(), ['The pad is orange'])
  assert.equal((await callOther('GET /v1/kv/entries/a')).json<{ value: string }>().value, 'after')
  const again = await call('POST /v1/memory/records', { content: SECRET })
  assert.deepEqual([again.status, again.error.code], [409, 'MEMORY_FORGOTTEN'])

  // It goes on: numbers, chains and sums.
  const put = await call('PUT /v1/kv/entries/a', { value: 'later' })
  assert.equal(put.status, 200, put.text)
  assert.equal((await call('POST /v1/cognitive/cycles', { focus: 'pad' })).status, 200)
  for (const db of ['main', 'default']) {
    const { status, text, ...answer } = await call('GET /v1/kv/consistency?mode=full', undefined, db)
    assert.equal(status, 200, text)
    assert.equal(answer.json<{ status: string }>().status, 'consistent', text)
  }
  const acts = await daemon.sql<{ action: string }>(
    `select action from loci.audit where chain = $1 order by seq desc limit 2`,
    [own.svc],
  )
  assert.deepEqual(
    acts.map(({ action }) => action),
    ['memory.erase', 'instance.restore'],
  )
})

// Mutants: countAgain() that leaves the former totals, or counts none.
test('tables have the rows of the copy, each of them, and the totals are those of the copy', async () => {
  await using cell = await cellWithCopy()
  const { daemon, own } = cell
  const totals = () =>
    daemon.sql(
      `select i.databases, i.keyed_answers, i.keyed_bytes, t.records, t.bytes from loci.instances i,
        (select sum(records)::int as records, sum(bytes)::int as bytes from loci.instance_totals where instance_id = $1) t where i.id = $1`,
      [own.svc],
    )
  const [was, held] = [await rowsOf(daemon, own.svc), await totals()]
  await cell.reported()
  await restoreInstance(cell.pools.living, cell.pools.copy, own.svc, HELD_MS)
  const is = await rowsOf(daemon, own.svc)
  // One event for each database; totals are one row again, and what was due may be over.
  const apart = { events: 0, instance_totals: 0, due: 0, usage_minutes: 0, instance_keys: 0, probes: 0 }
  assert.deepEqual({ ...is, ...apart }, { ...was, ...apart })
  assert.deepEqual(await totals(), held)
})

// Mutant: requireSame() without each of its lines.
test('what cannot be put back is refused, and nothing is done', async () => {
  await using made = await cellWithCopy()
  const { own, daemon, pools } = made
  const refused = async (of: RegExp, from = pools.copy, svc = own.svc) => {
    await assert.rejects(restoreInstance(pools.living, from, svc, HELD_MS), (error: Error) => {
      assert.ok(error instanceof NotRestoredError, String(error.stack))
      assert.match(error.message, of)
      return true
    })
    assert.equal((await daemon.get('/health/ready')).status, 200)
  }
  const [copy, itself] = [testPool(made.copy.adminUrl), testPool(made.ownerUrl)]
  try {
    const [cell] = await daemon.sql<{ life: string }>('select life from loci.cell')
    await daemon.sql('update loci.cell set life = null')
    await refused(/has no management/)
    await daemon.sql('update loci.cell set life = $1', [cell?.life])
    await refused(/is not in this cell/, undefined, 'svc_00000000000000000000000000')
    await refused(/the database of the cell itself/, itself)
    await copy.query({ text: `update loci.instance_keys set created_at = created_at - interval '1 day'` })
    await refused(/another key/)
    await copy.query({ text: `update loci.instances set state = 'deleted' where id = $1`, values: [own.svc] })
    await refused(/is not in the copy/)
    await copy.query({ text: 'alter table loci.entries add column more text' })
    await refused(/another table entries/)
    await copy.query({ text: 'delete from loci.migrations where version = (select max(version) from loci.migrations)' })
    await refused(/run migrate on the copy/)
  } finally {
    await Promise.all([copy.close(), itself.close()])
  }
})

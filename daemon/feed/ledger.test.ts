import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { DATABASE_LIFE } from '@loci/postgres/life.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { copyDatabase, PATIENT, type TestDatabase, testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../schema.ts'
import { type TestInstance, testAuthority } from '../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { type TestFeed, testFeed } from '../testing/feed.ts'
import { tracesOf } from '../testing/traces.ts'
import { finishReport } from './reports/store.ts'

const OPS = ['memory:read', 'memory:write', 'memory:delete', 'cycles:run', 'wm:read', 'wm:write', 'operator']
const SECRET = 'The launch code is tulipsecret'

type Ask = (line: string, body?: unknown) => ReturnType<TestInstance['call']>

/** One cell after another on a database, or on a copy of it, all with the one instance. */
async function cellLives() {
  const feed = await testFeed()
  const database = await testDatabase({ schema: SCHEMA })
  let token = ''
  let instance: TestInstance
  const started = async (on: TestDatabase, work: (ask: Ask, daemon: TestDaemon) => Promise<void>) => {
    await using daemon = await testDaemon({ database: on, settings: feed.settings })
    await eventually(async () => (await daemon.get('/health/ready')).status === 200)
    await work((line, body) => daemon.ask(line, { body, headers: { 'x-loci-capability': token } }) as never, daemon)
  }
  {
    await using daemon = await testDaemon({ database, settings: feed.settings })
    await using authority = await testAuthority(daemon, feed)
    instance = await authority.addInstance()
    token = instance.root({ ops: OPS, ks: ['*/*'] })
  }
  return {
    ...{ feed, database, svc: instance.svc },
    run: (work: (ask: Ask, daemon: TestDaemon) => Promise<void>) => started(database, work),
    runOn: started,
    async [Symbol.asyncDispose]() {
      await feed[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

async function stored(ask: Ask, content: string, more: object = {}): Promise<string> {
  const answer = await ask('POST /v1/memory/records', { content, ...more })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<{ id: string }>().id
}

async function erase(ask: Ask, id: string): Promise<{ ledgered: string }> {
  const answer = await ask(`DELETE /v1/memory/records/${id}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<{ ledgered: string }>()
}

async function forgetAcknowledged({ adminUrl }: TestDatabase): Promise<void> {
  const pool = openPool({
    ...PATIENT,
    url: adminUrl,
    applicationName: 'loci-test',
    connectionsMax: 1,
    onError: () => {},
  })
  await pool.query({ text: 'update loci.cell set ledger_acked = 0' })
  await pool.close()
}

const isReported = (feed: TestFeed, daemon: TestDaemon, rows: number) => async () =>
  feed.ledger.length === rows && (await daemon.sql('select from loci.deletions where reported_at is null')).length === 0

// Mutants: mem_erase without ledger_put; replayLedger() without replayErasures(); mem_replay without the tombstone;
// `forgets` of replayingErasures() without forgetSlots; finishReplay() that leaves ledger_sent (it is held again).
test('what was erased after a backup is erased again in a restored cell before it serves', async () => {
  await using lives = await cellLives()
  const { feed, svc } = lives
  let id = ''
  await lives.run(async (ask) => {
    id = await stored(ask, SECRET)
    await stored(ask, 'The pad is orange')
    const put = await ask('PUT /v1/working-memory/slots/note', { value: SECRET.toUpperCase() })
    assert.equal(put.status, 200, put.text)
    assert.equal((await ask('POST /v1/cognitive/cycles', { focus: SECRET })).status, 200)
  })
  await using backup = await copyDatabase(lives.database)
  await lives.run(async (ask, daemon) => {
    assert.equal((await erase(ask, id)).ledgered, 'cell')
    await eventually(isReported(feed, daemon, 1))
  })
  assert.deepEqual(
    feed.ledger.map((row) => [
      row.svc,
      row.database,
      row.value_mac?.length,
      row.override,
      Object.values(row).includes(SECRET),
    ]),
    [[svc, 'default', 32, undefined, false]],
  )

  await lives.runOn(backup, async (ask, daemon) => {
    assert.equal((await ask(`GET /v1/memory/records/${id}`)).status, 404)
    assert.deepEqual(await tracesOf(daemon, 'lipsecret'), [])
    const again = await ask('POST /v1/memory/records', { content: SECRET })
    assert.deepEqual([again.status, again.error.code], [409, 'MEMORY_FORGOTTEN'])
    const { records } = (await ask('GET /v1/memory/records')).json<{ records: { content: string }[] }>()
    assert.deepEqual(
      records.map(({ content }) => content),
      ['The pad is orange'],
    )
    const [entry] = await daemon.sql(`select actor from loci.audit where action = 'memory.erase'`)
    assert.deepEqual(entry, { actor: 'management' })
    await daemon.logged(({ message }) => /records deleted before were found and erased again/.test(String(message)))
  })
})

// Mutants: mem_places without `r.seq <= p_to`, the same in isOf() of working memory and in prj_forget; mem_replay that
// does not look at the override; mem_store without ledger_put.
test('what was stored again by an override before a backup stays, and its tombstone stays taken back', async () => {
  await using lives = await cellLives()
  const { feed } = lives
  let [first, second] = ['', '']
  await lives.run(async (ask) => {
    first = await stored(ask, SECRET)
  })
  await using early = await copyDatabase(lives.database)
  await lives.run(async (ask, daemon) => {
    await erase(ask, first)
    second = await stored(ask, SECRET, { override: true })
    assert.equal((await ask('PUT /v1/working-memory/slots/note', { value: SECRET })).status, 200)
    await eventually(isReported(feed, daemon, 2))
  })
  assert.deepEqual(feed.ledger.map(({ override }) => override ?? false).sort(), [false, true])
  await using late = await copyDatabase(lives.database)
  // As where rows were put back by hand: the whole ledger is replayed.
  await forgetAcknowledged(late)

  await lives.runOn(late, async (ask, daemon) => {
    assert.equal((await ask(`GET /v1/memory/records/${second}`)).status, 200)
    assert.equal((await ask('GET /v1/working-memory/slots/note')).status, 200)
    assert.deepEqual(await daemon.sql('select from loci.tombstones'), [])
  })
  await lives.runOn(early, async (ask, daemon) => {
    assert.equal((await ask(`GET /v1/memory/records/${first}`)).status, 404)
    assert.deepEqual(await tracesOf(daemon, 'lipsecret'), [])
    await stored(ask, SECRET)
    // Numbers of the former life are not used again: a second restore tells this record from what was erased.
    const [head] = await daemon.sql(`select seq from loci.databases where name = 'default'`)
    assert.ok(Number(head?.seq) > Math.max(...feed.ledger.map(({ database_seq = 0 }) => database_seq)))
  })
})

// Mutant: is_behind always false in applyPage().
test('a database that was put back under the same identity is known by the rows that it never sent', async () => {
  await using lives = await cellLives()
  const { feed } = lives
  await lives.run(async (ask, daemon) => {
    const id = await stored(ask, SECRET)
    await erase(ask, id)
    await eventually(isReported(feed, daemon, 1))
    const isBehind = ({ message }: { message?: unknown }) => /put back to an earlier moment/.test(String(message))
    assert.equal(
      daemon.lines.some((line) => isBehind(JSON.parse(line))),
      false,
    )
    await daemon.sql('update loci.cell set ledger_acked = 0, ledger_sent = 0')
    feed.publish({ kind: 'revocation', body: { svc: '*', jti: 'cap_any', expires_at: '2099-01-01T00:00:00.000Z' } })
    await daemon.logged(isBehind)
    await eventually(async () => {
      const [cell] = await daemon.sql('select ledger_acked as acked, ledger_sent as sent from loci.cell')
      return Number(cell?.acked) === 1 && Number(cell?.sent) === 1
    })
    await eventually(async () => (await ask('GET /v1/memory/records')).status === 200)
  })
})

// Mutant: finishReport() that takes management's number, in ledger_acked and ledger_sent, without `$1 > ledger_sent`.
test('a database that was put back is known by the answer to its own report', async () => {
  await using lives = await cellLives()
  const { feed } = lives
  await lives.run(async (ask, daemon) => {
    await erase(ask, await stored(ask, SECRET))
    await eventually(isReported(feed, daemon, 1))
    // As in a snapshot of the moment before: the record is there, and neither its tombstone nor its row of the ledger.
    await daemon.sql('delete from loci.tombstones')
    await daemon.sql('delete from loci.deletions')
    const id = await stored(ask, SECRET)
    const other = await stored(ask, 'The pad is orange')
    Object.assign(feed.ledger[0] as object, { database_seq: 1_000, at: new Date().toISOString() })
    await daemon.sql('update loci.cell set ledger_acked = 0, ledger_sent = 0')

    await erase(ask, other)

    await eventually(async () => {
      const [cell] = await daemon.sql('select ledger_acked as acked, ledger_sent as sent from loci.cell')
      return feed.ledger.length === 2 && Number(cell?.acked) === 2 && Number(cell?.sent) === 2
    })
    // The replica may hear of it only now: it answers 503 until it has heard of the end of the replay, too.
    let status = 503
    await eventually(async () => {
      status = (await ask(`GET /v1/memory/records/${id}`)).status
      return status !== 503
    })
    assert.equal(status, 404)
    assert.deepEqual(await tracesOf(daemon, 'lipsecret'), [])
    await daemon.logged(({ message }) => /put back to an earlier moment/.test(String(message)))
  })
})

// Mutants: the reporter started before replayLedger(); saveReplayed() of `after + 1`.
test('a replay that is interrupted goes on where it was, and no report hides the rest of it', async () => {
  await using lives = await cellLives()
  const { feed } = lives
  const ids: string[] = []
  await lives.run(async (ask, daemon) => {
    for (const name of ['one', 'two', 'three', 'four']) ids.push(await stored(ask, `${SECRET} ${name}`))
    await erase(ask, ids[0] as string)
    await eventually(isReported(feed, daemon, 1))
    feed.pagesLeft = 0
    await erase(ask, ids[1] as string)
  })
  // It has a row that was never reported.
  await using backup = await copyDatabase(lives.database)
  feed.pagesLeft = Number.POSITIVE_INFINITY
  await lives.run(async (ask, daemon) => {
    await eventually(isReported(feed, daemon, 2))
    for (const [at, id] of ids.slice(2).entries()) {
      await erase(ask, id)
      await eventually(isReported(feed, daemon, at + 3))
    }
  })

  feed.pageItemsMax = 1
  feed.ledgerEnd = 3
  const [sentBefore, unansweredBefore] = [feed.sent.length, feed.unanswered]
  await using restored = await testDaemon({ database: backup, settings: feed.settings })
  await eventually(() => feed.unanswered > unansweredBefore + 3)
  const [replaying] = await restored.sql('select ledger_acked::int as acked from loci.cell')
  assert.deepEqual([feed.sent.length - sentBefore, replaying], [0, { acked: 3 }])
  assert.equal((await restored.get('/health/ready')).status, 503)

  feed.ledgerEnd = undefined
  await eventually(async () => (await restored.get('/health/ready')).status === 200)
  await eventually(() => feed.sent.length > sentBefore)
  assert.deepEqual(await tracesOf(restored, 'lipsecret'), [])
})

// Mutants: report_ledger_acked without IS_RESTORED; without the epoch.
test('a report that ends in a restored database, or under another epoch, leaves the place from which it is replayed', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const [pool, owner] = [database.appUrl, database.adminUrl].map((url) =>
    openPool({ ...PATIENT, url, applicationName: 'loci-test', connectionsMax: 1, onError: () => {} }),
  ) as [ReturnType<typeof openPool>, ReturnType<typeof openPool>]
  try {
    const row = {
      svc: 'svc_1',
      database: 'd',
      valueMac: '00',
      isOverride: false,
      generation: 1,
      seq: 1,
      at: new Date(),
    }
    const rows = { observed: [], usage: [], revocations: [], deletions: [row], uses: [] }
    const ackedIn = async (life: string, epoch: string) => {
      const text = `update loci.cell set life = ${life}, feed_epoch = $1, ledger_acked = 100, ledger_sent = 600`
      await owner.query({ text, values: [epoch] })
      await finishReport(pool, rows, { ledger: 501, epoch: 'epoch-1', isSettled: false })
      return (await owner.query<{ acked: number }>({ text: 'select ledger_acked as acked from loci.cell' })).rows[0]
        ?.acked
    }
    const own = `(select ${DATABASE_LIFE})`
    assert.deepEqual(
      [await ackedIn(own, 'epoch-1'), await ackedIn(`'1.1.1'`, 'epoch-1'), await ackedIn(own, 'epoch-2')],
      [501, 100, 100],
    )
  } finally {
    await Promise.all([pool.close(), owner.close()])
  }
})

// Mutants: `taken` with every row that was read, not only those that management could read; isUntaken() always false.
test('a row of the ledger that management cannot read is kept, and sent again after a start', async () => {
  await using lives = await cellLives()
  const { feed, svc } = lives
  await lives.run(async (ask, daemon) => {
    const id = await stored(ask, SECRET)
    feed.unreadable.add(svc)
    await erase(ask, id)
    await daemon.logged(({ message }) => /rejected this row of the deletion ledger/.test(String(message)))
    await using authority = await testAuthority(daemon, feed)
    for (let times = 0; times < 2; times += 1) {
      const other = await authority.addInstance()
      await eventually(() => feed.reports.some(({ observed }) => observed.some((one) => one.svc === other.svc)))
    }
    assert.equal((await daemon.sql('select from loci.deletions where reported_at is null')).length, 1)
    // What was refused is not taken for sent: the numbers of management would else have to pass it first.
    assert.deepEqual(await daemon.sql('select ledger_sent::int as sent from loci.cell'), [{ sent: 0 }])
  })
  assert.deepEqual(feed.ledger, [])
  feed.unreadable.clear()
  await lives.run(async (_ask, daemon) => {
    await eventually(isReported(feed, daemon, 1))
  })
})

// Mutants: is_other always false in applyPage(); the second half of report_deletions left out.
test('a management that was restored is sent the whole ledger again', async () => {
  await using lives = await cellLives()
  const { feed } = lives
  await lives.run(async (ask, daemon) => {
    await erase(ask, await stored(ask, SECRET))
    await eventually(isReported(feed, daemon, 1))
    const [row] = feed.ledger
    feed.restore()
    await eventually(isReported(feed, daemon, 1))
    assert.deepEqual(feed.ledger, [row])
  })
})

const gone = async (ask: Ask) => {
  const answer = await ask('DELETE /v1/databases/default')
  assert.equal(answer.status, 200, answer.text)
}

// Mutants: db_erase without ledger_put; replayIn() without replayDatabase(); replayIn() that leaves out eraseWithin();
// `and t.name <> 'slot_versions'` in db_erase_some.
test('a database that was erased after a backup is erased again in a restored cell before it serves', async () => {
  await using lives = await cellLives()
  const { feed, svc } = lives
  await lives.run(async (ask) => {
    await stored(ask, SECRET)
    assert.equal((await ask('PUT /v1/working-memory/slots/note', { value: SECRET })).status, 200)
    assert.equal((await ask('POST /v1/cognitive/cycles', { focus: SECRET })).status, 200)
  })
  await using backup = await copyDatabase(lives.database)
  await lives.run(async (ask, daemon) => {
    await gone(ask)
    await eventually(isReported(feed, daemon, 1))
  })
  assert.deepEqual(
    feed.ledger.map(({ svc, database, value_mac, database_seq }) => [
      svc,
      database,
      value_mac,
      Number(database_seq) > 0,
    ]),
    [[svc, 'default', undefined, true]],
  )
  await lives.runOn(backup, async (ask, daemon) => {
    const { records } = (await ask('GET /v1/memory/records')).json<{ records: unknown[] }>()
    assert.deepEqual(records, [])
    assert.equal((await ask('GET /v1/working-memory/slots/note')).status, 404)
    assert.deepEqual(await tracesOf(daemon, 'lipsecret'), [])
    // A new life is no continuation of the old one: nothing of it is forgotten.
    await stored(ask, SECRET)
  })
})

// Mutants: db_replay without its look at the number; enter_database without the number of the ledger; replayIn() and
// mem_replay, which both look, without the number of the life that ended (its value is not learned again).
test('a database that began anew before the backup stays, and what its former life had erased is learned again', async () => {
  await using lives = await cellLives()
  const { feed } = lives
  let id = ''
  await lives.run(async (ask, daemon) => {
    await erase(ask, await stored(ask, SECRET))
    await eventually(isReported(feed, daemon, 1))
    await gone(ask)
    id = await stored(ask, 'The pad is orange')
    await eventually(isReported(feed, daemon, 2))
  })
  await using late = await copyDatabase(lives.database)
  await forgetAcknowledged(late)
  await lives.runOn(late, async (ask) => {
    assert.equal((await ask(`GET /v1/memory/records/${id}`)).status, 200)
    await stored(ask, SECRET)
  })
})

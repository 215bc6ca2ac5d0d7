import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { ACTOR, testManagement } from '../../testing/management.ts'
import { mintPartnerCredential } from '../../tokens/partner-credentials/partner-credentials.ts'
import { forgetCovered } from './store.ts'

const MINUTE = '2026-11-15T09:30:00.000Z'

// Mutant: rows of foreign instances not filtered (isOwn always true).
test('a row on an instance that is not placed in the cell is refused, and the rest of the report is taken', async () => {
  await using management = await testManagement()
  const mine = await management.cell()
  const theirs = await management.cell()
  const service = await management.instance(mine.id)
  const foreign = await management.instance(theirs.id, { organization: 'Other' })
  const usage = (svc: string) => ({ svc, minute: MINUTE, dedup: 'r1', requests: 5, writes: 1, records: 0, bytes: 0 })

  for (const svc of [foreign.id, newId('svc')]) {
    const { status, body } = await mine.report({
      usage: [usage(service.id), usage(svc)],
      observed: [{ svc, generation: 1, state: 'active' }],
      deletions: [{ svc, at: MINUTE }],
    })
    assert.deepEqual([status, body], [200, { accepted: true, refused: [svc] }])
  }

  assert.deepEqual(await management.sql('select service_id as id from loci.usage_minutes'), [{ id: service.id }])
  assert.deepEqual(await management.sql('select from loci.deletions'), [])
  assert.deepEqual(
    await management.sql('select observed_generation as generation from loci.services where id = $1', [foreign.id]),
    [{ generation: 0 }],
  )
  // Its owner is told who spoke of it, once.
  const acts = await management.sql(`select chain, actor from loci.audit where action = 'service.quarantine'`)
  assert.deepEqual(acts, [{ chain: foreign.organizationId, actor: mine.id }])
})

// Mutant: without isTooFarAhead() in takeObserved.
test('a generation far ahead of what was ever told is kept aside with an alarm, and the service goes on', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const other = await management.instance(cell.id, { organization: 'Other' })
  const observed = (svc: string, generation: number) => ({ svc, generation, state: 'active' })

  for (let count = 0; count < 2; count += 1) {
    const { status } = await cell.report({ observed: [observed(service.id, 2 ** 53 - 1), observed(other.id, 1)] })
    assert.equal(status, 200)
  }
  await cell.report({ observed: [observed(service.id, 1)] })

  assert.deepEqual(
    await management.sql('select status, generation::int, observed_generation::int as observed from loci.services'),
    [
      { status: 'active', generation: 1, observed: 1 },
      { status: 'active', generation: 1, observed: 1 },
    ],
  )
  const acts = await management.sql(`select chain, subject from loci.audit where action = 'service.quarantine'`)
  assert.deepEqual(acts, [{ chain: service.organizationId, subject: service.id }])
  assert.deepEqual(await management.sql('select from loci.quarantine'), [], 'settled by its next word')
  const [{ kind }] = (await management.sql(`select alarm->>'kind' as kind from loci.cells`)) as [{ kind: string }]
  assert.equal(kind, 'generation')
  await management.logged(({ code, message }) => code === 'generation' && /^ALARM/.test(String(message)))
  assert.match((await management.get('/metrics')).text, /loci_cell_alarms_total\{.*kind="generation".*\} 2/)
})

// Mutant: without asked_generation in saveDeletions whoever has the key of a cell has a restored one erase what lives.
test('the ledger is numbered, told back page by page, and has the generation that was erased', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const other = await management.cell()
  const [one, two] = [await management.instance(cell.id), await management.instance(cell.id, { organization: 'Other' })]
  const ask = async (of: typeof cell, after: number) =>
    (await management.get(`/cell/v1/deletions?after=${after}`, { authorization: `Bearer ${of.token()}` })).json<{
      deletions: { seq: number; svc: string; generation: number | null }[]
      next: number
      more: boolean
    }>()

  await cell.report({ deletions: [{ svc: one.id, generation: 1, at: MINUTE }] })
  assert.deepEqual((await ask(cell, 0)).deletions, [], 'nobody has told it to erase this')
  await management.sql(
    `insert into loci.deletions (cell_id, service_id, at, asked_generation) values ($1, $2, now(), 5)`,
    [cell.id, one.id],
  )
  await cell.report({ deletions: [{ svc: one.id, generation: 3, at: MINUTE }] })
  await cell.report({ deletions: [{ svc: one.id, generation: 6, at: MINUTE }] })
  await cell.report({ deletions: [{ svc: two.id, database: 'old', at: MINUTE }] })
  await cell.report({ deletions: [{ svc: one.id, generation: 5, at: MINUTE }] })

  const { deletions, next, more } = await ask(cell, 0)
  assert.deepEqual(
    deletions.map(({ seq, svc, generation }) => [seq, svc, generation]),
    [
      [2, two.id, null],
      [3, one.id, 5],
    ],
  )
  assert.deepEqual([next, more], [3, false])
  assert.deepEqual((await ask(cell, 2)).deletions.length, 1)
  assert.deepEqual((await ask(other, 0)).deletions, [])
})

// Mutants: AHEAD_MS_MAX of a day; DATABASE_SEQ_MAX of 2 ** 53; listedAt() never asked for; no alarm of these kinds.
test('an erasure of the future is taken as of now, one with an impossible number is left out, and a flood is an alarm', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const row = (value: string, database_seq: number, aheadMs = 0) => ({
    ...{ svc: service.id, database: 'notes', value_mac: value.repeat(32), database_seq },
    at: new Date(Date.now() + aheadMs).toISOString(),
  })
  const alarm = async () =>
    (
      await management.sql<{ kind?: string; detail?: string }>(
        `select alarm->>'kind' as kind, alarm->>'detail' as detail from loci.cells`,
      )
    )[0]
  const alarms = async () =>
    Number(
      /loci_cell_alarms_total\{.*kind="deletions".*\} (\d+)/.exec((await management.get('/metrics')).text)?.[1] ?? 0,
    )

  assert.equal((await cell.report({ deletions: [row('a', 2 ** 48), row('b', 1, 30_000)] })).body.ledger, 2)
  assert.equal((await alarm())?.kind, null)
  const { status, body } = await cell.report({ deletions: [row('c', 2 ** 48 + 1)] })
  assert.deepEqual([status, body], [200, { accepted: true, refused: [] }])
  const { kind, detail } = (await alarm()) ?? {}
  assert.deepEqual([kind, /impossible number/.test(String(detail))], ['deletions', true])
  assert.equal((await cell.report({ deletions: [row('d', 2, 3_600_000), row('e', 2 ** 53 - 1)] })).body.ledger, 3)
  const kept = await management.sql(
    `select left(encode(value_mac, 'hex'), 1) as value, at < now() + interval '1 minute' as "isPast" from loci.deletions order by 1`,
  )
  assert.deepEqual(kept, [
    { value: 'a', isPast: true },
    { value: 'b', isPast: true },
    { value: 'd', isPast: true },
  ])
  await eventually(async () => (await alarms()) === 3)

  await management.sql(
    `insert into loci.deletions (cell_id, service_id, database, value_mac, at, database_seq, seq, received_at)
      select $1, $2, 'notes', decode(lpad(to_hex(g), 32, '0'), 'hex'), now(), g, 3 + g, now() from generate_series(1, 100000) g`,
    [cell.id, service.id],
  )
  await management.sql(`update loci.deletions set received_at = now() - interval '61 seconds' where seq <= 4`)
  await management.sql(`update loci.cells set deletion_seq = 100003`)
  assert.equal((await cell.report({ deletions: [row('f', 3)] })).body.ledger, 100_004)
  assert.equal((await cell.report({ deletions: [row('1', 3)] })).body.ledger, 100_005)
  await eventually(async () => (await alarms()) === 4)
})

// Mutants: the key of saveDeletions without value_mac or is_override; database_seq that falls; forgetCovered() without
// `r.at <= i.at`, or that deletes nothing.
test('the ledger keeps the value of each erased record and its number, until the whole instance is erased', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const row = (value: string, database_seq: number, more = {}) => ({
    ...{ svc: service.id, database: 'notes', value_mac: value.repeat(32), database_seq, at: MINUTE, ...more },
  })
  const ledger = async () => {
    const authorization = `Bearer ${cell.token()}`
    const page = await management.get('/cell/v1/deletions?after=0', { authorization })
    return page
      .json<{ deletions: { seq: number; value_mac?: string; database_seq?: number; override?: boolean }[] }>()
      .deletions.map(({ seq, value_mac, database_seq, override }) => [seq, value_mac?.[0], database_seq, override])
  }

  assert.equal((await cell.report({ deletions: [row('a', 7), row('b', 8)] })).body.ledger, 2)
  assert.equal((await cell.report({ deletions: [row('a', 9, { override: true })] })).body.ledger, 3)
  // Sent again, and an older one behind a newer.
  assert.equal((await cell.report({ deletions: [row('b', 6)] })).body.ledger, 4)
  assert.deepEqual(await ledger(), [
    [1, 'a', 7, undefined],
    [3, 'a', 9, true],
    [4, 'b', 8, undefined],
  ])
  assert.equal((await cell.feed()).ledger, 4)
  assert.equal((await cell.report({ deletions: [{ ...row('a', 7), value_mac: 'content' }] })).status, 400)

  await management.sql(
    `insert into loci.deletions (cell_id, service_id, at, asked_generation) values ($1, $2, now(), 5)`,
    [cell.id, service.id],
  )
  await forgetCovered(management.pool)
  assert.equal((await ledger()).length, 3, 'it was only asked for')
  // Erased in an instance that was made again under the same id.
  const since = row('c', 1, { at: new Date(Date.now() + 60_000).toISOString() })
  await cell.report({ deletions: [{ svc: service.id, generation: 5, at: MINUTE }, since] })
  await forgetCovered(management.pool)
  assert.deepEqual(
    (await ledger()).map(([, value]) => value),
    [undefined, 'c'],
  )
})

test('the token of a report is good for one report', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const token = cell.token()

  assert.deepEqual(await cell.report({}, token), { status: 200, body: { accepted: true, refused: [] } })
  assert.equal((await cell.report({}, token)).status, 401)
  assert.equal((await cell.report({})).status, 200)
})

test('a minute is counted once for each replica, and a report never lowers it', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const usage = (dedup: string, requests: number, writes: number) => ({
    usage: [{ svc: service.id, minute: MINUTE, dedup, requests, writes, records: 7, bytes: 100 }],
  })

  for (const body of [usage('r1', 10, 4), usage('r1', 10, 4), usage('r1', 3, 5), usage('r2', 2, 2)])
    assert.equal((await cell.report(body)).status, 200)

  assert.deepEqual(
    await management.sql('select dedup, requests, writes, records, bytes from loci.usage_minutes order by dedup'),
    [
      { dedup: 'r1', requests: 10, writes: 5, records: 7, bytes: 100 },
      { dedup: 'r2', requests: 2, writes: 2, records: 7, bytes: 100 },
    ],
  )
})

// Mutant: `Date.parse(minute) < …` left out of takeAccounts().
test('what is counted for a minute to come is not kept, and the rest of the report is', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const counted = { svc: service.id, dedup: 'r1', requests: 5, writes: 1, records: 0, bytes: 0 }
  const soon = new Date(Math.floor(Date.now() / 60_000) * 60_000 + 60_000).toISOString()
  const usage = [MINUTE, soon, '9999-12-31T23:59:00.000Z'].map((minute) => ({ ...counted, minute }))

  const { status, body } = await cell.report({ usage })

  assert.deepEqual([status, body], [200, { accepted: true, refused: [] }])
  const kept = await management.sql<{ minute: Date }>('select minute from loci.usage_minutes order by minute')
  assert.deepEqual(kept.map(({ minute }) => minute.toISOString()).sort(), [MINUTE, soon].sort())
})

test('what a cell observes moves the service on, old news does not, and a higher generation is adopted', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const observed = (generation: number) => ({ observed: [{ svc: service.id, generation, state: 'active' }] })
  const read = () => management.sql('select status, generation, observed_generation as observed from loci.services')

  assert.equal((await cell.report(observed(1))).status, 200)
  assert.deepEqual(await read(), [{ status: 'active', generation: 1, observed: 1 }])
  await cell.report(observed(0))
  assert.deepEqual(await read(), [{ status: 'active', generation: 1, observed: 1 }])
  await cell.report(observed(9))
  // What is wanted is published again above it, at once or by the job.
  const [adopted] = await eventually(async () => {
    const [row] = await read()
    return row?.generation === 10 && [row]
  })
  assert.deepEqual(adopted, { status: 'updating', generation: 10, observed: 9 })
})

// Mutant: `wantedState: 'deleted'` for what a cell has erased (adopted() of lifecycle.ts); without the audit entry.
test('what a cell says it has erased unasked is lost, told to its owner, and published to nobody', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  await cell.report({ observed: [{ svc: service.id, generation: 1, state: 'active' }] })
  const before = await cell.pull()

  const lie = { observed: [{ svc: service.id, generation: 1, state: 'deleted' }] }
  assert.equal((await cell.report(lie)).status, 200)
  assert.equal((await cell.report(lie)).status, 200)
  // Somebody has looked at it since.
  while ((await management.sql('select from loci.due_services')).length > 0) await sleep(20)

  assert.deepEqual(
    await management.sql('select status, status_reason as reason, wanted_state as wanted from loci.services'),
    [{ status: 'failed', reason: 'lost_in_restore', wanted: 'active' }],
  )
  assert.deepEqual((await cell.pull()).items, before.items)
  assert.deepEqual(
    await management.sql(`select actor, subject from loci.audit where chain = $1 and action = 'service.lose'`, [
      service.organizationId,
    ]),
    [{ actor: cell.id, subject: service.id }],
  )
})

test('what the administration of a cell revoked comes back to that cell, and reaches no other', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const other = await management.cell()
  const jti = newId('cap')
  const { organizationId: org } = await management.instance(cell.id)
  const expires_at = new Date(Date.now() + 86_400_000).toISOString()
  const revocations = [
    { kind: 'jti', value: jti, not_before: null, expires_at, audit_id: newId('aud') },
    { kind: 'org', value: org, not_before: MINUTE, expires_at, audit_id: null },
  ]

  assert.equal((await cell.report({ revocations })).status, 200)

  const heard = (await cell.pull()).items.filter(({ kind }) => kind === 'revocation')
  assert.deepEqual(
    heard.map(({ key, body }) => ({ key, body: { ...body, ...('revoked_at' in body ? { revoked_at: 'then' } : {}) } })),
    [
      { key: `jti:*:${jti}`, body: { svc: '*', jti, expires_at, revoked_at: 'then' } },
      { key: `epoch:org:${org}`, body: { kind: 'org', id: org, not_before: MINUTE, expires_at } },
    ],
  )
  assert.ok((await other.pull()).items.every(({ kind }) => kind !== 'revocation'))
})

test('deletions are kept, and last use is noted only for credentials of the cell', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const other = await management.cell()
  const service = await management.instance(cell.id)
  const request = { name: 'partner', database: 'default' }
  const { credential } = await management.within(service, (sql) => mintPartnerCredential(sql, service, request, ACTOR))
  const lastUsed = { last_used: [{ credential: credential.id, at: MINUTE }] }
  const read = () => management.sql<{ at: Date | null }>('select last_used_at as at from loci.partner_credentials')

  assert.equal((await other.report(lastUsed)).status, 200)
  assert.deepEqual(await read(), [{ at: null }])
  const deletions = [
    { svc: service.id, at: MINUTE },
    { svc: service.id, database: 'old', at: MINUTE },
  ]
  assert.equal((await cell.report({ ...lastUsed, deletions })).status, 200)

  assert.deepEqual(await read(), [{ at: new Date(MINUTE) }])
  // Of the whole instance nothing is kept: nobody has told the cell to erase it.
  assert.deepEqual(await management.sql('select database from loci.deletions order by database'), [{ database: 'old' }])
})

test('a report without the documented form is refused with the field that is wrong', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const wrong = [
    { report_id: 'no uuid' },
    {
      usage: [
        {
          svc: newId('svc'),
          minute: '2026-11-15T09:30:01.000Z',
          dedup: 'r',
          requests: 1,
          writes: 1,
          records: 1,
          bytes: 1,
        },
      ],
    },
    { usage: [{ svc: newId('svc'), minute: MINUTE, dedup: 'r', requests: -1, writes: 1, records: 1, bytes: 1 }] },
    { revocations: [{ kind: 'jti', value: 'x', not_before: MINUTE, expires_at: MINUTE, audit_id: null }] },
    { observed: [{ svc: 'x', generation: 1, state: 'active' }] },
  ]

  for (const body of wrong) assert.equal((await cell.report(body)).status, 400, JSON.stringify(body))
})

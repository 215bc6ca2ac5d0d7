import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKeyPair } from '@loci/capability/jws.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { PAGE_ITEMS_MAX, publish, raiseEpoch } from '../../acts/feed/store.ts'
import { ACTOR, PUBLIC_URL, type TestCell, type TestManagement, testManagement } from '../../testing/management.ts'
import { revokeEpoch } from '../../tokens/tokens.ts'

test('the feed is read only with a token that a registered cell signed for this management, just now', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const other = await management.cell()
  const now = Math.floor(Date.now() / 1000)
  const refused: Record<string, string | undefined> = {
    none: undefined,
    garbage: 'Bearer garbage',
    'another scheme': `Basic ${cell.token()}`,
    'key of another cell': `Bearer ${cell.token({ key: other.key })}`,
    'unknown key': `Bearer ${cell.token({ key: newKeyPair().privateJwk })}`,
    'unknown cell': `Bearer ${cell.token({ claims: { iss: newId('cell') } })}`,
    'iss that is no id': `Bearer ${cell.token({ claims: { iss: 'cell_' } })}`,
    'another audience': `Bearer ${cell.token({ claims: { aud: 'https://elsewhere.example' } })}`,
    'a longer life': `Bearer ${cell.token({ claims: { iat: now, exp: now + 61 } })}`,
    'no end': `Bearer ${cell.token({ claims: { exp: undefined } })}`,
    expired: `Bearer ${cell.token({ claims: { iat: now - 120, exp: now - 60 } })}`,
    'not yet': `Bearer ${cell.token({ claims: { iat: now + 60, exp: now + 100 } })}`,
    'ends before it begins': `Bearer ${cell.token({ claims: { iat: now + 10, exp: now } })}`,
    'no jti': `Bearer ${cell.token({ claims: { jti: undefined } })}`,
    'alg none': `Bearer ${cell.token({ header: { alg: 'none' } })}`,
    'another type': `Bearer ${cell.token({ header: { typ: 'loci-cap+jwt' } })}`,
    'a key in the header': `Bearer ${cell.token({ header: { jwk: cell.key } })}`,
    'a changed signature': `Bearer ${cell.token().replace(/.{10}$/, 'AAAAAAAAAA')}`,
  }

  for (const [name, authorization] of Object.entries(refused)) {
    const answer = await management.get('/cell/v1/feed', authorization === undefined ? {} : { authorization })
    assert.equal(answer.status, 401, name)
    assert.equal(answer.error.code, 'UNAUTHENTICATED', name)
  }
  assert.equal((await cell.feed()).full, true)
})

// Mutant: one refusal for all causes, as it was.
test('a cell that is refused is told why, and the log of management says it once', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const now = Math.floor(Date.now() / 1000)
  const { privateJwk } = newKeyPair()
  const causes: [string, string, RegExp, RegExp][] = [
    ['unknown_key', cell.token({ key: privateJwk }), /management cells keys/, /not registered for this cell/],
    ['unknown_cell', cell.token({ claims: { iss: newId('cell') } }), /LOCI_CELL_ID/, /no cell with this id/],
    ['audience', cell.token({ claims: { aud: 'http://localhost:4400' } }), /LOCI_MANAGEMENT_URL/, /LOCI_PUBLIC_URL/],
    ['clock', cell.token({ claims: { iat: now - 600, exp: now - 540 } }), /Date of this answer/, /clock/],
  ]
  for (const [reason, token, told, logged] of causes) {
    const ask = () => management.get('/cell/v1/self', { authorization: `Bearer ${token}` })
    const answer = await ask()
    const details = { reason, ...(reason === 'audience' ? { public_url: PUBLIC_URL } : {}) }
    assert.deepEqual([answer.status, answer.error.details], [401, details], reason)
    assert.match(answer.error.message, told)
    await ask()
    const line = await management.logged(({ message, code }) => message === 'a cell was refused' && code === reason)
    assert.match(String(line.reason), logged)
    const lines = management.lines.filter((text) => text.includes('a cell was refused') && text.includes(reason))
    assert.equal(lines.length, 1, 'not at every poll')
  }
  const known = await management.get('/cell/v1/self', { authorization: `Bearer ${cell.token()}` })
  const { epoch } = await cell.feed()
  await management.instance(cell.id)
  assert.deepEqual([known.status, known.json<{ epoch: string }>().epoch], [200, epoch])
  const self = (await management.get('/cell/v1/self', { authorization: `Bearer ${cell.token()}` })).json()
  assert.deepEqual([self.id, self.instances], [cell.id, 1])
})

test('a cell is given everything first, then only what changed, and all of it again in another epoch or past the end', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const first = await cell.feed()
  assert.deepEqual(
    first.items.map(({ kind }) => kind),
    ['key'],
  )
  assert.equal(first.full, true)
  const service = await management.instance(cell.id)

  const changed = await cell.feed({ after: first.next, epoch: first.epoch })

  assert.equal(changed.full, false)
  const [item] = changed.items
  assert.equal(changed.items.length, 1)
  assert.deepEqual(item?.body, {
    org: service.organizationId,
    ten: service.tenantId,
    svc: service.id,
    service_type: 'memory',
    plan: 'pro',
    state: 'active',
    state_reason: null,
    generation: 1,
    limits: {
      databases: 10_000,
      records: 1_000_000,
      bytes: 10 * 2 ** 30,
      requests_per_second: 500,
      burst: 1000,
      streams: 50,
      bytes_written_per_day: 100 * 2 ** 30,
      organization_rate: 20,
    },
    config: {},
  })
  assert.equal(changed.next, item?.seq)
  assert.equal((await cell.feed({ after: changed.next, epoch: changed.epoch })).items.length, 0)
  for (const query of [
    { after: changed.next },
    { after: changed.next, epoch: 'another' },
    { after: changed.next + 1, epoch: changed.epoch },
  ]) {
    const again = await cell.feed(query)
    assert.equal(again.full, true)
    assert.deepEqual(
      again.items.map(({ kind }) => kind),
      ['key', 'instance'],
    )
  }
})

test('an epoch raised by hand makes a cell read everything again', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const before = await cell.feed()

  await raiseEpoch(management.pool)

  const after = await cell.feed({ after: before.next, epoch: before.epoch })
  assert.equal(after.full, true)
  assert.notEqual(after.epoch, before.epoch)
})

test('a long feed comes in pages, each item once and in order', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const count = PAGE_ITEMS_MAX + 20
  await transaction(management.pool, async (sql) => {
    for (let i = 0; i < count; i += 1) await publishJti(sql, cell, `cap_${i}`)
  })

  const first = await cell.feed()
  assert.equal(first.more, true)
  assert.equal(first.items.length, PAGE_ITEMS_MAX)
  const { items } = await cell.pull()

  assert.equal(items.length, count + 1)
  assert.deepEqual(
    items.map(({ seq }) => seq),
    items.map(({ seq }) => seq).toSorted((a, b) => a - b),
  )
  assert.equal(new Set(items.map(({ key }) => key)).size, items.length)
})

test('a poll that waits is answered when something changes, and empty when nothing does', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const { next, epoch } = await cell.feed()
  const idle = performance.now()
  assert.deepEqual((await cell.feed({ after: next, epoch, wait: 1 })).items, [])
  assert.ok(performance.now() - idle >= 950)

  const waiting = cell.feed({ after: next, epoch, wait: 20 })
  await new Promise((resolve) => setTimeout(resolve, 300))
  const changedAt = performance.now()
  await publishJti(management.pool, cell, 'cap_x')
  const { items } = await waiting

  assert.ok(performance.now() - changedAt < 18_000, 'before its wait was over')
  assert.deepEqual(
    items.map(({ key }) => key),
    ['jti:*:cap_x'],
  )
})

test('polls that wait hold no connection of the database', async () => {
  // All of them come at once, and a busy machine takes its time until the last has been looked at.
  await using management = await testManagement({ settings: { queueMax: 100, queueMs: 60_000 } })
  const cell = await management.cell()
  const { next, epoch } = await cell.feed()
  const polls = Array.from({ length: 20 }, () => cell.feed({ after: next, epoch, wait: 20 }))
  let ended = 0
  for (const poll of polls) void poll.then(() => (ended += 1))

  await eventually(async () => {
    const [busy] = await management.sql<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
        where application_name = 'loci-management' and datname = current_database() and state <> 'idle'`,
    )
    return (await inside(management)) > 20 && busy?.count === 0
  })

  assert.equal(ended, 0)
  await publishJti(management.pool, cell, 'cap_end')
  await Promise.all(polls)
})

test('polls that wait leave room for work', async () => {
  // What comes while two are looked at waits its turn; what comes while six polls wait has one.
  await using management = await testManagement({ settings: { concurrencyMax: 2, queueMax: 10, queueMs: 60_000 } })
  const cell = await management.cell()
  const { next, epoch } = await cell.feed()
  const polls = Array.from({ length: 6 }, () => cell.feed({ after: next, epoch, wait: 20 }))
  let ended = 0
  for (const poll of polls) void poll.then(() => (ended += 1))
  await eventually(async () => (await inside(management)) > 6)

  assert.equal((await management.get('/.well-known/loci-capability-keys.json')).status, 200)
  assert.equal(ended, 0)
  await publishJti(management.pool, cell, 'cap_end')
  await Promise.all(polls)
})

test('a cell sees nothing of another, and everything that concerns all', async () => {
  await using management = await testManagement()
  const mine = await management.cell()
  const theirs = await management.cell()
  const before = await mine.feed()
  const service = await management.instance(theirs.id)
  assert.deepEqual((await mine.feed({ after: before.next, epoch: before.epoch })).items, [])

  const scope = { kind: 'ten' as const, id: service.tenantId, organizationId: service.organizationId, cellId: null }
  await transaction(management.pool, (sql) => revokeEpoch(sql, { ...scope, notBefore: new Date() }, ACTOR))
  const late = await management.cell()

  for (const cell of [mine, theirs, late]) {
    const { items } = await cell.pull()
    assert.ok(
      items.some(({ key }) => key === `epoch:ten:${service.tenantId}`),
      'also a cell that was added afterwards',
    )
    assert.ok(items.some(({ kind }) => kind === 'key'))
    assert.equal(
      items.some(({ kind }) => kind === 'instance'),
      cell === theirs,
    )
  }
})

test('an epoch that is revoked again never goes back in time', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const scope = { kind: 'svc' as const, id: service.id, organizationId: service.organizationId, cellId: cell.id }
  const late = new Date(Date.now() - 1_000)

  for (const notBefore of [late, new Date(late.getTime() - 3_600_000)])
    await transaction(management.pool, (sql) => revokeEpoch(sql, { ...scope, notBefore }, ACTOR))

  const { items } = await cell.pull()
  const revocations = items
    .filter(({ kind }) => kind === 'revocation')
    .map(({ body }) => body as { not_before: string })
  assert.deepEqual(
    revocations.map(({ not_before }) => not_before),
    [late.toISOString()],
  )
})

function publishJti(sql: Parameters<typeof publish>[0], cell: TestCell, jti: string): Promise<void> {
  const body = { svc: '*' as const, jti, expires_at: new Date(Date.now() + 60_000).toISOString() }
  return publish(sql, cell.id, { kind: 'revocation', key: `jti:*:${jti}`, body })
}

/** How many requests are under way; the one that asks is one of them. */
async function inside(management: TestManagement): Promise<number> {
  const { drain } = (await management.get('/health/lifecycle')).json<{ drain: { in_flight: number } }>()
  return drain.in_flight
}

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask, eventually, inTime } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { appendEvent } from '../acts/events/store.ts'
import { openEvents } from '../testing/event-stream.ts'
import { type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

interface Page {
  events: { id: string; seq: number; type: string; subject: string; data: Record<string, unknown> }[]
  next: number
  truncated?: true
}

let management: TestManagement
before(async () => {
  // Billed: where nobody is, nobody has the streams of a plan.
  management = await testManagement({ settings: { billingWebhookSecrets: ['a-billing-secret-of-the-tests-1234'] } })
})
after(() => management?.[Symbol.asyncDispose]())

async function append(own: TestParty, subject: string, data: Record<string, string> = {}): Promise<void> {
  await transaction(management.pool, async (sql) => {
    await useOrganization(sql, own.organizationId)
    await appendEvent(sql, { organizationId: own.organizationId, type: 'test.happened', subject, data })
  })
}

const pull = async (own: TestParty, query: string) => (await own.ask(`GET /api/v1/events?${query}`)).json<Page>()
const subjects = (page: Page) => page.events.map(({ subject }) => subject)
const endOf = async (own: TestParty) => (await pull(own, 'after=0&limit=500')).next

async function keyOf(own: TestParty, body: object): Promise<{ id: string; secret: string }> {
  const answer = await own.ask('POST /api/v1/api-keys', { body: { name: 'k', ...body } })
  assert.equal(answer.status, 201, answer.text)
  return answer.json()
}

test('the pull feed goes on where it ended, in order, in pages', async () => {
  const own = await management.organization()
  const end = await endOf(own)
  for (const subject of ['a', 'b', 'c']) await append(own, subject)

  const first = await pull(own, `after=${end}&limit=2`)
  const second = await pull(own, `after=${first.next}&limit=2`)

  assert.deepEqual([subjects(first), subjects(second)], [['a', 'b'], ['c']])
  assert.deepEqual(
    first.events.map(({ seq }) => seq),
    [end + 1, end + 2],
  )
  assert.deepEqual(await pull(own, `after=${second.next}`), { events: [], next: end + 3 })
})

test('with wait the answer comes with the event, and when the time is over without one', async () => {
  const own = await management.organization()
  const end = await endOf(own)
  const waiting = pull(own, `after=${end}&wait=20`)
  await new Promise((resolve) => setTimeout(resolve, 50))
  const started = performance.now()
  await append(own, 'awaited')
  assert.deepEqual(subjects(await waiting), ['awaited'])
  assert.ok(performance.now() - started < 18_000, 'before its wait was over')
  assert.deepEqual(await pull(own, `after=${end + 1}&wait=1`), { events: [], next: end + 1 })
})

test('a key that is deleted while it waits is told nothing', async () => {
  const own = await management.organization()
  // A poll that comes so late that it finds the event of the deletion itself did not wait.
  await inTime(async (ms) => {
    const { id, secret } = await keyOf(own, { scopes: ['events:read'] })
    const end = await endOf(own)
    const waiting = ask(management.url, `GET /api/v1/events?after=${end}&wait=20`, {
      headers: { [HEADER.apiKey]: secret },
    })
    await new Promise((resolve) => setTimeout(resolve, ms / 10))
    await own.ask(`DELETE /api/v1/api-keys/${id}`)
    await append(own, 'secret')
    const answer = await waiting
    assert.ok(!answer.text.includes('secret'), answer.text)
    if (answer.status === 200) assert.equal(answer.json<{ events: unknown[] }>().events.length, 1)
    return answer.status === 401
  })
})

test('what is no position, limit or wait is 400', async () => {
  const own = await management.organization()
  for (const query of [
    'after=x',
    'after=-1',
    'after=',
    'after=1e3',
    'after=0&limit=0',
    'after=0&limit=501',
    'after=0&wait=21',
    'after=0&after=1',
    `after=${'9'.repeat(16)}`,
  ])
    assert.equal((await own.ask(`GET /api/v1/events?${query}`)).status, 400, query)
  for (const last of ['x', '-1', '1.5'])
    assert.equal((await openEvents(management.url, own.apiKey, { 'last-event-id': last })).status, 400, last)
})

test('events before the oldest kept one are told as truncated, pulled and streamed; so is a position that is ahead', async () => {
  const own = await management.organization()
  await append(own, 'old')
  const end = await endOf(own)
  await append(own, 'kept')
  await management.sql('delete from loci.events where organization_id = $1 and seq <= $2', [own.organizationId, end])

  const cut = await pull(own, 'after=0')
  assert.deepEqual([subjects(cut), cut.truncated, cut.next], [['kept'], true, end + 1])
  assert.equal((await pull(own, `after=${end}`)).truncated, undefined)
  assert.deepEqual(subjects(await pull(own, 'after=999999')), ['kept'])
  for (const last of ['0', '999999']) {
    const stream = await openEvents(management.url, own.apiKey, { 'last-event-id': last })
    await stream.subject('kept')
    assert.deepEqual(
      stream.events.map(({ event, id }) => [event, id]),
      [
        ['truncated', String(end)],
        ['test.happened', String(end + 1)],
      ],
    )
    stream.close()
  }
  await management.sql('delete from loci.events where organization_id = $1', [own.organizationId])
  assert.deepEqual(await pull(own, 'after=0'), { events: [], next: end + 1, truncated: true })
})

test('a stream begins now, and with Last-Event-ID where it was left', async () => {
  const own = await management.organization()
  await append(own, 'before')
  const stream = await openEvents(management.url, own.apiKey)
  assert.deepEqual([stream.status, stream.headers['content-type']], [200, 'text/event-stream'])
  await eventually(() => stream.text.startsWith('retry: '))
  await append(own, 'one')
  const one = await stream.subject('one')
  assert.deepEqual([one.event, one.id, one.data.type], ['test.happened', String(one.data.seq), 'test.happened'])
  stream.close()
  await append(own, 'two')

  const again = await openEvents(management.url, own.apiKey, { 'last-event-id': String(one.id) })

  await again.subject('two')
  assert.deepEqual(
    again.events.map(({ data }) => data.subject),
    ['two'],
  )
  again.close()
})

test('nothing of another organization is pulled or streamed, from whatever position', async () => {
  const [own, other] = [await management.organization(), await management.organization()]
  const stream = await openEvents(management.url, own.apiKey, { 'last-event-id': '0' })
  await append(other, 'theirs', { tenant_id: own.tenantId })
  await append(own, 'ours')
  await stream.subject('ours')
  assert.ok(!stream.text.includes('theirs'))
  stream.close()
  assert.ok(!JSON.stringify(await pull(own, 'after=0&limit=500')).includes('theirs'))
  const headers = { [HEADER.organization]: other.organizationId }
  assert.equal((await own.ask('GET /api/v1/events?after=0', { headers })).status, 403)
})

test('a key for some tenants sees their events alone, and the position goes on all the same', async () => {
  const own = await management.organization()
  const second = (await own.ask('POST /api/v1/tenants', { body: { name: 'second' } })).json<{ id: string }>()
  const { secret } = await keyOf(own, { tenant_ids: [second.id] })
  const end = await endOf(own)
  const stream = await openEvents(management.url, secret)
  await append(own, 'of nobody')
  await append(own, 'of another', { tenant_id: own.tenantId })
  await append(own, 'its own', { tenant_id: second.id })
  await append(own, 'of another again', { tenant_id: own.tenantId })

  const page = (
    await ask(management.url, `GET /api/v1/events?after=${end}`, { headers: { [HEADER.apiKey]: secret } })
  ).json<Page>()

  assert.deepEqual([subjects(page), page.next], [['its own'], end + 4])
  await stream.subject('its own')
  assert.deepEqual(
    stream.events.map(({ data }) => data.subject),
    ['its own'],
  )
  stream.close()
})

test('a stream ends within 5 s of the deletion, the expiry or the changed role of its key; another stream goes on', async () => {
  const own = await management.organization()
  const [deleted, expired] = [await keyOf(own, {}), await keyOf(own, {})]
  const staying = await openEvents(management.url, own.apiKey)
  const ending = [await openEvents(management.url, deleted.secret), await openEvents(management.url, expired.secret)]
  await own.ask(`DELETE /api/v1/api-keys/${deleted.id}`)
  await management.sql('update loci.api_keys set expires_at = now() where id = $1', [expired.id])
  await Promise.all(ending.map((stream) => stream.ended(5_000)))
  assert.equal(staying.isEnded, false)
  await management.sql(`update loci.members set role = 'admin' where organization_id = $1`, [own.organizationId])
  await staying.ended(5_000)
  assert.equal((await openEvents(management.url, deleted.secret)).status, 401)
})

test('the scope is events:read', async () => {
  const own = await management.organization()
  const { secret } = await keyOf(own, { scopes: ['services:read', 'audit:read'] })
  for (const query of ['', '?after=0']) {
    const answer = await ask(management.url, `GET /api/v1/events${query}`, { headers: { [HEADER.apiKey]: secret } })
    assert.deepEqual([answer.status, answer.error.code], [403, 'FORBIDDEN'])
  }
  assert.equal((await management.get('/api/v1/events')).status, 401)
})

test('HEAD opens no stream: it is 405', async () => {
  const own = await management.organization({ callsOf: 'free' })
  for (let i = 0; i < 5; i += 1) {
    const answer = await own.ask('HEAD /api/v1/events')
    assert.deepEqual([answer.status, answer.headers.allow], [405, 'GET'])
  }
})

test('an organization has as many streams as its plan, and room again when one is closed', async () => {
  const own = await management.organization({ callsOf: 'free' })
  const open = [await openEvents(management.url, own.apiKey), await openEvents(management.url, own.apiKey)]
  const third = await own.ask('GET /api/v1/events')
  assert.deepEqual([third.status, third.error.code], [429, 'RATE_LIMITED'])
  assert.ok(Number(third.headers['retry-after']) > 0)
  const other = await management.organization({ callsOf: 'free' })
  const theirs = await openEvents(management.url, other.apiKey)
  assert.equal(theirs.status, 200)
  open[0]?.close()
  const again = await eventually(async () => {
    const stream = await openEvents(management.url, own.apiKey)
    return stream.status === 200 && stream
  })
  for (const stream of [...open, theirs, again]) stream.close()
})

test('streams hold no slot of the limiter and end when the process drains', async () => {
  await using own = await testManagement({ settings: { concurrencyMax: 2, queueMax: 1, queueMs: 50 } })
  const party = await own.organization()
  const streams = []
  for (let i = 0; i < 6; i += 1) streams.push(await openEvents(own.url, party.apiKey))
  assert.equal((await party.ask('GET /api/v1/events?after=0')).status, 200)
  own.management.lifecycle.beginDrain('test', { graceMs: 0, deadlineMs: 5_000 })
  await Promise.all(streams.map((stream) => stream.ended(60_000)))
})

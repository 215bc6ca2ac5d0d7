import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, inTime } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { CONSOLE_HOLDER } from '@loci/contract/proxy.ts'
import { nowS, type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { openEvents, tryEvents } from '../testing/event-stream.ts'

let daemon: TestDaemon
/** Of the same cell. Its streams hear by polling what the first one writes. */
let replica: TestDaemon
let authority: TestAuthority
before(async () => {
  daemon = await testDaemon()
  replica = await testDaemon({ replicaOf: daemon })
  authority = await testAuthority(daemon)
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await replica?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

const EVERYTHING = { ops: ['events:read', 'wm:read', 'wm:write', 'wm:delete'], ks: ['*/*'] }

async function put(own: TestInstance, key: string, database = 'default', value: unknown = 1): Promise<void> {
  const { status, text } = await own.call(own.root(EVERYTHING), `PUT /v1/working-memory/slots/${key}`, {
    body: { value },
    headers: { 'x-loci-database': database },
  })
  assert.equal(status, 200, text)
}

const keysOf = (stream: { events: { data: { data?: Record<string, unknown> } }[] }) =>
  stream.events.map(({ data }) => data.data?.key)

// Mutants: afterCommit without wake (the poll still finds it: only slower); `e.seq >= v_one.after` in new_events; a
// follower whose poll asks for nothing.
test('a write is told on every replica, once, in order, under the number of the instance', async () => {
  const own = await authority.addInstance()
  const streams = [await openEvents(daemon, own.root(EVERYTHING)), await openEvents(replica, own.root(EVERYTHING))]
  const keys = Array.from({ length: 40 }, (_, at) => `k${at}`)
  for (const key of keys) await put(own, key)
  for (const stream of streams) {
    await stream.until(({ data }) => data.data.key === 'k39')
    assert.deepEqual([stream.status, stream.headers['content-type']], [200, 'text/event-stream'])
    assert.match(stream.headers['cache-control'] ?? '', /no-store/)
    assert.match(stream.text, /^retry: 2000\nid: 0\n\n/)
    const written = stream.events.filter(({ event }) => event === 'slot.written')
    assert.deepEqual(
      written.map(({ data }) => data.data.key),
      keys,
    )
    assert.ok(stream.events.every(({ id, data }, at) => id === String(at + 1) && data.seq === at + 1))
    const { seq, type, at, database, domain } = (stream.events[0] as (typeof stream.events)[number]).data
    assert.deepEqual([seq, type, database, domain], [1, 'slot.written', 'default', 'working-memory'])
    assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    stream.close()
  }
})

// Mutants: covers() of the domain alone, or of the database alone.
test('a stream shows what its keyspaces cover, of its own instance, and nothing else', async () => {
  const [own, other] = [await authority.addInstance(), await authority.addInstance()]
  const narrow = { ops: ['events:read'], ks: ['working-memory/own', 'memory/hidden'] }
  const live = await openEvents(replica, own.root(narrow))
  const theirs = await openEvents(replica, other.root(EVERYTHING))
  for (const [key, database] of [
    ['a', 'hidden'],
    ['b', 'own'],
    ['c', 'hidden'],
    ['d', 'own'],
  ] as const)
    await put(own, key, database)
  await live.until(({ data }) => data.data.key === 'd')
  await put(other, 'last')
  await theirs.until(({ data }) => data.data.key === 'last')
  const replayed = await openEvents(replica, own.root(narrow), { 'last-event-id': '0' })
  await replayed.until(({ data }) => data.data.key === 'd')

  for (const stream of [live, replayed]) {
    assert.deepEqual(keysOf(stream), ['b', 'd'])
    assert.ok(!/hidden/.test(stream.text), stream.text)
  }
  assert.deepEqual(keysOf(theirs), ['last'])
  for (const stream of [live, theirs, replayed]) stream.close()
})

// Mutant: readEvents from `seq >= $2`.
test('with Last-Event-ID a stream goes on after that event, on any replica, however far back', async () => {
  const own = await authority.addInstance()
  const first = await openEvents(daemon, own.root(EVERYTHING))
  for (const key of ['a', 'b', 'c']) await put(own, key)
  const seen = await first.until(({ data }) => data.data.key === 'b')
  first.close()
  await daemon.sql(
    `select set_config('loci.instance', $1, false), loci.append_events($1, (select jsonb_agg(jsonb_build_object('type', 'test.many',
       'database', 'default', 'domain', 'memory', 'data', jsonb_build_object('key', n))) from generate_series(1, 1200) n))`,
    [own.svc],
  )
  for (const at of [daemon, replica]) {
    const stream = await openEvents(at, own.root(EVERYTHING), { 'last-event-id': seen.id as string })
    await put(own, 'last')
    await stream.until(({ data }) => data.data.key === 'last')
    const keys = keysOf(stream).filter((key) => key !== 'last')
    assert.deepEqual(keys, ['c', ...Array.from({ length: 1_200 }, (_, n) => n + 1)])
    assert.ok(!/truncated/.test(stream.text))
    stream.close()
  }
})

// Mutants: is_truncated always false; next = after.
test('who comes back after its events are gone is told so, and goes on from the oldest', async () => {
  const own = await authority.addInstance()
  for (const key of ['a', 'b', 'c']) await put(own, key)
  await daemon.sql('delete from loci.events where instance_id = $1 and seq <= 2', [own.svc])
  const late = await openEvents(daemon, own.root(EVERYTHING), { 'last-event-id': '1' })
  await late.until(({ data }) => data.data?.key === 'c')
  assert.deepEqual(
    late.events.map(({ id, event }) => [id, event]),
    [
      ['2', 'truncated'],
      ['3', 'slot.written'],
    ],
  )
  const intime = await openEvents(daemon, own.root(EVERYTHING), { 'last-event-id': '2' })
  await intime.until(({ data }) => data.data?.key === 'c')
  assert.ok(!/truncated/.test(intime.text))

  // A position of another history: the database was restored.
  const ahead = await openEvents(daemon, own.root(EVERYTHING), { 'last-event-id': '900' })
  const told = await ahead.until(({ event }) => event === 'truncated')
  assert.equal(told.id, '2')
  await daemon.sql(`update loci.event_heads set seq = 0 where instance_id = $1`, [own.svc])
  await daemon.sql(`delete from loci.events where instance_id = $1`, [own.svc])
  await put(own, 'again')
  await intime.until(({ data }) => data.data?.key === 'again')
  for (const stream of [late, intime, ahead]) stream.close()
})

test('a Last-Event-ID that is no position is 400', async () => {
  const own = await authority.addInstance()
  const refused = await own.call(own.root(EVERYTHING), 'GET /v1/events', { headers: { 'last-event-id': '../../x' } })
  assert.deepEqual([refused.status, refused.error.code], [400, 'VALIDATION_ERROR'])
})

// Mutants: isStillValid() that answers true; one that looks at the expiry with the tolerance of requests (30 s).
test('a stream ends at the expiry of its credential, which opens no other', async () => {
  const own = await authority.addInstance()
  await inTime(async (ms) => {
    const exp = nowS() + 1 + ms / 1_000
    const token = own.root({ ...EVERYTHING, exp })
    const stream = await tryEvents(daemon, token)
    if (stream.status !== 200) return false
    await stream.ended()
    const endedAt = Date.now() / 1_000
    const again = await own.call(token, 'GET /v1/events')
    assert.deepEqual([again.status, again.error.code], [401, 'CAPABILITY_EXPIRED'])
    assert.ok(endedAt >= exp && endedAt < exp + 30, `${endedAt - exp} s after its expiry`)
    return true
  })
})

// Mutant: isStillValid() that answers true.
test('a stream ends when its credential is revoked, on any replica, and others stay', async () => {
  const own = await authority.addInstance()
  const jti = newId('cap')
  const revoked = await openEvents(replica, own.root({ ...EVERYTHING, jti }))
  const kept = await openEvents(replica, own.root(EVERYTHING))
  assert.equal((await daemon.admin('POST /admin/revocations', { jti })).status, 200)
  await revoked.ended()
  assert.ok(!kept.isEnded)
  kept.close()
})

// Mutant: isStillValid() without requireServed, or without the state `deleted`.
test('a stream ends when its instance is off or deleted, and outlives a suspension', async () => {
  const states = { unpaid: ['suspended', 'unpaid'], off: ['suspended', 'unpaid_off'], gone: ['deleted', null] } as const
  for (const [name, [state, state_reason]] of Object.entries(states)) {
    const own = await authority.addInstance()
    const stream = await openEvents(daemon, own.root(EVERYTHING))
    await own.change({ state, state_reason })
    if (name !== 'unpaid') await stream.ended()
    else {
      await sleep(1_500)
      assert.ok(!stream.isEnded)
      stream.close()
    }
  }
})

// Mutant: owner: 'all'.
test('an instance has as many streams on a replica as its plan, and room again when one is closed', async () => {
  const few = { databases: 9, records: 9, bytes: 9e6, requests_per_second: 100, burst: 200, streams: 2 }
  const [own, other] = [await authority.addInstance({ limits: few }), await authority.addInstance()]
  const open = [await openEvents(daemon, own.root(EVERYTHING)), await openEvents(daemon, own.root(EVERYTHING))]
  const refused = await own.call(own.root(EVERYTHING), 'GET /v1/events')
  assert.deepEqual([refused.status, refused.error.code, refused.headers['retry-after']], [429, 'RATE_LIMITED', '10'])
  const elsewhere = [await openEvents(replica, own.root(EVERYTHING)), await openEvents(daemon, other.root(EVERYTHING))]
  assert.deepEqual(
    elsewhere.map(({ status }) => status),
    [200, 200],
  )
  await eventually(async () => /^loci_event_streams 3$/m.test((await daemon.get('/metrics')).text))
  open[0]?.close()
  const again = await openEvents(daemon, own.root(EVERYTHING))
  for (const stream of [...open, ...elsewhere, again]) stream.close()
})

// Mutants: `isConsole` that is always false; one owner for the consoles of all instances; limits.streams for it.
test('the streams of the console are not counted by the plan, and have a bound of their own', async () => {
  const few = { databases: 9, records: 9, bytes: 9e6, requests_per_second: 1_000, burst: 2_000, streams: 1 }
  const [own, other] = [await authority.addInstance({ limits: few }), await authority.addInstance({ limits: few })]
  const ofConsole = { ...EVERYTHING, sub: CONSOLE_HOLDER }
  const open = []
  for (let count = 0; count < 32; count += 1) open.push(await openEvents(daemon, own.root(ofConsole)))
  open.push(await openEvents(daemon, own.root(EVERYTHING)), await openEvents(daemon, other.root(ofConsole)))
  assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([200]))
  for (const kind of [ofConsole, EVERYTHING, { ...EVERYTHING, sub: newId('usr') }])
    assert.equal((await own.call(own.root(kind), 'GET /v1/events')).status, 429)
  for (const stream of open) stream.close()
})

// Mutants: notify() that wakes nobody; a notice with an id.
test('a switched sub-service is told on every replica without an id, and one that is off has no streams', async () => {
  const own = await authority.addInstance()
  const narrow = own.root({ ops: ['events:read'], ks: ['kv/none'] })
  const streams = [await openEvents(daemon, narrow), await openEvents(replica, narrow)]
  const flip = async (action: string, service: string) =>
    assert.equal((await daemon.admin(`POST /admin/services/${action}`, { services: [service] })).status, 200)
  for (const [action, enabled] of [
    ['disable', false],
    ['enable', true],
  ] as const) {
    await flip(action, 'mcp')
    for (const stream of streams) {
      const told = await stream.until(
        ({ event, data }) => event === 'subservice.changed' && data.data.enabled === enabled,
      )
      assert.deepEqual([told.id, told.data.data.service], [undefined, 'mcp'])
    }
  }
  await flip('disable', 'events')
  try {
    for (const stream of streams) {
      await stream.ended()
      const { data } = stream.events.at(-1) as (typeof stream.events)[number]
      assert.deepEqual(data.data, { service: 'events', enabled: false })
    }
    assert.equal((await own.call(narrow, 'GET /v1/events')).error.code, 'SUBSERVICE_DISABLED')
    await put(own, 'meanwhile')
  } finally {
    await flip('enable', 'events')
  }
  const after = await openEvents(daemon, own.root(EVERYTHING), { 'last-event-id': '0' })
  await after.until(({ data }) => data.data?.key === 'meanwhile')
  after.close()
})

// Mutant: `interval '3 hours'` instead of 30.
test('partitions are made for a day ahead, and dropped when their last event is 24 hours old', async () => {
  const hoursOf = async () =>
    (
      await daemon.sql<{ inHours: number }>(
        `select round(extract(epoch from to_timestamp(substr(c.relname, 8) || '+00', 'YYYYMMDDHH24TZH') - date_bin('6 hours', now(), 'epoch')) / 3600)::int as "inHours"
         from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'loci.events'::regclass order by 1`,
      )
    ).map(({ inHours }) => inHours)
  const partition = async (ago: number) => {
    const [row] = await daemon.sql<{ name: string; from: string; to: string }>(
      `select 'events_' || to_char(b at time zone 'UTC', 'YYYYMMDDHH24') as name, b::text as from, (b + interval '6 hours')::text as to
       from (select date_bin('6 hours', now(), 'epoch') - make_interval(hours => $1) as b) t`,
      [ago],
    )
    const { name, from, to } = row as { name: string; from: string; to: string }
    await daemon.sql(`create table loci.${name} (like loci.events including all); alter table loci.${name} owner to loci_owner;
      alter table loci.events attach partition loci.${name} for values from ('${from}') to ('${to}')`)
  }
  const keep = () => authority.pool.query({ text: 'select loci.keep_event_partitions()' })
  // The database was made some minutes ago, perhaps in the six hours before these: then one more is older.
  await keep()
  const made = await hoursOf()
  assert.deepEqual(made.slice(made.indexOf(-6)), [-6, 0, 6, 12, 18, 24])
  for (const ago of [12, 18, 24, 36, 42]) if (!made.includes(-ago)) await partition(ago)
  await keep()
  assert.deepEqual(await hoursOf(), [-24, -18, -12, -6, 0, 6, 12, 18, 24])
})

test('an event holds names and numbers, and no content of what it is about', async () => {
  const own = await authority.addInstance()
  const stream = await openEvents(daemon, own.root(EVERYTHING))
  const token = own.root(EVERYTHING)
  const slot = { value: 'canary-value', tags: ['canary-tag'], evidenceRefs: ['canary-ref'] }
  for (const [line, body] of [
    ['PUT /v1/working-memory/slots/named', slot],
    ['PATCH /v1/working-memory/slots/named', { value: 'canary-patch' }],
    ['POST /v1/working-memory/slots/clear', undefined],
    ['PUT /v1/working-memory/slots/last', { value: 1 }],
  ] as const)
    assert.equal((await own.call(token, line, body ? { body } : {})).status, 200)
  await stream.until(({ data }) => data.data.key === 'last')
  assert.match(stream.text, /named/)
  assert.ok(!/canary/.test(stream.text), stream.text)
  stream.close()
})

// Mutants: show() that seals nothing; read() that opens nothing; a context without the instance; `truncated` under a
// plain number; a key that is gone as no position.
test('a capability that covers a part is not told how much others write, and goes on where it was', async () => {
  const [own, other] = [await authority.addInstance(), await authority.addInstance()]
  const narrow = { ops: ['events:read', 'wm:read', 'wm:write'], ks: ['*/mine'] }
  for (let i = 0; i < 3; i += 1) await put(own, `k${i}`, 'others')
  const stream = await openEvents(daemon, own.root(narrow))
  const [, position = ''] = /^retry: 2000\nid: (\S+)\n\n/.exec(stream.text) ?? []
  stream.close()
  assert.match(position, /^[\w-]+\.[\w-]{40,}$/)
  await put(own, 'hidden', 'others')
  await put(own, 'seen', 'mine')
  for (const at of [daemon, replica]) {
    const resumed = await openEvents(at, own.root(narrow), { 'last-event-id': position })
    await resumed.until(({ data }) => data.data.key === 'seen')
    assert.deepEqual(keysOf(resumed), ['seen'])
    resumed.close()
  }
  for (const wrong of [`${position}x`, position.replace('.', '..'), position.slice(0, -4)]) {
    const { status } = await tryEvents(daemon, own.root(narrow), { 'last-event-id': wrong })
    assert.equal(status, 400, wrong)
  }
  // The name of a key that was taken away, a position of another instance: too old, and the client goes on.
  for (const [instance, unknown] of [
    [own, position.replace(/^[^.]+/, 'removed')],
    [other, position],
  ] as const) {
    await put(instance, 'after', 'mine')
    const stream = await openEvents(daemon, instance.root(narrow), { 'last-event-id': unknown })
    const told = await stream.until(({ event }) => event === 'truncated')
    assert.match(told.id ?? '', /^[\w-]+\.[\w-]{40,}$/)
    await stream.until(({ data }) => data.data?.key === 'after')
    stream.close()
    const resumed = await openEvents(daemon, instance.root(narrow), { 'last-event-id': told.id as string })
    await resumed.until(({ data }) => data.data?.key === 'after')
    assert.ok(!/truncated/.test(resumed.text))
    resumed.close()
  }
})

// Mutants: paidBy() that never waits; that charges nothing.
test('a replay is charged page by page and waits for its rate; what is new is not held up', async () => {
  const { limits } = await authority.addInstance()
  const own = await authority.addInstance({ limits: { ...limits, requests_per_second: 20, burst: 5 } })
  await put(own, 'first')
  const append = (keys: string[]) => {
    const events = keys.map((key) => ({
      type: 'slot.written',
      database: 'default',
      domain: 'working-memory',
      data: { key },
    }))
    return daemon.sql('select loci.append_events($1, $2)', [own.svc, JSON.stringify(events)])
  }
  await append(Array.from({ length: 2_400 }, (_, n) => `old-${n}`))
  const startedAt = performance.now()
  const stream = await openEvents(daemon, own.root(EVERYTHING), { 'last-event-id': '1' })
  await stream.until(({ data }) => data.data.key === 'old-2399')
  // It was in debt at least once on the way.
  assert.ok(performance.now() - startedAt >= 1_000, `${performance.now() - startedAt} ms`)
  assert.equal(stream.events.length, 2_400)
  await append(['new'])
  await stream.until(({ data }) => data.data.key === 'new')
  stream.close()
})

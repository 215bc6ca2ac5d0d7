import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { openEventStream } from '@loci/chassis/testing/event-stream.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { ROLES } from '@loci/contract/roles.ts'
import { PEOPLE } from '../testing/identity-provider.ts'
import { type Browser, SAME_ORIGIN, signInWorld } from '../testing/sign-in.ts'
import { addService, claimsOf, startCell } from '../testing/stand-in.ts'

const [ALICE, BOB] = PEOPLE.map(({ email }) => email) as [string, string]

/** Tells events as a daemon does: from now on, or after Last-Event-ID; numbered, with positions in its comments. */
async function startTeller({ show = String }: { show?: (seq: number) => string } = {}) {
  const told: string[] = []
  const open = new Set<{ response: ServerResponse; at: number }>()
  let first = 1
  let refusal: ((response: ServerResponse) => void) | undefined
  let refusals = 0
  const cell = await startCell((request: IncomingMessage, response: ServerResponse) => {
    if (refusal && refusals > 0) {
      refusals -= 1
      return refusal(response)
    }
    const last = request.headers['last-event-id']
    const at = last === undefined ? told.length : Number(String(last).replace(/^sealed-/, ''))
    if (Number.isNaN(at)) return json(response, 400, { error: { code: 'VALIDATION_ERROR' } })
    const one = { response, at: Math.max(at, first - 1) }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`retry: 2000\n${last === undefined ? `id: ${show(at)}\n` : ''}\n`)
    if (at < first - 1) response.write(`id: ${show(first - 1)}\nevent: truncated\ndata: {}\n\n`)
    open.add(one)
    response.once('close', () => open.delete(one))
    tell()
  })
  const beats = setInterval(() => {
    for (const { response, at } of open) if (at === told.length) response.write(`:\nid: ${show(at)}\n\n`)
  }, 200)

  function tell(): void {
    for (const one of open)
      for (; one.at < told.length; one.at += 1)
        one.response.write(
          `id: ${one.at + 1}\nevent: slot.updated\ndata: {"seq":${one.at + 1},"subject":"${told[one.at]}"}\n\n`,
        )
  }

  return {
    ...cell,
    open,
    say(subject: string) {
      told.push(subject)
      tell()
    },
    notice: () => {
      for (const { response } of open) response.write('event: subservice.changed\ndata: {"subject":"notice"}\n\n')
    },
    forget: (until: number) => {
      first = until + 1
    },
    refuse(status: number, body: object, times = Number.POSITIVE_INFINITY) {
      refusal = (response) => json(response, status, body)
      refusals = times
    },
    accept: () => {
      refusals = 0
    },
    /** Its streams of now are told nothing until then, as a replica that is slow. */
    hold() {
      const slow = [...open]
      for (const one of slow) open.delete(one)
      return () => {
        for (const one of slow) open.add(one)
        tell()
      }
    },
    cut: () => {
      for (const { response } of open) response.destroy()
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beats)
      await cell[Symbol.asyncDispose]()
    },
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function worldOf(teller: { endpoint: string }) {
  const world = await signInWorld()
  const own = await addService(world.management, ALICE, teller.endpoint)
  const line = `${own.proxy}/v1/events`
  const follow = (who: Browser, headers: Record<string, string> = {}) =>
    openEventStream<{ subject: string }>(`${world.management.url}${line}`, {
      cookie: `loci_access_token=${who.access}`,
      ...SAME_ORIGIN,
      ...headers,
    })
  return { world, own, line, follow, alice: await world.signIn() }
}

const heardBy = ({ events }: { events: { data: { subject: string } }[] }) => events.map(({ data }) => data.subject)

// Mutants: a capability of each session in place of ofConsole(); a Followed for each call; no linger, or no end of it.
test('however many pages of however many people follow a service, its daemon has one stream, of no session', async () => {
  await using teller = await startTeller()
  const { world, own, follow, alice } = await worldOf(teller)
  await using _ = world
  await world.management.member(own, 'viewer', { email: BOB })
  const bob = await world.signIn('bob')
  const pages = await Promise.all([alice, alice, bob, bob, alice, bob].map((who) => follow(who)))
  for (const { status, headers } of pages)
    assert.deepEqual([status, headers['content-type'], headers['x-accel-buffering']], [200, 'text/event-stream', 'no'])
  for (const subject of ['one', 'two']) teller.say(subject)
  teller.notice()
  for (const page of pages) {
    await page.until(({ data }) => data.subject === 'notice')
    assert.deepEqual(heardBy(page), ['one', 'two', 'notice'])
    assert.match(page.text, /^retry: 2000\nid: 0\n\n/)
  }
  assert.equal(teller.heard.length, 1)
  const text = String(teller.heard[0]?.headers[HEADER.capability])
  const { sub, ops, del_max } = claimsOf(text)
  assert.deepEqual([sub, ops, del_max], ['console', ['events:read'], 0])
  assert.equal(teller.heard[0]?.headers.cookie, undefined)
  assert.ok(!pages.some((page) => page.text.includes(text)))
  const minted = await world.management.sql(`select actor from loci.audit where action = 'token.mint'`)
  assert.deepEqual(minted, [{ actor: 'management' }])

  for (const page of pages.slice(1)) page.close()
  teller.say('three')
  await pages[0]?.until(({ data }) => data.subject === 'three')
  assert.equal(teller.open.size, 1)
  pages[0]?.close()
  await eventually(() => teller.open.size === 0)
})

// Mutants: find() that answers the end; readApart() that never joins.
test('a page that comes back misses nothing and is told nothing twice, from the tail or from further back', async () => {
  for (const show of [String, (seq: number) => `sealed-${seq}`]) {
    await using teller = await startTeller({ show })
    const { world, follow, alice } = await worldOf(teller)
    await using _ = world
    for (const subject of ['a', 'b', 'c']) teller.say(subject)
    const staying = await follow(alice)
    for (const subject of ['d', 'e']) teller.say(subject)
    await staying.until(({ data }) => data.subject === 'e')

    const near = await follow(alice, { 'last-event-id': '4' })
    await near.until(({ data }) => data.subject === 'e')
    assert.equal(teller.heard.length, 1, 'from the tail')
    const far = await follow(alice, { 'last-event-id': show(1) })
    await far.until(({ data }) => data.subject === 'e')
    assert.deepEqual([teller.heard.length, teller.heard[1]?.headers['last-event-id']], [2, show(1)])
    // It has met the others, and needs its own no more.
    await eventually(() => teller.open.size === 1)
    const ahead = await follow(alice, { 'last-event-id': show(5) })
    teller.say('f')
    for (const page of [staying, near, far, ahead]) await page.until(({ data }) => data.subject === 'f')
    assert.deepEqual(
      [staying, near, far, ahead].map((page) => heardBy(page).join('')),
      ['def', 'ef', 'bcdef', 'f'],
    )
    for (const page of [staying, near, far, ahead]) page.close()
  }
})

// Mutant: `seq <= known` left out of read().
test('where the stream of all is told later than that of a page which comes back, nothing is told twice', async () => {
  await using teller = await startTeller()
  const { world, follow, alice } = await worldOf(teller)
  await using _ = world
  for (const subject of ['a', 'b']) teller.say(subject)
  const staying = await follow(alice)
  const release = teller.hold()
  teller.say('c')
  const ahead = await follow(alice, { 'last-event-id': '1' })
  await ahead.until(({ data }) => data.subject === 'c')
  // It has read to the end, and follows with the others.
  await eventually(() => teller.open.size === 0)
  release()
  teller.say('d')
  for (const page of [staying, ahead]) await page.until(({ data }) => data.subject === 'd')
  assert.deepEqual(
    [staying, ahead].map((page) => heardBy(page).join('')),
    ['cd', 'bcd'],
  )
  for (const page of [staying, ahead]) page.close()
})

// Mutant: createTail() with `startId` of nobody, for the first page of all.
test('the first page may come back too, and is told where events are no longer kept', async () => {
  await using teller = await startTeller()
  const { world, follow, alice } = await worldOf(teller)
  await using _ = world
  for (const subject of ['a', 'b', 'c']) teller.say(subject)
  teller.forget(1)
  const first = await follow(alice, { 'last-event-id': '1' })
  await first.until(({ data }) => data.subject === 'c')
  assert.equal(teller.heard.length, 1)
  const second = await follow(alice, { 'last-event-id': '0' })
  await second.until(({ data }) => data.subject === 'c')
  assert.deepEqual(heardBy(first), ['b', 'c'])
  assert.deepEqual(
    second.events.map(({ event, id }) => `${event} ${id}`),
    ['truncated 1', 'slot.updated 2', 'slot.updated 3'],
  )
  for (const page of [first, second]) page.close()
})

// Mutants: regain() without a position; run() that ends with the first stream; a token that is used again after a 401.
test('a stream of the daemon that ends is regained from its position, and the pages notice nothing', async () => {
  await using teller = await startTeller()
  const { world, own, follow, alice } = await worldOf(teller)
  await using _ = world
  const page = await follow(alice)
  teller.say('one')
  await page.until(({ data }) => data.subject === 'one')
  teller.cut()
  teller.say('two')
  await page.until(({ data }) => data.subject === 'two')
  assert.equal(teller.heard[1]?.headers['last-event-id'], '1')

  // What it was asked with is revoked: the next one is asked with another.
  const before = String(teller.heard[1]?.headers[HEADER.capability])
  teller.refuse(401, { error: { code: 'CAPABILITY_REVOKED' } }, 1)
  teller.cut()
  teller.say('three')
  await page.until(({ data }) => data.subject === 'three')
  assert.equal(teller.heard.length, 4)
  assert.equal(teller.heard[2]?.headers[HEADER.capability], before)
  assert.notEqual(teller.heard[3]?.headers[HEADER.capability], before)
  assert.deepEqual(heardBy(page), ['one', 'two', 'three'])

  // One that cannot be regained is not shown as living.
  teller.refuse(503, { error: { code: 'SUBSERVICE_DISABLED' } })
  teller.cut()
  await page.ended(30_000)
  const refused = await alice.ask(`GET ${own.proxy}/v1/events`)
  assert.deepEqual([refused.status, refused.error.code], [503, 'SUBSERVICE_DISABLED'])
})

// Mutant: followed.delete() left out of onOver.
test('what the daemon refuses a stream with is what the page is told, and the next page is asked for anew', async () => {
  await using teller = await startTeller()
  const { world, line, follow, alice } = await worldOf(teller)
  await using _ = world
  teller.refuse(429, { error: { code: 'RATE_LIMITED' } })
  const both = await Promise.all([alice.ask(`GET ${line}`), alice.tab().ask(`GET ${line}`)])
  assert.deepEqual(
    both.map(({ status, error }) => [status, error.code]),
    [
      [429, 'RATE_LIMITED'],
      [429, 'RATE_LIMITED'],
    ],
  )
  teller.refuse(401, { error: { code: 'UNAUTHENTICATED' } })
  assert.equal((await alice.ask(`GET ${line}`)).error.code, 'STORE_UNAVAILABLE', 'the session is not over')
  teller.accept()
  const page = await follow(alice)
  const wrong = await alice.ask(`GET ${line}`, { headers: { ...SAME_ORIGIN, 'last-event-id': 'x' } })
  assert.deepEqual([wrong.status, wrong.error.code], [400, 'VALIDATION_ERROR'])
  teller.say('one')
  await page.until(({ data }) => data.subject === 'one')
  page.close()
})

// Mutant: `isAllowed` that does not ask isStillValid().
test('a page ends within seconds after its session or its role, and the others go on', async () => {
  await using teller = await startTeller()
  const { world, own, follow, alice } = await worldOf(teller)
  await using _ = world
  const { ownerId: bobsId } = await world.management.member(own, 'admin', { email: BOB })
  const [again, bob] = [await world.signIn(), await world.signIn('bob')]
  const [leaving, staying, changed] = [await follow(alice), await follow(again), await follow(bob)]
  assert.equal((await alice.ask('POST /api/auth/logout', { body: {} })).status, 200)
  await leaving.ended()
  await world.management.sql(`update loci.members set role = 'viewer' where user_id = $1`, [bobsId])
  await changed.ended()
  teller.say('later')
  await staying.until(({ data }) => data.subject === 'later')
  assert.deepEqual([leaving, changed].map(heardBy), [[], []])
  staying.close()
  for (const role of ROLES) {
    await world.management.sql(`update loci.members set role = $1 where user_id = $2`, [role, bobsId])
    const page = await follow(bob)
    assert.equal(page.status, 200, `every role reads events, so one stream is right for all: ${role}`)
    page.close()
  }
})

test('pages of a process that drains end, and with them what it follows', async () => {
  await using teller = await startTeller()
  const { world, follow, alice } = await worldOf(teller)
  await using _ = world
  const pages = [await follow(alice), await follow(alice)]
  world.management.management.lifecycle.beginDrain('test', { graceMs: 0, deadlineMs: 5_000 })
  await Promise.all(pages.map((page) => page.ended(60_000)))
  await eventually(() => teller.open.size === 0)
})

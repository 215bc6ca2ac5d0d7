// What the client by verbs sends, against somebody's server; tests/system/sdk.ts has it against loci.

import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { KeptCapability } from './capabilities.ts'
import { LociError } from './error.ts'
import { Loci, type LociOptions } from './loci.ts'
import { completed } from './node.ts'
import { type Act, scripted } from './testing/scripted.ts'

const SERVICE = `svc_${'0'.repeat(26)}`
const service = (endpoint: string): Act => ({
  body: { id: SERVICE, tenant_id: 'ten_1', slug: 'a', name: 'A', endpoint, status: 'active' },
})
const minted = (token: string, expires_in = 3_600): Act => ({ status: 201, body: { token, expires_in } })
const refusal = (status: number, code: string): Act => ({
  status,
  body: { error: { code, message: 'm', status, retryable: false } },
})

/** Management and a daemon that do what they are told. */
async function pair(daemonActs: Act[], managementActs: Act[], more: Partial<LociOptions> = {}) {
  const daemon = await scripted(...daemonActs)
  const management = await scripted(service(daemon.url), ...managementActs)
  const of = new Loci({ url: management.url, apiKey: 'loci_sk_x', ...more }).service(SERVICE)
  return {
    daemon,
    management,
    service: of,
    ada: of.user('ada'),
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]()
      await management[Symbol.asyncDispose]()
    },
  }
}

const tokensOf = (seen: { headers: { [name: string]: unknown } }[]) =>
  seen.map(({ headers }) => headers['x-loci-capability'])

// Mutant: of() without the map of what is kept.
test('one capability is minted for many calls of many users, and the key goes to management alone', async () => {
  await using at = await pair([{ body: { entries: [], nextCursor: null } }], [minted('cap.one')])
  await Promise.all([at.ada.kv.list().all(), at.ada.kv.list().all()])
  await at.ada.kv.list().all()
  assert.deepEqual(
    at.management.seen.map(({ line }) => line),
    [`GET /api/v1/services/${SERVICE}`, 'POST /api/v1/tenants/ten_1/tokens'],
  )
  assert.ok(at.management.seen.every(({ headers }) => headers['x-api-key'] === 'loci_sk_x'))
  assert.deepEqual(tokensOf(at.daemon.seen), ['cap.one', 'cap.one', 'cap.one'])
  assert.ok(at.daemon.seen.every(({ headers }) => headers['x-api-key'] === undefined))
  assert.deepEqual(
    at.daemon.seen.map(({ headers }) => headers['x-loci-database']),
    ['ada', 'ada', 'ada'],
  )
})

// Mutant: renew that answers false.
test('a capability that is refused is minted again, once for a call', async () => {
  await using at = await pair(
    [refusal(401, 'CAPABILITY_REVOKED'), { body: { id: 'mem_1' } }, refusal(401, 'CAPABILITY_REVOKED')],
    [minted('cap.one'), minted('cap.two'), minted('cap.three')],
  )
  await at.ada.remember('Ada likes tea')
  assert.deepEqual(tokensOf(at.daemon.seen), ['cap.one', 'cap.two'])
  await assert.rejects(at.ada.remember('Ada likes tea'), { code: 'CAPABILITY_REVOKED' })
  assert.deepEqual(tokensOf(at.daemon.seen).slice(2), ['cap.two', 'cap.three'])
})

test('a capability is renewed before its end, and used to its end while management is away', async () => {
  const store = new Map<string, KeptCapability>()
  const now = Date.now()
  store.set(SERVICE, { token: 'cap.old', endsAt: now + 60_000, renewAt: now - 1 })
  const capabilities = {
    load: (id: string) => store.get(id),
    save: (id: string, kept: KeptCapability | undefined) => void (kept ? store.set(id, kept) : store.delete(id)),
  }
  const away: Act = { status: 503, body: { error: { code: 'DRAINING', message: 'm', status: 503, retryable: true } } }
  await using at = await pair([{ body: { id: 'mem_1' } }], [away, minted('cap.new')], { capabilities })
  await at.ada.remember('one')
  await at.ada.remember('two')
  assert.deepEqual(tokensOf(at.daemon.seen), ['cap.old', 'cap.new'])
  assert.equal(store.get(SERVICE)?.token, 'cap.new')
})

// Mutant: a key for every POST that honours one.
test('a key is sent where a repeat can happen and the server would not know it by itself', async () => {
  await using at = await pair([{ body: { results: [], abstained: true, records: [] } }], [minted('cap.one')])
  await at.ada.remember('a')
  await at.ada.remember('b', { sourceEventId: 'evt-1' })
  await at.ada.remember('c', {}, { attemptsMax: 1 })
  await at.ada.remember('d', {}, { attemptsMax: 1, idempotencyKey: 'mine' })
  await at.ada.recall('e')
  await at.ada.slots.put('f', 1)
  const keys = at.daemon.seen.map(({ headers }) => headers['idempotency-key'])
  assert.match(String(keys[0]), /^[0-9a-f]{32}$/)
  assert.deepEqual(keys.slice(1), [undefined, undefined, 'mine', undefined, undefined])
})

// Mutant: operatorOf with the capability of the users' data.
test('who lists and forgets users has a right of its own for it, made for minutes, and no user’s database', async () => {
  const [list, gone] = [
    { databases: [{ name: 'ada' }], nextCursor: null },
    { deleted: true, name: 'ada' },
  ]
  await using at = await pair(
    [{ body: {} }, { body: list }, { body: gone }],
    [minted('cap.one'), minted('cap.operator')],
  )
  await at.ada.kv.put('a', 1)
  assert.deepEqual(await at.service.users().all(), [{ name: 'ada' }])
  assert.deepEqual(await at.service.forgetUser(at.service.user('ada')), gone)
  assert.deepEqual(
    at.daemon.seen.map(({ line, headers }) => [line, headers['x-loci-capability'], headers['x-loci-database']]),
    [
      ['PUT /v1/kv/entries/a', 'cap.one', 'ada'],
      ['GET /v1/databases', 'cap.operator', undefined],
      ['DELETE /v1/databases/ada', 'cap.operator', undefined],
    ],
  )
  const [first, second] = at.management.seen.slice(-2).map(({ body }) => JSON.parse(body))
  assert.deepEqual([first.ops, second.ops, second.ttl_seconds], [undefined, ['operator'], 300])
})

test('a recall whose answer was lost is asked again', async () => {
  await using at = await pair(['drop', { body: { results: [], abstained: true, reason: 'r' } }], [minted('cap.one')])
  const hits = await at.ada.recall('which tea?')
  assert.deepEqual([hits.length, hits.abstained, hits.reason, at.daemon.seen.length], [0, true, 'r', 2])
})

test('preconditions stand in the headers, and what is missing is undefined', async () => {
  await using at = await pair([{ body: {} }, { body: {} }, refusal(404, 'NOT_FOUND')], [minted('cap.one')])
  await at.ada.kv.put('a', 1, { ifNew: true })
  await at.ada.slots.put('b', 1, { ifVersion: 3, pinned: true })
  assert.equal(await at.ada.kv.get('c'), undefined)
  const [created, replaced] = at.daemon.seen
  assert.deepEqual([created?.headers['if-none-match'], created?.body], ['*', '{"value":1}'])
  assert.deepEqual([replaced?.headers['if-match'], replaced?.body], ['"3"', '{"value":1,"pinned":true}'])
})

test('a page of management uses its own session, through management', async () => {
  await using management = await scripted(service('http://elsewhere.example'), { body: { id: 'mem_1' } })
  const loci = new Loci({ url: management.url, organization: 'org_1' })
  await loci.service(SERVICE).user('ada').remember('Ada likes tea')
  const [, stored] = management.seen
  assert.equal(stored?.line, `POST /api/v1/services/${SERVICE}/proxy/v1/memory/records`)
  const { headers } = stored as (typeof management.seen)[number]
  assert.deepEqual(
    [headers['x-loci-database'], headers['x-loci-organization'], headers['x-loci-capability'], headers['x-api-key']],
    ['ada', 'org_1', undefined, undefined],
  )
})

// Mutants: #refreshing is never kept: two refreshes; no renew for the proxy.
test('a page whose access token has ended refreshes its session, once for all calls; who is signed out is told', async () => {
  const asked: string[] = []
  const both = Promise.withResolvers<void>()
  let [isFresh, isOver] = [false, false]
  const answerOf = (status: number, body: object) =>
    new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
  const management = async (input: unknown): Promise<Response> => {
    const { pathname } = new URL(String(input))
    asked.push(pathname)
    if (pathname === '/api/auth/refresh') isFresh = !isOver
    else if (!pathname.includes('/proxy/')) return answerOf(200, (service('http://x') as { body: object }).body)
    else if (asked.length === 3) both.resolve()
    // Both meet the end of the token before one of them can have refreshed it.
    await both.promise
    return isFresh ? answerOf(200, { id: 'mem_1' }) : answerOf(401, { error: { code: 'UNAUTHENTICATED' } })
  }
  const loci = new Loci({ url: 'http://loci.example', fetch: management as typeof fetch })
  const ada = loci.service(SERVICE).user('ada')
  const refreshes = () => asked.filter((path) => path === '/api/auth/refresh').length
  await ada.daemon()

  const stored = await Promise.all([ada.remember('one'), ada.remember('two')])
  assert.deepEqual([stored, refreshes(), asked.length], [[{ id: 'mem_1' }, { id: 'mem_1' }], 1, 6])

  isFresh = false
  isOver = true
  await assert.rejects(ada.remember('three'), { code: 'UNAUTHENTICATED' })
  assert.deepEqual([refreshes(), asked.length], [2, 8])
})

test('a service is found by slug or name, and two of one name are not guessed between', async () => {
  const list = (...slugs: string[]): Act => ({
    body: { services: slugs.map((slug, at) => ({ id: `${SERVICE.slice(0, -1)}${at}`, slug, name: 'N' })) },
  })
  const find = async (which: string | undefined, ...slugs: string[]) => {
    await using server = await scripted(list(...slugs), { body: { id: 'found' } })
    const loci = new Loci({ url: server.url, apiKey: 'k' })
    await loci.service(which).describe()
    return server.seen[1]?.line.slice(-1)
  }
  assert.equal(await find('b', 'a', 'b'), '1')
  assert.equal(await find(undefined, 'a'), '0')
  await assert.rejects(find('N', 'a', 'b'), (error: unknown) => {
    return error instanceof LociError && /2 services/.test(error.message) && /a, b/.test(String(error.hint))
  })
  await assert.rejects(find('c', 'a', 'b'), { code: 'NOT_FOUND' })
})

test('a capability opens no management, and says so', async () => {
  const loci = new Loci({ url: 'http://127.0.0.1:1', token: `e30.${btoa(JSON.stringify({ svc: SERVICE }))}.x` })
  assert.equal(loci.service().id, SERVICE)
  await assert.rejects(loci.services.list().all(), /not management/)
  assert.throws(() => new Loci({}), /url of loci is missing/)
})

test('in Node arguments win over the environment, and that over the profile; a secret stays with its url', () => {
  const directory = mkdtempSync(join(tmpdir(), 'loci-profile-'))
  try {
    writeFileSync(
      join(directory, 'config.toml'),
      'active = "dev"\n\n[profiles.dev]\nurl = "http://dev"  # here\nservice = "s"\n[profiles.prod]\nurl = "https://prod"\n',
    )
    const secrets = join(directory, 'credentials.toml')
    writeFileSync(secrets, '[profiles.dev]\napi_key = "dev-key"\n[profiles."prod"]\napi_key = "prod-key"\n')
    chmodSync(secrets, 0o600)
    const env = { LOCI_CONFIG_DIR: directory }
    const of = (given: Parameters<typeof completed>[0], more: { [name: string]: string } = {}) => {
      const { url, apiKey, token, service: named } = completed(given, { ...env, ...more })
      return [url, apiKey ?? token, named]
    }
    assert.deepEqual(of({}), ['http://dev', 'dev-key', 's'])
    assert.deepEqual(of({ profile: 'prod' }, { LOCI_URL: 'http://env' }), ['https://prod', 'prod-key', undefined])
    assert.deepEqual(of({}, { LOCI_PROFILE: 'prod' }), ['https://prod', 'prod-key', undefined])
    assert.deepEqual(of({ url: 'http://other' }), ['http://other', undefined, undefined])
    assert.deepEqual(of({}, { LOCI_URL: 'http://env', LOCI_TOKEN: 't', LOCI_SERVICE: 'e' }), ['http://env', 't', 'e'])
    assert.deepEqual(of({ apiKey: 'k' }, { LOCI_URL: 'http://env', LOCI_TOKEN: 't' }), ['http://env', 'k', undefined])
    assert.throws(() => of({ profile: 'none' }), /no profile 'none'/)
    chmodSync(secrets, 0o644)
    assert.throws(() => of({}), /chmod 600/)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

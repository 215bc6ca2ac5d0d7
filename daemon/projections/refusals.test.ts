import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'

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

const PATH = '/v1/partner/projections'
let last = 0

async function partnerOf(instance: TestInstance, database: string) {
  const token = await partnerToken(authority, instance, ['event', 'fact'], { partner: 'crm', database })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const send = (body: unknown): Promise<TestAnswer> => daemon.ask(`POST ${PATH}`, { body, headers })
  return { headers, send }
}

const envelope = (fields: object = {}) => {
  last += 1
  return { projection_class: 'event', source_event_id: `evt-${last}`, ...fields }
}

// Mutant: `moment` of wire.ts without its years.
test('a moment outside of the years 1 to 9999 is refused by its name', async () => {
  const { send } = await partnerOf(own, 'moments')
  for (const occurred_at of ['9999-12-31T23:59:59-01:00', '0001-01-01T00:00:00+01:00', '0000-06-01T00:00:00Z']) {
    const { status, error } = await send(envelope({ occurred_at }))
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], occurred_at)
    assert.match(error.message, /occurred_at/)
  }
  for (const occurred_at of ['9999-12-31T23:59:59.999Z', '0001-01-01T00:00:00Z'])
    assert.equal((await send(envelope({ occurred_at }))).status, 200, occurred_at)
})

// Mutant: envelopeOf() that goes by the header content-length.
test('a single envelope has at most a mebibyte, also where its sender does not say how long it is', async () => {
  const { headers } = await partnerOf(own, 'chunked')
  const send = async (length: number) => {
    const body = JSON.stringify(envelope({ colour: 'x'.repeat(length) }))
    const stream = new Blob([body]).stream()
    return (await fetch(`${daemon.url}${PATH}`, { method: 'POST', headers, body: stream, duplex: 'half' })).status
  }
  assert.deepEqual([await send(1_000_000), await send(3_000_000)], [200, 413])
})

// Mutant: refusalOf() without the index of what refuses the whole database or instance.
test('whatever refuses an array names the index', async () => {
  const small = await authority.addInstance({ limits: { records: 2 } as never })
  const { send } = await partnerOf(small, 'first')
  const sent = [envelope(), envelope()]
  assert.equal((await send(sent)).status, 200)
  const full = await send([sent[0], sent[1], envelope()])
  assert.deepEqual([full.status, full.error.code, full.error.details], [403, 'QUOTA_EXCEEDED', { index: 2 }])
  const single = await authority.addInstance({ limits: { databases: 1 } as never })
  await (await partnerOf(single, 'first')).send(envelope())
  const databases = await (await partnerOf(single, 'second')).send([envelope(), envelope()])
  assert.deepEqual([databases.status, databases.error.code], [403, 'QUOTA_EXCEEDED'], databases.text)
  assert.deepEqual(databases.error.details, { index: 0 })
  await daemon.sql('update loci.databases set erasing_since = now() where instance_id = $1', [small.svc])
  const erasing = await send([envelope(), envelope()])
  assert.deepEqual([erasing.status, erasing.error.code, erasing.error.details], [409, 'INVALID_STATE', { index: 0 }])
  assert.ok(erasing.error.retryAfterMs, erasing.text)
})

// Mutant: `/v1/partner/projections` as a constant in routes.ts.
// specification 145
test('the segment of the path is the partner’s name that is configured: another one, `partner` too, is 404', async () => {
  await using named = await testDaemon({ replicaOf: daemon, settings: { partnerName: 'acme-crm' } })
  const { headers } = await partnerOf(own, 'segment')
  const statuses: Record<string, number> = {}
  for (const segment of ['acme-crm', 'partner', 'acme-crmx', 'ACME-CRM']) {
    const answer = await named.ask(`POST /v1/${segment}/projections`, { body: envelope(), headers })
    statuses[segment] = answer.status
  }
  assert.deepEqual(statuses, { 'acme-crm': 200, partner: 404, 'acme-crmx': 404, 'ACME-CRM': 404 })
  const document = (await named.get('/openapi.json')).json<{ paths: Record<string, unknown> }>()
  assert.deepEqual(
    Object.keys(document.paths).filter((path) => path.endsWith('/projections')),
    ['/v1/acme-crm/projections'],
  )
})

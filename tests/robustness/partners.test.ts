// Two partners of one service, with credentials that management's API issued and a daemon that heard of them from
// management's feed.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestAuthority, type TestInstance, testAuthority } from '@loci/daemon/testing/authority.ts'
import { type TestDaemon, testDaemon } from '@loci/daemon/testing/daemon.ts'
import type { Body } from '@loci/daemon/testing/feed.ts'
import { type TestManagement, testManagement } from '@loci/management/testing/management.ts'

let management: TestManagement
let daemon: TestDaemon
let authority: TestAuthority
let own: TestInstance
let issue: (request?: object) => Promise<Issued>
let rotate: (id: string) => Promise<Issued>

interface Issued {
  id: string
  partner: string
  token: string
}

interface Result {
  projectionId: string
  duplicate: boolean
}

before(async () => {
  management = await testManagement()
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
  const cell = await management.cell()
  const party = await management.organization()
  const service = await management.instance(cell.id, { organization: party.organizationId, tenant: party.tenantId })
  own = await authority.addInstance({ org: party.organizationId, ten: party.tenantId, svc: service.id })
  const path = `/api/v1/services/${service.id}/partner-credentials`
  const called = async (line: string, body: object): Promise<Issued> => {
    const answer = await party.ask(line, { body })
    assert.ok(answer.status < 300, answer.text)
    const made = answer.json<Issued>()
    const { items } = await cell.pull()
    const item = items.find(({ kind, key }) => kind === 'partner_credential' && key === made.id)
    await authority.publish({ kind: 'partner_credential', body: item?.body as Body<'partner_credential'> })
    return made
  }
  issue = (request = {}) => called(`POST ${path}`, { name: 'partner', database: 'default', ...request })
  rotate = (id) => called(`POST ${path}/${id}/rotate`, {})
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await Promise.all([daemon?.[Symbol.asyncDispose](), management?.[Symbol.asyncDispose]()])
})

let last = 0
const envelope = (given: object) => ({ source_event_id: `evt-${++last}`, ...given })
const fact = (payload: string, more = {}) => envelope({ projection_class: 'fact', payload, ...more })
const retraction = (supersedes: string) => envelope({ projection_class: 'retraction', supersedes })

const projectAs =
  ({ token }: Issued) =>
  async (body: object): Promise<Result> => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await daemon.ask('POST /v1/partner/projections', { body, headers })
    assert.equal(answer.status, 200, answer.text)
    return answer.json<Result>()
  }

/** Two partners of a database of their own. */
async function two(first: object = {}, second: object = {}) {
  const database = `db-${++last}`
  const credentials = [await issue({ database, ...first }), await issue({ database, ...second })] as const
  const token = own.root({ ops: ['memory:read'], ks: ['memory/*'] })
  const contents = async () => {
    const answer = await own.call(token, 'GET /v1/memory/records', { headers: { 'x-loci-database': database } })
    return answer.json<{ records: { content: string }[] }>().records.map(({ content }) => content)
  }
  return { credentials, crm: projectAs(credentials[0]), other: projectAs(credentials[1]), contents }
}

// Mutant: `partner = 'partner'` in mintPartnerCredential(), as it was.
test('partners without a name are apart: neither takes back, replaces, repeats nor squats what the other tells', async () => {
  const { credentials, crm, other, contents } = await two()
  assert.deepEqual(
    credentials.map(({ partner }) => partner),
    credentials.map(({ id }) => id),
  )
  const told = fact('The site is deployed from main')
  const { projectionId } = await crm(told)

  await other(retraction(projectionId))
  await other(fact('The site is deployed from pwned', { supersedes: projectionId }))
  const repeated = await other({ ...told, payload: 'The site is deployed from elsewhere' })
  await other(fact('Something else', { projection_id: 'order-77' }))
  await other(retraction('order-78'))

  assert.deepEqual([repeated.duplicate, repeated.projectionId === projectionId], [false, false])
  for (const id of ['order-77', 'order-78'])
    assert.equal((await crm(fact(`It is ${id}`, { projection_id: id }))).projectionId, id)
  assert.deepEqual((await contents()).sort(), [
    'It is order-77',
    'It is order-78',
    'Something else',
    'The site is deployed from elsewhere',
    'The site is deployed from main',
    'The site is deployed from pwned',
  ])
  await crm(retraction(projectionId))
  assert.ok(!(await contents()).includes('The site is deployed from main'))
})

// Mutant: `partner` left out of the request in the route.
test('credentials that name one partner are one teller, and so is a rotated one', async () => {
  const { credentials, crm, other, contents } = await two({ partner: 'crm' }, { partner: 'crm' })
  const told = fact('The site is deployed from main')
  const first = await crm(told)

  assert.deepEqual(await other(told), { ...first, duplicate: true })
  const rotated = await rotate(credentials[0].id)
  assert.equal(rotated.partner, 'crm')
  assert.deepEqual(await projectAs(rotated)(told), { ...first, duplicate: true })
  await other(retraction(first.projectionId))
  assert.deepEqual(await contents(), [])
})

test('a second credential takes the place of one without a name by naming its id', async () => {
  const first = await issue({ database: 'handover' })
  const told = fact('The key is under the mat')
  const { projectionId } = await projectAs(first)(told)
  const second = await issue({ database: 'handover', partner: first.id })
  assert.deepEqual([second.partner, (await projectAs(second)(told)).projectionId], [first.id, projectionId])
})

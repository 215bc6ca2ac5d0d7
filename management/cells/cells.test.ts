import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newKeyPair } from '@loci/capability/jws.ts'
import { newId } from '@loci/contract/ids.ts'
import { SCOPES } from '@loci/contract/roles.ts'
import { type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

interface Cell {
  id: string
  name: string
  capacity: number
  placed: number
  endpoint: string
  public_keys: string[]
  tenant_id: string | null
  heard_at: string | null
  heard_seq: number
  feed_seq: number
  lag: number
}
interface Listed {
  cells: Cell[]
  next_cursor: string | null
}

let management: TestManagement
let staff: TestParty
before(async () => {
  management = await testManagement()
  staff = await management.organization({ email: 'staff@loci.example', scopes: [...SCOPES, 'staff'] })
})
after(() => management?.[Symbol.asyncDispose]())

const requestOf = (name: string) => ({
  name,
  region: 'us-east-1',
  capacity: 10,
  endpoint: 'https://cell.example',
  public_key: newKeyPair().publicJwk.x,
})

test('an owner is not staff, whatever it sends, and neither is a staff address without the scope', async () => {
  const own = await management.organization()
  const other = await management.organization({ scopes: [...SCOPES, 'staff'] })
  for (const party of [own, other])
    for (const [line, body] of [
      ['GET /api/v1/cells', undefined],
      ['GET /api/v1/cells?limit=x', undefined],
      ['POST /api/v1/cells', requestOf('mine')],
      ['POST /api/v1/cells', []],
      [`PATCH /api/v1/cells/${newId('cell')}`, { capacity: 1 }],
      ['PATCH /api/v1/cells/x', {}],
    ] as const) {
      const answer = await party.ask(line, { body })
      assert.deepEqual([answer.status, answer.error.code], [403, 'FORBIDDEN'], line)
    }
})

test('staff registers a cell, which is told the keys, is listed with its health, and is audited on the platform', async () => {
  const answer = await staff.ask('POST /api/v1/cells', { body: requestOf('first') })

  assert.equal(answer.status, 201, answer.text)
  const made = answer.json<Cell>()
  assert.deepEqual([made.name, made.placed, made.heard_at, made.heard_seq], ['first', 0, null, 0])
  assert.ok(made.feed_seq > 0, 'the key set is in its feed')
  assert.equal(made.lag, made.feed_seq)
  const [audited] = await management.sql(
    `select chain, actor, request_id from loci.audit where action = 'cell.add' and subject = $1`,
    [made.id],
  )
  assert.deepEqual([audited?.chain, audited?.request_id], ['platform', answer.headers['x-request-id']])
  assert.match(audited?.actor as string, /^key_/)
  assert.equal((await staff.ask('POST /api/v1/cells', { body: requestOf('first') })).error.code, 'INVALID_STATE')
})

test('how far a cell has read is told', async () => {
  const cell = await management.cell('heard')
  const { epoch, next } = await cell.pull()
  await cell.feed({ epoch, after: next })
  const all = (await staff.ask('GET /api/v1/cells')).json<Listed>()
  const one = all.cells.find(({ id }) => id === cell.id)
  assert.deepEqual([one?.heard_seq, one?.feed_seq, one?.lag, one?.heard_at !== null], [next, next, 0, true])
  const page = (await staff.ask('GET /api/v1/cells?limit=1')).json<Listed>()
  assert.deepEqual([page.cells.length, page.next_cursor], [1, page.cells[0]?.id])
  const rest = (await staff.ask(`GET /api/v1/cells?cursor=${page.next_cursor}`)).json<Listed>()
  assert.equal(rest.cells.length, all.cells.length - 1)
})

test('a cell changes its key without a gap: with two keys both open its feed, then the old one does not', async () => {
  const cell = await management.cell('rotating')
  const path = `PATCH /api/v1/cells/${cell.id}`
  const { publicJwk, privateJwk } = newKeyPair()
  const old = (await staff.ask('GET /api/v1/cells')).json<Listed>().cells.find(({ id }) => id === cell.id)
    ?.public_keys[0]
  const asks = async (key = cell.key) =>
    (await management.get('/cell/v1/feed', { authorization: `Bearer ${cell.token({ key })}` })).status

  assert.deepEqual([await asks(), await asks(privateJwk)], [200, 401])
  const both = await staff.ask(path, { body: { public_keys: [publicJwk.x, old] } })
  assert.equal(both.status, 200, both.text)
  assert.deepEqual([await asks(), await asks(privateJwk)], [200, 200])
  await staff.ask(path, { body: { public_keys: [publicJwk.x] } })
  assert.deepEqual([await asks(), await asks(privateJwk)], [401, 200])

  const changed = (await staff.ask(path, { body: { capacity: 5, endpoint: 'https://other.example' } })).json<Cell>()
  assert.deepEqual(
    [changed.capacity, changed.endpoint, changed.public_keys],
    [5, 'https://other.example', [publicJwk.x]],
  )
  const acts = await management.sql(`select chain from loci.audit where action = 'cell.change' and subject = $1`, [
    cell.id,
  ])
  assert.deepEqual(
    acts.map(({ chain }) => chain),
    ['platform', 'platform', 'platform'],
  )
})

test('what is no cell is 400, one that does not exist 404', async () => {
  const cell = await management.cell('plain')
  for (const change of [
    { name: 'Upper' },
    { name: '' },
    { capacity: 0 },
    { capacity: 1.5 },
    { endpoint: 'cell.example' },
    { endpoint: 'ftp://cell.example' },
    { public_key: 'x' },
    { public_key: undefined },
    { tenant_id: newId('ten') },
    { tenant_id: newId('svc') },
  ])
    assert.equal(
      (await staff.ask('POST /api/v1/cells', { body: { ...requestOf('wrong'), ...change } })).status,
      400,
      JSON.stringify(change),
    )
  const { x } = newKeyPair().publicJwk
  for (const body of [
    {},
    { capacity: 0 },
    { public_keys: [] },
    { public_keys: ['x'] },
    { public_keys: [x, x, x] },
    { endpoint: 5 },
  ])
    assert.equal((await staff.ask(`PATCH /api/v1/cells/${cell.id}`, { body })).status, 400, JSON.stringify(body))
  for (const id of [newId('cell'), 'x', 'heard'])
    assert.equal((await staff.ask(`PATCH /api/v1/cells/${id}`, { body: { capacity: 1 } })).status, 404, id)
  const kept = await staff.ask('POST /api/v1/cells', { body: { ...requestOf('kept'), tenant_id: staff.tenantId } })
  assert.equal(kept.json<Cell>().tenant_id, staff.tenantId)
})

// Mutants: the replica without its address; without `o.last_at > before.last_at` every fail-over is an alarm.
test('two addresses that call as one cell in turns raise an alarm; one that takes over does not', async () => {
  await using behind = await testManagement({ settings: { trustedProxies: ['127.0.0.1/32'] } })
  const cell = await behind.cell('watched')
  const staffOf = await behind.organization({ email: 'staff@loci.example', scopes: [...SCOPES, 'staff'] })
  const call = async (rep: string, address: string) => {
    const authorization = `Bearer ${cell.token({ claims: { rep } })}`
    const answer = await behind.get('/cell/v1/feed', { authorization, 'x-forwarded-for': address })
    assert.equal(answer.status, 200)
  }
  const alarm = async () => {
    const { cells } = (await staffOf.ask('GET /api/v1/cells')).json<{
      cells: { id: string; alarm: { kind: string } | null }[]
    }>()
    return cells.find(({ id }) => id === cell.id)?.alarm?.kind
  }

  await call('first', '10.0.0.1')
  await call('second', '10.0.0.2')
  await call('second', '10.0.0.2')
  assert.equal(await alarm(), undefined, 'another process has the lease now')
  await call('thief', '192.0.2.7')
  assert.equal(await alarm(), undefined)
  await call('second', '10.0.0.2')
  assert.equal(await alarm(), 'two_addresses')
  await behind.logged(({ code, reason }) => code === 'two_addresses' && /192\.0\.2\.7/.test(String(reason)))

  const { publicJwk } = newKeyPair()
  await staffOf.ask(`PATCH /api/v1/cells/${cell.id}`, { body: { public_keys: [publicJwk.x] } })
  assert.equal(await alarm(), undefined, 'with new keys it is over')
})

test('a repeated registration with the same key is one cell', async () => {
  const options = { body: requestOf('once'), headers: { 'idempotency-key': 'cell-1' } }
  const first = await staff.ask('POST /api/v1/cells', options)
  const again = await staff.ask('POST /api/v1/cells', options)
  assert.deepEqual([again.status, again.json<Cell>().id], [201, first.json<Cell>().id])
  assert.equal(again.headers['idempotent-replayed'], 'true')
})

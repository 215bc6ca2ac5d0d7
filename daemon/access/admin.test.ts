import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { testDaemon } from '../testing/daemon.ts'

const STATUS = 'GET /admin/services/status'
const digest = (token: string) => createHash('sha256').update(token).digest()

test('from an allowed address the admin token opens admin routes, and nothing else does', async () => {
  await using daemon = await testDaemon()
  assert.equal((await daemon.admin(STATUS)).status, 200)
  const { adminToken } = daemon
  for (const headers of [
    {},
    { 'x-loci-admin-token': '' },
    { 'x-loci-admin-token': `${adminToken}x` },
    { 'x-loci-admin-token': adminToken.slice(0, -1) },
    { 'x-loci-admin-token': digest(adminToken).toString('hex') },
    { authorization: `Bearer ${adminToken}` },
    { 'x-loci-capability': adminToken },
    { 'x-api-key': adminToken },
    { cookie: `x-loci-admin-token=${adminToken}` },
  ]) {
    const { status, error, text } = await daemon.ask(STATUS, { headers: headers as Record<string, string> })
    assert.deepEqual([status, error.code], [401, 'UNAUTHENTICATED'], JSON.stringify(headers))
    assert.ok(!text.includes(adminToken))
  }
  const inQuery = await daemon.ask(`${STATUS}?x-loci-admin-token=${adminToken}`)
  assert.equal(inQuery.status, 401)
})

// specification 201
test('from another address it is 403, whether the token is right or wrong', async () => {
  await using daemon = await testDaemon({ settings: { adminAllowlist: ['10.255.255.255/32'] } })
  for (const token of [daemon.adminToken, 'wrong', '']) {
    const { status, error } = await daemon.ask(STATUS, { headers: { 'x-loci-admin-token': token } })
    assert.deepEqual([status, error.code], [403, 'ADDRESS_NOT_ALLOWED'])
  }
  assert.equal((await daemon.get('/health/live')).status, 200)
})

// Mutant: ADMIN_TOKEN.test() left out.
test('a token of another form than admin-token makes is refused, even if its digest is configured', async () => {
  const weak = ['hunter2', 'loci_adm_hunter2', `loci_adm_${'x'.repeat(44)}`, `${'x'.repeat(52)}`]
  for (const token of weak) {
    await using daemon = await testDaemon({ settings: { adminTokenDigests: [digest(token)] } })
    const { status, error } = await daemon.ask(STATUS, { headers: { 'x-loci-admin-token': token } })
    assert.deepEqual([status, error.code], [401, 'UNAUTHENTICATED'], token)
  }
})

test('an empty allow-list admits no address', async () => {
  await using daemon = await testDaemon({ settings: { adminAllowlist: [] } })
  assert.equal((await daemon.admin(STATUS)).error.code, 'ADDRESS_NOT_ALLOWED')
})

// specification 128
test('while a token is rotated both are accepted, and the audit distinguishes them', async () => {
  const tokens = ['old', 'new'].map((name) => `loci_adm_${name.padEnd(43, '-')}`)
  const digests = tokens.map(digest)
  await using daemon = await testDaemon({ settings: { adminTokenDigests: digests } })
  for (const [at, token] of tokens.entries()) {
    const headers = { 'x-loci-admin-token': token }
    const body = { services: ['mcp'] }
    const line = at === 0 ? '/admin/services/disable' : '/admin/services/enable'
    assert.equal((await daemon.post(line, body, headers)).status, 200)
  }
  const rows = await daemon.sql<{ actor: string }>('select actor from loci.audit order by at, id')
  assert.deepEqual(
    rows.map(({ actor }) => actor),
    digests.map((one) => `admin:${one.toString('hex').slice(0, 8)}@127.0.0.1`),
  )
  assert.equal((await daemon.admin(STATUS)).status, 401, 'a third one does not')
})

test('a forwarding header from an untrusted peer is 403, whatever address it names', async () => {
  await using daemon = await testDaemon()
  for (const headers of [
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-for': '203.0.113.9' },
    { 'x-forwarded-for': '' },
    { 'x-forwarded-proto': 'https' },
    { 'x-forwarded-host': 'x' },
    { 'x-forwarded-unheard-of': 'x' },
    { forwarded: 'for=127.0.0.1' },
    { 'x-real-ip': '127.0.0.1' },
    { via: '1.1 proxy' },
  ]) {
    const { status, error } = await daemon.admin(STATUS, undefined, headers as Record<string, string>)
    assert.deepEqual([status, error.code], [403, 'ADDRESS_NOT_ALLOWED'], JSON.stringify(headers))
  }
  assert.equal((await daemon.get('/health/live', { 'x-forwarded-for': '203.0.113.9' })).status, 200)
})

test('behind a trusted proxy the address is the client’s, read from the right', async () => {
  const settings = { trustedProxies: ['127.0.0.1', '10.0.0.0/8'], adminAllowlist: ['192.0.2.0/24'] }
  await using daemon = await testDaemon({ settings })
  const from = async (chain: string) => (await daemon.admin(STATUS, undefined, { 'x-forwarded-for': chain })).status
  assert.equal(await from('192.0.2.7'), 200)
  assert.equal(await from('203.0.113.9, 192.0.2.7, 10.0.0.1'), 200)
  assert.equal(await from('192.0.2.7, 203.0.113.9'), 403, 'the leftmost is what the attacker wrote')
  assert.equal(await from('203.0.113.9'), 403)
  assert.equal(await from('not an address'), 403)
  assert.equal((await daemon.admin(STATUS)).status, 403, 'a trusted proxy that says nothing')
})

test('a trusted proxy is not itself an administrator by being on the allow-list', async () => {
  await using daemon = await testDaemon({ settings: { trustedProxies: ['127.0.0.1'], adminAllowlist: ['127.0.0.1'] } })
  const headers = { 'x-forwarded-for': '203.0.113.9' }
  assert.equal((await daemon.admin(STATUS, undefined, headers)).error.code, 'ADDRESS_NOT_ALLOWED')
})

test('with a listener of their own admin routes are not on the main one, and nothing else is on theirs', async () => {
  await using daemon = await testDaemon({ settings: { adminListen: { host: '127.0.0.1', port: 0 } } })
  assert.notEqual(daemon.adminUrl, daemon.url)
  assert.equal((await daemon.admin(STATUS)).status, 200)
  const headers = { 'x-loci-admin-token': daemon.adminToken }
  assert.equal((await daemon.get('/admin/services/status', headers)).status, 404)
  assert.equal((await daemon.admin('GET /v1/system/info')).status, 404)
})

// specification 221
test('neither a right nor a wrong admin token reaches the log', async () => {
  await using daemon = await testDaemon()
  await daemon.admin(STATUS)
  await daemon.ask(STATUS, { headers: { 'x-loci-admin-token': 'loci_adm_canary' } })
  const line = await daemon.logged(({ status }) => status === 401)
  assert.deepEqual([line.address, line.code], ['127.0.0.1', 'UNAUTHENTICATED'])
  assert.ok(!daemon.lines.join('').includes(daemon.adminToken) && !daemon.lines.join('').includes('canary'))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDaemon } from '../testing/daemon.ts'

const ACCEPT = { accept: 'application/json, text/event-stream' }

// Mutants: withChallenge() left out; `x-forwarded-proto` believed of everybody.
test('a client without a credential is told where to ask, under the address that it used, and a daemon alone says nothing', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  await using daemon = await testDaemon()
  const alone = await daemon.ask('POST /mcp', { body: ping, headers: ACCEPT })
  assert.equal(alone.status, 401)
  assert.ok(!String(alone.headers['www-authenticate']).includes('resource_metadata'))
  assert.equal((await daemon.get('/.well-known/oauth-protected-resource/mcp')).status, 404)

  await using asking = await testDaemon({ settings: { authorizationServer: 'https://loci.example' } })
  const { host } = new URL(asking.url)
  const refused = await asking.ask('POST /mcp', { body: ping, headers: ACCEPT })
  const told = String(refused.headers['www-authenticate'])
  assert.equal(refused.status, 401)
  assert.ok(told.startsWith('Bearer ') && told.includes('scope="memory:read '), told)
  const document = /resource_metadata="([^"]+)"/.exec(told)?.[1]
  assert.equal(document, `http://${host}/.well-known/oauth-protected-resource/mcp`)
  const metadata = (await asking.get(new URL(String(document)).pathname, { 'x-forwarded-proto': 'https' })).json()
  assert.deepEqual(
    [metadata.resource, metadata.authorization_servers],
    [`http://${host}/mcp`, ['https://loci.example']],
  )
  const wrong = await asking.ask('POST /mcp', { body: ping, headers: { ...ACCEPT, authorization: 'Bearer x.y.z' } })
  assert.match(String(wrong.headers['www-authenticate']), /error="invalid_token"/)
})

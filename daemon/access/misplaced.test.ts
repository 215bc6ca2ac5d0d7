// What a developer meets first: the right credential in the wrong header, the wrong one in the right header, none.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestAuthority, testAuthority } from '../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'

let daemon: TestDaemon
let authority: TestAuthority
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

const refusal = async (headers: Record<string, string>) => {
  const { status, error } = await daemon.get('/v1/kv/entries', headers)
  return { status, code: error.code, message: error.message }
}

test('a capability in Authorization is refused with the right header’s name', async () => {
  const own = await authority.addInstance()
  for (const text of [own.root(), own.delegation().chain]) {
    const { status, code, message } = await refusal({ authorization: `Bearer ${text}` })
    assert.deepEqual([status, code], [401, 'CREDENTIAL_MISPLACED'])
    assert.equal(message, 'Send the capability in the header x-loci-capability, not in Authorization.')
  }
})

test('another credential in its place is named by kind, with what is needed instead, and never shown', async () => {
  for (const [prefix, said] of [
    ['loci_sk_', /^x-loci-capability holds an API key \(loci_sk_\), which is for management/],
    ['loci_ptr_', /^x-loci-capability holds a partner credential \(loci_ptr_\)/],
    ['loci_adm_', /^x-loci-capability holds an admin token \(loci_adm_\), which opens \/admin only/],
  ] as const) {
    const { status, code, message } = await refusal({ 'x-loci-capability': `${prefix}0123456789_hunter22` })
    assert.deepEqual([status, code], [401, 'CREDENTIAL_MISPLACED'])
    assert.match(message, said)
    assert.match(message, /POST \/api\/v1\/tenants\/\{id\}\/tokens/)
    assert.ok(!message.includes('hunter22'))
  }
  const bearer = await refusal({ authorization: 'Bearer loci_sk_0123456789_hunter22' })
  assert.deepEqual([bearer.code, bearer.message.includes('an API key (loci_sk_)')], ['CREDENTIAL_MISPLACED', true])
})

test('without a capability, or with garbage, the error says where to get one', async () => {
  const none = await refusal({})
  assert.deepEqual([none.status, none.code], [401, 'UNAUTHENTICATED'])
  assert.match(none.message, /needs a capability in the header x-loci-capability\. Management issues them: POST/)
  const other = await refusal({ 'x-loci-capability': 'something' })
  assert.deepEqual([other.status, other.code], [401, 'UNAUTHENTICATED'])
  assert.match(other.message, /this is not a capability\. Management issues them: POST/)
})

test('the bare address is refused as any unknown path, and the refusal names the documentation', async () => {
  const { status, error } = await daemon.get('/')
  assert.deepEqual([status, error.code], [404, 'NOT_FOUND'])
  assert.match(error.message, /\/docs shows what there is/)
})

test('a path that nothing is at is told so, whatever it begins with', async () => {
  for (const path of ['/v1/memoryless', '/v1/kv/nothing', '/v1/memory/nothing', '/v1/cognitive/nothing', '/v2']) {
    const { status, error } = await daemon.get(path)
    assert.deepEqual([status, error.code], [404, 'NOT_FOUND'], path)
    assert.match(error.message, /^There is nothing at this path/)
  }
})

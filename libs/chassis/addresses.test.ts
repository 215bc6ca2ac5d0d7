import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressSet, arrivedByTls, clientAddress, hasForwardingHeader, isLoopback } from './addresses.ts'

const proxies = addressSet(['10.0.0.0/8', 'fd00::/8'])
const forwarded = (chain: string) => ({ 'x-forwarded-for': chain })

test('a set has what its CIDRs cover, an IPv4 peer of a dual-stack socket included', () => {
  for (const address of ['10.0.0.1', '10.255.255.255', '::ffff:10.0.0.1', '::FFFF:10.0.0.1', 'fd00::1'])
    assert.ok(proxies.has(address), address)
  for (const address of [
    '11.0.0.1',
    '::ffff:11.0.0.1',
    '::1',
    'fe80::1',
    '',
    'x',
    '10.0.0',
    '10.0.0.1:80',
    '010.0.0.1',
  ])
    assert.ok(!proxies.has(address), address)
  assert.ok(!addressSet([]).has('127.0.0.1'))
})

test('an entry that is no address is named', () => {
  for (const entry of ['', 'x', '10.0.0.0/33', '::/129', '10.0.0.0/-1', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.1 '])
    assert.throws(() => addressSet([entry]), new RegExp(`'${entry}' is not an address`), entry)
})

test('the client is the socket’s peer, whatever a header of an untrusted peer says', () => {
  assert.equal(clientAddress('203.0.113.9', forwarded('127.0.0.1'), proxies), '203.0.113.9')
  assert.equal(clientAddress('::ffff:203.0.113.9', {}, proxies), '203.0.113.9')
})

test('behind trusted proxies the client is the first address from the right that is none of them', () => {
  const from = (chain: string) => clientAddress('10.0.0.1', forwarded(chain), proxies)
  assert.equal(from('203.0.113.9'), '203.0.113.9')
  assert.equal(from('203.0.113.9, 10.0.0.7'), '203.0.113.9')
  assert.equal(from('127.0.0.1, 203.0.113.9, 10.0.0.7'), '203.0.113.9', 'the attacker wrote the leftmost one')
  assert.equal(from('10.0.0.3, 10.0.0.7'), '10.0.0.3', 'a proxy of ours calls by itself')
  assert.equal(from('::ffff:203.0.113.9'), '203.0.113.9')
  assert.equal(from('2001:db8::1'), '2001:db8::1')
})

test('a trusted peer without a readable X-Forwarded-For leaves the client unknown', () => {
  assert.equal(clientAddress('10.0.0.1', {}, proxies), undefined)
  for (const chain of ['', 'unknown', '127.0.0.1,', ',127.0.0.1', '127.0.0.1 10.0.0.1', '127.0.0.1:80', '127.0.0.1, x'])
    assert.equal(clientAddress('10.0.0.1', forwarded(chain), proxies), undefined, chain)
})

test('every forwarding header is seen as one', () => {
  for (const name of ['forwarded', 'via', 'x-real-ip', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-anything'])
    assert.ok(hasForwardingHeader({ [name]: 'x' }), name)
  assert.ok(!hasForwardingHeader({ host: 'x', 'x-request-id': 'y' }))
})

test('TLS is our own listener’s or the word of a trusted proxy, of nobody else', () => {
  const https = { 'x-forwarded-proto': 'https' }
  assert.ok(arrivedByTls({ encrypted: true, remoteAddress: '203.0.113.9' }, {}, proxies))
  assert.ok(arrivedByTls({ remoteAddress: '::ffff:10.0.0.1' }, https, proxies))
  assert.ok(!arrivedByTls({ remoteAddress: '203.0.113.9' }, https, proxies))
  assert.ok(!arrivedByTls({ remoteAddress: '10.0.0.1' }, {}, proxies))
  assert.ok(!arrivedByTls({ remoteAddress: '10.0.0.1' }, { 'x-forwarded-proto': 'http' }, proxies))
  assert.ok(!arrivedByTls({}, https, proxies))
})

test('loopback is a fact about the address, not about how the name begins', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost']) assert.ok(isLoopback(host), host)
  for (const host of ['127.0.0.1.example', '10.0.0.1', 'localhost.example', '']) assert.ok(!isLoopback(host), host)
})

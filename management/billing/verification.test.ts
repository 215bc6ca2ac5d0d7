import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { type Delivery, isSigned } from './verification.ts'

const NOW_MS = Date.parse('2026-03-01T12:00:00.500Z')
const NOW_S = Math.floor(NOW_MS / 1000)
const SIGNING = Buffer.from('a key of the provider, 24 b')
const BYTES = Buffer.from('{"eventType":"payment.succeeded"}')

function sign(key: Buffer, id: string, at: number | string, bytes: Buffer): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${at}.`).update(bytes).digest('base64')}`
}

/** A delivery that is signed well, at `at`, but for what `headers` change. */
function signed(headers: Delivery['headers'] = {}, at: number | string = NOW_S, more: Partial<Delivery> = {}): boolean {
  return isSigned({
    signingSecrets: [SIGNING],
    bytes: BYTES,
    nowMs: NOW_MS,
    ...more,
    headers: {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(at),
      'webhook-signature': sign(SIGNING, 'msg_1', at, BYTES),
      ...headers,
    },
  })
}

test('without a signing secret no signature is asked for, and a wrong one is not looked at', () => {
  assert.equal(signed({ 'webhook-signature': 'v1,AAAA' }, NOW_S, { signingSecrets: [] }), true)
  assert.equal(isSigned({ signingSecrets: [], headers: {}, bytes: BYTES, nowMs: NOW_MS }), true)
})

test('with a signing secret the delivery must be signed', () => {
  assert.equal(signed(), true)
  for (const missing of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    assert.equal(signed({ [missing]: undefined }), false, missing)
    assert.equal(signed({ [missing]: '' }), false, missing)
  }
})

test('a signature covers the id, the time and every byte', () => {
  assert.equal(signed({ 'webhook-id': 'msg_2' }), false)
  assert.equal(signed({ 'webhook-timestamp': String(NOW_S - 1) }), false)
  assert.equal(signed({}, NOW_S, { bytes: Buffer.from(`${BYTES.toString()} `) }), false)
  assert.equal(signed({}, NOW_S, { bytes: Buffer.alloc(0) }), false)
})

test('bytes that are no UTF-8 are signed as they are', () => {
  const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x7b])
  assert.equal(signed({ 'webhook-signature': sign(SIGNING, 'msg_1', NOW_S, bytes) }, NOW_S, { bytes }), true)
})

test('300 seconds to either side are good, more are not, and the time is a number of seconds', () => {
  for (const at of [NOW_S - 299, NOW_S + 300]) assert.equal(signed({}, at), true, String(at - NOW_S))
  for (const at of [NOW_S - 301, NOW_S + 301, NOW_S - 330]) assert.equal(signed({}, at), false, String(at - NOW_S))
  for (const at of [`${NOW_S}.0`, `+${NOW_S}`, ` ${NOW_S}`, '0x69a42bc0', '1e9', 'now', '9'.repeat(20)])
    assert.equal(signed({}, at), false, at)
})

test('one good signature of several is enough, of any configured signing secret', () => {
  const good = sign(SIGNING, 'msg_1', NOW_S, BYTES)
  const other = Buffer.from('the next key of the provider')
  assert.equal(signed({ 'webhook-signature': `v1,AAAA v1a,${good.slice(3)} ${good}` }), true)
  assert.equal(signed({}, NOW_S, { signingSecrets: [other, SIGNING] }), true)
  assert.equal(signed({ 'webhook-signature': sign(other, 'msg_1', NOW_S, BYTES) }), false)
})

test('a signature of another version, cut short, or with more bytes is refused', () => {
  const good = sign(SIGNING, 'msg_1', NOW_S, BYTES).slice(3)
  const longer = Buffer.concat([Buffer.from(good, 'base64'), Buffer.alloc(1)]).toString('base64')
  for (const one of [good, `v2,${good}`, `v1a,${good}`, `v1=${good}`, `v1,${good.slice(0, 20)}`, `v1,${longer}`, 'v1,'])
    assert.equal(signed({ 'webhook-signature': one }), false, one)
})

test('repeated signature headers are refused', () => {
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    assert.equal(signed({ [name]: ['msg_1', 'msg_1'] }), false, name)
  }
})

test('an empty signing key signs for nobody', () => {
  const none = Buffer.alloc(0)
  const signature = sign(none, 'msg_1', NOW_S, BYTES)
  assert.equal(signed({ 'webhook-signature': signature }, NOW_S, { signingSecrets: [none] }), false)
})
